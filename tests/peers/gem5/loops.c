/* Small loops of one kind of operation each, to see what a machine takes for it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static void begin(void) { __asm__ volatile(".byte 0x0f,0x04; .word 0x5a" ::"D"(0L), "S"(0L) : "rax", "memory"); }
static void end(void) { __asm__ volatile(".byte 0x0f,0x04; .word 0x5b" ::"D"(0L), "S"(0L) : "rax", "memory"); }
#define CLWB(p) __asm__ volatile(".byte 0x66; xsaveopt (%0)" ::"r"(p) : "memory")
#define FENCE() __asm__ volatile("sfence" ::: "memory")
int main(int c, char **v) {
    long n = atol(v[2]), bytes = atol(v[3]), k = c > 4 ? atol(v[4]) : 1;
    char *m = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long lines = bytes / 64;
    memset(m, 1, bytes);
    /* a random cycle over all lines */
    uint64_t s = 88172645463325252ULL; long *o = malloc(lines * sizeof *o);
    for (long i = 0; i < lines; i++) o[i] = i;
    for (long i = lines - 1; i > 0; i--) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; long j = s % i, t = o[i]; o[i] = o[j]; o[j] = t; }
    for (long i = 0; i < lines; i++) *(char **)(m + o[i] * 64) = m + o[(i + 1) % lines] * 64;
    char *p = m;
    if (!strcmp(v[1], "warm")) return 0;
    if (c > 5) for (long i = 0; i < lines; i++) p = *(char *volatile *)p;
    begin();
    if (!strcmp(v[1], "alu")) { long x = n; for (long i = 0; i < n; i++) __asm__ volatile("add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0" : "+r"(x)); }
    else if (!strcmp(v[1], "ind")) { long a = 0, b = 0, d = 0, e = 0; for (long i = 0; i < n; i++) __asm__ volatile("add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3" : "+r"(a), "+r"(b), "+r"(d), "+r"(e)); }
    else if (!strcmp(v[1], "chase")) for (long i = 0; i < n; i++) p = *(char *volatile *)p;
    else if (!strcmp(v[1], "seq")) { long x = 0; for (long i = 0; i < n; i++) x += *(volatile long *)(m + i % lines * 64); }
    else if (!strcmp(v[1], "store")) for (long i = 0; i < n; i++) *(volatile long *)(m + i % lines * 64 + 8) = i;
    else if (!strcmp(v[1], "flush")) for (long i = 0; i < n; i++) { for (long j = 0; j < k; j++) *(volatile long *)(m + (i * k + j) % lines * 64 + 8) = i; for (long j = 0; j < k; j++) CLWB(m + (i * k + j) % lines * 64); FENCE(); }
    else if (!strcmp(v[1], "clean")) for (long i = 0; i < n; i++) { CLWB(m + i % lines * 64); FENCE(); }
    end();
    if (p == (char *)1) puts("");
    return 0;
}
