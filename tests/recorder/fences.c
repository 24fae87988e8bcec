/* Stores a record, then the flag that makes it valid, and leaves the fence to chance in one way or another.

   Usage: fences HOW POOL         stores
          fences HOW POOL check   whether the record is there if it is valid, as after a power failure

   HOW is `return` or `exit`: the last flush is fenced by nothing but the C library, or by nothing; `counted`: by nothing but
   a locked instruction on other memory; `together`: record and flag are fenced together; `past` and `past-flushed`: the
   record is stored past the caches, and flushed. -DFIXED puts a fence behind the record and behind the flag. */

#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool { _Alignas(64) volatile uint64_t record[8]; _Alignas(64) volatile uint64_t valid; };

static void fence(void)
{
#ifdef FIXED
    _mm_sfence();
#endif
}

int main(int count, char **arguments)
{
    static uint64_t counted;
    const char *how = arguments[1];
    int file = open(arguments[2], O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, sizeof(struct pool)) != 0) return 2;
    struct pool *pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == 4) return pool->valid && pool->record[0] != 7;
    if (strncmp(how, "past", 4) == 0) {
        _mm_stream_si64((long long *)pool->record, 7);
        if (strcmp(how, "past-flushed") == 0) _mm_clflush((void *)pool->record);
    } else {
        pool->record[0] = 7;
        _mm_clwb((void *)pool->record);
    }
    if (strcmp(how, "return") == 0 || strcmp(how, "exit") == 0 || strcmp(how, "counted") == 0) _mm_sfence();
    fence();
    pool->valid = 1;
    _mm_clwb((void *)&pool->valid);
    if (strcmp(how, "counted") == 0) __atomic_fetch_add(&counted, 1, __ATOMIC_SEQ_CST);
    else if (strcmp(how, "return") != 0 && strcmp(how, "exit") != 0) _mm_sfence();
    fence();
    if (strcmp(how, "return") == 0) return 0;
    _exit(0);
}
