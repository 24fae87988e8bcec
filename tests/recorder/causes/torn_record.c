#include "u.h"
struct p { _Alignas(64) volatile uint64_t a; volatile uint64_t b; _Alignas(64) volatile uint64_t valid; };
static void put(struct p *p, uint64_t v) {
  _mm_store_si128((__m128i *)&p->a, _mm_set1_epi64x(v)); /* BUG: not durable before it is valid */
#ifdef FIXED
  persist(&p->a, 16);
#endif
  p->valid = 1; flush(&p->a, 16); flush(&p->valid, 8); _mm_sfence();
}
int main(int c, char **v) { struct p *p = map(v[1], sizeof *p);
  if (c > 2) return p->valid && !p->a != !p->b;          /* none of it is no record */
  put(p, 7); return 0; }
