/* A value in two slots that take turns, so that one of them is always whole: its checksum says which. The checksum is
   computed before the last field is stored, and is wrong once that field is durable. */

#include "pool.h"

struct pool {
    struct slot {
        OWN_LINE word value;
        word version, sum;
    } slots[2];
};

static uint64_t checksum(const struct slot *s) { return 31 * s->value + 17 * s->version; }

static void update(struct pool *p, uint64_t version)
{
    struct slot *s = &p->slots[version % 2];
    s->value = 1000 + version;
#ifndef FIXED
    s->sum = checksum(s);
#endif
    s->version = version; /* BUG: the checksum was computed before */
#ifdef FIXED
    s->sum = checksum(s);
#endif
    persist(s, sizeof *s);
}

static void run(struct pool *p)
{
    for (uint64_t version = 1; version <= 3; version++) update(p, version);
}

static bool recover(struct pool *p)
{
    bool whole = false;
    for (int i = 0; i < 2; i++) whole |= p->slots[i].sum == checksum(&p->slots[i]);
    return whole;
}
