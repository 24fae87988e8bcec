/* A pair of words and a flag of two phases: while it says PREPARED, recovery restores the pair. Without fences between
   the phases the pair may be durable in part, and the flag as it was before or will be afterwards. */

#include "pool.h"

enum { IDLE, PREPARED, COMMITTED };

struct pool {
    OWN_LINE word phase;
    OWN_LINE word old;
    OWN_LINE word a;
    OWN_LINE word b;
};

static void end_phase(void)
{
#ifdef FIXED
    fence();
#endif
}

static void enter(struct pool *p, uint64_t phase)
{
    p->phase = phase;
    flush(&p->phase, sizeof p->phase);
}

static void set(struct pool *p, uint64_t value)
{
    p->a = value;
    p->b = value; /* BUG: in one epoch with both phases */
    flush(&p->a, sizeof p->a);
    flush(&p->b, sizeof p->b);
}

static void update(struct pool *p, uint64_t value)
{
    p->old = p->a;
    persist(&p->old, sizeof p->old);
    enter(p, PREPARED);
    end_phase();
    set(p, value);
    end_phase();
    enter(p, COMMITTED);
    fence();
}

static void run(struct pool *p)
{
    for (uint64_t value = 1; value <= 3; value++) update(p, value);
}

static bool recover(struct pool *p)
{
    if (p->phase == PREPARED) {
        set(p, p->old);
        fence();
        enter(p, IDLE);
        fence();
    }
    return p->a == p->b;
}
