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

/* A stack that was unwound. A place is mostly reached by the calls that it was reached by before, so the stack is the same
   if it begins where it did and the return addresses lie where they were found. */
typedef struct {
   ULong generation;
   ThreadId tid;
   Addr pc, top;
   Addr slots[CALLERS_MAX];
   Callers callers;
} Stack;

enum { STACKS = 512 };
static Stack stacks[STACKS];
static ULong generation = 1;

/* Memory that stacks lay in may be gone, and addresses may have become those of other code. */
void callers_remapped(void) { generation++; }

static Bool still(const Stack* stack, ThreadId tid, Addr pc, Addr top)
{
   if (stack->generation != generation || stack->tid != tid || stack->pc != pc || stack->top != top) return False;
   for (UInt i = 0; i < stack->callers.count; i++)
      if (*(const Addr*)stack->slots[i] != stack->callers.addresses[i] + 1) return False;
   return True;
}

static void unwind(Stack* stack, ThreadId tid, Addr pc, Addr top)
{
   Addr frames[CALLERS_MAX + 1], tops[CALLERS_MAX + 1], bases[CALLERS_MAX + 1];
   /* The program counter that Valgrind keeps lies at the beginning of the block, or behind a system call. */
   UInt count = VG_(get_StackTrace)(tid, frames, CALLERS_MAX + 1, tops, bases, pc - VG_(get_IP)(tid));
   /* Behind the first function of a program Valgrind takes what lies on the stack for return addresses. */
   while (count > 1 && !code_at(frames[count - 1])) count--;
   *stack = (Stack){ .generation = generation, .tid = tid, .pc = pc, .top = top };
   stack->callers.count = count == 0 ? 0 : count - 1;
   for (UInt i = 0; i < stack->callers.count; i++) {
      stack->callers.addresses[i] = frames[i + 1];
      stack->slots[i] = tops[i + 1] - sizeof(Addr);
   }
}

Bool callers_changed(Addr pc, const Callers** now)
{
   ThreadId tid = VG_(get_running_tid)();
   Addr top = VG_(get_SP)(tid);
   Stack* stack = &stacks[(pc ^ top >> 4) % STACKS];
   if (!still(stack, tid, pc, top)) unwind(stack, tid, pc, top);
   *now = &stack->callers;
   if (same(*now, &written)) return False;
   written = **now;
   return True;
}
