/* What the logs of records share: a record is appended in a line of its own, and the counter says how many there are. */

#include "pool.h"

enum { RECORDS = 3 };

#ifndef LENGTH
#define LENGTH 0 /* of a record whose length is never stored */
#endif

struct pool {
    OWN_LINE word count;
    struct record {
        OWN_LINE word value;
        word length;
    } records[RECORDS + 1];
};

static inline uint64_t expected(uint64_t number) { return 100 + number; }

#ifndef OWN_RUN
static void append(struct pool *p, uint64_t value);

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < RECORDS; i++) append(p, expected(i));
}
#endif

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < p->count; i++)
        if (p->records[i].value != expected(i) || p->records[i].length != LENGTH) return false;
    return true;
}
