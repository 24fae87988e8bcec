/* A log of records that appends one without flushing it. Its counter is flushed and fenced, so the record is published
   while its bytes are in a cache only. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: never flushed */
#ifdef FIXED
    flush(r, sizeof *r);
#endif
    fence();
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
