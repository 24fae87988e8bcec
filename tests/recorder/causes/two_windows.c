#include "u.h"
struct p { _Alignas(64) volatile uint64_t a; volatile uint64_t b, c, d; };
__attribute__((noinline)) static int update(struct p *p, uint64_t v) {
  p->a = v;                                              /* BUG: neither half of it is atomic */
  p->b = v; persist(p, 32);
  p->c = v;
  p->d = v; persist(p, 32); return 0;
}
int main(int c, char **v) { struct p *p = map(v[1], sizeof *p);
  if (c > 2) return p->a != p->b || p->c != p->d;
  update(p, 7); return 0; }
