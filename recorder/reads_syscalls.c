/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   System calls that read images or map them, and those of which it is not known what they read. What is written to an
   image by a system call counts as read when it is read again. */

#include "reads.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

enum { SHARED = 1, SHARED_VALIDATE = 3, MAP_TYPE = 15, SEEK_TO_DATA = 3, SEEK_TO_HOLE = 4 };
enum {
   CLONE_FILE = 0x40049409, CLONE_RANGE = 0x4020940d, SAME_RANGE = 0xc0189436, EXTENTS = 0xc020660b
};
/* Not in the headers of Valgrind 3.19. */
enum { IO_URING_SETUP = 425 };

static SizeT pages(SizeT length) { return (length + PAGE - 1) & ~(SizeT)(PAGE - 1); }

static void read_all(Int fd)
{
   struct vg_stat status;
   Image* image = image_of_descriptor(fd);
   if (image != NULL && VG_(fstat)(fd, &status) == 0) image_read(image, 0, status.size);
}

/* Calls that read at an offset, or, if that is negative, up to the descriptor's position. */
static void read_at(Int fd, Long offset, ULong length)
{
   Image* image = image_of_descriptor(fd);
   if (image == NULL || length == 0) return;
   if (offset < 0) offset = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - length;
   image_read(image, offset, length);
}

/* Calls that read at *offset and move it, or at the descriptor's position. */
static void read_and_moved(Int fd, const Long* offset, ULong length)
{
   read_at(fd, offset != NULL ? *offset - (Long)length : -1, length);
}

static void mapped(const UWord* args, Addr base)
{
   SizeT length = pages(args[1]);
   UWord type = args[3] & MAP_TYPE;
   Image* image = args[3] & VKI_MAP_ANONYMOUS ? NULL : image_of_descriptor((Int)args[4]);
   if (image == NULL) {
      image_unmapped(base, length);
      return;
   }
   image_mapped(base, length, image, args[5], type == SHARED || type == SHARED_VALIDATE);
   if (args[2] & VKI_PROT_EXEC) memory_executable(base, length);
}

/* Where an image has data and where it has holes depends on what it holds. */
static void controlled(Int fd, UInt request, UWord argument)
{
   switch (request) {
      case CLONE_FILE: read_all((Int)argument); break;
      case CLONE_RANGE: read_all((Int)*(const Long*)argument); break;
      case EXTENTS: read_all(fd); break;
      case SAME_RANGE: if (image_of_descriptor(fd) != NULL) reads_tell("unknown ioctl"); break;
      default: break;
   }
}

static Bool is_exec(UInt number) { return number == __NR_execve || number == __NR_execveat; }

static void before(ThreadId tid, UInt number, UWord* args, UInt count)
{
   if (is_exec(number)) reads_tell("exec");
}

static void after(ThreadId tid, UInt number, UWord* args, UInt count, SysRes result)
{
   if (is_exec(number)) reads_tell("exec-failed");   /* or it would not be here */
   if (sr_isError(result)) return;
   UWord value = sr_Res(result);
   switch (number) {
      case __NR_mmap: mapped(args, value); break;
      case __NR_munmap: image_unmapped(args[0], pages(args[1])); break;
      case __NR_mprotect: if (args[2] & VKI_PROT_EXEC) memory_executable(args[0], pages(args[1])); break;
      case __NR_mremap: image_moved(args[0], pages(args[1]), value, pages(args[2])); break;
      case __NR_read:
      case __NR_readv: read_at(args[0], -1, value); break;
      case __NR_pread64:
      case __NR_preadv:
      case __NR_preadv2: read_at(args[0], args[3], value); break;
      case __NR_sendfile: read_and_moved(args[1], (const Long*)args[2], value); break;
      case __NR_splice:
      case __NR_copy_file_range: read_and_moved(args[0], (const Long*)args[1], value); break;
      case __NR_lseek: if (args[2] == SEEK_TO_DATA || args[2] == SEEK_TO_HOLE) read_all(args[0]); break;
      case __NR_ioctl: controlled(args[0], args[1], args[2]); break;
      case __NR_ptrace: reads_tell("unknown ptrace"); break;
      case __NR_process_vm_readv: reads_tell("unknown process_vm_readv"); break;
      case __NR_remap_file_pages: reads_tell("unknown remap_file_pages"); break;
      case __NR_io_submit: reads_tell("unknown io_submit"); break;
      case IO_URING_SETUP: reads_tell("unknown io_uring_setup"); break;
      default: break;
   }
}

void reads_syscalls_init(void)
{
   VG_(needs_syscall_wrapper)(before, after);
   VG_(track_pre_mem_read)(memory_read);
   VG_(track_pre_mem_read_asciiz)(text_read);
   VG_(track_post_mem_write)(memory_written);
}
