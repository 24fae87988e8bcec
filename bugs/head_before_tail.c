/* A queue of two positions. Enqueuing leaves the fence for its tail to the next operation, which is a dequeue: the head
   may be durable before the tail, and the queue has less than nothing in it. */

#include "pool.h"

enum { SLOTS = 4 };

struct pool {
    OWN_LINE word head;
    OWN_LINE word tail;
    struct slot {
        OWN_LINE word value;
    } slots[SLOTS];
};

static void enqueue(struct pool *p, uint64_t value)
{
    struct slot *s = &p->slots[p->tail % SLOTS];
    s->value = value;
    persist(s, sizeof *s);
    p->tail = p->tail + 1; /* BUG: not durable before the head follows it */
    flush(&p->tail, sizeof p->tail);
#ifdef FIXED
    fence();
#endif
}

static void dequeue(struct pool *p)
{
    p->head = p->head + 1;
    persist(&p->head, sizeof p->head);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) {
        enqueue(p, 20 + i);
        dequeue(p);
    }
}

static bool recover(struct pool *p)
{
    if (p->head > p->tail || p->tail - p->head > SLOTS) return false;
    for (uint64_t at = p->head; at < p->tail; at++)
        if (p->slots[at % SLOTS].value != 20 + at) return false;
    return true;
}
