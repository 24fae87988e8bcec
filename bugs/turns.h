/* Two threads that take turns. Neither waiting nor passing executes a locked instruction, which would be a fence. */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int turn;

static inline void pass_to(int thread) { atomic_store_explicit(&turn, thread, memory_order_release); }

static inline void wait_for(int thread)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != thread) sched_yield();
}
