/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What the stream lacks, as records of its own, so that whoever reads it knows. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"

/* As docs/trace-format.md numbers them. */
typedef enum { PROCESSES, EXEC, EXEC_FAILED, TRANSFERS, RENAMES, WRITES, KINDS } Lack;

/* Each time for an exec and a file, once for the others. */
static void lacks(Lack what, const HChar* text)
{
   static Bool told[KINDS];
   if (!stream_is_open() || told[what]) return;
   told[what] = what != EXEC && what != EXEC_FAILED && what != WRITES;
   record(TAG_LACKS);
   field_u(what);
   field_text(text);
}

void unrecorded_fork(void) { lacks(PROCESSES, ""); }

void unrecorded_exec(Addr path)
{
   HChar text[PATH_LIMIT + 1];
   SizeT length = 0;
   while (length < PATH_LIMIT && VG_(am_is_valid_for_client)(path + length, 1, VKI_PROT_READ)
          && *(const HChar*)(path + length) != 0) {
      text[length] = *(const HChar*)(path + length);
      length++;
   }
   text[length] = 0;
   lacks(EXEC, text);
}

void unrecorded_exec_failed(void) { lacks(EXEC_FAILED, ""); }

void unrecorded_transfers(const HChar* call) { lacks(TRANSFERS, call); }

void unrecorded_rename(const HChar* path) { lacks(RENAMES, path); }

/* Files that were written to when they were not recorded. Some are mapped later. */
enum { WRITTEN_MAX = 8 };
static struct { ULong device, inode; HChar* path; } written[WRITTEN_MAX];
static UInt written_count;

void unrecorded_write(Int fd)
{
   struct vg_stat status;
   HChar path[PATH_LIMIT + 1];
   if (written_count == WRITTEN_MAX || fd <= 2 || VG_(fstat)(fd, &status) != 0) return;
   if ((status.mode & VKI_S_IFMT) != VKI_S_IFREG) return;
   for (UInt i = 0; i < written_count; i++)
      if (written[i].device == status.dev && written[i].inode == status.ino) return;
   if (!path_of_descriptor(fd, path)) return;
   written[written_count].device = status.dev;
   written[written_count].inode = status.ino;
   written[written_count++].path = VG_(strdup)("counterpoint.written", path);
}

void unrecorded_end(void)
{
   for (UInt i = 0; i < written_count; i++)
      if (!file_known(written[i].device, written[i].inode)) lacks(WRITES, written[i].path);
}
