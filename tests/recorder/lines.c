/* Flushes at two places: many by libpmem, which has no debug information, and few by an instruction of its own. Says
   "line FUNCTION LINE FLUSHES" of each.

   Usage: lines POOL */

#include <libpmem.h>
#include <stdio.h>

enum { LINE = 64, POOL = 1 << 20, MANY = 300, FEW = 5 };

static int library_line, own_line;

static __attribute__((noinline)) int by_library(char* memory)
{
   memory[0]++;
   library_line = __LINE__ + 1;
   pmem_persist(memory, 1);
   return memory[0];
}

static inline __attribute__((always_inline)) void write_back(char* line)
{
   own_line = __LINE__ + 1;
   __asm__ volatile("clwb %0" : "+m"(*line));
   __asm__ volatile("sfence" ::: "memory");
}

int main(int count, char** arguments)
{
   size_t length;
   int persistent, sum = 0;
   char* pool = count == 2 ? pmem_map_file(arguments[1], POOL, PMEM_FILE_CREATE, 0600, &length, &persistent) : NULL;
   if (pool == NULL) return 2;
   for (int i = 0; i < MANY; i++) sum += by_library(pool + i * LINE);
   for (int i = 0; i < FEW; i++) {
      pool[i * LINE]++;
      write_back(pool + i * LINE);
   }
   printf("line by_library %d %d\nline write_back %d %d\n", library_line, MANY, own_line, FEW);
   pmem_unmap(pool, length);
   return sum != MANY;
}
