/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Who called the code of an operation: the flush that a program waits for lies in a library, as does the store of a copy,
   and the reason for it in the program. */

#include "recorder.h"
#include "pub_tool_stacktrace.h"

/* The stream numbers callers from 0 after each SYNC. This many have a number. */
enum { NUMBERS = 65536, NONE = NUMBERS };

static ULong epoch = 1;      /* one for each SYNC */
static UInt given;           /* how many the stream has had since */
static UInt in_force = NONE; /* their number */

void callers_forget(void)
{
   epoch++;
   given = 0;
   in_force = NONE;
}

/* A stack that was unwound. A place is mostly reached by the calls that it was reached by before, so the stack is the same
   if it begins where it did and the return addresses lie where they were found. */
typedef struct {
   ULong generation;
   ThreadId tid;
   Addr pc, top;
   Addr slots[CALLERS_MAX];
   Callers callers;
   ULong epoch;              /* since which SYNC the stream has the callers, and under which number */
   UInt number;
} Stack;

/* A place is reached by some ways again and again: each set has the last few stacks that met there. */
enum { SETS = 2048, WAYS = 4 };
static Stack stacks[SETS][WAYS];
static UChar oldest[SETS];
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

static void unwind(Stack* stack, ThreadId tid, Addr pc, Addr top, UInt most)
{
   Addr frames[CALLERS_MAX + 1], tops[CALLERS_MAX + 1], bases[CALLERS_MAX + 1];
   /* The program counter that Valgrind keeps lies at the beginning of the block, or behind a system call. */
   UInt count = VG_(get_StackTrace)(tid, frames, most + 1, tops, bases, pc - VG_(get_IP)(tid));
   /* Behind the first function of a program Valgrind takes what lies on the stack for return addresses. */
   while (count > 1 && !code_at(frames[count - 1])) count--;
   *stack = (Stack){ .generation = generation, .tid = tid, .pc = pc, .top = top };
   stack->callers.count = count == 0 ? 0 : count - 1;
   for (UInt i = 0; i < stack->callers.count; i++) {
      stack->callers.addresses[i] = frames[i + 1];
      stack->slots[i] = tops[i + 1] - sizeof(Addr);
   }
}

/* Callers that the stream has: many places have the same. */
typedef struct { ULong epoch; UInt number; Callers callers; } Given;

enum { GIVEN = 1024 };
static Given givens[GIVEN];

static Bool same(const Callers* one, const Callers* other)
{
   if (one->count != other->count) return False;
   for (UInt i = 0; i < one->count; i++)
      if (one->addresses[i] != other->addresses[i]) return False;
   return True;
}

/* Finds the number of the stack's callers, or gives them one. Returns whether the stream has them. */
static Bool numbered(Stack* stack)
{
   ULong hash = stack->callers.count;
   for (UInt i = 0; i < stack->callers.count; i++) hash = (hash ^ stack->callers.addresses[i]) * 0x9e3779b97f4a7c15ULL;
   Given* slot = &givens[hash >> 32 & (GIVEN - 1)];
   Bool has = slot->epoch == epoch && same(&slot->callers, &stack->callers);
   if (!has) *slot = (Given){ .epoch = epoch, .number = given < NUMBERS ? given++ : NONE, .callers = stack->callers };
   if (slot->number == NONE) slot->epoch = 0;
   stack->epoch = slot->epoch;
   stack->number = slot->number;
   return has;
}

CallersState callers_of(Addr pc, UInt most, const Callers** now, UInt* number)
{
   ThreadId tid = VG_(get_running_tid)();
   Addr top = VG_(get_SP)(tid);
   UInt set = ((pc ^ top >> 4) * 0x9e3779b97f4a7c15ULL >> 32) % SETS;
   Stack* stack = stacks[set];
   while (stack < stacks[set] + WAYS && !still(stack, tid, pc, top)) stack++;
   if (stack == stacks[set] + WAYS) {
      stack = &stacks[set][oldest[set]++ % WAYS];
      unwind(stack, tid, pc, top, most);
   }
   *now = &stack->callers;
   if (stack->callers.count == 0 && given == 0) return CALLERS_HOLD;
   Bool has = stack->epoch == epoch || numbered(stack);
   Bool hold = has && stack->number == in_force;
   *number = in_force = stack->number;
   return hold ? CALLERS_HOLD : has ? CALLERS_KNOWN : CALLERS_NEW;
}
