/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   System calls that change mappings, that write into files or memory, and that make files durable. */

#include "recorder.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

enum {
   SHARED = 1, SHARED_VALIDATE = 3, MAP_TYPE = 15,
   SYNCHRONOUS = 4,                          /* msync */
   PUNCH_HOLE = 2, COLLAPSE = 8, ZERO_RANGE = 16, INSERT = 32,
   MADVISE_REMOVE = 9,
   DATA_SYNC = 010000                        /* O_DSYNC, which O_SYNC contains */
};
/* Not in the headers of Valgrind 3.19. */
enum { IO_URING_SETUP = 425 };
static const ULong WHOLE = 1ULL << 62;

static SizeT pages(SizeT length) { return (length + PAGE - 1) & ~(SizeT)(PAGE - 1); }

static void not_stale(const Mapping* mapping, Addr a, SizeT length)
{
   ULong offset = mapping->offset + (a - mapping->base);
   intervals_remove(&mapping->file->stale, offset, offset + length);
}

/* The kernel changed [start, end) of a file: recorded now where it is mapped, and elsewhere when it is mapped again. */
static void changed(File* file, ULong start, ULong end)
{
   Interval part = { start, start };
   while (intervals_next(&file->imaged, part.end, end, True, &part))
      intervals_add(&file->stale, part.start, part.end);
   mappings_of_file(file, start, end, not_stale);
   mappings_of_file(file, start, end, kernel_store_of_file);
}

static void written(Int fd, Long offset, ULong length)
{
   if (length == 0) return;
   File* file = file_of_descriptor(fd, False);
   if (file == NULL) return;
   files_check_sizes(changed);
   Int flags = VG_(fcntl)(fd, VKI_F_GETFL, 0);
   if (offset < 0) offset = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - length;
   else if (flags & VKI_O_APPEND) offset = file->size - length;
   changed(file, offset, offset + length);
   if (flags & DATA_SYNC) {
      kernel_sync(file, offset, offset + length);
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
      File* file = file_of_descriptor(fd, True);
      if (file != NULL) {
         files_check_sizes(changed);
         mapping_add(base, length, file, offset, False);
      }
   }
   if (protection & VKI_PROT_EXEC) {
      HChar link[64], path[PATH_LIMIT + 1];
      VG_(snprintf)(link, sizeof link, "/proc/self/fd/%d", fd);
      SSizeT n = VG_(readlink)(link, path, PATH_LIMIT);
      if (n <= 0) return;
      path[n] = 0;
      code_add(base, length, offset, path);
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
   each_mapped(a, length, kernel_sync);
   kernel_fence();
}

static void memory_removed(Addr a, SizeT length)
{
   each_mapped(a, length, changed);
}

static void file_synced(File* file)
{
   kernel_sync(file, 0, WHOLE);
}

static void descriptor_synced(Int fd)
{
   File* file = file_of_descriptor(fd, False);
   if (file == NULL) return;
   file_synced(file);
   kernel_fence();
}

static void allocated(Int fd, UWord mode, ULong offset, ULong length)
{
   File* file = file_of_descriptor(fd, False);
   if (file == NULL) return;
   ULong before = file->size;
   files_check_sizes(changed);
   if (mode & (PUNCH_HOLE | ZERO_RANGE)) changed(file, offset, offset + length);
   if (mode & (COLLAPSE | INSERT)) changed(file, offset, before > file->size ? before : file->size);
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
   /* The program's memory, and the recorder in it, is gone if this succeeds. */
   if (!is_exec(number)) return;
   unrecorded_exec(args[number == __NR_execve ? 0 : 1]);
   stream_flush();
}

static void after(ThreadId tid, UInt number, UWord* args, UInt count, SysRes result)
{
   if (is_exec(number)) unrecorded_exec_failed();   /* or it would not be here */
   if (sr_isError(result) || !stream_is_open()) return;
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
      case __NR_syncfs: files_each(file_synced); kernel_fence(); break;
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
      case __NR_truncate: files_check_sizes(changed); break;
      case __NR_open: if (args[1] & VKI_O_TRUNC) files_check_sizes(changed); break;
      case __NR_openat: if (args[2] & VKI_O_TRUNC) files_check_sizes(changed); break;
      case __NR_creat: files_check_sizes(changed); break;
      case __NR_fallocate: allocated(args[0], args[1], args[2], args[3]); break;
      case __NR_io_submit: unrecorded_transfers("io_submit"); break;
      case IO_URING_SETUP: unrecorded_transfers("io_uring"); break;
      default: break;
   }
}

static void memory_written(CorePart part, ThreadId tid, Addr a, SizeT length)
{
   if (mapping_at(a, length) == NULL) return;
   threads_run(tid);
   kernel_store(a, length);
}

void syscalls_init(void)
{
   VG_(needs_syscall_wrapper)(before, after);
   VG_(track_post_mem_write)(memory_written);
}
