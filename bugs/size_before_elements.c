/* A vector that grows before it has the element: its size is durable, and the element is not yet stored. */

#include "records.h"

static void store(struct record *element, uint64_t value)
{
    element->value = value;
    persist(element, sizeof *element);
}

static void append(struct pool *p, uint64_t value)
{
    struct record *element = &p->records[p->count];
#ifdef FIXED
    store(element, value);
#endif
    p->count = p->count + 1; /* BUG: durable before the element */
    persist(&p->count, sizeof p->count);
#ifndef FIXED
    store(element, value);
#endif
}
