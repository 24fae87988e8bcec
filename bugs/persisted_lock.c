/* A counter under a lock that lies in persistent memory. If power fails while the lock is held, nobody is left to
   release it. The fixed form initialises it at each start. */

#include "pool.h"

enum { TRIES = 1000, ADDED = 3 };

struct pool {
    OWN_LINE word lock;
    OWN_LINE word count;
};

static bool acquire(struct pool *p)
{
    for (int tries = 0; tries < TRIES; tries++)
        if (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE) == 0) return true; /* BUG: outlives its owner */
    return false;
}

static void release(struct pool *p)
{
    p->lock = 0;
    persist(&p->lock, sizeof p->lock);
}

static bool add(struct pool *p)
{
    if (!acquire(p)) return false;
    p->count = p->count + 1;
    persist(&p->count, sizeof p->count);
    release(p);
    return true;
}

static void run(struct pool *p)
{
    for (int i = 0; i < ADDED; i++) add(p);
}

static bool recover(struct pool *p)
{
#ifdef FIXED
    release(p);
#endif
    if (!acquire(p)) return false;
    bool holds = p->count <= ADDED;
    release(p);
    return holds;
}
