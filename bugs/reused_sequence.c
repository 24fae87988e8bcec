/* A redo log with one fence: an entry belongs to the newest transaction if it has its sequence number. With numbers
   that come again, an entry of an earlier transaction belongs to it as well. */

#include "pool.h"

struct pool {
    struct cell {
        OWN_LINE word value;
    } cells[2];
    struct head {
        OWN_LINE word entries;
        word sequence;
    } head;
    struct entry {
        OWN_LINE word value;
        word sequence;
    } log[2];
};

static uint64_t sequence_of(uint64_t transaction)
{
#ifdef FIXED
    return transaction;
#else
    return 1 + transaction % 2;
#endif
}

static void apply(struct pool *p)
{
    for (uint64_t i = 0; i < p->head.entries; i++) p->cells[i].value = p->log[i].value;
    persist(p->cells, sizeof p->cells);
}

/* Gives the first cells, as many as `cells`, the number of the transaction. */
static void commit(struct pool *p, uint64_t transaction, uint64_t cells)
{
    for (uint64_t i = 0; i < cells; i++) {
        p->log[i].sequence = 0; /* in one line these stores become durable in their order */
        p->log[i].value = transaction;
        p->log[i].sequence = sequence_of(transaction); /* BUG: an older entry of this place may have the same number */
    }
    p->head.entries = cells;
    p->head.sequence = sequence_of(transaction);
    flush(p->log, sizeof p->log);
    persist(&p->head, sizeof p->head);
    apply(p);
}

static void run(struct pool *p)
{
    commit(p, 1, 2);
    commit(p, 2, 1);
    commit(p, 3, 2);
}

static bool recover(struct pool *p)
{
    bool complete = p->head.sequence != 0;
    for (uint64_t i = 0; i < p->head.entries; i++) complete &= p->log[i].sequence == p->head.sequence;
    if (complete) apply(p);
    uint64_t a = p->cells[0].value, b = p->cells[1].value;
    return a == b || (a == 2 && b == 1);
}
