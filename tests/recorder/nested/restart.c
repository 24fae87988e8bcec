/* A total and a log of amounts. A run only appends to the log; a restart adds what is logged to the total, and empties the
   log. A restart that is not interrupted is right: only power that fails in it shows what is wrong with it.

   Usage: restart run POOL | restart POOL MARKS */

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
    COUNTERPOINT_MARK("appended");
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

/* The total of the first amounts: 1, 2, 4. */
static uint64_t total_of(uint64_t amounts) { return (1u << amounts) - 1; }

static uint64_t promised(const char *marks)
{
    uint64_t lines = 0;
    FILE *file = fopen(marks, "r");
    for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
    return lines;
}

int main(int count, char **words)
{
    int runs = !strcmp(words[1], "run");
    if (!runs) counterpoint_recovery_server();
    struct pool *p = map(words[1 + runs], sizeof *p);
    if (runs) {
        for (uint64_t amounts = 0; amounts < 3; amounts++) append(p, total_of(amounts) + 1);
        return 0;
    }
    restart(p);
    uint64_t least = promised(words[2]);
    return p->total != total_of(least) && p->total != total_of(least + 1);
}
