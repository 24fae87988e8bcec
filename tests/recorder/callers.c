/* Stores that other code makes for the program, none of them flushed: by the C library, by libpmem, and by a function of its
   own that copies with one repeated instruction; and by a setter. Says "line LINE" of each call, and of the setter "set LINE
   LINE-OF-FIRST-CALL". -DALONE leaves out what can be only in libraries.

   Usage: callers POOL */

#include <fcntl.h>
#ifndef ALONE
#include <libpmem.h>
#endif
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AREA = 4096, LENGTH = 192, LONG = 40000 };

#define SAY printf("line %d\n", __LINE__ + 1)

struct pool { char areas[7][AREA], tail[1 << 16]; };

static char source[LONG] = "text", *volatile from = source;
static volatile size_t length = LENGTH;
static int put_line, set_line;

/* One line, but at each depth another stack. */
static __attribute__((noinline)) void put(char* to, int deep)
{
   if (deep > 0) {
      put(to + 2 * LENGTH, deep - 1);
   } else {
      put_line = __LINE__ + 1;
      memmove(to, from, length);
   }
   __asm__ volatile("");
}

static __attribute__((noinline)) void copy_repeated(char* to, size_t count)
{
   char* what = from;
   __asm__ volatile("rep movsb" : "+D"(to), "+S"(what), "+c"(count) : : "memory");
}

static __attribute__((noinline)) void set(char* to, int value)
{
   set_line = __LINE__ + 1;
   *(volatile int*)to = value;
}

static __attribute__((noinline)) void copy_twice(char* to)
{
   char room[512];
   SAY;
   copy_repeated(to, 1000);
   __asm__ volatile("" : : "r"(room) : "memory");
   SAY;
   copy_repeated(to + 2048, 100);
   __asm__ volatile("" : : "r"(room) : "memory");
}

int main(int count, char** arguments)
{
   int file = count == 2 ? open(arguments[1], O_RDWR | O_CREAT, 0600) : -1;
   if (file < 0 || ftruncate(file, sizeof(struct pool)) != 0) return 2;
   struct pool* pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
   if (pool == MAP_FAILED) return 2;
   SAY;
   memcpy(pool->areas[0], from, length);
   for (int deep = 0; deep < 3; deep++) put(pool->areas[1], deep);
   printf("line %d\n", put_line);
   SAY;
   memset(pool->areas[2], 1, length);
   SAY;
   strcpy(pool->areas[3], from);
#ifndef ALONE
   SAY;
   snprintf(pool->areas[4], length, "%zu", length);
   SAY;
   pmem_memcpy(pool->areas[5], from, length, PMEM_F_MEM_NOFLUSH);
#endif
   SAY;
   memcpy(pool->tail, from, LONG);
   copy_twice(pool->areas[6]);
   int called = __LINE__ + 1;
   set(pool->areas[6] + 3000, 1);
   set(pool->areas[6] + 3200, 2);
   printf("set %d %d\n", set_line, called);
   fflush(stdout);
   _exit(0);
}
