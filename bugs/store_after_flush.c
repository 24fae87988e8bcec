/* A log of records that stores a field after the flush of its line and before the fence. The flush covers what the line
   held before. */

#define LENGTH sizeof(uint64_t)
#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value;
#ifndef FIXED
    flush(r, sizeof *r);
#endif
    r->length = LENGTH; /* BUG: stored after the flush of its line */
#ifdef FIXED
    flush(r, sizeof *r);
#endif
    fence();
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
