/* What the programs of this folder share: a mapped file, flushes, fences, and `main`.

   Usage: PROGRAM run FILE | PROGRAM recover FILE

   `run` works on FILE. `recover` opens FILE as after a power failure, repairs it, and exits with 0 if what the program
   promises holds, and with 1 if not; any other end but 0 is a failure as well.

   A program defines `struct pool`, which lies at the beginning of FILE, `run`, and `recover`. A file of zeros is always
   legal: it is what a power failure leaves before the first store. */

#define _GNU_SOURCE
#include <counterpoint_program.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 64, POOL = 8192 };

/* Persistent data: each assignment is one store of eight bytes, in the order of the program. */
typedef volatile uint64_t word;

/* The member begins a line; those that follow share it while it has room. */
#define OWN_LINE _Alignas(LINE)

struct pool;
static void run(struct pool *p);
static bool recover(struct pool *p);

static inline void flush_line(uintptr_t line)
{
    if (__builtin_cpu_supports("clwb"))
        _mm_clwb((void *)line);
    else
        _mm_clflush((void *)line);
}

/* Writes back every line of a range, without waiting. */
static inline void flush(const volatile void *address, size_t length)
{
    uintptr_t end = (uintptr_t)address + length;
    for (uintptr_t line = (uintptr_t)address & -(uintptr_t)LINE; line < end; line += LINE) flush_line(line);
}

static inline void fence(void) { _mm_sfence(); }

/* Makes a range durable. */
static inline void persist(const volatile void *address, size_t length)
{
    flush(address, length);
    fence();
}

int main(int count, char **arguments)
{
    bool runs = count == 3 && strcmp(arguments[1], "run") == 0;
    if (!runs && (count != 3 || strcmp(arguments[1], "recover") != 0)) {
        fprintf(stderr, "usage: %s run|recover FILE\n", arguments[0]);
        return 2;
    }
    if (!runs) counterpoint_recovery_server();
    int file = open(arguments[2], O_RDWR | O_CREAT, 0600);
    void *memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, POOL) == 0)
        memory = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        perror(arguments[2]);
        return 2;
    }
    if (!runs) return recover(memory) ? 0 : 1;
    run(memory);
    return 0;
}
