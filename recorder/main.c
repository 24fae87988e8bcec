/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   The tool as Valgrind sees it: options, start and end. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_options.h"
#include "pub_tool_vki.h"

static Int trace_descriptor = -1, soft_files;
static const HChar* trace_files;

static void add_pattern(const HChar* argument, Patterns* patterns, const HChar* pattern)
{
   if (patterns->count == PATTERNS_MAX)
      VG_(fmsg_bad_option)(argument, "at most %d patterns can be given\n", PATTERNS_MAX);
   patterns->items[patterns->count++] = pattern;
}

static Bool option(const HChar* argument)
{
   const HChar* pattern;
   if (VG_BINT_CLO(argument, "--trace-fd", trace_descriptor, 0, 1 << 20)) {
   } else if (VG_STR_CLO(argument, "--trace-files", trace_files)) {
   } else if (VG_BINT_CLO(argument, "--soft-files", soft_files, 0, 1 << 20)) {
   } else if (VG_STR_CLO(argument, "--mark-stderr", printed_prefix)) {
   } else if (VG_STR_CLO(argument, "--pmem", pattern)) {
      add_pattern(argument, &files_mapped, pattern);
   } else if (VG_STR_CLO(argument, "--files", pattern)) {
      add_pattern(argument, &files_opened, pattern);
   } else {
      return False;
   }
   return True;
}

static void usage(void)
{
   VG_(printf)("    --trace-fd=<number>   write the trace to this file descriptor\n"
               "    --trace-files=<prefix> write it to <prefix>-<number>, the first number that is free: for\n"
               "                          --trace-children=yes, where each program has a trace of its own\n"
               "    --soft-files=<number> the soft limit of open files that the program finds\n"
               "    --mark-stderr=<text>  lines on standard error that begin with this are marks\n"
               "    --pmem=<pattern>      record mapped files whose path matches (* and ?), not all [repeatable]\n"
               "    --files=<pattern>     record files that are opened for writing whose path matches [repeatable]\n");
}

static void start_up_mapping(Addr a, SizeT length, Bool read, Bool write, Bool execute, ULong debug_info)
{
   NSegment const* segment = VG_(am_find_nsegment)(a);
   const HChar* path = segment != NULL && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
   if (execute && path != NULL) code_add(a, length, segment->offset + (a - segment->start), path);
}

static void forked_child(ThreadId tid)
{
   stream_abandon();
   files_close();
}

static void forking_parent(ThreadId tid) { unrecorded_fork(); }

/* A file of this program alone, whatever others are recorded at the same time. */
static Int own_trace(void)
{
   HChar path[PATH_LIMIT + 1];
   for (UInt number = 0;; number++) {
      VG_(snprintf)(path, sizeof path, "%s-%u", trace_files, number);
      SysRes opened = VG_(open)(path, VKI_O_CREAT | VKI_O_EXCL | VKI_O_WRONLY, 0600);
      if (!sr_isError(opened)) return (Int)sr_Res(opened);
      if (sr_Err(opened) != VKI_EEXIST) return -1;
   }
}

static void start(void)
{
   if (trace_files != NULL) trace_descriptor = own_trace();
   if (trace_descriptor < 0) {
      VG_(fmsg)("--trace-fd=<number> or --trace-files=<prefix> is needed: where the trace can be written\n");
      VG_(exit)(2);
   }
   VG_(clo_sigill_diag) = False;   /* it would report every clwb; instrument.c reports the rest */
   VG_(atfork)(NULL, forking_parent, forked_child);
   threads_init();
   files_init(soft_files);
   stream_open(trace_descriptor);
}

/* The linker sends the core's last calls here: only they say how the program ends. */
extern void __real_vgPlain_exit(Int status);
void __wrap_vgPlain_exit(Int status);
void __wrap_vgPlain_exit(Int status)
{
   stream_end(status & 0xff);
   __real_vgPlain_exit(status);
}

/* Later versions of Valgrind end a program by this one. */
extern void __real_vgPlain_client_exit(Int status) __attribute__((weak));
void __wrap_vgPlain_client_exit(Int status);
void __wrap_vgPlain_client_exit(Int status)
{
   stream_end(status & 0xff);
   __real_vgPlain_client_exit(status);
}

extern void __real_vgPlain_kill_self(Int signal);
void __wrap_vgPlain_kill_self(Int signal);
void __wrap_vgPlain_kill_self(Int signal)
{
   enum { KILLED = 128 };
   stream_end(KILLED + signal);
   __real_vgPlain_kill_self(signal);
}

static void finish(Int unused) { accesses_settle(); }

static void set_up(void)
{
   tool_set_up("counterpoint", "a recorder of what programs do to persistent memory", start, finish, option, usage);
   VG_(track_new_mem_startup)(start_up_mapping);
   syscalls_init();
   requests_init();
}

VG_DETERMINE_INTERFACE_VERSION(set_up)
