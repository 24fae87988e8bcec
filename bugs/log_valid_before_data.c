/* An undo log whose entry is marked valid in the same epoch in which it is written. The mark may be durable first;
   recovery then restores what the entry held before. */

#include "pool.h"

struct pool {
    OWN_LINE word value;
    OWN_LINE word acknowledged; /* updates that the caller was told of; the value is their number */
    struct log {
        OWN_LINE word valid;
        OWN_LINE word old;
    } log;
};

static void end_log(struct pool *p)
{
    p->log.valid = 0;
    persist(&p->log.valid, sizeof p->log.valid);
}

static void update(struct pool *p)
{
    p->log.old = p->value; /* BUG: the entry may be valid before it is durable */
#ifdef FIXED
    persist(&p->log.old, sizeof p->log.old);
#endif
    p->log.valid = 1;
    persist(&p->log, sizeof p->log);
    p->value = p->value + 1;
    persist(&p->value, sizeof p->value);
    end_log(p);
    p->acknowledged = p->value;
    persist(&p->acknowledged, sizeof p->acknowledged);
}

static void run(struct pool *p)
{
    for (int i = 0; i < 3; i++) update(p);
}

static bool recover(struct pool *p)
{
    if (p->log.valid) {
        p->value = p->log.old;
        persist(&p->value, sizeof p->value);
        end_log(p);
    }
    return p->value == p->acknowledged || p->value == p->acknowledged + 1;
}
