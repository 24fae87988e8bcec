/* Durable undo-log transactions on a persistent region; main() has the arguments. One build runs under gem5 and where it is
   recorded: with PMTX_FILE set, pools are files of that name with a number, and nothing tells gem5 where the measured part is.
   PMTX_RUN: so many of the transactions are done.

   prepare: copy old data to a contiguous log, clwb each line, sfence
   mutate : write new data in place, clwb each line, sfence
   commit : log->valid = 0, clwb, sfence */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *pool_file;
static void m5_work_begin(void) { if (!pool_file) __asm__ volatile(".byte 0x0f,0x04; .word 0x5a" ::"D"(0L), "S"(0L) : "rax", "memory"); }
static void m5_work_end(void) { if (!pool_file) __asm__ volatile(".byte 0x0f,0x04; .word 0x5b" ::"D"(0L), "S"(0L) : "rax", "memory"); }

#ifdef USE_CLFLUSHOPT
#define CLWB(p) __asm__ volatile(".byte 0x66; clflush (%0)" ::"r"(p) : "memory")
#else
#define CLWB(p) __asm__ volatile(".byte 0x66; xsaveopt (%0)" ::"r"(p) : "memory") /* 66 0f ae /6 = clwb */
#endif
#define SFENCE() __asm__ volatile("sfence" ::: "memory")

typedef uint64_t u64;
static u64 rs;
static inline u64 rnd(void) { rs ^= rs << 13; rs ^= rs >> 7; rs ^= rs << 17; return rs; }

/* ---- log ---- */
#define MAXE 63
struct log { u64 valid, n; struct { u64 addr, len; } d[MAXE]; char data[]; };
static struct log *lg;
static struct { void *home, *src; uint32_t len; } ws[MAXE];
static uint32_t nws;
static u64 nclwb, nfence, nlogb, ndatab;
static char nodebuf[MAXE][256];

static inline void flush(const void *p, u64 len) {
    u64 a = (u64)p & ~63ULL, e = (u64)p + len;
    for (; a < e; a += 64) { CLWB((char *)a); nclwb++; }
}
static inline void fence(void) { SFENCE(); nfence++; }
/* declare that [home, home+len) will be overwritten with src at commit (src volatile) */
static inline void tx_set(void *home, void *src, uint32_t len) { ws[nws].home = home; ws[nws].src = src; ws[nws].len = len; nws++; }
static inline void *R(void *p) { for (uint32_t i = 0; i < nws; i++) if (ws[i].home == p) return ws[i].src; return p; }
static inline void *W(void *p, uint32_t len) {
    for (uint32_t i = 0; i < nws; i++) if (ws[i].home == p) return ws[i].src;
    memcpy(nodebuf[nws], p, len); tx_set(p, nodebuf[nws], len); return nodebuf[nws - 1];
}
static int durable;
static void tx_run(void) {
    if (durable) {
        u64 o = 0;
        for (uint32_t i = 0; i < nws; i++) {
            lg->d[i].addr = (u64)ws[i].home; lg->d[i].len = ws[i].len;
            memcpy(lg->data + o, ws[i].home, ws[i].len); o += (ws[i].len + 63) & ~63u;
        }
        lg->n = nws; lg->valid = 1;
        flush(lg, 16 + 16 * nws); flush(lg->data, o); fence();
        nlogb += o;
    }
    for (uint32_t i = 0; i < nws; i++) { memcpy(ws[i].home, ws[i].src, ws[i].len); ndatab += ws[i].len; }
    if (durable) {
        for (uint32_t i = 0; i < nws; i++) flush(ws[i].home, ws[i].len);
        fence();
        lg->valid = 0; flush(lg, 8); fence();
    }
    nws = 0;
}

/* ---- workloads ---- */
static u64 isz, nit, ntx, hcap;
static char *items;
static char vbuf[2][4096] __attribute__((aligned(64)));
static u64 sink;
static inline char *item(u64 i) { return items + i * isz; }
static void newval(int b, u64 key) { u64 *p = (u64 *)vbuf[b]; p[0] = key; u64 v = rnd(); for (u64 i = 1; i < isz / 8; i++) p[i] = v + i; }

