/* An allocator with a bit for each block. The bit of a block that is published is not durable, so the block is free
   after a power failure, and is handed out again while it is in use. */

#include "pool.h"

enum { BLOCKS = 3 };

struct pool {
    OWN_LINE word taken;
    OWN_LINE word published[BLOCKS]; /* numbers of blocks, from 1 */
    struct block {
        OWN_LINE word value;
    } blocks[BLOCKS];
};

static uint64_t allocate(struct pool *p)
{
    uint64_t block = (uint64_t)__builtin_ctzll(~p->taken);
    p->taken = p->taken | (uint64_t)1 << block; /* BUG: not durable before the block is published */
#ifdef FIXED
    persist(&p->taken, sizeof p->taken);
#endif
    return block;
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint64_t block = allocate(p);
        p->blocks[block].value = 700 + block;
        persist(&p->blocks[block], sizeof p->blocks[block]);
        p->published[i] = block + 1;
        persist(&p->published[i], sizeof p->published[i]);
    }
}

static bool recover(struct pool *p)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < BLOCKS && p->published[i]; i++) {
        uint64_t block = p->published[i] - 1;
        if (block >= BLOCKS || p->blocks[block].value != 700 + block) return false;
        used |= (uint64_t)1 << block;
    }
    if (used & ~p->taken) return false;
    p->taken = used; /* a block that was never published is free again */
    persist(&p->taken, sizeof p->taken);
    return true;
}
