/* Two buffers of two lines each that take turns. The switch to a new one is durable before the buffer is flushed. */

#include "pool.h"

struct pool {
    OWN_LINE word version; /* its lowest bit is the buffer in use */
    struct buffer {
        OWN_LINE word first;
        OWN_LINE word last;
    } buffers[2];
};

static void update(struct pool *p, uint64_t version)
{
    struct buffer *b = &p->buffers[version % 2];
    b->first = version;
    b->last = version; /* BUG: flushed after the switch */
#ifdef FIXED
    persist(b, sizeof *b);
#endif
    p->version = version;
    persist(&p->version, sizeof p->version);
#ifndef FIXED
    persist(b, sizeof *b);
#endif
}

static void run(struct pool *p)
{
    for (uint64_t version = 1; version <= 3; version++) update(p, version);
}

static bool recover(struct pool *p)
{
    struct buffer *b = &p->buffers[p->version % 2];
    return b->first == p->version && b->last == p->version;
}
