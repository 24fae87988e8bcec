/* A pair of words under an undo log. The entry is flushed, but the pair is changed in place before a fence: its new
   bytes may be durable before the entry is. */

#include "pair.h"

static void update(struct pool *p, uint64_t value)
{
    p->log.old = p->a;
    p->log.valid = 1; /* BUG: not durable before what it protects changes */
    flush(&p->log, sizeof p->log);
#ifdef FIXED
    fence();
#endif
    p->a = value;
    p->b = value;
    persist_pair(p);
    end_log(p);
}
