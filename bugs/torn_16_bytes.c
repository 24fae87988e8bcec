/* A table of slots that are valid if they have a key. Key and value are stored by one instruction of sixteen bytes, as
   if these became durable together; only eight do. */

#include "pool.h"

enum { SLOTS = 3 };

struct pool {
    struct slot {
        OWN_LINE word key;
        word value;
    } slots[SLOTS];
};

static void insert(struct slot *s, uint64_t key, uint64_t value)
{
#ifdef FIXED
    s->value = value;
    s->key = key;
#else
    _mm_store_si128((__m128i *)s, _mm_set_epi64x((long long)value, (long long)key)); /* BUG: may be torn */
#endif
    persist(s, sizeof *s);
}

static void run(struct pool *p)
{
    for (uint64_t i = 0; i < SLOTS; i++) insert(&p->slots[i], i + 1, 600 + i);
}

static bool recover(struct pool *p)
{
    for (uint64_t i = 0; i < SLOTS; i++)
        if (p->slots[i].key != 0 && p->slots[i].value != 600 + i) return false;
    return true;
}
