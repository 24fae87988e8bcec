#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS 63

struct journal {
    uint64_t count;
    char unused[56];
    struct { uint64_t number, check; char unused[48]; } records[RECORDS];
};

static void flush(const void *address) { _mm_clflush(address); }

static void append(struct journal *journal)
{
    uint64_t at = journal->count;
    journal->records[at].number = at * 7;
    journal->records[at].check = ~(at * 7);
    flush(&journal->records[at]);
    _mm_sfence();
    journal->count = at + 1;
    flush(&journal->count);
    _mm_sfence();
    flush(&journal->count);
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
    int file = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof(struct journal)))
        return 2;
    struct journal *journal = mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (!strcmp(argv[2], "check"))
        return !intact(journal);
    _mm_sfence();
    for (int left = atoi(argv[2]); left > 0 && journal->count < RECORDS; left--)
        append(journal);
    return 0;
}
