/* A log of records that flushes one and stores its counter without a fence between the two. One fence waits for both,
   so the counter may be durable first. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: flushed, but no fence comes before the counter */
    flush(r, sizeof *r);
#ifdef FIXED
    fence();
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
