/* Records become durable one after the other, and after each their number, which is a CounterAtomic variable.

   Usage: annotated FILE         appends records, with annotations, marks and lines on standard error
          annotated FILE check   whether each of the records is there, as after a power failure

   -DFORGOTTEN leaves out the write-back of the records' counters. */

#include <counterpoint_program.h>
#include <immintrin.h>
#include <stdio.h>
#include <sys/mman.h>

enum { RECORDS = 9 };

struct line { _Alignas(64) volatile uint64_t value; };
struct pool { struct line number, records[RECORDS]; };

static void append(struct pool *pool, uint64_t value)
{
    struct line *record = &pool->records[pool->number.value];
    COUNTERPOINT_TX_BEGIN();
    record->value = value;
    _mm_clwb(record);
#ifndef FORGOTTEN
    COUNTERPOINT_COUNTER_WRITEBACK(record, sizeof *record);
#endif
    _mm_sfence();
    pool->number.value++;
    _mm_clwb(&pool->number);
    _mm_sfence();
    COUNTERPOINT_TX_END();
}

int main(int count, char **arguments)
{
    if (count == 3) counterpoint_recovery_server();
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    struct pool *pool;
    if (ftruncate(file, sizeof *pool) != 0) return 2;
    pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == 3) {
        if (pool->number.value > RECORDS) return 1;
        for (uint64_t i = 0; i < pool->number.value; i++)
            if (pool->records[i].value != i + 1) return 1;
        return 0;
    }
    COUNTERPOINT_COUNTER_ATOMIC(&pool->number, sizeof pool->number);
    for (int i = 1; i <= RECORDS; i++) {
        char text[40];
        append(pool, (uint64_t)i);
        snprintf(text, sizeof text, "appended %d", i);
        COUNTERPOINT_MARK(text);
        setvbuf(stderr, NULL, i % 2 ? _IONBF : _IOFBF, 100);
        fprintf(stderr, "note\ndone: %d", i);
        fprintf(stderr, ", and more\n");
        fflush(stderr);
    }
    return 0;
}
