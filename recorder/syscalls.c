/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   System calls that change mappings, that write into files or memory, and that make files durable. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

enum {
   SHARED = 1, SHARED_VALIDATE = 3, MAP_TYPE = 15,
   SYNCHRONOUS = 4,                          /* msync */
   PUNCH_HOLE = 2, COLLAPSE = 8, ZERO_RANGE = 16, INSERT = 32,
   MADVISE_REMOVE = 9,
   WITH_SYNC = 0x80000,                      /* mmap */
   CURRENT_FOLDER = -100,                    /* openat */
   CREATING = VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC,
   DATA_SYNC = 010000,                       /* O_DSYNC, which O_SYNC contains */
   CLEAR_AT_END = 0x200000                   /* clone */
};
/* Not in the headers of Valgrind 3.19. */
enum { IO_URING_SETUP = 425 };
static const ULong WHOLE = 1ULL << 62;

static SizeT pages(SizeT length) { return (length + PAGE - 1) & ~(SizeT)(PAGE - 1); }

/* A recorded file, when a call is about to change it. */
static File* about_to_change(Int fd) { return files_any() ? file_of_descriptor(fd, KNOWN) : NULL; }

/* Where the bytes go; if that is negative, at the descriptor's position or at the end. */
static void will_write(Int fd, Long offset, ULong length)
{
   File* file = about_to_change(fd);
   if (file == NULL) return;
   if (offset < 0) offset = VG_(lseek)(fd, 0, VKI_SEEK_CUR);
   if (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND) offset = file->size;
   if (offset >= 0) file_changes(file, offset, offset + length);
}

static void will_write_at(Int fd, const Long* offset, ULong length)
{
   will_write(fd, offset != NULL && VG_(am_is_valid_for_client)((Addr)offset, sizeof *offset, VKI_PROT_READ) ? *offset : -1,
              length);
}

static ULong bytes_of(const struct vki_iovec* parts, UWord count)
{
   ULong length = 0;
   if (!VG_(am_is_valid_for_client)((Addr)parts, count * sizeof *parts, VKI_PROT_READ)) return 0;
   for (UWord i = 0; i < count; i++) length += parts[i].iov_len;
   return length;
}

static void written(Int fd, Long offset, ULong length)
{
   if (length == 0) return;
   File* file = file_of_descriptor(fd, KNOWN);
   if (file == NULL) {
      unrecorded_write(fd);
      return;
   }
   files_look();
   Int flags = VG_(fcntl)(fd, VKI_F_GETFL, 0);
   if (offset < 0) offset = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - length;
   else if (flags & VKI_O_APPEND) offset = file->size - length;
   file_changed(file, offset, offset + length);
   if (flags & DATA_SYNC) {
      file_synced(file, offset, offset + length);
      kernel_fence();
   }
}

/* Calls that write at *offset and move it, or at the descriptor's position. */
static void written_at(Int fd, const Long* offset, ULong length)
{
   written(fd, offset != NULL ? *offset - (Long)length : -1, length);
}

static void mapped(const UWord* args, Addr base)
{
   SizeT length = pages(args[1]);
   UWord protection = args[2], flags = args[3];
   Int fd = (Int)args[4];
   ULong offset = args[5];
   mapping_remove(base, length, False);
   if (flags & VKI_MAP_ANONYMOUS || fd < 0) return;

   UWord type = flags & MAP_TYPE;
   if ((type == SHARED || type == SHARED_VALIDATE)
       && (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_ACCMODE) == VKI_O_RDWR) {
      File* file = file_of_descriptor(fd, MAPPED);
      if (file != NULL) {
         files_look();
         mapping_add(base, length, file, offset, False);
      }
   }
   if (protection & VKI_PROT_EXEC) {
      HChar path[PATH_LIMIT + 1];
      if (path_of_descriptor(fd, path)) code_add(base, length, offset, path);
   }
}

