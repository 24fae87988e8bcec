/* Small loops of one kind of operation each, to see what a machine takes for it:

       loops KIND PASSES BYTES LINES WARM

   over so many bytes, with so many lines in a pass of `flush`, `copy` and `read`; WARM: each line is read before. One build runs
   under gem5 and where it is recorded: with LOOPS_FILE set, memory is a file of that name, and nothing tells gem5 where the measured
   part is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static const char *file;
static volatile long sink;
static void begin(void) { if (!file) __asm__ volatile(".byte 0x0f,0x04; .word 0x5a" ::"D"(0L), "S"(0L) : "rax", "memory"); }
static void end(void) { if (!file) __asm__ volatile(".byte 0x0f,0x04; .word 0x5b" ::"D"(0L), "S"(0L) : "rax", "memory"); }
#define CLWB(p) __asm__ volatile(".byte 0x66; xsaveopt (%0)" ::"r"(p) : "memory")
#define AT(line) (m + ((line) & (lines - 1)) * 64)
#define FENCE() __asm__ volatile("sfence" ::: "memory")
int main(int c, char **v) {
    if (c != 6) { fprintf(stderr, "loops KIND PASSES BYTES LINES WARM\n"); return 2; }
    file = getenv("LOOPS_FILE");
    long n = atol(v[2]), bytes = atol(v[3]), k = atol(v[4]), warm = atol(v[5]);
    int fd = file ? open(file, O_CREAT | O_RDWR | O_TRUNC, 0600) : -1;
    if (file && (fd < 0 || ftruncate(fd, bytes) != 0)) { perror(file); return 1; }
    char *m = mmap(0, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (m == MAP_FAILED) { perror("mmap"); return 1; }
    long lines = bytes / 64;
    memset(m, 1, bytes);
    /* a random cycle over all lines */
    uint64_t s = 88172645463325252ULL; long *o = malloc(lines * sizeof *o);
    for (long i = 0; i < lines; i++) o[i] = i;
    for (long i = lines - 1; i > 0; i--) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; long j = s % i, t = o[i]; o[i] = o[j]; o[j] = t; }
    for (long i = 0; i < lines; i++) *(char **)(m + o[i] * 64) = m + o[(i + 1) % lines] * 64;
    char *p = m;
    char log[4096];
    memset(log, 2, sizeof log);
    if (warm) for (long i = 0; i < lines; i++) p = *(char *volatile *)p;
    begin();
    if (!strcmp(v[1], "alu")) { long x = n; for (long i = 0; i < n; i++) __asm__ volatile("add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0" : "+r"(x)); }
    else if (!strcmp(v[1], "ind")) { long a = 0, b = 0, d = 0, e = 0; for (long i = 0; i < n; i++) __asm__ volatile("add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3" : "+r"(a), "+r"(b), "+r"(d), "+r"(e)); }
    else if (!strcmp(v[1], "chase")) for (long i = 0; i < n; i++) p = *(char *volatile *)p;
    else if (!strcmp(v[1], "seq")) { long x = 0; for (long i = 0; i < n; i++) x += *(volatile long *)(AT(i)); sink = x; }
    else if (!strcmp(v[1], "store")) for (long i = 0; i < n; i++) *(volatile long *)(AT(i) + 8) = i;
    else if (!strcmp(v[1], "flush")) for (long i = 0; i < n; i++) { for (long j = 0; j < k; j++) *(volatile long *)(AT(i * k + j) + 8) = i; for (long j = 0; j < k; j++) CLWB(AT(i * k + j)); FENCE(); }
    else if (!strcmp(v[1], "clean")) for (long i = 0; i < n; i++) { CLWB(AT(i)); FENCE(); }
    /* a block is read, or is copied into one that is at hand, or one at hand is copied into it */
    else if (!strcmp(v[1], "read")) { long x = 0; for (long i = 0; i < n; i++) for (long j = 0; j < k; j++) x += *(volatile long *)(m + ((i * k * 7 + j) & (lines - 1)) * 64); sink = x; }
    else if (!strcmp(v[1], "copy")) for (long i = 0; i < n; i++) { memcpy(log, AT(i * k * 7), k * 64); __asm__ volatile("" ::: "memory"); }
    else if (!strcmp(v[1], "fill")) for (long i = 0; i < n; i++) { memcpy(AT(i * k * 7), log, k * 64); __asm__ volatile("" ::: "memory"); }
    else if (!strcmp(v[1], "branch")) { uint64_t r = 88172645463325252ULL; long x = 0; for (long i = 0; i < n; i++) { r ^= r << 13; r ^= r >> 7; r ^= r << 17; if (r & 1) __asm__ volatile("add $1, %0" : "+r"(x)); else __asm__ volatile("sub $3, %0" : "+r"(x)); } }
    end();
    if (p == (char *)1) puts("");
    return 0;
}
