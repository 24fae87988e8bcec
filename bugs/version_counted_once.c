/* A pair of words under a version number, as of a seqlock: while the number is odd, a write is under way, and recovery
   takes the pair from its copy. The number is advanced once for each write, and so is even during every other. */

#include "pool.h"

struct pool {
    OWN_LINE word version;
    OWN_LINE word copy;
    OWN_LINE word a;
    OWN_LINE word b;
};

static void advance(struct pool *p)
{
    p->version = p->version + 1;
    persist(&p->version, sizeof p->version);
}

static void set(struct pool *p, uint64_t value)
{
    p->a = value;
    p->b = value; /* BUG: the version is not odd while this is not durable */
    flush(&p->a, sizeof p->a);
    persist(&p->b, sizeof p->b);
}

static void write_pair(struct pool *p, uint64_t value)
{
    p->copy = p->a;
    persist(&p->copy, sizeof p->copy);
#ifdef FIXED
    advance(p);
#endif
    set(p, value);
    advance(p);
}

static void run(struct pool *p)
{
    for (uint64_t value = 1; value <= 3; value++) write_pair(p, value);
}

static bool recover(struct pool *p)
{
    if (p->version % 2) {
        set(p, p->copy);
        advance(p);
    }
    return p->a == p->b;
}
