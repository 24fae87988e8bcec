/* A ring that drops its oldest item when it is full. The slot is overwritten before it is durable that it is no longer
   in use, so the new item may be found in the place of the oldest. */

#include "pool.h"

enum { SLOTS = 2 };

struct pool {
    OWN_LINE word head;
    OWN_LINE word tail;
    struct slot {
        OWN_LINE word value;
    } slots[SLOTS];
};

static void push(struct pool *p, uint64_t value)
{
    if (p->tail - p->head == SLOTS) {
        p->head = p->head + 1; /* BUG: not durable before its slot is overwritten */
        flush(&p->head, sizeof p->head);
#ifdef FIXED
        fence();
#endif
    }
    struct slot *s = &p->slots[p->tail % SLOTS];
    s->value = value;
    persist(s, sizeof *s);
    p->tail = p->tail + 1;
    persist(&p->tail, sizeof p->tail);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 4; i++) push(p, 30 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t at = p->head; at < p->tail; at++)
        if (p->slots[at % SLOTS].value != 30 + at) return false;
    return true;
}
