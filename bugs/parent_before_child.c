/* A tree of one level that splits its full leaf. The parent leads to the new leaf before what was moved there is
   durable. */

#include "pool.h"

enum { KEYS = 4, HALF = KEYS / 2 };

struct leaf {
    OWN_LINE word count;
    word keys[KEYS];
};

struct pool {
    struct parent {
        OWN_LINE word separator;
        word split; /* once split, keys from the separator on are in the right leaf */
    } parent;
    struct leaf left, right;
};

static void insert(struct leaf *l, uint64_t key)
{
    l->keys[l->count] = key;
    l->count = l->count + 1;
    persist(l, sizeof *l);
}

static void split(struct pool *p)
{
    for (int i = 0; i < HALF; i++) p->right.keys[i] = p->left.keys[HALF + i];
    p->right.count = HALF; /* BUG: not durable before the parent */
#ifdef FIXED
    persist(&p->right, sizeof p->right);
#endif
    p->parent.separator = p->left.keys[HALF];
    p->parent.split = 1;
    persist(&p->parent, sizeof p->parent);
#ifndef FIXED
    persist(&p->right, sizeof p->right);
#endif
    p->left.count = HALF;
    persist(&p->left, sizeof p->left);
}

static bool found(struct pool *p, uint64_t key)
{
    struct leaf *l = p->parent.split && key >= p->parent.separator ? &p->right : &p->left;
    for (uint64_t i = 0; i < l->count; i++)
        if (l->keys[i] == key) return true;
    return false;
}

static void run(struct pool *p)
{
    for (uint64_t key = 1; key <= KEYS; key++) insert(&p->left, key);
    split(p);
}

static bool recover(struct pool *p)
{
    uint64_t keys = p->parent.split ? KEYS : p->left.count;
    for (uint64_t key = 1; key <= keys; key++)
        if (!found(p, key)) return false;
    return true;
}
