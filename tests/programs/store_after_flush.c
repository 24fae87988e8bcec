/* A log of records that stores a field after the flush of its line and before the fence. The flush covers what the line
   held before. */

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
    r->value = value;
#ifndef FIXED
    flush(r, sizeof *r);
#endif
    r->length = sizeof r->value; /* BUG: stored after the flush of its line */
#ifdef FIXED
    flush(r, sizeof *r);
#endif
    fence();
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) append(p, 100 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->records[i].value != 100 + i || p->records[i].length != sizeof(uint64_t)) return false;
    return true;
}
