#include "u.h"
enum { LOCKED = 1 };
struct p { _Alignas(64) volatile uint64_t key; volatile uint64_t value; };
static void put(struct p *p, uint64_t key) {
  p->key = LOCKED;                                       /* BUG: outlives its owner */
  p->value = key;
  p->key = key; persist(p, 16);
}
int main(int c, char **v) { struct p *p = map(v[1], sizeof *p);
  if (c > 2) {
#ifdef FIXED
    if (p->key == LOCKED) p->key = 0;
#endif
    return p->key == LOCKED || (p->key && p->value != p->key);
  }
  put(p, 7); return 0; }
