/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What the program has read and written of each image. Words of eight bytes are noted when they are read first, and bytes
   when they are written. */

#include "reads.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_vki.h"

enum { WORD = 8, WORDS = PAGE / WORD, BITS = 64, BUFFER = 65536, LINE_ROOM = 128 };

typedef struct Page {
   struct Page* next;
   UWord number;
   ULong read[WORDS / BITS];
   ULong written[PAGE / BITS];
} Page;

struct Image {
   ULong device, inode;
   VgHashTable* pages;
};

static Image images[IMAGES_MAX];
static UInt count;

static HChar buffer[BUFFER];
static UInt used;
static Int output = -1;

/* Words that were read one after another, which become one line. */
static struct { const Image* image; ULong first, end; } run;

Bool image_add(ULong device, ULong inode)
{
   if (count == IMAGES_MAX) return False;
   images[count++] = (Image){ device, inode, VG_(HT_construct)("counterpoint.pages") };
   return True;
}

Image* image_of_file(ULong device, ULong inode)
{
   for (UInt i = 0; i < count; i++)
      if (images[i].device == device && images[i].inode == inode) return &images[i];
   return NULL;
}

Image* image_of_descriptor(Int fd)
{
   struct vg_stat status;
   return VG_(fstat)(fd, &status) == 0 ? image_of_file(status.dev, status.ino) : NULL;
}

static Page* page_of(Image* image, UWord number)
{
   static Image* last_image;
   static Page* last;
   if (last_image == image && last->number == number) return last;
   Page* page = VG_(HT_lookup)(image->pages, number);
   if (page == NULL) {
      page = VG_(calloc)("counterpoint.page", 1, sizeof(Page));
      page->number = number;
      VG_(HT_add_node)(image->pages, page);
   }
   last_image = image;
   return last = page;
}

/* ---- the file ---- */

void reads_open(const HChar* path)
{
   Int fd = VG_(fd_open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_APPEND, 0600);
   if (fd < 0) {
      VG_(fmsg)("'%s' cannot be written\n", path);
      VG_(exit)(2);
   }
   /* Above the descriptors that the program sees and could close. */
   output = VG_(safe_fd)(fd);
}

/* What cannot be written is missed by the reader: then the last `end` is missing, too. */
static void write_out(void)
{
   UInt done = 0;
   while (done < used && output >= 0) {
      Int n = VG_(write)(output, buffer + done, used - done);
      if (n == -VKI_EINTR) continue;
      if (n <= 0) {
         VG_(close)(output);
         output = -1;
      } else {
         done += n;
      }
   }
   used = 0;
}

static void settle(void)
{
   if (run.image == NULL) return;
   if (BUFFER - used < LINE_ROOM) write_out();
   used += VG_(snprintf)(buffer + used, LINE_ROOM, "read %u %llu %llu\n", (UInt)(run.image - images), run.first * WORD,
                         (run.end - run.first) * WORD);
   run.image = NULL;
}

void reads_flush(void)
{
   settle();
   write_out();
}

void reads_tell(const HChar* line)
{
   settle();
   if (BUFFER - used < LINE_ROOM) write_out();
   used += VG_(snprintf)(buffer + used, LINE_ROOM, "%s\n", line);
   write_out();
}

/* ---- what is noted ---- */

static void note(const Image* image, ULong word)
{
   if (run.image == image && run.end == word) {
      run.end++;
      return;
   }
   settle();
   run.image = image;
   run.first = word;
   run.end = word + 1;
}

/* `copied`: of memory that may hold what the file held before the program has written it. */
static void reads(Image* image, ULong offset, ULong length, Bool copied)
{
   ULong end = offset + length;
   while (offset < end) {
      ULong word = offset / WORD, stop = (word + 1) * WORD < end ? (word + 1) * WORD : end;
      Page* page = page_of(image, offset / PAGE);
      UInt within = word % WORDS;
      if (!(page->read[within / BITS] >> within % BITS & 1)) {
         /* The bytes of this word that are read, and whether the program has written all of them. */
         ULong bytes = ((1ULL << (stop - offset)) - 1) << offset % BITS;
         if (copied || bytes & ~page->written[offset % PAGE / BITS]) {
            page->read[within / BITS] |= 1ULL << within % BITS;
            note(image, word);
         }
      }
      offset = stop;
   }
}

void image_read(Image* image, ULong offset, ULong length) { reads(image, offset, length, False); }

void image_copy_read(Image* image, ULong offset, ULong length) { reads(image, offset, length, True); }

void image_written(Image* image, ULong offset, ULong length)
{
   ULong end = offset + length;
   while (offset < end) {
      ULong stop = (offset / BITS + 1) * BITS < end ? (offset / BITS + 1) * BITS : end;
      ULong bytes = stop - offset == BITS ? ~0ULL : ((1ULL << (stop - offset)) - 1) << offset % BITS;
      page_of(image, offset / PAGE)->written[offset % PAGE / BITS] |= bytes;
      offset = stop;
   }
}
