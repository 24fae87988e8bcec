/* A balance and a redo log, from which a restart completes a deposit. The log says what to add; a restart that is
   interrupted after adding it adds it again. */

#include "pool.h"

struct pool {
    OWN_LINE word balance;
    struct log {
        OWN_LINE word before;
        word amount, valid;
    } log;
};

static void begin(struct pool *p, uint64_t amount)
{
    p->log.before = p->balance;
    p->log.amount = amount;
    p->log.valid = 1;
    persist(&p->log, sizeof p->log);
}

static void restart(struct pool *p)
{
    if (!p->log.valid) return;
#ifdef FIXED
    p->balance = p->log.before + p->log.amount;
#else
    p->balance = p->balance + p->log.amount; /* BUG: durable before the log ends, and then added again */
#endif
    persist(&p->balance, sizeof p->balance);
    p->log.valid = 0;
    persist(&p->log, sizeof p->log);
}

/* Each deposit is cut short after its log is durable, and a restart completes it. */
static void run(struct pool *p)
{
    begin(p, 10);
    restart(p);
    begin(p, 100);
    restart(p);
}

static bool recover(struct pool *p)
{
    restart(p);
    return p->balance == 0 || p->balance == 10 || p->balance == 110;
}
