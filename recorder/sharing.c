/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Which thread follows which: it reads, anywhere in memory, what the other has written; it stores to persistent memory over
   what the other has stored; it has been created by it, or waits until it has ended. Only then is it known that the order in
   which both ran here is the program's, and not that of Valgrind, which runs one thread at a time.

   Kept for each word of memory that has been written since there was a second thread: who wrote it last, and how many
   records the stream had then. Who writes a part of a word follows whoever wrote it before, so that those who read the rest
   still follow both. */

#include "recorder.h"
#include "pub_tool_hashtable.h"

enum {
   WORD = 4, WORDS = PAGE / WORD,
   RECORD_BITS = 40,
   /* So many records may come at most of what is kept back when a word is written. */
   KEPT_BACK = 8,
   CACHED = 256
};

/* Of each word: the serial number of the thread, plus 1, and the records. */
typedef struct Page Page;
struct Page {
   Page* next;
   UWord number;
   ULong words[WORDS];
};

/* What a thread follows: by the serial number of the other, records of the stream. */
typedef struct {
   ULong* of;
   UInt room;
   UInt creator;        /* plus 1; 0: it has followed it, or has none */
   ULong created;
   Addr end_word;       /* what the kernel sets to 0 when it ends; 0: nothing */
} Following;

static Bool active;
static VgHashTable* pages;
static Page* cached[CACHED];
static Following* threads;
static UInt room;
/* The end word of the thread that is about to be created. */
static Addr child_word;

static ULong records_by_now(void) { return stream_records() + (accesses_open ? KEPT_BACK : 0); }

static Page* page_of(Addr a, Bool make)
{
   UWord number = a / PAGE;
   Page** slot = &cached[number % CACHED];
   if (*slot != NULL && (*slot)->number == number) return *slot;
   Page* page = VG_(HT_lookup)(pages, number);
   if (page == NULL && make) {
      page = VG_(calloc)("counterpoint.sharing", 1, sizeof *page);
      page->number = number;
      VG_(HT_add_node)(pages, page);
   }
   if (page != NULL) *slot = page;
   return page;
}

static void make_room(UInt serial)
{
   if (serial < room) return;
   UInt wanted = 2 * serial + 2;
   threads = VG_(realloc)("counterpoint.sharing", threads, wanted * sizeof *threads);
   VG_(memset)(threads + room, 0, (wanted - room) * sizeof *threads);
   room = wanted;
}

/* The running thread follows what another has done up to a number of records; `completed`: instructions so far. */
static void follow(UInt other, ULong records, Done completed)
{
   if (!stream_is_open()) return;
   UInt serial = threads_serial(), number;
   make_room(serial > other ? serial : other);
   Following* following = &threads[serial];
   if (other >= following->room) {
      UInt wanted = 2 * other + 2;
      following->of = VG_(realloc)("counterpoint.sharing", following->of, wanted * sizeof(ULong));
      VG_(memset)(following->of + following->room, 0, (wanted - following->room) * sizeof(ULong));
      following->room = wanted;
   }
   if (records <= following->of[other]) return;
   following->of[other] = records;
   /* A thread of which the stream has nothing has done nothing that matters, and followed nobody. */
   if (threads_known(other, &number)) follows(threads_current(), completed, number, records);
}

static void read(Addr a, SizeT length, Done completed)
{
   for (Addr word = a & ~(Addr)(WORD - 1); word < a + length; word += WORD) {
      Page* page = page_of(word, False);
      ULong written = page == NULL ? 0 : page->words[word % PAGE / WORD];
      if (written == 0) continue;
      UInt writer = (written >> RECORD_BITS) - 1;
      if (writer != threads_serial()) follow(writer, written & ((1ULL << RECORD_BITS) - 1), completed);
   }
}

/* The word that holds `a`, if [first, first + length) does not hold all of it. */
static void part_written(Addr a, Addr first, SizeT length, Done completed)
{
   Addr word = a & ~(Addr)(WORD - 1);
   if (word < first || word + WORD > first + length) read(word, WORD, completed);
}

static void wrote(Addr a, SizeT length, Done completed)
{
   if (length == 0) return;
   part_written(a, a, length, completed);
   part_written(a + length - 1, a, length, completed);
   ULong written = ((ULong)threads_serial() + 1) << RECORD_BITS | records_by_now();
   for (Addr word = a & ~(Addr)(WORD - 1); word < a + length; word += WORD)
      page_of(word, True)->words[word % PAGE / WORD] = written;
}

static VG_REGPARM(2) void any_read(const Access* access, Addr a)
{
   read(a, access->size, executed_before(access));
}

static VG_REGPARM(2) void any_written(const Access* access, Addr a)
{
   if (!access->repeats) accesses_settle();
   wrote(a, access->size, executed_before(access));
}

void sharing_overwrites(Addr a, SizeT length, Done completed)
{
   if (active) read(a, length, completed);
}

void sharing_kernel_wrote(Addr a, SizeT length)
{
   if (active) wrote(a, length, executed);
}

void sharing_creates(Addr end_word) { child_word = end_word; }

void sharing_created(UInt parent, UInt child)
{
   if (!active) {
      active = True;
      pages = VG_(HT_construct)("counterpoint.sharing");
      every_access.read = any_read;
      every_access.written = any_written;
      /* What has been translated does not call these. Within a system call nothing of it is being executed. */
      VG_(discard_translations)(0, ~0ULL, "a second thread");
   }
   make_room(child > parent ? child : parent);
   threads[child].creator = parent + 1;
   threads[child].created = records_by_now();
   threads[child].end_word = child_word;
   child_word = 0;
}

void sharing_runs(void)
{
   UInt serial = threads_serial();
   if (serial >= room || threads[serial].creator == 0) return;
   UInt creator = threads[serial].creator - 1;
   threads[serial].creator = 0;
   follow(creator, threads[serial].created, executed);
}

void sharing_ended(void)
{
   UInt serial = threads_serial();
   if (active && serial < room && threads[serial].end_word != 0) wrote(threads[serial].end_word, sizeof(Int), executed);
}
