/* A table of nodes whose writer passes the address of its pointer to the flush, in place of the pointer: a line of the
   stack is written back, and the node is not. */

#include "pool.h"

struct pool {
    OWN_LINE word count;
    struct node {
        OWN_LINE word value;
    } nodes[4];
};

static uint64_t expected(uint64_t number) { return 200 + number; }

static void add(struct pool *p, uint64_t number)
{
    struct node *n = &p->nodes[number];
    n->value = expected(number); /* BUG: the pointer to it is flushed */
#ifdef FIXED
    persist(n, sizeof *n);
#else
    persist(&n, sizeof n);
#endif
    p->count = number + 1;
    persist(&p->count, sizeof p->count);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < 3; i++) add(p, i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->nodes[i].value != expected(i)) return false;
    return true;
}
