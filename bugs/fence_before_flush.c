/* A log of records whose writer fences first and flushes then: no fence waits for the flush before the counter is
   stored. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: its flush comes after the fence */
#ifdef FIXED
    flush(r, sizeof *r);
    fence();
#else
    fence();
    flush(r, sizeof *r);
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
