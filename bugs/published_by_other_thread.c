/* A log of records with a second thread that counts them. The writer has flushed a record, but not fenced, when the
   other thread makes its counter durable. */

#define OWN_RUN
#include "records.h"
#include "turns.h"

enum { WRITER, PUBLISHER };

static void *publisher(void *argument)
{
    struct pool *p = argument;
    for (uint64_t i = 0; i < RECORDS; i++) {
        wait_for(PUBLISHER);
        p->count = i + 1;
        persist(&p->count, sizeof p->count);
        pass_to(WRITER);
    }
    return NULL;
}

static void run(struct pool *p)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, publisher, p) != 0) return;
    for (uint64_t i = 0; i < RECORDS; i++) {
        p->records[i].value = expected(i); /* BUG: published by another thread before the fence of this one */
        flush(&p->records[i], sizeof p->records[i]);
#ifdef FIXED
        fence();
#endif
        pass_to(PUBLISHER);
        wait_for(WRITER);
        fence();
    }
    pthread_join(thread, NULL);
}
