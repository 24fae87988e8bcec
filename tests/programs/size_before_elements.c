/* A vector that grows before it has the element: its size is durable, and the element is not yet stored. */

#include "pool.h"

struct pool {
    OWN_LINE word size;
    struct element {
        OWN_LINE word value;
    } elements[4];
};

static void store(struct element *e, uint64_t value)
{
    e->value = value;
    persist(e, sizeof *e);
}

static void append(struct pool *p, uint64_t value)
{
    struct element *e = &p->elements[p->size];
#ifdef FIXED
    store(e, value);
#endif
    p->size = p->size + 1; /* BUG: durable before the element */
    persist(&p->size, sizeof p->size);
#ifndef FIXED
    store(e, value);
#endif
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) append(p, 40 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->size; i++)
        if (p->elements[i].value != 40 + i) return false;
    return true;
}
