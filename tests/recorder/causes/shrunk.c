#include "u.h"
#include <sys/stat.h>
/* an update is undone as long as its journal is not empty; the journal is cut off, and that must be durable before the update counts */
int main(int c, char **v) {
  int j = open(v[2], O_RDWR | O_CREAT, 0600);
  if (c == 4) { uint64_t a[32], old; struct stat st; int fd = open(v[1], O_RDONLY); if (pread(fd, a, 256, 0) != 256) return 9;
    if (!fstat(j, &st) && st.st_size >= 8 && pread(j, &old, 8, 0) == 8 && old) a[0] = a[8] = old - 1; return a[0] != a[8] || a[16] > a[0]; }
  volatile uint64_t *p = map(v[1], 4096), *q = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, j, 0);
  for (uint64_t i = 1; i < 4; i++) {
    ftruncate(j, 8); fsync(j); q[0] = i; persist(q, 8);
    p[0] = i; persist(p, 8); p[8] = i; persist(&p[8], 8);
    ftruncate(j, 0);
#ifdef FIXED
    fsync(j);
#endif
    p[16] = i; persist(&p[16], 8); }
  _exit(0); }
