/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   The files that are recorded. Each is held open, so that its inode number means no other file. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_seqmatch.h"
#include "pub_tool_vki.h"

Patterns files_mapped, files_opened;

static File** files;
static UInt count, room;

static File* add(const HChar* path)
{
   if (count == room) {
      room = room ? 2 * room : 16;
      files = VG_(realloc)("counterpoint.files", files, room * sizeof(File*));
   }
   File* file = VG_(calloc)("counterpoint.file", 1, sizeof(File));
   file->number = count;
   file->path = VG_(strdup)("counterpoint.path", path);
   file->fd = -1;
   files[count++] = file;
   return file;
}

static void state(const File* file)
{
   record(TAG_FILE);
   field_u(file->number);
   field_text(file->path);
}

void files_restate(void)
{
   for (UInt i = 0; i < count; i++) state(files[i]);
}

void files_each(void (*visit)(File*))
{
   for (UInt i = 0; i < count; i++) visit(files[i]);
}

/* Room for descriptors above those of the program: Valgrind keeps only a dozen. */
void files_init(Int soft)
{
   enum { MORE = 4096 };
   if (soft > 0 && soft < VG_(fd_soft_limit)) VG_(fd_soft_limit) = soft;
   struct vki_rlimit limit;
   if (VG_(getrlimit)(VKI_RLIMIT_NOFILE, &limit) != 0) return;
   limit.rlim_cur = limit.rlim_max - limit.rlim_cur > MORE ? limit.rlim_cur + MORE : limit.rlim_max;
   VG_(setrlimit)(VKI_RLIMIT_NOFILE, &limit);
}

void files_close(void)
{
   for (UInt i = 0; i < count; i++) {
      if (files[i]->fd >= 0) VG_(close)(files[i]->fd);
      files[i]->fd = -1;
   }
}

static Bool matches(const Patterns* patterns, const HChar* path)
{
   for (UInt i = 0; i < patterns->count; i++)
      if (VG_(string_match)(patterns->items[i], path)) return True;
   return False;
}

static Bool wanted(const HChar* path, Reason reason)
{
   if (reason == MAPPED && files_mapped.count == 0) return True;
   return matches(reason == MAPPED ? &files_mapped : &files_opened, path);
}

/* Regular files, and the character devices of persistent memory. */
static Bool persistent(const struct vg_stat* status, const HChar* path)
{
   if ((status->mode & VKI_S_IFMT) == VKI_S_IFREG) return True;
   return (status->mode & VKI_S_IFMT) == VKI_S_IFCHR && VG_(strncmp)(path, "/dev/dax", 8) == 0;
}

/* A descriptor where the program has none. */
static Int own_descriptor(const HChar* path)
{
   enum { DUPLICATE_CLOSED_BY_EXEC = 1030 };
   Int low = VG_(fd_open)(path, VKI_O_RDONLY, 0);
   if (low < 0) return -1;
   Int own = VG_(fcntl)(low, DUPLICATE_CLOSED_BY_EXEC, VG_(fd_hard_limit));
   VG_(close)(low);
   return own < 0 ? -1 : own;
}

Bool path_of_descriptor(Int fd, HChar* path)
{
   HChar link[64];
   VG_(snprintf)(link, sizeof link, "/proc/self/fd/%d", fd);
   SSizeT length = VG_(readlink)(link, path, PATH_LIMIT);
   if (length <= 0) return False;
   path[length] = 0;
   return True;
}

static void bind(File* file, const struct vg_stat* status, const HChar* link)
{
   file->device = status->dev;
   file->inode = status->ino;
   file->size = status->size;
   file->fd = own_descriptor(link);
}

/* The file that stands for the size of another one, which has the number before it. */
static void add_length(File* of, ULong size)
{
   HChar path[PATH_LIMIT + 1];
   VG_(snprintf)(path, sizeof path, "size:%s", of->path);
   File* file = add(path);
   of->length = file;
   file->window = LINE;
   state(file);
   window_state(file);
   size_begins(file, size);
}

