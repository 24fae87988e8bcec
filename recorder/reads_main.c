/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   The tool that notes reads (reads.h) as Valgrind sees it: options, start and end of a process. */

#include "reads.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_options.h"

static const HChar* reads_path;

static Bool option(const HChar* argument)
{
   const HChar* text;
   if (VG_STR_CLO(argument, "--reads", reads_path)) return True;
   if (!VG_STR_CLO(argument, "--image", text)) return False;
   HChar* rest;
   ULong device = VG_(strtoull10)(text, &rest);
   if (*rest != ':') VG_(fmsg_bad_option)(argument, "DEVICE:INODE is expected\n");
   if (!image_add(device, VG_(strtoull10)(rest + 1, &rest)))
      VG_(fmsg_bad_option)(argument, "at most %d images can be given\n", IMAGES_MAX);
   return True;
}

static void usage(void)
{
   VG_(printf)("    --reads=<file>            append to this file what is read of the images\n"
               "    --image=<device>:<inode>  an image, by the numbers of its file [repeatable]\n");
}

/* What the kernel would map of an image before the program begins is the image as a program. */
static void start_up_mapping(Addr a, SizeT length, Bool read, Bool write, Bool execute, ULong debug_info)
{
   NSegment const* segment = VG_(am_find_nsegment)(a);
   if (segment != NULL && segment->kind == SkFileC && image_of_file(segment->dev, segment->ino) != NULL)
      reads_tell("unknown program");
}

/* Its child does not write again what is noted. */
static void forking(ThreadId tid) { reads_flush(); }

static void forked(ThreadId tid) { reads_tell("fork"); }

static void finish(Int status) { reads_tell("end"); }

static void start(void)
{
   if (reads_path == NULL) {
      VG_(fmsg)("--reads=<file> is needed: where it is written what is read\n");
      VG_(exit)(2);
   }
   VG_(clo_sigill_diag) = False;   /* it would report every clwb; instrument.c reports the rest */
   VG_(atfork)(forking, forked, NULL);
   reads_open(reads_path);
   reads_tell("start");
}

static void set_up(void)
{
   tool_set_up("counterpoint-reads", "what programs read of some files", start, finish, option, usage);
   VG_(track_new_mem_startup)(start_up_mapping);
   reads_syscalls_init();
}

VG_DETERMINE_INTERFACE_VERSION(set_up)
