#include "u.h"
struct item { _Alignas(64) volatile uint64_t value; volatile uint64_t other; };
struct p { _Alignas(64) volatile uint64_t count; struct item items[2]; };
__attribute__((noinline)) static void set(struct item *i) { i->value = 7; /* BUG: never flushed, but by a neighbour's flush */
#ifdef FIXED
  persist(i, 8);
#endif
}
int main(int c, char **v) { struct p *p = map(v[1], sizeof *p);
  if (c > 2) return p->count > 0 && p->items[0].value != 7;
  set(&p->items[0]);
  p->count = 1; persist(&p->count, 8);
  p->items[0].other = 8; persist(&p->items[0], 16);
  set(&p->items[1]);
  return 0; }