static void remapped(const UWord* args, Addr to)
{
   Addr from = args[0];
   SizeT old_length = pages(args[1]), new_length = pages(args[2]);
   if (to != from) mapping_remove(to, new_length, False);
   const Mapping* mapping = old_length == 0 ? mapping_at(from, 1) : NULL;
   if (mapping != NULL && mapping->base <= from)   /* a second mapping of the same memory */
      mapping_add(to, new_length, mapping->file, mapping->offset + (from - mapping->base), False);
   else
      mapping_move(from, old_length, to, new_length);
}

/* Tells `act` of each part of a file that is mapped in a range. */
static void each_mapped(Addr a, SizeT length, void (*act)(File* file, ULong from, ULong to))
{
   Addr end = a + pages(length);
   const Mapping* mapping;
   while (a < end && (mapping = mapping_at(a, end - a)) != NULL) {
      if (a < mapping->base) a = mapping->base;
      Addr stop = end < mapping->end ? end : mapping->end;
      ULong offset = mapping->offset + (a - mapping->base);
      act(mapping->file, offset, offset + (stop - a));
      a = stop;
   }
}

static void memory_synced(Addr a, SizeT length)
{
   each_mapped(a, length, file_synced);
   kernel_fence();
}

static void memory_removed(Addr a, SizeT length)
{
   each_mapped(a, length, file_changed);
}

static void all_synced(File* file)
{
   file_synced(file, 0, WHOLE);
}

static void descriptor_synced(Int fd)
{
   File* file = file_of_descriptor(fd, KNOWN);
   struct vg_stat status;
   if (file != NULL) {
      all_synced(file);
   } else if (files_any() && VG_(fstat)(fd, &status) == 0 && (status.mode & VKI_S_IFMT) == VKI_S_IFDIR) {
      HChar path[PATH_LIMIT + 1];
      if (!path_of_descriptor(fd, path)) return;
      folder_synced(path);
   } else {
      return;
   }
   kernel_fence();
}

static void will_allocate(Int fd, UWord mode, ULong offset, ULong length)
{
   File* file = about_to_change(fd);
   if (file == NULL || file->size == NO_SIZE) return;
   if (mode & (PUNCH_HOLE | ZERO_RANGE)) file_changes(file, offset, offset + length);
   if (mode & (COLLAPSE | INSERT)) file_changes(file, offset, file->size);
}

static void allocated(Int fd, UWord mode, ULong offset, ULong length)
{
   File* file = file_of_descriptor(fd, KNOWN);
   if (file == NULL) return;
   files_look();
   if (mode & (PUNCH_HOLE | ZERO_RANGE)) file_changed(file, offset, offset + length);
   if (mode & (COLLAPSE | INSERT)) file_changed(file, offset, file->size);
}

static void will_truncate(Int fd, ULong length)
{
   File* file = about_to_change(fd);
   if (file != NULL && file->size != NO_SIZE) file_changes(file, length, file->size);
}

/* The program has asked for a mapping whose pages are durable in the file system before they are stored to; a file that is
   not on persistent memory has none, and the program takes another one. */
static void mapping_synchronous(const UWord* args)
{
   if ((args[3] & MAP_TYPE) != SHARED_VALIDATE || !(args[3] & WITH_SYNC) || args[3] & VKI_MAP_ANONYMOUS) return;
   File* file = file_of_descriptor((Int)args[4], MAPPED);
   if (file != NULL) file->synchronous = True;
}

static void names_changed(void)
{
   files_look();
   files_renamed();
}

static void printed_parts(Int fd, const struct vki_iovec* parts, SizeT length)
{
   for (; length > 0; parts++) {
      SizeT part = parts->iov_len < length ? parts->iov_len : length;
      printed(fd, parts->iov_base, part);
      length -= part;
   }
}

static Bool is_exec(UInt number) { return number == __NR_execve || number == __NR_execveat; }