static void array_tx(void) {
    u64 i = rnd() % nit, j = rnd() % nit; if (i == j) j = (j + 1) % nit;
    memcpy(vbuf[0], item(i), isz); memcpy(vbuf[1], item(j), isz);
    tx_set(item(i), vbuf[1], isz); tx_set(item(j), vbuf[0], isz); tx_run();
}
struct qh { u64 head, tail, cnt, pad[5]; }; static struct qh *q;
static void queue_tx(void) {
    int enq = rnd() & 1; if (q->cnt == 0) enq = 1; if (q->cnt == nit) enq = 0;
    struct qh *h = W(q, sizeof *q);
    if (enq) { newval(0, rnd()); tx_set(item(h->tail), vbuf[0], isz); h->tail = (h->tail + 1) % nit; h->cnt++; }
    else { u64 *p = (u64 *)item(h->head), s = 0; for (u64 i = 0; i < isz / 8; i++) s += p[i]; sink += s; h->head = (h->head + 1) % nit; h->cnt--; }
    tx_run();
}
static void hash_tx(void) { /* open addressing; key = first 8 bytes of the slot */
    u64 k = rnd() | 1, i = (k * 0x9E3779B97F4A7C15ULL >> 20) % hcap;
    while (*(u64 *)item(i) && *(u64 *)item(i) != k) i = (i + 1) % hcap;
    newval(0, k); tx_set(item(i), vbuf[0], isz); tx_run();
}
/* B-tree, 8-way, values out of line */
#define BK 7
struct bn { u64 n, leaf; u64 key[BK]; char *val[BK]; struct bn *c[BK + 1]; u64 pad; };
struct root { void *r; u64 used, usednode, pad[5]; };
static struct root *rt; static struct bn *bpool;
static struct bn *balloc(struct root *r) { return &bpool[r->usednode++]; }
static void bsplit(struct bn *ph, int ci, struct root *r) {
    struct bn *p = W(ph, sizeof *p), *yh = p->c[ci], *y = W(yh, sizeof *y), *zh = balloc(r), *z = W(zh, sizeof *z);
    z->leaf = y->leaf; z->n = BK / 2; y->n = BK / 2;
    for (int i = 0; i < BK / 2; i++) { z->key[i] = y->key[i + BK / 2 + 1]; z->val[i] = y->val[i + BK / 2 + 1]; }
    if (!y->leaf) for (int i = 0; i <= BK / 2; i++) z->c[i] = y->c[i + BK / 2 + 1];
    for (int i = p->n; i > ci; i--) { p->key[i] = p->key[i - 1]; p->val[i] = p->val[i - 1]; p->c[i + 1] = p->c[i]; }
    p->key[ci] = y->key[BK / 2]; p->val[ci] = y->val[BK / 2]; p->c[ci + 1] = zh; p->n++;
}
static void btree_tx(void) {
    u64 k = rnd(); newval(0, k);
    struct root *r = W(rt, sizeof *r);
    char *slot = item(r->used++); tx_set(slot, vbuf[0], isz);
    struct bn *h = r->r;
    if (((struct bn *)R(h))->n == BK) {
        struct bn *nh = balloc(r), *nr = W(nh, sizeof *nr); nr->n = 0; nr->leaf = 0; nr->c[0] = h; r->r = nh; bsplit(nh, 0, r); h = nh;
    }
    for (;;) {
        struct bn *x = R(h); int i = x->n - 1;
        if (x->leaf) {
            x = W(h, sizeof *x);
            for (; i >= 0 && k < x->key[i]; i--) { x->key[i + 1] = x->key[i]; x->val[i + 1] = x->val[i]; }
            x->key[i + 1] = k; x->val[i + 1] = slot; x->n++; break;
        }
        while (i >= 0 && k < x->key[i]) i--;
        i++;
        if (((struct bn *)R(x->c[i]))->n == BK) { bsplit(h, i, r); x = R(h); if (k > x->key[i]) i++; }
        h = x->c[i];
    }
    tx_run();
}
/* red-black tree: 64-byte node header, value in item slot of the same index */
struct rb { u64 key; struct rb *l, *r, *p; u64 red; char *val; u64 pad[2]; };
static struct rb *rpool;
#define N(x) ((struct rb *)R(x))
#define M(x) ((struct rb *)W(x, sizeof(struct rb)))
static void rot(struct root *r, struct rb *x, int left) {
    struct rb *y = left ? N(x)->r : N(x)->l, *b = left ? N(y)->l : N(y)->r, *p = N(x)->p;
    if (left) { M(x)->r = b; M(y)->l = x; } else { M(x)->l = b; M(y)->r = x; }
    if (b) M(b)->p = x;
    M(y)->p = p; if (!p) r->r = y; else if (N(p)->l == x) M(p)->l = y; else M(p)->r = y;
    M(x)->p = y;
}
static void rbtree_tx(void) {
    u64 k = rnd(); newval(0, k);
    struct root *r = W(rt, sizeof *r);
    u64 id = r->used++; char *slot = item(id); tx_set(slot, vbuf[0], isz);
    struct rb *z = &rpool[id], *y = 0, *x = r->r;
    while (x) { y = x; x = k < x->key ? x->l : x->r; }
    struct rb *zb = M(z); zb->key = k; zb->l = zb->r = 0; zb->p = y; zb->red = 1; zb->val = slot;
    if (!y) r->r = z; else if (k < N(y)->key) M(y)->l = z; else M(y)->r = z;
    while (N(z)->p && N(N(z)->p)->red) {
        struct rb *p = N(z)->p, *g = N(p)->p; int left = N(g)->l == p; struct rb *u = left ? N(g)->r : N(g)->l;
        if (nws > MAXE - 6) { fprintf(stderr, "write set full\n"); exit(1); }
        if (u && N(u)->red) { M(p)->red = 0; M(u)->red = 0; M(g)->red = 1; z = g; }
        else {
            if (z == (left ? N(p)->r : N(p)->l)) { z = p; rot(r, z, left); p = N(z)->p; g = N(p)->p; }
            M(p)->red = 0; M(g)->red = 1; rot(r, g, !left);
        }
    }
    if (N(r->r)->red) M(r->r)->red = 0;
    tx_run();
}
/* checks (run natively with CHECK=1) */
static u64 cnt; static u64 last; static int bad;
static int rbchk(struct rb *x) { if (!x) return 1; int a = rbchk(x->l); if (cnt && x->key < last) bad = 1; last = x->key; cnt++;
    if (*(u64 *)x->val != x->key) bad = 2; if (x->red && ((x->l && x->l->red) || (x->r && x->r->red))) bad = 3; int b = rbchk(x->r); if (a != b) bad = 4; return a + !x->red; }
