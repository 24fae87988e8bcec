/* Nodes that two pointers lead to, one of a list and one of an index. Both change in one epoch, so one of them may be
   durable without the other. The fixed form first makes durable what it intends. */

#include "pool.h"

struct pool {
    OWN_LINE word by_list;
    OWN_LINE word by_index;
    OWN_LINE word intended; /* the node that both are to lead to, 0 if both do */
    struct node {
        OWN_LINE word value;
    } nodes[4];
};

static void intend(struct pool *p, uint64_t node)
{
    p->intended = node;
    persist(&p->intended, sizeof p->intended);
}

static void point_to(struct pool *p, uint64_t node)
{
    p->by_list = node;
    p->by_index = node; /* BUG: durable apart from the other pointer */
    flush(&p->by_list, sizeof p->by_list);
    persist(&p->by_index, sizeof p->by_index);
}

static void publish(struct pool *p, uint64_t node)
{
    p->nodes[node].value = 800 + node;
    persist(&p->nodes[node], sizeof p->nodes[node]);
#ifdef FIXED
    intend(p, node);
#endif
    point_to(p, node);
#ifdef FIXED
    intend(p, 0);
#endif
}

static void run(struct pool *p)
{
    for (uint64_t node = 1; node <= 3; node++) publish(p, node);
}

static bool recover(struct pool *p)
{
    if (p->intended) {
        point_to(p, p->intended);
        intend(p, 0);
    }
    return p->by_list == p->by_index && (p->by_list == 0 || p->nodes[p->by_list].value == 800 + p->by_list);
}
