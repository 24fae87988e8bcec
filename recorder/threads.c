/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Numbers threads in the order in which they first appear in the stream, and counts the instructions of each. Valgrind uses
   the identifier of a thread that has ended again; here it is another thread. */

#include "recorder.h"

typedef struct {
   UInt number;         /* in the stream, or UNSEEN */
   Done others;         /* what other threads have executed, as of when this one runs or last ran */
   Done own;            /* its own, when it last stopped running */
   Done accounted;      /* its own that the stream has */
   ULong near[NEAR];    /* what was near then, unless all has been forgotten since */
   UInt forgotten;
} Thread;

enum { UNSEEN = 0xffffffff };

static Thread* threads;             /* all that there ever were, by serial number */
static UInt threads_room, threads_count;
static UInt* by_identifier;         /* Valgrind's: serial numbers */
static UInt identifiers;
static UInt* by_number;             /* in the stream: serial numbers */
static UInt numbers_room, next_number;
static ThreadId running = 1;

/* Makes room for item `index` in an array of `room` items. */
static void* grown(void* items, UInt* room, UInt index, SizeT size)
{
   if (index < *room) return items;
   UInt wanted = 2 * index + 2;
   items = VG_(realloc)("counterpoint.threads", items, wanted * size);
   VG_(memset)((UChar*)items + *room * size, 0, (wanted - *room) * size);
   *room = wanted;
   return items;
}

static void created(ThreadId parent, ThreadId child)
{
   by_identifier = grown(by_identifier, &identifiers, child, sizeof *by_identifier);
   threads = grown(threads, &threads_room, threads_count, sizeof *threads);
   threads[threads_count] = (Thread){ .number = UNSEEN };
   by_identifier[child] = threads_count++;
   if (parent != VG_INVALID_THREADID) sharing_created(by_identifier[parent], by_identifier[child]);
}

static ULong more(ULong one, ULong other) { return one > other ? one - other : 0; }

static Done without(Done all, Done part)
{
   return (Done){ more(all.instructions, part.instructions), more(all.loads, part.loads), more(all.stores, part.stores) };
}

static Thread* current(void) { return &threads[by_identifier[running]]; }

UInt threads_serial(void) { return by_identifier[running]; }

void threads_run(ThreadId tid)
{
   if (tid == VG_INVALID_THREADID || tid == running) return;
   accesses_settle();
   Thread* thread = current();
   thread->own = without(executed, thread->others);
   thread->forgotten = near_times_forgotten;
   VG_(memcpy)(thread->near, near, sizeof near);
   running = tid;
   thread = current();
   thread->others = without(executed, thread->own);
   if (thread->forgotten == near_times_forgotten) VG_(memcpy)(near, thread->near, sizeof near);
   else VG_(memset)(near, 0, sizeof near);
   sharing_runs();
}

static void start(ThreadId tid, ULong blocks) { threads_run(tid); }

static void ended(ThreadId tid)
{
   threads_run(tid);
   sharing_ended();
}

UInt threads_current(void)
{
   Thread* thread = current();
   if (thread->number == UNSEEN) {
      by_number = grown(by_number, &numbers_room, next_number, sizeof *by_number);
      by_number[next_number] = by_identifier[running];
      thread->number = next_number++;
   }
   return thread->number;
}

Bool threads_known(UInt serial, UInt* number)
{
   *number = threads[serial].number;
   return *number != UNSEEN;
}

ULong threads_account(UInt number, Done completed, Bool with_own, Done* between)
{
   Thread* thread = &threads[by_number[number]];
   Done* accounted = &thread->accounted;
   Done own = without(completed, thread->others);
   *between = without(own, *accounted);
   own.instructions += with_own ? 1 : 0;
   ULong now = more(own.instructions, accounted->instructions);
   accounted->instructions += now;
   accounted->loads += between->loads;
   accounted->stores += between->stores;
   return now;
}

void threads_init(void)
{
   VG_(track_pre_thread_ll_create)(created);
   VG_(track_pre_thread_ll_exit)(ended);
   VG_(track_start_client_code)(start);
}
