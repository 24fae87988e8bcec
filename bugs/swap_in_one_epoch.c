/* Two slots that exchange what they hold, as a rename exchanges two names. Between the two stores, or with one of them
   lost, both hold the same. The fixed form first makes durable what it intends. */

#include "pool.h"

struct pool {
    OWN_LINE word created;
    OWN_LINE word first;
    OWN_LINE word second;
    struct intent {
        OWN_LINE word first;
        word second, valid;
    } intent;
};

static void set(struct pool *p, uint64_t first, uint64_t second)
{
    p->first = first;
    p->second = second; /* BUG: durable apart from the other slot */
    flush(&p->first, sizeof p->first);
    persist(&p->second, sizeof p->second);
}

static void create(struct pool *p)
{
    set(p, 1, 2);
    p->created = 1;
    persist(&p->created, sizeof p->created);
}

static void end_intent(struct pool *p)
{
    p->intent.valid = 0;
    persist(&p->intent, sizeof p->intent);
}

static void swap(struct pool *p)
{
    uint64_t first = p->second, second = p->first;
#ifdef FIXED
    p->intent.first = first;
    p->intent.second = second;
    p->intent.valid = 1;
    persist(&p->intent, sizeof p->intent);
#endif
    set(p, first, second);
#ifdef FIXED
    end_intent(p);
#endif
}

static void run(struct pool *p)
{
    create(p);
    for (int i = 0; i < 3; i++) swap(p);
}

static bool recover(struct pool *p)
{
    if (p->intent.valid) {
        set(p, p->intent.first, p->intent.second);
        end_intent(p);
    }
    return !p->created || (p->first == 1 && p->second == 2) || (p->first == 2 && p->second == 1);
}
