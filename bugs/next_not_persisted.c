/* A list that makes a new node durable, and stores its link to the rest only then. Its head may be durable and the
   link not: the rest is lost. */

#include "pool.h"

enum { NODES = 3 };

struct pool {
    OWN_LINE word head; /* the number of a node, from 1 */
    struct node {
        OWN_LINE word length;
        word next;
    } nodes[1 + NODES];
};

static void insert(struct pool *p, uint64_t node)
{
    struct node *n = &p->nodes[node];
    n->length = node;
#ifndef FIXED
    persist(n, sizeof *n);
#endif
    n->next = p->head; /* BUG: stored after the node was made durable */
#ifdef FIXED
    persist(n, sizeof *n);
#endif
    p->head = node;
    persist(&p->head, sizeof p->head);
}

static void run(struct pool *p)
{
    for (uint64_t node = 1; node <= NODES; node++) insert(p, node);
}

static bool recover(struct pool *p)
{
    uint64_t length = 0, first = p->nodes[p->head].length;
    for (uint64_t node = p->head; node && length < NODES; node = p->nodes[node].next) length++;
    return length == first;
}