static void bchk(struct bn *x) { for (u64 i = 0; i <= x->n; i++) { if (!x->leaf) bchk(x->c[i]); if (i < x->n) { if (cnt && x->key[i] < last) bad = 1; last = x->key[i]; cnt++; if (*(u64 *)x->val[i] != x->key[i]) bad = 2; } } }

static void *pm(u64 sz) {
    static int pools;
    char name[4096];
    int fd = -1;
    if (pool_file) {
        snprintf(name, sizeof name, "%s.%d", pool_file, pools++);
        fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || ftruncate(fd, sz) != 0) { perror(name); exit(1); }
    }
    void *p = mmap(0, sz, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) { perror("mmap"); exit(1); }
    return p;
}
int main(int c, char **v) {
    if (c < 5) { fprintf(stderr, "transactions array|queue|hash|btree|rbtree ITEM NTX REGION_BYTES [SEED]\n"); return 2; }
    pool_file = getenv("PMTX_FILE");
    isz = strtoull(v[2], 0, 0); ntx = strtoull(v[3], 0, 0); u64 reg = strtoull(v[4], 0, 0); rs = c > 5 ? strtoull(v[5], 0, 0) : 88172645463325252ULL;
    if (isz < 64 || isz > 4096 || isz % 64) return 2;
    nit = reg / isz; if (nit < 16) nit = 16;
    u64 logsz = 1024 + MAXE * 4096; lg = pm(logsz); memset(lg, 0, logsz); 
    u64 cap = nit + ntx; hcap = cap; items = pm(cap * isz);
    rt = pm(4096); q = (void *)rt; void (*tx)(void) = 0; durable = 0;
    if (!strcmp(v[1], "array")) { tx = array_tx; for (u64 i = 0; i < nit; i++) memset(item(i), (int)i, isz); }
    else if (!strcmp(v[1], "queue")) { tx = queue_tx; for (u64 i = 0; i < nit; i++) memset(item(i), (int)i, isz); q->tail = q->cnt = nit / 2; }
    else if (!strcmp(v[1], "hash")) { tx = hash_tx; memset(items, 0, hcap * isz); for (u64 i = 0; i < nit / 2; i++) tx(); }
    else if (!strcmp(v[1], "btree")) { tx = btree_tx; bpool = pm((cap / 2 + 64) * sizeof *bpool); rt->r = &bpool[0]; rt->usednode = 1; bpool[0].leaf = 1; memset(items, 0, cap * isz); for (u64 i = 0; i < nit; i++) tx(); }
    else if (!strcmp(v[1], "rbtree")) { tx = rbtree_tx; rpool = pm(cap * sizeof *rpool); memset(items, 0, cap * isz); for (u64 i = 0; i < nit; i++) tx(); }
    else return 2;
    durable = 1; nclwb = nfence = nlogb = ndatab = 0;
    m5_work_begin();
    u64 run = getenv("PMTX_RUN") ? strtoull(getenv("PMTX_RUN"), 0, 0) : ntx; /* of these, so many */
    for (u64 i = 0; i < run; i++) tx();
    m5_work_end();
    printf("PMTX %s item=%llu tx=%llu items=%llu clwb=%llu sfence=%llu log_bytes=%llu data_bytes=%llu\n", v[1], (unsigned long long)isz, (unsigned long long)ntx, (unsigned long long)nit,
           (unsigned long long)nclwb, (unsigned long long)nfence, (unsigned long long)nlogb, (unsigned long long)ndatab);
    if (getenv("CHECK")) { if (tx == rbtree_tx) rbchk(rt->r); if (tx == btree_tx) bchk(rt->r); printf("check count=%llu expect=%llu bad=%d sink=%llu\n", (unsigned long long)cnt, (unsigned long long)(nit + ntx), bad, (unsigned long long)sink); }
    return 0;
}
