/* Makes client requests with lengths that lead beyond the pool, beyond what is mapped and beyond the last address.

   Usage: lengths POOL */

#include <counterpoint_program.h>
#include <immintrin.h>
#include <stdio.h>
#include <sys/mman.h>

enum { BYTES = 8192 };

static void request(int number, volatile void* at, uint64_t bytes)
{
   COUNTERPOINT_REQUEST_(COUNTERPOINT_PMEMCHECK_(number), at, bytes);
}

int main(int count, char** arguments)
{
   enum { REGISTER, REMOVE = 2, IS_REGISTERED, SET_CLEAN = 17 };
   static const uint64_t lengths[] = { (uint64_t)-1, (uint64_t)-64, (uint64_t)1 << 63, (uint64_t)1 << 46, BYTES + 1 };
   if (count != 2) return 2;
   int fd = open(arguments[1], O_RDWR | O_CREAT, 0600);
   if (fd < 0 || ftruncate(fd, BYTES) != 0) return 1;
   volatile uint64_t* pool = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   volatile uint64_t* other = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      COUNTERPOINT_COUNTER_ATOMIC(pool, lengths[i]);
      COUNTERPOINT_COUNTER_WRITEBACK(pool + 8, lengths[i]);
      request(IS_REGISTERED, pool, lengths[i]);
      request(SET_CLEAN, pool + 512, lengths[i]);
      request(REGISTER, other, lengths[i]);
      request(REMOVE, other, lengths[i]);
   }
   pool[0] = 7;
   _mm_clwb((void*)pool);
   _mm_sfence();
   return 0;
}
