/* A table of objects. The caller makes durable what it stores itself; what the constructor stored lies in a line of its
   own, and nobody flushes that. */

#include "pool.h"

enum { LEAF = 7 };

struct pool {
    OWN_LINE word count;
    struct object {
        OWN_LINE word type;
        OWN_LINE word value;
    } objects[4];
};

static void construct(struct object *o)
{
    o->type = LEAF; /* BUG: the constructor does not flush it */
#ifdef FIXED
    flush(&o->type, sizeof o->type);
#endif
}

static void add(struct pool *p, uint64_t number)
{
    struct object *o = &p->objects[number];
    construct(o);
    o->value = 500 + number;
    persist(&o->value, sizeof o->value);
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
        if (p->objects[i].type != LEAF || p->objects[i].value != 500 + i) return false;
    return true;
}
