/* Says the soft and the hard limit of open files, and whether the soft one can be raised to the hard one. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

int main(void)
{
   struct rlimit limit;
   if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
   printf("%d %d ", (int)limit.rlim_cur, (int)limit.rlim_max);
   limit.rlim_cur = limit.rlim_max;
   printf("%d\n", setrlimit(RLIMIT_NOFILE, &limit) == 0 && fcntl(0, F_DUPFD, limit.rlim_max - 1) >= 0);
   return 0;
}
