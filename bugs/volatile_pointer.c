/* A table whose root is the address that its node had in the process that stored it. The next process maps the file
   elsewhere. The fixed form stores an offset in the file. */

#include "pool.h"

struct pool {
    OWN_LINE word root; /* 0 is no node */
    struct node {
        OWN_LINE word value;
    } nodes[3];
};

/* What a root is relative to. */
static uintptr_t origin(const struct pool *p)
{
#ifdef FIXED
    return (uintptr_t)p;
#else
    (void)p;
    return 0;
#endif
}

static void publish(struct pool *p, uint64_t number)
{
    struct node *n = &p->nodes[number];
    n->value = 80 + number;
    persist(n, sizeof *n);
    p->root = (uintptr_t)n - origin(p); /* BUG: an address of this process */
    persist(&p->root, sizeof p->root);
}

static void run(struct pool *p)
{
    for (uint64_t number = 0; number < 3; number++) publish(p, number);
}

static bool recover(struct pool *p)
{
    if (p->root == 0) return true;
    uintptr_t at = p->root + origin(p);
    if (at < (uintptr_t)p->nodes || at >= (uintptr_t)(p->nodes + 3)) return false;
    const struct node *n = (const struct node *)at;
    return n->value == 80 + (uint64_t)(n - p->nodes);
}