/* One of the same path that is gone is the same file. */
static File* again(const HChar* path)
{
   for (UInt i = 0; i < count; i++)
      if (files[i]->gone && VG_(strcmp)(files[i]->path, path) == 0) return files[i];
   return NULL;
}

File* file_of_descriptor(Int fd, Reason reason)
{
   struct vg_stat status;
   if (VG_(fstat)(fd, &status) != 0) return NULL;
   for (UInt i = 0; i < count; i++)
      if (files[i]->fd >= 0 && !files[i]->gone && files[i]->device == status.dev && files[i]->inode == status.ino) return files[i];
   if (reason == KNOWN) return NULL;

   HChar link[64], path[PATH_LIMIT + 1];
   VG_(snprintf)(link, sizeof link, "/proc/self/fd/%d", fd);
   if (!path_of_descriptor(fd, path) || !persistent(&status, path) || !wanted(path, reason)) return NULL;

   File* file = again(path);
   if (file != NULL) {
      VG_(close)(file->fd);
      bind(file, &status, link);
      file->size = NO_SIZE;   /* until somebody looks */
      file->gone = False;
      return file;
   }
   file = add(path);
   bind(file, &status, link);
   file->named = reason != MAPPED && status.nlink > 0;
   state(file);
   if ((status.mode & VKI_S_IFMT) == VKI_S_IFREG) add_length(file, reason == CREATED ? NO_SIZE : file->size);
   if (reason == CREATED) file->size = NO_SIZE;
   return file;
}

File* file_of_memory(Addr base, SizeT length)
{
   HChar path[64];
   VG_(snprintf)(path, sizeof path, "memory:0x%lx", base);
   File* file = add(path);
   file->memory = base - base % LINE;
   file->size = base % LINE + length;
   state(file);
   return file;
}

/* What cannot be read, as beyond the end of the file, is zero. */
void file_read(const File* file, ULong offset, UChar* bytes, SizeT length)
{
   SizeT done = 0;
   if (file->memory != 0) {
      if (VG_(am_is_valid_for_client)(file->memory + offset, length, VKI_PROT_READ)) {
         VG_(memcpy)(bytes, (const void*)(file->memory + offset), length);
         done = length;
      }
   } else {
      Int fd = file->fd >= 0 ? file->fd : VG_(fd_open)(file->path, VKI_O_RDONLY, 0);
      if (fd >= 0 && VG_(lseek)(fd, offset, VKI_SEEK_SET) >= 0) {
         while (done < length) {
            Int n = VG_(read)(fd, bytes + done, length - done);
            if (n <= 0) break;
            done += n;
         }
      }
      if (fd >= 0 && fd != file->fd) VG_(close)(fd);
   }
   VG_(memset)(bytes + done, 0, length - done);
}

/* Whole words first: most of a new file is zero. */
static Bool is_zero(const UChar* bytes, SizeT length)
{
   SizeT i = 0;
   for (ULong word; i + sizeof word <= length; i += sizeof word) {
      __builtin_memcpy(&word, bytes + i, sizeof word);
      if (word != 0) return False;
   }
   for (; i < length; i++)
      if (bytes[i] != 0) return False;
   return True;
}

static void image_part(const File* file, ULong offset, const UChar* bytes, SizeT length)
{
   record(TAG_IMAGE);
   field_u(file->number);
   field_u(offset);
   field_u(length);
   field_bytes(bytes, length);
}

/* One IMAGE for each run of pages that are not all zero. */
static void image_chunk(const File* file, ULong offset, SizeT length)
{
   static UChar bytes[CHUNK];
   file_read(file, offset, bytes, length);
   SizeT start = 0, at = 0;
   while (at < length) {
      SizeT page = PAGE - (offset + at) % PAGE;
      if (page > length - at) page = length - at;
      if (is_zero(bytes + at, page)) {
         if (at > start) image_part(file, offset + start, bytes + start, at - start);
         start = at + page;
      }
      at += page;
   }
   if (at > start) image_part(file, offset + start, bytes + start, at - start);
}

