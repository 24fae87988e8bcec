/* Two accounts in two lines, whose sum stays zero. A transfer changes both in place, and nothing publishes the two at
   once. The fixed form writes a copy and switches to it by one store. */

#include "pool.h"

struct pool {
    OWN_LINE word current;
    struct accounts {
        OWN_LINE word from;
        OWN_LINE word to;
    } copies[2];
};

static void transfer(struct pool *p, uint64_t amount)
{
    uint64_t next = p->current;
#ifdef FIXED
    next = !next;
#endif
    struct accounts *old = &p->copies[p->current], *new = &p->copies[next];
    new->from = old->from - amount;
    new->to = old->to + amount; /* BUG: durable apart from the other account */
    persist(new, sizeof *new);
    p->current = next;
    persist(&p->current, sizeof p->current);
}

static void run(struct pool *p)
{
    for (uint64_t amount = 10; amount <= 30; amount += 10) transfer(p, amount);
}

static bool recover(struct pool *p)
{
    struct accounts *now = &p->copies[p->current];
    return now->from + now->to == 0;
}
