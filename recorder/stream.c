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
static ULong accounted;      /* instructions up to and with the last operation of each thread */
static Addr last_pc, last_address;
static ULong last_line;      /* of other memory */
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

/* The longest number, and a tag with four of them. */
enum { NUMBER = 10, OPERATION = 1 + 4 * NUMBER };

/* Where the next `length` bytes go; `wrote` says where they end. */
static inline UChar* room_for(UInt length)
{
   if (BUFFER - used < length) stream_flush();
   return buffer + used;
}

static inline void wrote(const UChar* end)
{
   UInt length = end - (buffer + used);
   used += length;
   bytes_since_sync += length;
}

static inline UChar* number(UChar* to, ULong value)
{
   while (value >= 0x80) {
      *to++ = (UChar)value | 0x80;
      value >>= 7;
   }
   *to++ = (UChar)value;
   return to;
}

static inline UChar* difference(UChar* to, ULong value)
{
   return number(to, (value << 1) ^ (ULong)((Long)value >> 63));
}

void field_u(ULong value) { wrote(number(room_for(NUMBER), value)); }

void field_text(const HChar* text)
{
   SizeT length = VG_(strnlen)(text, PATH_LIMIT);
   field_u(length);
   put(text, length);
}

void field_bytes(const UChar* bytes, SizeT length)
{
   enum { WORD = 8 };
   if (length == WORD) {
      UChar* to = room_for(WORD);
      __builtin_memcpy(to, bytes, WORD);
      wrote(to + WORD);
   } else {
      put(bytes, length);
   }
}

static void tag_only(Tag tag)
{
   UChar* to = room_for(1);
   *to = tag;
   wrote(to + 1);
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
   last_pc = last_address = last_line = 0;
   callers_forget();
   restating = True;
   files_restate();
   mappings_restate();
   restating = False;
}

static void sync_if_due(void)
{
   if (accesses_open) accesses_settle();
   /* Callers that were given for what is still open hold until it is written. */
   if (bytes_since_sync >= SYNC_EVERY && !restating && !accesses_open) sync_here();
}

void record(Tag tag)
{
   sync_if_due();
   tag_only(tag);
}

void by_thread(UInt thread)
{
   if (accesses_open) accesses_settle();
   if (thread == last_thread) return;
   record(TAG_THREAD);
   field_u(thread);
   last_thread = thread;
}

/* Loads are too many, and nothing waits for them by itself. */
static UInt most_callers(Tag tag) { return tag == TAG_LOAD ? 0 : tag == TAG_STORE ? CALLERS_NEAR : CALLERS_MAX; }

/* Differences begin at 0, so that the same callers are the same bytes wherever they come. */
static void callers(Addr pc, UInt most)
{
   const Callers* now;
   UInt known;
   switch (callers_of(pc, most, &now, &known)) {
   case CALLERS_HOLD: return;
   case CALLERS_KNOWN:
      tag_only(TAG_CALLERS_AGAIN);
      field_u(known);
      return;
   case CALLERS_NEW: break;
   }
   tag_only(TAG_CALLERS);
   field_u(now->count);
   Addr before = 0;
   for (UInt i = 0; i < now->count; i++) {
      wrote(difference(room_for(NUMBER), now->addresses[i] - before));
      before = now->addresses[i];
   }
}

void announce(Tag tag, UInt thread, Addr pc)
{
   by_thread(thread);
   sync_if_due();
   callers(pc, most_callers(tag));
}

/* As much of a count as one NEAR has. */
static void near_part(ULong* left)
{
   enum { NEAR_MAX = 4096 };
   ULong part = *left < NEAR_MAX ? *left : NEAR_MAX;
   field_u(part);
   *left -= part;
}

/* What the thread has executed since its record before, and its near loads and stores among that. Returns the instructions. */
static ULong account(UInt thread, Done completed, Bool with_own)
{
   Done between;
   accounted += threads_account(thread, completed, with_own, &between);
   while (between.loads != 0 || between.stores != 0) {
      tag_only(TAG_NEAR);
      near_part(&between.loads);
      near_part(&between.stores);
   }
   return between.instructions;
}

/* The part that all operations have. */
static inline UChar* instruction(Tag tag, UInt thread, Done completed, Addr pc)
{
   ULong between = account(thread, completed, True);
   UChar* to = room_for(OPERATION);
   *to++ = tag;
   records++;
   to = number(to, between);
   to = difference(to, pc - last_pc);
   last_pc = pc;
   return to;
}

/* The beginning of an operation, and where an address and a length of it go. */
static inline UChar* operation_begun(Tag tag, UInt thread, Done completed, Addr pc)
{
   by_thread(thread);
   sync_if_due();
   /* What is open has had its callers. */
   if (tag != TAG_LOAD && !accesses_open) callers(pc, most_callers(tag));
   return instruction(tag == TAG_STORE ? TAG_CALLED_STORE : tag, thread, completed, pc);
}

static inline UChar* address(UChar* to, Addr a)
{
   to = difference(to, a - last_address);
   last_address = a;
   return to;
}

void operation(Tag tag, UInt thread, Done completed, Addr pc)
{
   wrote(operation_begun(tag, thread, completed, pc));
}

void operation_at(Tag tag, UInt thread, Done completed, Addr pc, Addr a)
{
   wrote(address(operation_begun(tag, thread, completed, pc), a));
}

void operation_over(Tag tag, UInt thread, Done completed, Addr pc, Addr a, SizeT length)
{
   wrote(number(address(operation_begun(tag, thread, completed, pc), a), length));
}

void operation_other(Tag tag, UInt thread, Done completed, Addr pc, Addr a)
{
   /* What is kept back is of the same thread and instruction. */
   if (!accesses_open) {
      by_thread(thread);
      sync_if_due();
   }
   UChar* to = instruction(tag, thread, completed, pc);
   ULong line = a / LINE;
   wrote(difference(to, line - last_line));
   last_line = line;
}

ULong stream_records(void) { return records; }

void follows(UInt thread, Done completed, UInt other, ULong count)
{
   by_thread(thread);
   sync_if_due();
   /* Nothing is kept back any more. */
   ULong before = records, between = account(thread, completed, False);
   tag_only(TAG_FOLLOWS);
   field_u(between);
   field_u(other);
   field_u(count < before ? count : before);
}

void stream_open(Int fd)
{
   /* Above the descriptors that the program sees and could close. */
   output = VG_(safe_fd)(fd);
   put("CPTRACE\010", 8);
   sync_here();
}

void stream_end(UInt status)
{
   if (output < 0) return;
   accesses_settle();
   unrecorded_end();
   ULong before = records;
   tag_only(TAG_END);
   field_u(before);
   field_u(executed.instructions);
   field_u(status);
   stream_flush();
   stream_abandon();
}
