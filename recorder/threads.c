/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Numbers threads in the order in which they first appear in the stream. Valgrind uses the identifier of a thread that
   has ended again; here it becomes a new number. */

#include "recorder.h"

enum { UNSEEN = 0xffffffff };

static UInt* numbers;
static UInt room, next_number;
static ThreadId running = 1;

static void forget(ThreadId parent, ThreadId child)
{
   if (child >= room) {
      UInt wanted = 2 * child + 2;
      numbers = VG_(realloc)("counterpoint.threads", numbers, wanted * sizeof(UInt));
      while (room < wanted) numbers[room++] = UNSEEN;
   }
   numbers[child] = UNSEEN;
}

void threads_run(ThreadId tid)
{
   if (tid != VG_INVALID_THREADID) running = tid;
}

static void start(ThreadId tid, ULong blocks) { threads_run(tid); }

UInt threads_current(void)
{
   if (running >= room) forget(0, running);
   if (numbers[running] == UNSEEN) numbers[running] = next_number++;
   return numbers[running];
}

void threads_init(void)
{
   VG_(track_pre_thread_ll_create)(forget);
   VG_(track_start_client_code)(start);
}
