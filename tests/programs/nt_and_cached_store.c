/* A log of records whose value is stored past the caches, and whose length, in the same line, is not. The fence waits
   for the first and says nothing about the second. */

#include "pool.h"

struct pool {
    OWN_LINE word count;
    struct record {
        OWN_LINE word value;
        word length;
    } records[4];
};

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    _mm_stream_si64((long long *)&r->value, (long long)value);
    r->length = sizeof r->value; /* BUG: a cached store, never flushed */
#ifdef FIXED
    flush(r, sizeof *r);
#endif
    fence();
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) append(p, 50 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->records[i].value != 50 + i || p->records[i].length != sizeof(uint64_t)) return false;
    return true;
}
