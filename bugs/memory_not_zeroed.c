/* A log whose end is the first zero. It takes over a block that was used before, and is published without its entries
   having been set to zero: recovery reads what the former owner left. */

#include "pool.h"

enum { ENTRIES = 4 };

struct pool {
    OWN_LINE word log; /* 1 once the block is the log */
    struct block {
        OWN_LINE word entries[ENTRIES];
    } block;
};

static void use_for_data(struct block *b)
{
    for (int i = 0; i < ENTRIES; i++) b->entries[i] = 7;
    persist(b, sizeof *b);
}

static void use_as_log(struct pool *p)
{
#ifdef FIXED
    for (int i = 0; i < ENTRIES; i++) p->block.entries[i] = 0;
    persist(&p->block, sizeof p->block);
#endif
    p->log = 1; /* BUG: the block still holds what it held before */
    persist(&p->log, sizeof p->log);
}

static void run(struct pool *p)
{
    use_for_data(&p->block);
    use_as_log(p);
    for (uint64_t i = 0; i < ENTRIES - 1; i++) {
        p->block.entries[i] = 50 + i;
        persist(&p->block.entries[i], sizeof(word));
    }
}

static bool recover(struct pool *p)
{
    if (!p->log) return true;
    for (uint64_t i = 0; i < ENTRIES && p->block.entries[i]; i++)
        if (p->block.entries[i] != 50 + i) return false;
    return true;
}
