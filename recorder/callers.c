/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Who called the code of an operation: the flush that a program waits for lies in a library, and the reason for it in the
   program. */

#include "recorder.h"
#include "pub_tool_stacktrace.h"

static Callers written;      /* the newest in the stream */

void callers_forget(void) { written.count = 0; }

static Bool same(const Callers* one, const Callers* other)
{
   if (one->count != other->count) return False;
   for (UInt i = 0; i < one->count; i++)
      if (one->addresses[i] != other->addresses[i]) return False;
   return True;
}

Bool callers_changed(Addr pc, Callers* now)
{
   ThreadId tid = VG_(get_running_tid)();
   Addr frames[CALLERS_MAX + 1];
   /* The program counter that Valgrind keeps lies at the beginning of the block, or behind a system call. */
   UInt count = VG_(get_StackTrace)(tid, frames, CALLERS_MAX + 1, NULL, NULL, pc - VG_(get_IP)(tid));
   /* Behind the first function of a program Valgrind takes what lies on the stack for return addresses. */
   while (count > 1 && !code_at(frames[count - 1])) count--;
   now->count = count == 0 ? 0 : count - 1;
   for (UInt i = 0; i < now->count; i++) now->addresses[i] = frames[i + 1];
   if (same(now, &written)) return False;
   written = *now;
   return True;
}
