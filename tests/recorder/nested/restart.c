/* A total and a log of amounts. A run only appends to the log; a restart adds what is logged to the total, and empties the
   log. Power that fails once shows nothing: each restart that is not interrupted is right.

   Usage: restart run POOL | restart POOL */

#include "../causes/u.h"

struct pool {
    _Alignas(64) volatile uint64_t total;
    _Alignas(64) volatile uint64_t count, base;
    _Alignas(64) volatile uint64_t log[8];
};

static void append(struct pool *p, uint64_t amount)
{
    p->log[p->count] = amount;
    persist(&p->log[p->count], 8);
    p->count++;
    persist(&p->count, 8);
}

static void restart(struct pool *p)
{
    if (p->count) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < p->count; i++) sum += p->log[i];
#if defined ADDS
        p->total += sum; /* ADDS: again, if power fails before the log is empty */
        persist(&p->total, 8);
#elif defined UNFLUSHED
        p->total = p->base + sum; /* UNFLUSHED: the log may be empty without it */
#else
        p->total = p->base + sum;
        persist(&p->total, 8);
#endif
        p->count = 0;
        persist(&p->count, 8);
    }
    p->base = p->total;
    persist(&p->base, 8);
}

int main(int count, char **words)
{
    int runs = count == 3;
    if (!runs) counterpoint_recovery_server();
    struct pool *p = map(words[count - 1], sizeof *p);
    if (runs) {
        for (uint64_t amount = 1; amount < 8; amount *= 2) append(p, amount);
        return 0;
    }
    restart(p);
    return (p->total & (p->total + 1)) != 0 || p->total > 7;
}
