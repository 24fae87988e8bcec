/* A log of records that makes its counter durable before the record: the two flushes are in the wrong order. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: flushed after the counter */
#ifdef FIXED
    persist(r, sizeof *r);
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
#ifndef FIXED
    persist(r, sizeof *r);
#endif
}
