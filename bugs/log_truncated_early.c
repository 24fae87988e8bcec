/* A pair of words under an undo log, which ends before the pair is flushed. After a power failure there is nothing to
   restore a half-written pair from. */

#include "pair.h"

static void update(struct pool *p, uint64_t value)
{
    p->log.old = p->a;
    p->log.valid = 1;
    persist(&p->log, sizeof p->log);
    p->a = value;
    p->b = value; /* BUG: durable only after the log has ended */
#ifdef FIXED
    persist_pair(p);
#endif
    end_log(p);
#ifndef FIXED
    persist_pair(p);
#endif
}
