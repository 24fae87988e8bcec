/* The journal of ../ci/journal.c on PMDK's libpmem: a record is durable before the count that includes it.

       journal_pmem POOL N        appends N records
       journal_pmem POOL check    its recovery: whether all records that count are there

   pmem_persist() is a flush and a drain. Two records may be flushed one after the other, and wait once: append_two(). */
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 63 };

struct record { uint64_t number, check; char unused[48]; };

struct journal {
    uint64_t count;
    char unused[56];
    struct record records[RECORDS];
};

static void fill(struct record *record, uint64_t at)
{
    record->number = at * 7;
    record->check = ~(at * 7);
    pmem_flush(record, sizeof *record);
}

static void append_two(struct journal *journal)
{
    uint64_t at = journal->count;
    fill(&journal->records[at], at);
    fill(&journal->records[at + 1], at + 1);
    pmem_drain(); /* before it is counted */
    journal->count = at + 2;
    pmem_persist(&journal->count, sizeof journal->count);
}

static int intact(const struct journal *journal)
{
    if (journal->count > RECORDS)
        return 0;
    for (uint64_t at = 0; at < journal->count; at++)
        if (journal->records[at].number != at * 7 || journal->records[at].check != ~(at * 7))
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    size_t length;
    int is_pmem;
    struct journal *journal;
    if (argc != 3)
        return 2;
    journal = pmem_map_file(argv[1], sizeof *journal, PMEM_FILE_CREATE, 0600, &length, &is_pmem);
    if (journal == NULL || length < sizeof *journal) {
        fprintf(stderr, "%s: %s\n", argv[1], pmem_errormsg());
        return 2;
    }
    if (!strcmp(argv[2], "check"))
        return !intact(journal);
    if (!is_pmem) {
        /* pmem_flush() is for persistent memory; an ordinary file would need pmem_msync(). */
        fprintf(stderr, "%s is not on persistent memory; PMEM_IS_PMEM_FORCE=1 takes it for that\n", argv[1]);
        return 2;
    }
    for (int left = atoi(argv[2]) / 2; left > 0 && journal->count + 2 <= RECORDS; left--)
        append_two(journal);
    return 0;
}
