/* A pair of words under an undo log. A restart restores the pair and ends the log, but does not flush what it has
   restored. */

#define OWN_RUN
#include "pair.h"

/* Changes one word of the pair, and is then cut short. */
static void begin(struct pool *p, uint64_t value)
{
    p->log.old = p->a;
    p->log.valid = 1;
    persist(&p->log, sizeof p->log);
    p->a = value;
    persist(&p->a, sizeof p->a);
}

static void restart(struct pool *p)
{
    if (!p->log.valid) return;
    p->a = p->log.old; /* BUG: the log ends before this is durable */
#ifdef FIXED
    persist(&p->a, sizeof p->a);
#endif
    end_log(p);
}

static void run(struct pool *p)
{
    for (uint64_t value = 1; value <= 2; value++) {
        begin(p, value);
        restart(p);
    }
}

static bool recover(struct pool *p)
{
    restart(p);
    return p->a == p->b;
}
