/* Stores to a mapping of POOL and makes it durable, then starts another process and waits.

   Usage: family POOL BEGAN [0]; with 0, neither waits. BEGAN gets the numbers of both processes, once all that is done. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POOL = 4096 };

int main(int count, char** arguments)
{
   if (count != 3 && count != 4) return 2;
   int fd = open(arguments[1], O_RDWR | O_CREAT, 0600);
   if (fd < 0 || ftruncate(fd, POOL) != 0) return 1;
   char* pool = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   if (pool == MAP_FAILED) return 1;
   *(volatile char*)pool = 1;
   __asm__ volatile("clwb (%0)\n sfence" : : "r"(pool) : "memory");
   pid_t child = fork();
   if (child == 0) execlp("sleep", "sleep", count == 4 ? arguments[3] : "600", NULL);
   FILE* began = fopen(arguments[2], "w");
   if (child < 0 || began == NULL) return 1;
   fprintf(began, "%d %d\n", (int)getpid(), (int)child);
   fclose(began);
   if (count == 3) pause();
   return 0;
}
