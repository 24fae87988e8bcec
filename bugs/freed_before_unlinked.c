/* A list that frees its first node while the new head is only flushed: the freed node may be durable while the head
   still leads to it. */

#include "pool.h"

enum { NODES = 3, FREE = 99 };

struct pool {
    OWN_LINE word head; /* the number of a node, from 1 */
    struct node {
        OWN_LINE word value;
        word next;
    } nodes[1 + NODES];
};

static void insert(struct pool *p, uint64_t node)
{
    struct node *n = &p->nodes[node];
    n->value = node;
    n->next = p->head;
    persist(n, sizeof *n);
    p->head = node;
    persist(&p->head, sizeof p->head);
}

static void delete(struct pool *p)
{
    struct node *n = &p->nodes[p->head];
    p->head = n->next; /* BUG: not durable before the node is free */
    flush(&p->head, sizeof p->head);
#ifdef FIXED
    fence();
#endif
    n->value = FREE;
    persist(n, sizeof *n);
}

static void run(struct pool *p)
{
    for (uint64_t node = 1; node <= NODES; node++) insert(p, node);
    for (int i = 0; i < NODES; i++) delete(p);
}

static bool recover(struct pool *p)
{
    int length = 0;
    for (uint64_t node = p->head; node && length <= NODES; node = p->nodes[node].next, length++)
        if (p->nodes[node].value != node) return false;
    return length <= NODES;
}
