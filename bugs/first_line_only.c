/* A table of records of two lines each. One line is flushed, as if a record fitted into it. */

#include "pool.h"

struct pool {
    OWN_LINE word count;
    struct record {
        OWN_LINE word key;
        word name[7];
        word value; /* the first word of the second line */
    } records[4];
};

static void add(struct pool *p, uint64_t number)
{
    struct record *r = &p->records[number];
    r->key = number;
    r->name[0] = 300 + number;
    r->value = 400 + number; /* BUG: in the second line, which is not flushed */
#ifdef FIXED
    persist(r, sizeof *r);
#else
    persist(r, LINE);
#endif
    p->count = number + 1;
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) add(p, i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++) {
        struct record *r = &p->records[i];
        if (r->key != i || r->name[0] != 300 + i || r->value != 400 + i) return false;
    }
    return true;
}
