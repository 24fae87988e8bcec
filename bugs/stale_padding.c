/* A record in memory that was used before. Its fields are stored one by one, and its padding keeps what was there; the
   checksum, computed over a copy whose padding is zero, covers the padding too. */

#include "pool.h"

struct record {
    OWN_LINE volatile uint32_t kind; /* four bytes of padding follow */
    word value, sum;
};

struct pool {
    struct record records[2];
};

static uint64_t checksum(const struct record *r)
{
    uint64_t bytes[2];
    memcpy(bytes, (const void *)r, sizeof bytes);
    return 1 + 31 * bytes[0] + bytes[1];
}

static void write_record(struct record *r, uint32_t kind, uint64_t value)
{
    struct record copy;
    memset((void *)&copy, 0, sizeof copy);
    copy.kind = kind;
    copy.value = value;
#ifdef FIXED
    *(word *)r = 0;
#endif
    r->kind = kind;
    r->value = value;
    r->sum = checksum(&copy); /* BUG: covers padding that nothing has stored */
    persist(r, sizeof *r);
}

static void run(struct pool *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        *(word *)&p->records[i] = UINT64_MAX; /* what an earlier owner of the memory has left */
        persist(&p->records[i], LINE);
        write_record(&p->records[i], 5, 90 + i);
    }
}

static bool recover(struct pool *p)
{
    for (int i = 0; i < 2; i++)
        if (p->records[i].sum != 0 && p->records[i].sum != checksum(&p->records[i])) return false;
    return true;
}
