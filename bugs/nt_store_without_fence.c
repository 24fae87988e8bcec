/* A log of records that are stored past the caches, which needs no flush. It needs a fence before the counter, and has
   none. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    _mm_stream_si64((long long *)&r->value, (long long)value); /* BUG: no fence comes before the counter */
#ifdef FIXED
    fence();
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
