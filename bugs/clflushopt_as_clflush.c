/* A log of records with one fence, after the counter. `clflush` would need none before: it is ordered with the stores
   that follow. `clflushopt` is not. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: its clflushopt is not ordered with the counter */
#ifdef FIXED
    _mm_clflush(r);
#else
    _mm_clflushopt(r);
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
