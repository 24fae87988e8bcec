/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What translated code and system calls did to persistent memory, as records. */

#include "recorder.h"

Done executed;

Done executed_before(const Access* access)
{
   return (Done){ executed.instructions + access->before, executed.loads + access->loads, executed.stores + access->stores };
}

/* Before the system call, which is the last instruction that was counted. */
static Done before_call(void)
{
   Done done = executed;
   done.instructions--;
   return done;
}

/* Steps of a repeated string operation that follow each other within a line are one record, as they are one access of a
   processor. One run of loads and one of stores are open at a time. */
typedef struct {
   const Access* access;
   UInt thread;
   Done completed;
   Addr start;
   UInt length;
   UChar bytes[LINE];
} Run;

static Run loads, stores;
Bool accesses_open;

static void settle(Run* run)
{
   if (run->length == 0) return;
   UInt length = run->length;
   run->length = 0;
   operation_over(run->access->tag, run->thread, run->completed, run->access->pc, run->start, length);
   if (run->access->tag != TAG_LOAD) field_bytes(run->bytes, length);
}

void accesses_settle(void)
{
   static Bool settling;
   /* The records that are written meanwhile settle nothing. */
   if (settling) return;
   settling = True;
   settle(&loads);
   settle(&stores);
   settling = accesses_open = False;
}

static void step(Run* run, const Access* access, Done completed, Addr a, SizeT length)
{
   UInt thread = threads_current();
   Addr end = run->start + run->length;
   if (run->length == 0 || run->access->pc != access->pc || run->thread != thread
       || run->completed.instructions != completed.instructions || end != a || end % LINE == 0 || run->length + length > LINE) {
      accesses_settle();
      *run = (Run){ .access = access, .thread = thread, .completed = completed, .start = a };
      /* Its record comes when the stack may be another. Nothing else is recorded before it. */
      if (access->tag != TAG_LOAD) announce(access->tag, thread, access->pc);
      accesses_open = True;
   }
   if (access->tag != TAG_LOAD) VG_(memcpy)(run->bytes + run->length, (const void*)a, length);
   run->length += length;
}

static void one(const Access* access, Done completed, Addr a, SizeT length)
{
   if (access->repeats) {
      step(access->tag == TAG_LOAD ? &loads : &stores, access, completed, a, length);
      return;
   }
   operation_over(access->tag, threads_current(), completed, access->pc, a, length);
   if (access->tag != TAG_LOAD) field_bytes((const UChar*)a, length);
}

/* The parts of an access that lie in persistent memory. Returns whether there are any. */
static Bool parts(const Access* access, Done completed, Addr a)
{
   Addr end = a + access->size;
   const Mapping* mapping;
   Bool any = False;
   while (a < end && (mapping = mapping_at(a, end - a)) != NULL) {
      if (a < mapping->base) a = mapping->base;
      Addr stop = end < mapping->end ? end : mapping->end;
      if (access->tag != TAG_LOAD) {
         sharing_overwrites(a, stop - a, completed);
         file_mark_dirty(mapping->file, mapping->offset + (a - mapping->base), stop - a);
      }
      /* Nothing wider than a line is one access of a processor: fxsave and the like. */
      for (; a < stop; a += LINE) one(access, completed, a, stop - a < LINE ? stop - a : LINE);
      a = stop;
      any = True;
   }
   return any;
}

static ULong* count_of(const Access* access) { return access->tag == TAG_LOAD ? &executed.loads : &executed.stores; }

/* Of other memory. What is kept back of its own instruction, which is a repeated one, stays so. */
static void elsewhere(const Access* access, Done completed, Addr a)
{
   Bool load = access->tag == TAG_LOAD;
   if (near_has(a, !load)) {
      if (!access->repeats) ++*count_of(access);
      return;
   }
   if (!mapping_near(a)) near_add(a, !load);
   if (!watch_active) return;
   if (!access->repeats) accesses_settle();
   operation_other(load ? TAG_OTHER_LOAD : TAG_OTHER_STORE, threads_current(), completed, access->pc, a);
}

/* What is not near has a record, and is not counted. */
static void load_or_store(const Access* access, Addr a)
{
   Done completed = executed_before(access);
   if (access->counted) --*count_of(access);
   if (!parts(access, completed, a)) elsewhere(access, completed, a);
}

VG_REGPARM(2) void access_load(const Access* access, Addr a) { load_or_store(access, a); }

VG_REGPARM(2) void access_store(const Access* access, Addr a) { load_or_store(access, a); }

VG_REGPARM(2) void access_atomic(const Access* access, Addr a)
{
   Done completed = executed_before(access);
   if (watch_active && !parts(access, completed, a)) operation(TAG_LOCKED, threads_current(), completed, access->pc);
}

/* Of other memory too: it is a flush without use. */
VG_REGPARM(2) void access_flush(const Access* access, Addr a)
{
   a &= ~(Addr)(LINE - 1);
   operation_at(access->tag, threads_current(), executed_before(access), access->pc, a);
}

VG_REGPARM(1) void access_fence(const Access* access)
{
   operation(access->tag, threads_current(), executed_before(access), access->pc);
}

/* The program counter is already behind the system call. */
static Addr kernel_pc(void)
{
   enum { SYSCALL_LENGTH = 2 };
   return VG_(get_IP)(VG_(get_running_tid)()) - SYSCALL_LENGTH;
}

void kernel_bytes(File* file, ULong offset, Addr a, const UChar* bytes, SizeT length)
{
   sharing_overwrites(a, length, before_call());
   file_mark_dirty(file, offset, length);
   operation_over(TAG_KERNEL_STORE, threads_current(), before_call(), kernel_pc(), a, length);
   field_bytes(bytes, length);
   sharing_kernel_wrote(a, length);
}

void kernel_store(Addr a, SizeT length)
{
   Addr end = a + length;
   const Mapping* mapping;
   while (a < end && (mapping = mapping_at(a, end - a)) != NULL) {
      if (a < mapping->base) a = mapping->base;
      Addr stop = end < mapping->end ? end : mapping->end;
      while (a < stop) {
         SizeT part = stop - a < CHUNK ? stop - a : CHUNK;
         kernel_bytes(mapping->file, mapping->offset + (a - mapping->base), a, (const UChar*)a, part);
         a += part;
      }
   }
}

void kernel_flush(Addr a, SizeT length, Bool at_once)
{
   operation_over(TAG_KERNEL_FLUSH, threads_current(), before_call(), kernel_pc(), a, length);
   field_u(at_once);
}

void kernel_fence(void)
{
   if (watch_active || files_any()) operation(TAG_SFENCE, threads_current(), before_call(), kernel_pc());
}

/* The program counter is behind the request. */
static void annotation(Tag tag, Addr a, Addr end)
{
   Addr pc = VG_(get_IP)(VG_(get_running_tid)()) - 1;
   while (a < end) {
      SizeT part = end - a < CHUNK ? end - a : CHUNK;
      operation_over(tag, threads_current(), executed, pc, a, part);
      a += part;
   }
}

/* Of a range without persistent memory the beginning is recorded, so that it is known that the program has said it. */
void annotated(Tag tag, Addr a, SizeT length)
{
   Addr end = a + length;
   const Mapping* mapping;
   if (length > 0 && mapping_at(a, length) == NULL) annotation(tag, a, length < CHUNK ? end : a + CHUNK);
   while (a < end && (mapping = mapping_at(a, end - a)) != NULL) {
      if (a < mapping->base) a = mapping->base;
      Addr stop = end < mapping->end ? end : mapping->end;
      annotation(tag, a, stop);
      a = stop;
   }
}
