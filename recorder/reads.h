/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   The second tool of this folder: it notes what a program reads of some files, its images, before it has written it.
   tool.c, instrument.c, outside.c, decode.c and cpuid.c are those of the recorder. The way of the bytes:

      instrument.c     marks the accesses of translated code
      reads_memory.c   sees one at run time, and knows which image is mapped there
      reads_syscalls.c what the kernel reads for the program, and mappings
      reads.c          what has been read and written of each image; writes down what is read first

   What it writes are lines of text, which all processes append to one file:

      start                        a process has begun under the tool
      fork                         it has started another
      exec, exec-failed            it is about to become another program; it has not
      read IMAGE OFFSET LENGTH     it has read these bytes, multiples of 8, of image number IMAGE, counted from 0
      unknown WHAT                 it has done something of which the tool does not see what it reads
      end                          it has ended

   All that the program reads is there if there is no `unknown`, if `start` is there 1 + `exec` - `exec-failed` times, and
   `end` 1 + `fork` times. */

#ifndef COUNTERPOINT_READS_H
#define COUNTERPOINT_READS_H

#include "recorder.h"

/* ---- reads.c ---- */

typedef struct Image Image;

enum { IMAGES_MAX = 64 };

/* The next image: the file with this device and inode number. Returns whether there is room for it. */
Bool image_add(ULong device, ULong inode);
/* NULL if it is no image. */
Image* image_of_file(ULong device, ULong inode);
Image* image_of_descriptor(Int fd);
/* What was read; of what the program has not written itself it is noted. */
void image_read(Image* image, ULong offset, ULong length);
/* What was read of a private mapping, whose pages may be older than what the program has written to the file. */
void image_copy_read(Image* image, ULong offset, ULong length);
void image_written(Image* image, ULong offset, ULong length);

void reads_open(const HChar* path);
/* Writes down all that has been noted. */
void reads_flush(void);
/* Writes a line that is not about an image. */
void reads_tell(const HChar* line);

/* ---- reads_memory.c ---- */

/* `shared`: what is stored there is stored to the file. */
void image_mapped(Addr base, SizeT length, Image* image, ULong offset, Bool shared);
void image_unmapped(Addr base, SizeT length);
void image_moved(Addr from, SizeT old_length, Addr to, SizeT new_length);
/* The processor reads code without a load. */
void memory_executable(Addr a, SizeT length);
/* What system calls read and write of memory. */
void memory_read(CorePart part, ThreadId tid, const HChar* what, Addr a, SizeT length);
void memory_written(CorePart part, ThreadId tid, Addr a, SizeT length);
void text_read(CorePart part, ThreadId tid, const HChar* what, Addr a);

/* ---- reads_syscalls.c ---- */

void reads_syscalls_init(void);

#endif
