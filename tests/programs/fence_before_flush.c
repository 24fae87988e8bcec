/* A log of records whose writer fences first and flushes then: no fence waits for the flush before the counter is
   stored. */

#include "pool.h"

struct pool {
    OWN_LINE word count;
    struct record {
        OWN_LINE word value;
    } records[4];
};

static uint64_t expected(uint64_t number) { return 100 + number; }

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: its flush comes after the fence */
#ifdef FIXED
    flush(r, sizeof *r);
    fence();
#else
    fence();
    flush(r, sizeof *r);
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) append(p, expected(i));
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->records[i].value != expected(i)) return false;
    return true;
}
