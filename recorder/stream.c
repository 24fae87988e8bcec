/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Writes records to the descriptor. */

#include "recorder.h"

enum { BUFFER = 256 * 1024, SYNC_EVERY = 1024 * 1024 };

static UChar buffer[BUFFER];
static UInt used;
static Int output = -1;

static ULong records, bytes_since_sync;
static ULong accounted;      /* instructions up to and with that of the last operation */
static Addr last_pc, last_address;
static UInt last_thread;
static Bool restating;

Bool stream_is_open(void) { return output >= 0; }

/* Forgets the stream: in a child after fork, or when it cannot be written. */
void stream_abandon(void)
{
   if (output >= 0) VG_(close)(output);
   output = -1;
   used = 0;
   mappings_forget();
}

/* The signal of a pipe whose reader has gone is the recorder's, not the program's. */
static void take_back_broken_pipe(void)
{
   vki_sigset_t set;
   vki_siginfo_t info;
   VG_(sigemptyset)(&set);
   VG_(sigaddset)(&set, VKI_SIGPIPE);
   VG_(sigtimedwait_zero)(&set, &info);
}

void stream_flush(void)
{
   UInt done = 0;
   while (done < used && output >= 0) {
      Int n = VG_(write)(output, buffer + done, used - done);
      if (n == -VKI_EINTR || n == -VKI_EAGAIN) continue;
      if (n <= 0) {
         if (n == -VKI_EPIPE) take_back_broken_pipe();
         VG_(umsg)("error: the trace cannot be written (error %d); the program goes on unrecorded\n", -n);
         stream_abandon();
         return;
      }
      done += n;
   }
   used = 0;
}

static void put(const void* bytes, SizeT length)
{
   const UChar* from = bytes;
   bytes_since_sync += length;
   while (length > 0) {
      if (used == BUFFER) stream_flush();
      SizeT part = length < BUFFER - used ? length : BUFFER - used;
      VG_(memcpy)(buffer + used, from, part);
      used += part;
      from += part;
      length -= part;
   }
}

/* The longest number. */
enum { NUMBER = 10 };

void field_u(ULong value)
{
   if (BUFFER - used < NUMBER) stream_flush();
   UInt from = used;
   while (value >= 0x80) {
      buffer[used++] = (UChar)value | 0x80;
      value >>= 7;
   }
   buffer[used++] = (UChar)value;
   bytes_since_sync += used - from;
}

static void field_s(ULong value)
{
   field_u((value << 1) ^ (ULong)((Long)value >> 63));
}

void field_text(const HChar* text)
{
   SizeT length = VG_(strnlen)(text, PATH_LIMIT);
   field_u(length);
   put(text, length);
}

void field_bytes(const UChar* bytes, SizeT length) { put(bytes, length); }

static void tag_only(Tag tag)
{
   if (used == BUFFER) stream_flush();
   buffer[used++] = tag;
   bytes_since_sync++;
   records++;
}

static void sync_here(void)
{
   bytes_since_sync = 0;
   ULong before = records;
   tag_only(TAG_SYNC);
   field_u(before);
   field_u(accounted);
   field_u(last_thread);
   last_pc = last_address = 0;
   callers_forget();
   restating = True;
   files_restate();
   mappings_restate();
   restating = False;
}

static void sync_if_due(void)
{
   accesses_settle();
   if (bytes_since_sync >= SYNC_EVERY && !restating) sync_here();
}

void record(Tag tag)
{
   sync_if_due();
   tag_only(tag);
}

void by_thread(UInt thread)
{
   accesses_settle();
   if (thread == last_thread) return;
   record(TAG_THREAD);
   field_u(thread);
   last_thread = thread;
}

/* Loads and ordinary stores are too many, and nothing waits for them by itself. */
static Bool has_callers(Tag tag) { return tag != TAG_LOAD && tag != TAG_STORE; }

/* Differences begin at 0, so that the same callers are the same bytes wherever they come. */
static void callers(Addr pc)
{
   const Callers* now;
   UInt number;
   switch (callers_of(pc, &now, &number)) {
   case CALLERS_HOLD: return;
   case CALLERS_KNOWN:
      tag_only(TAG_CALLERS_AGAIN);
      field_u(number);
      return;
   case CALLERS_NEW: break;
   }
   tag_only(TAG_CALLERS);
   field_u(now->count);
   Addr before = 0;
   for (UInt i = 0; i < now->count; i++) {
      field_s(now->addresses[i] - before);
      before = now->addresses[i];
   }
}

void operation(Tag tag, UInt thread, ULong completed, Addr pc)
{
   by_thread(thread);
   sync_if_due();
   if (has_callers(tag)) callers(pc);
   tag_only(tag);
   field_u(completed > accounted ? completed - accounted : 0);
   field_s(pc - last_pc);
   last_pc = pc;
   if (completed + 1 > accounted) accounted = completed + 1;
}

void field_address(Addr a)
{
   field_s(a - last_address);
   last_address = a;
}

void stream_open(Int fd)
{
   /* Above the descriptors that the program sees and could close. */
   output = VG_(safe_fd)(fd);
   put("CPTRACE\003", 8);
   sync_here();
}

void stream_end(UInt status)
{
   if (output < 0) return;
   accesses_settle();
   ULong before = records;
   tag_only(TAG_END);
   field_u(before);
   field_u(executed);
   field_u(status);
   stream_flush();
   stream_abandon();
}
