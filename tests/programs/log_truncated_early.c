/* A pair of words under an undo log, which ends before the pair is flushed. After a power failure there is nothing to
   restore a half-written pair from. */

#include "pool.h"

struct pool {
    OWN_LINE word a;
    OWN_LINE word b;
    struct log {
        OWN_LINE word old;
        word valid;
    } log;
};

static void persist_pair(struct pool *p)
{
    flush(&p->a, sizeof p->a);
    persist(&p->b, sizeof p->b);
}

static void end_log(struct pool *p)
{
    p->log.valid = 0;
    persist(&p->log, sizeof p->log);
}

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

static void run(struct pool *p)
{
    for (uint64_t value = 1; value <= 3; value++) update(p, value);
}

static bool recover(struct pool *p)
{
    if (p->log.valid) {
        p->a = p->log.old;
        p->b = p->log.old;
        persist_pair(p);
        end_log(p);
    }
    return p->a == p->b;
}
