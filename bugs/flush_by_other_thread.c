/* A log of records with a second thread that flushes them. The writer fences after that; but its fence does not wait
   for a flush of another thread. */

#define OWN_RUN
#include "records.h"
#include "turns.h"

enum { WRITER, FLUSHER };

static void *flusher(void *argument)
{
    struct pool *p = argument;
    for (int i = 0; i < RECORDS; i++) {
        wait_for(FLUSHER);
        flush(&p->records[i], sizeof p->records[i]);
#ifdef FIXED
        fence();
#endif
        pass_to(WRITER);
    }
    return NULL;
}

static void run(struct pool *p)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, flusher, p) != 0) return;
    for (uint64_t i = 0; i < RECORDS; i++) {
        p->records[i].value = expected(i); /* BUG: flushed by a thread that does not fence */
        pass_to(FLUSHER);
        wait_for(WRITER);
        fence();
        p->count = i + 1;
        persist(&p->count, sizeof p->count);
    }
    pthread_join(thread, NULL);
}