/* The first offset in [at, end) that is not in a hole, or `end`; `at` where the file system knows no holes. */
static ULong next_data(const File* file, ULong at, ULong end)
{
   enum { SEEK_TO_DATA = 3, SEEK_TO_HOLE = 4 };
   if (file->fd < 0) return at;
   Off64T data = VG_(lseek)(file->fd, at, SEEK_TO_DATA);
   if (data >= 0) return (ULong)data < at ? at : (ULong)data < end ? (ULong)data : end;
   /* Valgrind keeps to itself why a call failed: a file with nothing but a hole from here on knows that one. */
   return VG_(lseek)(file->fd, at, SEEK_TO_HOLE) >= 0 ? end : at;
}

void file_image(File* file, ULong offset, ULong length)
{
   Interval part;
   while (intervals_next(&file->imaged, offset, offset + length, False, &part)) {
      ULong size = file->size == NO_SIZE ? 0 : file->size;
      ULong at = part.start, end = part.end < size ? part.end : size;
      while ((at = next_data(file, at, end)) < end) {
         ULong step = CHUNK - at % CHUNK;
         if (step > end - at) step = end - at;
         image_chunk(file, at, step);
         at += step;
      }
      intervals_add(&file->imaged, part.start, part.end);
   }
}

Bool files_any(void) { return count > 0; }

Bool file_known(ULong device, ULong inode)
{
   for (UInt i = 0; i < count; i++)
      if (files[i]->fd >= 0 && files[i]->device == device && files[i]->inode == inode) return True;
   return False;
}

void files_check_sizes(void (*resized)(File*, ULong))
{
   for (UInt i = 0; i < count; i++) {
      File* file = files[i];
      struct vg_stat status;
      if (file->fd < 0 || file->length == NULL || file->gone || VG_(fstat)(file->fd, &status) != 0) continue;
      ULong before = file->size;
      file->gone = file->named && status.nlink == 0;
      file->size = file->gone ? NO_SIZE : status.size;
      if (file->size != before) resized(file, before);
   }
}

/* Says of files that now have other names that they do. */
void files_renamed(void)
{
   for (UInt i = 0; i < count; i++) {
      HChar path[PATH_LIMIT + 1];
      if (!files[i]->named || files[i]->gone || files[i]->fd < 0 || !path_of_descriptor(files[i]->fd, path)) continue;
      if (VG_(strcmp)(path, files[i]->path) != 0) unrecorded_rename(files[i]->path);
   }
}

void file_mark_dirty(File* file, ULong offset, SizeT length)
{
   for (ULong page = offset / PAGE; page <= (offset + length - 1) / PAGE; page++) {
      if (page >= file->dirty_pages) {
         ULong pages = 2 * (page + 512) & ~7ULL;
         file->dirty = VG_(realloc)("counterpoint.dirty", file->dirty, pages / 8);
         VG_(memset)(file->dirty + file->dirty_pages / 8, 0, (pages - file->dirty_pages) / 8);
         file->dirty_pages = pages;
      }
      file->dirty[page / 8] |= 1 << page % 8;
   }
}

Bool file_take_dirty(File* file, ULong* offset, ULong end)
{
   ULong last = (end + PAGE - 1) / PAGE;
   if (last > file->dirty_pages) last = file->dirty_pages;
   for (ULong page = *offset / PAGE; page < last; page++) {
      if (file->dirty[page / 8] == 0) {
         page |= 7;
         continue;
      }
      if (file->dirty[page / 8] & 1 << page % 8) {
         file->dirty[page / 8] &= ~(1 << page % 8);
         *offset = page * PAGE;
         return True;
      }
   }
   return False;
}
