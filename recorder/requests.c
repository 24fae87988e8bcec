/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   The client requests of pmemcheck, by which PMDK and others announce persistent memory and transactions, and those of
   counterpoint_program.h. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clreq.h"
#include "pub_tool_vki.h"
#include "valgrind.h"

/* As pmemcheck.h of PMDK's Valgrind numbers them. */
enum {
   REGISTER_PMEM_MAPPING = VG_USERREQ_TOOL_BASE('P', 'C'),
   REGISTER_PMEM_FILE,
   REMOVE_PMEM_MAPPING,
   CHECK_IS_PMEM_MAPPING,
   SET_CLEAN = REGISTER_PMEM_MAPPING + 17,
   START_TX,
   START_TX_N,
   END_TX,
   END_TX_N,
   EMIT_LOG = REGISTER_PMEM_MAPPING + 30
};

/* As counterpoint_program.h numbers them. */
enum { COUNTER_WRITEBACK = VG_USERREQ_TOOL_BASE('C', 'P'), COUNTER_ATOMIC };

/* A length that leads beyond the last address, such as a negative one, ends there. */
static SizeT within(Addr base, SizeT length)
{
   SizeT most = ~(Addr)0 - base;
   if (length <= most) return length;
   VG_(umsg)("warning: a client request for 0x%lx bytes at 0x%lx leads beyond the last address and ends there\n", length,
             base);
   return most;
}

/* How much of a range the program has mapped, from its beginning on. */
static SizeT mapped(Addr base, SizeT length)
{
   Addr a = base, end = base + length;
   while (a < end) {
      NSegment const* segment = VG_(am_find_nsegment)(a);
      if (segment == NULL || !(segment->kind == SkAnonC || segment->kind == SkFileC || segment->kind == SkShmC)) break;
      a = end - 1 <= segment->end ? end : segment->end + 1;
   }
   return a - base;
}

/* Memory that is no recorded file mapping becomes a file of its own. */
static void register_memory(Addr base, SizeT length)
{
   Addr a = base, end = base + mapped(base, length);
   while (a < end) {
      const Mapping* known = mapping_at(a, end - a);
      Addr stop = known == NULL ? end : known->base > a ? known->base : a;
      if (stop > a) mapping_add(a, stop - a, file_of_memory(a, stop - a), a % LINE, True);
      a = known == NULL ? end : mapping_at(stop, 1)->end;
   }
}

static void register_file(Int fd, Addr base, SizeT length, ULong offset)
{
   length = mapped(base, length);
   if (mappings_cover(base, length)) return;
   File* file = file_of_descriptor(fd, MAPPED);
   if (file != NULL) mapping_add(base, length, file, offset, True);
}

/* The memory of a file that the patterns leave out is left out here as well. */
static Bool left_out(Addr base)
{
   if (files_mapped.count == 0) return False;
   NSegment const* segment = VG_(am_find_nsegment)(base);
   return segment != NULL && segment->kind == SkFileC;
}

static void transaction(Tag tag)
{
   by_thread(threads_current());
   record(tag);
   field_u(0);
}

void mark(const UChar* text, SizeT length)
{
   by_thread(threads_current());
   record(TAG_MARK);
   field_u(length);
   field_bytes(text, length);
}

static void mark_of_client(const HChar* text)
{
   SizeT length = 0;
   while (length < PATH_LIMIT && VG_(am_is_valid_for_client)((Addr)text + length, 1, VKI_PROT_READ) && text[length])
      length++;
   mark((const UChar*)text, length);
}

static Bool has_range(UWord number)
{
   return number == REGISTER_PMEM_MAPPING || number == REGISTER_PMEM_FILE || number == REMOVE_PMEM_MAPPING
          || number == SET_CLEAN || number == CHECK_IS_PMEM_MAPPING || number == COUNTER_WRITEBACK
          || number == COUNTER_ATOMIC;
}

static Bool request(ThreadId tid, UWord* args, UWord* result)
{
   if (!VG_IS_TOOL_USERREQ('P', 'C', args[0]) && !VG_IS_TOOL_USERREQ('C', 'P', args[0])) return False;
   *result = 0;
   if (!stream_is_open()) return True;
   threads_run(tid);
   Addr base = args[args[0] == REGISTER_PMEM_FILE ? 2 : 1];
   SizeT length = args[args[0] == REGISTER_PMEM_FILE ? 3 : 2];
   if (has_range(args[0])) length = within(base, length);
   switch (args[0]) {
      case REGISTER_PMEM_MAPPING:
         scratch_end(base, length);
         if (!left_out(base)) register_memory(base, length);
         break;
      case REGISTER_PMEM_FILE:
         scratch_end(base, length);
         register_file(args[1], base, length, args[4]);
         break;
      /* What is stored to a part of a file's mapping is stored to the file all the same. */
      case REMOVE_PMEM_MAPPING:
         mapping_remove(base, length, True);
         scratch_begin(base, length);
         break;
      case SET_CLEAN: scratch_stored(base, length); break;
      case CHECK_IS_PMEM_MAPPING: *result = mappings_cover(base, length); break;
      case START_TX:
      case START_TX_N: transaction(TAG_TX_BEGIN); break;
      case END_TX:
      case END_TX_N: transaction(TAG_TX_END); break;
      case EMIT_LOG: mark_of_client((const HChar*)args[1]); break;
      case COUNTER_WRITEBACK: annotated(TAG_COUNTER_WRITEBACK, base, length); break;
      case COUNTER_ATOMIC: annotated(TAG_COUNTER_ATOMIC, base, length); break;
      default: break;   /* what serves pmemcheck's own checks */
   }
   return True;
}

void requests_init(void) { VG_(needs_client_requests)(request); }
