/* A vector that stores an element and then its counter, and flushes both at once. That is right while they lie in one
   line, where stores become durable in their order; the later elements lie in the next line. */

#include "pool.h"

enum { ITEMS = 9 };

struct pool {
    OWN_LINE word count;
    word items[ITEMS]; /* seven in the line of the counter */
};

static void append(struct pool *p, uint64_t value)
{
    word *item = &p->items[p->count];
    *item = value; /* BUG: from the eighth on in another line than the counter */
#ifdef FIXED
    persist(item, sizeof *item);
#endif
    p->count = p->count + 1;
    flush(item, sizeof *item);
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < ITEMS; i++) append(p, 40 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->items[i] != 40 + i) return false;
    return true;
}
