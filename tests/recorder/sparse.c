/* Maps a file that exists, stores to its first byte, and says how many bytes its process has read until then, the
   recorder included.

   Usage: sparse POOL */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char** arguments)
{
   struct stat status;
   int fd = count == 2 ? open(arguments[1], O_RDWR) : -1;
   if (fd < 0 || fstat(fd, &status) != 0) return 2;
   char* pool = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   if (pool == MAP_FAILED) return 1;
   *(volatile char*)pool = 'F';
   char line[128];
   FILE* io = fopen("/proc/self/io", "r");
   if (io == NULL || fgets(line, sizeof line, io) == NULL) return 1;
   fputs(line, stdout);
   fclose(io);
   return 0;
}
