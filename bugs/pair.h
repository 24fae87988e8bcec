/* What the pairs of words under an undo log share: both words have the same value, and the log holds the old one. */

#include "pool.h"

struct pool {
    OWN_LINE word a;
    OWN_LINE word b;
    struct log {
        OWN_LINE word old;
        word valid;
    } log;
};

static inline void persist_pair(struct pool *p)
{
    flush(&p->a, sizeof p->a);
    persist(&p->b, sizeof p->b);
}

static inline void end_log(struct pool *p)
{
    p->log.valid = 0;
    persist(&p->log, sizeof p->log);
}

#ifndef OWN_RUN
static void update(struct pool *p, uint64_t value);

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
#endif
