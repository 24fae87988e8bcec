/* A hash table that grows: every key goes into a larger table, which then takes the place of the old one. It does so
   before the keys in it are durable. */

#include "pool.h"

enum { KEYS = 2 };

static const uint64_t keys[KEYS] = {5, 6};

struct pool {
    OWN_LINE word current; /* the table in use */
    struct table {
        OWN_LINE word keys[4]; /* 0 is no key */
    } tables[2];
};

static word *place(struct pool *p, uint64_t table, uint64_t key) { return &p->tables[table].keys[key % (2 << table)]; }

static void insert(struct pool *p, uint64_t key)
{
    word *at = place(p, p->current, key);
    *at = key;
    persist(at, sizeof *at);
}

static void grow(struct pool *p)
{
    for (int i = 0; i < KEYS; i++) *place(p, 1, keys[i]) = keys[i]; /* BUG: not durable before the table is in use */
#ifdef FIXED
    persist(&p->tables[1], sizeof p->tables[1]);
#endif
    p->current = 1;
    persist(&p->current, sizeof p->current);
#ifndef FIXED
    persist(&p->tables[1], sizeof p->tables[1]);
#endif
}

static void run(struct pool *p)
{
    for (int i = 0; i < KEYS; i++) insert(p, keys[i]);
    grow(p);
}

static bool recover(struct pool *p)
{
    if (p->current == 0) return true;
    for (int i = 0; i < KEYS; i++)
        if (*place(p, 1, keys[i]) != keys[i]) return false;
    return true;
}
