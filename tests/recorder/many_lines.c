/* A pool of 40 lines that are stored and never flushed, and a header after them, not flushed either. Its recovery reads
   the header and five of the lines: it fails where three of these are lost together and the others are not.
   Usage: many_lines POOL store | recover. */

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINES = 40, VALID = 1, DATA = 2 };

struct line { _Alignas(64) volatile uint64_t value; };
struct pool { struct line header, lines[LINES]; };

static int recovers(const struct pool *pool)
{
    if (pool->header.value != VALID || pool->lines[11].value != DATA || pool->lines[23].value != DATA) return 1;
    return pool->lines[5].value == DATA || pool->lines[17].value == DATA || pool->lines[29].value == DATA;
}

int main(int argc, char **argv)
{
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (argc != 3 || file < 0 || ftruncate(file, sizeof(struct pool))) return 2;
    struct pool *pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (strcmp(argv[2], "recover") == 0) return !recovers(pool);
    for (int line = 0; line < LINES; line++) pool->lines[line].value = DATA;
    pool->header.value = VALID;
    return 0;
}
