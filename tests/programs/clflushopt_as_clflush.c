/* A log of records with one fence, after the counter. `clflush` would need none before: it is ordered with the stores
   that follow. `clflushopt` is not. */

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
    r->value = value; /* BUG: its clflushopt is not ordered with the counter */
#ifdef FIXED
    _mm_clflush(r);
#else
    _mm_clflushopt(r);
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) append(p, 70 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->records[i].value != 70 + i) return false;
    return true;
}
