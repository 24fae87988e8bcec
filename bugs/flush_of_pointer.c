/* A log of records whose writer passes the address of its pointer to the flush, in place of the pointer: a line of the
   stack is written back, and the record is not. */

#include "records.h"

static void append(struct pool *p, uint64_t value)
{
    struct record *r = &p->records[p->count];
    r->value = value; /* BUG: the pointer to it is flushed */
#ifdef FIXED
    persist(r, sizeof *r);
#else
    persist(&r, sizeof r);
#endif
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
}
