/* Records of two lines that are durable after one fence: a record counts if its checksum is right. The checksum leaves
   out the second line. */

#include "pool.h"

enum { RECORDS = 3 };

struct pool {
    struct record {
        OWN_LINE word key;
        word sum;
        OWN_LINE word value;
    } records[RECORDS];
};

static uint64_t checksum(const struct record *r)
{
    uint64_t sum = 17 + r->key;
#ifdef FIXED
    sum = 31 * sum + r->value;
#endif
    return 31 * sum;
}

static void add(struct record *r, uint64_t key)
{
    r->key = key;
    r->value = 900 + key; /* BUG: the checksum does not cover it */
    r->sum = checksum(r);
    persist(r, sizeof *r);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < RECORDS; i++) add(&p->records[i], i + 1);
}

static bool recover(struct pool *p)
{
    for (int i = 0; i < RECORDS; i++) {
        struct record *r = &p->records[i];
        if (r->sum == checksum(r) && r->value != 900 + r->key) return false;
    }
    return true;
}
