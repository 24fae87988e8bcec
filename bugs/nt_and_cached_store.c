/* A log of records whose value is stored past the caches, and whose length, in the same line, is not. The fence waits
   for the first and says nothing about the second. */

#define LENGTH sizeof(uint64_t)
#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    _mm_stream_si64((long long *)&r->value, (long long)value);
    r->length = LENGTH; /* BUG: a cached store, never flushed */
#ifdef FIXED
    flush(r, sizeof *r);
#endif
    fence();
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
