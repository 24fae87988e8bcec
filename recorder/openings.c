/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Files that are recorded because the program opens them for writing, and what system calls do to files by their paths. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"

enum { CURRENT_FOLDER = -100 };
/* By threads: whether the file was not there before the call. */
static Bool* creates;

/* A path of the program as one of the recorder's; False if it is none. */
static Bool readable(Int folder, const HChar* path, HChar* found)
{
   SizeT length = 0;
   while (length < PATH_LIMIT && VG_(am_is_valid_for_client)((Addr)path + length, 1, VKI_PROT_READ) && path[length])
      length++;
   if (length == 0 || length == PATH_LIMIT) return False;
   if (folder == CURRENT_FOLDER || path[0] == '/') VG_(snprintf)(found, PATH_LIMIT + 64, "%s", path);
   else VG_(snprintf)(found, PATH_LIMIT + 64, "/proc/self/fd/%d/%s", folder, path);
   return True;
}

static Bool writes(UWord flags) { return (flags & VKI_O_ACCMODE) != VKI_O_RDONLY; }

/* Calls `act` with the file of a path, if it is recorded, or is to be. */
static void of_path(const HChar* path, Reason reason, ULong length, void (*act)(File*, ULong, ULong))
{
   Int fd = VG_(fd_open)(path, VKI_O_RDONLY, 0);
   if (fd < 0) return;
   File* file = file_of_descriptor(fd, reason);
   VG_(close)(fd);
   if (file != NULL && file->size != NO_SIZE) act(file, length, file->size);
}

void will_open(ThreadId tid, Int folder, const HChar* path, UWord flags)
{
   HChar found[PATH_LIMIT + 64];
   struct vg_stat status;
   if (creates == NULL) creates = VG_(calloc)("counterpoint.creates", VG_N_THREADS, sizeof *creates);
   creates[tid] = False;
   if (!writes(flags) || (files_opened.count == 0 && !files_any()) || !readable(folder, path, found)) return;
   creates[tid] = flags & VKI_O_CREAT && sr_isError(VG_(stat)(found, &status));
   if (flags & VKI_O_TRUNC && !creates[tid]) of_path(found, OPENED, 0, file_changes);
}

void opened(ThreadId tid, Int fd, UWord flags)
{
   if (writes(flags)) file_of_descriptor(fd, creates != NULL && creates[tid] ? CREATED : OPENED);
   files_look();
}

void will_remove(Int folder, const HChar* path)
{
   HChar found[PATH_LIMIT + 64];
   if ((files_opened.count > 0 || files_any()) && readable(folder, path, found)) of_path(found, OPENED, 0, file_changes);
}

void will_cut(const HChar* path, ULong length)
{
   HChar found[PATH_LIMIT + 64];
   if (files_any() && readable(CURRENT_FOLDER, path, found)) of_path(found, KNOWN, length, file_changes);
}
