/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What the kernel writes into files, how long they are, and when both are durable.

   Parts that no mapping has get addresses that no program has. The size of a file is a file of its own, of one word, as if
   it were the line of the inode: stored to when the size changes, flushed when the file is synced. What is cut off stays in
   the stream until the file is longer again: then the shorter size is durable, and the zeros are. */

#include "recorder.h"

enum { FILE_BITS = 48 };
static const Addr WINDOWS = 1ULL << 63;

static Addr window_of(UInt number) { return WINDOWS | (Addr)number << FILE_BITS; }

void window_state(const File* file)
{
   record(TAG_MAP);
   field_u(window_of(file->number));
   field_u(file->window);
   field_u(file->number);
   field_u(0);
}

Addr window_at(File* file, ULong offset, ULong length)
{
   ULong end = offset + length, before = file->window, more = before + before / 4;
   if (end > before) {
      if (before > 0) {
         record(TAG_UNMAP);
         field_u(window_of(file->number));
         field_u(before);
      }
      file->window = ((end > more ? end : more) + CHUNK - 1) & ~(ULong)(CHUNK - 1);
      window_state(file);
   }
   return window_of(file->number) + offset;
}

void file_changes(File* file, ULong start, ULong end)
{
   if (file->memory == 0 && start < end) file_image(file, start, end - start);
}

/* Read from the file, as a mapping may be protected or reach beyond the end of the file. */
static void store_there(File* file, ULong offset, Addr a, SizeT length)
{
   static UChar bytes[CHUNK];
   file_read(file, offset, bytes, length);
   kernel_bytes(file, offset, a, bytes, length);
}

void file_changed(File* file, ULong start, ULong end)
{
   file_changes(file, start, end);
   mappings_places(file, start, end, store_there);
}

static void flush_size(File* file, Bool at_once)
{
   if (file->size_open) kernel_flush(window_of(file->length->number), 1, at_once);
   file->size_open = False;
}

static void size_bytes(ULong size, UChar* bytes)
{
   for (UInt i = 0; i < sizeof size; i++) bytes[i] = size >> 8 * i;
}

void size_begins(File* file, ULong size)
{
   UChar bytes[sizeof size];
   size_bytes(size, bytes);
   record(TAG_IMAGE);
   field_u(file->number);
   field_u(0);
   field_u(sizeof bytes);
   field_bytes(bytes, sizeof bytes);
}

static void zeros_there(File* file, ULong offset, Addr a, SizeT length)
{
   static const UChar zeros[CHUNK];
   kernel_bytes(file, offset, a, zeros, length);
   kernel_flush(a, length, True);
}

/* A file system makes the shorter size durable before what was cut off is free, and does not show it again. */
static void resized(File* file, ULong before)
{
   ULong was = before == NO_SIZE ? 0 : before, now = file->size == NO_SIZE ? 0 : file->size;
   if (now < was && was > file->cut) file->cut = was;
   if (now > was && file->cut > was) {
      flush_size(file, True);
      mappings_places(file, was, now < file->cut ? now : file->cut, zeros_there);
      if (now >= file->cut) file->cut = 0;
   }
   UChar bytes[sizeof now];
   size_bytes(file->size, bytes);
   kernel_bytes(file->length, 0, window_of(file->length->number), bytes, sizeof bytes);
   file->size_open = True;
   if (file->synchronous) flush_size(file, True);
}

void files_look(void) { files_check_sizes(resized); }

static void flush_there(File* file, ULong offset, Addr a, SizeT length)
{
   kernel_flush(a, length, False);
}

void file_synced(File* file, ULong start, ULong end)
{
   if (file->length == NULL && file->window > 0) return;   /* it is a size, which is synced with its file */
   for (ULong offset = start; file_take_dirty(file, &offset, end); offset += PAGE)
      mappings_places(file, offset, offset + PAGE, flush_there);
   if (!file->gone) flush_size(file, False);
}

static const HChar* synced_folder;

static void names_synced(File* file)
{
   SizeT length = VG_(strcmp)(synced_folder, "/") == 0 ? 0 : VG_(strlen)(synced_folder);
   const HChar* rest = file->path + length;
   if (VG_(strncmp)(file->path, synced_folder, length) != 0 || *rest != '/' || VG_(strchr)(rest + 1, '/') != NULL) return;
   flush_size(file, False);
}

void folder_synced(const HChar* path)
{
   synced_folder = path;
   files_each(names_synced);
}
