/* A log of records that are stored past the caches, which needs no flush. It needs a fence before the counter, and has
   none. */

#include "pool.h"

struct pool {
    OWN_LINE word count;
    struct record {
        OWN_LINE word value;
    } records[4];
};

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    _mm_stream_si64((long long *)&r->value, (long long)value); /* BUG: no fence comes before the counter */
#ifdef FIXED
    fence();
#endif
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
        if (p->records[i].value != 50 + i) return false;
    return true;
}