static void before(ThreadId tid, UInt number, UWord* args, UInt count)
{
   if (is_exec(number)) {
      /* The program's memory, and the recorder in it, is gone if this succeeds. */
      unrecorded_exec(args[number == __NR_execve ? 0 : 1]);
      stream_flush();
   }
   if (!stream_is_open()) return;
   switch (number) {
      case __NR_clone: sharing_creates(args[0] & CLEAR_AT_END ? args[3] : 0); break;
      case __NR_write: will_write(args[0], -1, args[2]); break;
      case __NR_writev: will_write(args[0], -1, bytes_of((const struct vki_iovec*)args[1], args[2])); break;
      case __NR_pwrite64: will_write(args[0], args[3], args[2]); break;
      case __NR_pwritev:
      case __NR_pwritev2: will_write(args[0], args[3], bytes_of((const struct vki_iovec*)args[1], args[2])); break;
      case __NR_sendfile: will_write(args[0], -1, args[3]); break;
      case __NR_splice:
      case __NR_copy_file_range: will_write_at(args[2], (const Long*)args[3], args[4]); break;
      case __NR_ftruncate: will_truncate(args[0], args[1]); break;
      case __NR_truncate: will_cut((const HChar*)args[0], args[1]); break;
      case __NR_fallocate: will_allocate(args[0], args[1], args[2], args[3]); break;
      case __NR_open: will_open(tid, CURRENT_FOLDER, (const HChar*)args[0], args[1]); break;
      case __NR_openat: will_open(tid, args[0], (const HChar*)args[1], args[2]); break;
      case __NR_unlink: will_remove(CURRENT_FOLDER, (const HChar*)args[0]); break;
      case __NR_unlinkat: will_remove(args[0], (const HChar*)args[1]); break;
      case __NR_creat: will_open(tid, CURRENT_FOLDER, (const HChar*)args[0], CREATING); break;
      default: break;
   }
}

static void after(ThreadId tid, UInt number, UWord* args, UInt count, SysRes result)
{
   if (is_exec(number)) unrecorded_exec_failed();   /* or it would not be here */
   if (!stream_is_open()) return;
   if (number == __NR_mmap) mapping_synchronous(args);
   if (sr_isError(result)) return;
   threads_run(tid);
   UWord value = sr_Res(result);
   switch (number) {
      case __NR_mmap: mapped(args, value); break;
      case __NR_munmap: mapping_remove(args[0], pages(args[1]), False); break;
      case __NR_mremap: remapped(args, value); break;
      case __NR_msync: if (args[2] & SYNCHRONOUS) memory_synced(args[0], args[1]); break;
      case __NR_madvise: if (args[2] == MADVISE_REMOVE) memory_removed(args[0], args[1]); break;
      case __NR_fsync:
      case __NR_fdatasync: descriptor_synced(args[0]); break;
      case __NR_sync:
      case __NR_syncfs: files_each(all_synced); kernel_fence(); break;
      case __NR_write:
         written(args[0], -1, value);
         printed(args[0], (const UChar*)args[1], value);
         break;
      case __NR_writev:
         written(args[0], -1, value);
         printed_parts(args[0], (const struct vki_iovec*)args[1], value);
         break;
      case __NR_pwrite64:
      case __NR_pwritev:
      case __NR_pwritev2: written(args[0], args[3], value); break;
      case __NR_sendfile: written(args[0], -1, value); break;
      case __NR_splice:
      case __NR_copy_file_range: written_at(args[2], (const Long*)args[3], value); break;
      case __NR_ftruncate:
      case __NR_truncate: files_look(); break;
      case __NR_open: opened(tid, value, args[1]); break;
      case __NR_openat: opened(tid, value, args[2]); break;
      case __NR_creat: opened(tid, value, CREATING); break;
      case __NR_unlink:
      case __NR_unlinkat:
      case __NR_rename:
      case __NR_renameat:
      case __NR_renameat2: names_changed(); break;
      case __NR_fallocate: allocated(args[0], args[1], args[2], args[3]); break;
      case __NR_io_submit: unrecorded_transfers("io_submit"); break;
      case IO_URING_SETUP: unrecorded_transfers("io_uring"); break;
      default: break;
   }
}

static void memory_written(CorePart part, ThreadId tid, Addr a, SizeT length)
{
   threads_run(tid);
   /* Persistent memory first, as long as it is known who stored to it before. */
   kernel_store(a, length);
   sharing_kernel_wrote(a, length);
}

void syscalls_init(void)
{
   VG_(needs_syscall_wrapper)(before, after);
   VG_(track_post_mem_write)(memory_written);
}
