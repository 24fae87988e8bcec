/* A value that is updated by copy: the new version goes into the slot that is not in use, which then is. The slot that
   is flushed is the old one. */

#include "pool.h"

struct pool {
    OWN_LINE word version; /* its lowest bit is the slot in use */
    struct slot {
        OWN_LINE word value;
    } slots[2];
};

static uint64_t expected(uint64_t version) { return 11 * version; }

static void update(struct pool *p, uint64_t version)
{
    struct slot *new = &p->slots[version % 2];
    new->value = expected(version); /* BUG: the old slot is flushed */
#ifdef FIXED
    persist(new, sizeof *new);
#else
    persist(&p->slots[p->version % 2], sizeof *new);
#endif
    p->version = version;
    persist(&p->version, sizeof p->version);
}

static void run(struct pool *p)
{
    for (uint64_t version = 1; version <= 3; version++) update(p, version);
}

static bool recover(struct pool *p) { return p->slots[p->version % 2].value == expected(p->version); }
