/* A pair of words under an undo log. The entry is flushed, but the pair is changed in place before a fence: its new
   bytes may be durable before the entry is. */

#include "pool.h"

struct pool {
    OWN_LINE word a;
    OWN_LINE word b;
    struct log {
        OWN_LINE word old;
        word valid;
    } log;
};

static void set(struct pool *p, uint64_t value)
{
    p->a = value;
    p->b = value;
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
    p->log.valid = 1; /* BUG: not durable before what it protects changes */
    flush(&p->log, sizeof p->log);
#ifdef FIXED
    fence();
#endif
    set(p, value);
    end_log(p);
}

static void run(struct pool *p)
{
    for (uint64_t value = 1; value <= 3; value++) update(p, value);
}

static bool recover(struct pool *p)
{
    if (p->log.valid) {
        set(p, p->log.old);
        end_log(p);
    }
    return p->a == p->b;
}
