/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Where images are mapped, and what translated code and the kernel read and write there. Mappings are sorted by address
   and do not overlap. */

#include "reads.h"

ULong watch_active;
/* instrument.c counts instructions; nothing here needs their number. */
Done executed;

typedef struct { Addr base, end; Image* image; ULong offset; Bool shared; } Part;

static Part* parts;
static UInt count, room;

/* The widest access that translated code checks: one that begins before the lowest mapping may reach into it. */
enum { REACH = 512 };

static void watch_again(void)
{
   watch_active = count > 0;
   near_forget();
}

/* The first part that ends after `a`. */
static UInt first_after(Addr a)
{
   UInt low = 0, high = count;
   while (low < high) {
      UInt middle = (low + high) / 2;
      if (parts[middle].end > a) high = middle; else low = middle + 1;
   }
   return low;
}

static void insert(Part part)
{
   if (part.base >= part.end) return;
   if (count == room) {
      room = room ? 2 * room : 16;
      parts = VG_(realloc)("counterpoint.parts", parts, room * sizeof(Part));
   }
   UInt at = first_after(part.base);
   VG_(memmove)(parts + at + 1, parts + at, (count - at) * sizeof(Part));
   parts[at] = part;
   count++;
}

static void remove_range(Addr base, Addr end)
{
   UInt at = first_after(base);
   while (at < count && parts[at].base < end) {
      Part whole = parts[at], left = whole, right = whole;
      count--;
      VG_(memmove)(parts + at, parts + at + 1, (count - at) * sizeof(Part));
      left.end = base;
      right.base = end;
      right.offset += end - whole.base;
      insert(left);
      insert(right);
      at = first_after(base);
   }
}

void image_unmapped(Addr base, SizeT length)
{
   remove_range(base, base + length);
   watch_again();
}

void image_mapped(Addr base, SizeT length, Image* image, ULong offset, Bool shared)
{
   remove_range(base, base + length);
   insert((Part){ base, base + length, image, offset, shared });
   watch_again();
}

/* An old length of 0 asks for a second mapping of the same memory. */
void image_moved(Addr from, SizeT old_length, Addr to, SizeT new_length)
{
   UInt at = first_after(from);
   if (at == count || parts[at].base > from) {
      image_unmapped(to, new_length);
      return;
   }
   Part part = parts[at];
   remove_range(from, from + old_length);
   image_mapped(to, new_length, part.image, part.offset + (from - part.base), part.shared);
}

/* Tells `act` of each part of [a, a + length) where an image is mapped. */
static void each(Addr a, SizeT length, void (*act)(const Part* part, ULong offset, ULong length))
{
   Addr end = a + length;
   for (UInt at = first_after(a); at < count && parts[at].base < end; at++) {
      const Part* part = &parts[at];
      Addr from = a > part->base ? a : part->base, to = end < part->end ? end : part->end;
      act(part, part->offset + (from - part->base), to - from);
   }
}

static void read_part(const Part* part, ULong offset, ULong length)
{
   if (part->shared) image_read(part->image, offset, length);
   else image_copy_read(part->image, offset, length);
}

/* What is stored to a private mapping is not in the file: another mapping still has what was there. */
static void written_part(const Part* part, ULong offset, ULong length)
{
   if (part->shared) image_written(part->image, offset, length);
}

/* An access of a line from which none reaches an image is not looked at again. */
static void note_near(Addr a, Bool stored)
{
   Addr line = a & ~(Addr)(LINE - 1);
   UInt at = first_after(line);
   if (at == count || parts[at].base >= line + LINE + REACH) near_add(a, stored);
}

VG_REGPARM(2) void access_load(const Access* access, Addr a)
{
   each(a, access->size, read_part);
   note_near(a, False);
}

VG_REGPARM(2) void access_store(const Access* access, Addr a)
{
   each(a, access->size, written_part);
   note_near(a, True);
}

VG_REGPARM(2) void access_atomic(const Access* access, Addr a)
{
   each(a, access->size, read_part);
   each(a, access->size, written_part);
}

VG_REGPARM(2) void access_flush(const Access* access, Addr a) {}

VG_REGPARM(1) void access_fence(const Access* access) {}

void memory_executable(Addr a, SizeT length) { each(a, length, read_part); }

void memory_read(CorePart part, ThreadId tid, const HChar* what, Addr a, SizeT length) { each(a, length, read_part); }

void memory_written(CorePart part, ThreadId tid, Addr a, SizeT length) { each(a, length, written_part); }

/* A text with a zero at its end. */
void text_read(CorePart part, ThreadId tid, const HChar* what, Addr a)
{
   UInt at = first_after(a);
   while (at < count && parts[at].base <= a && a < parts[at].end) {
      each(a, 1, read_part);
      if (*(const HChar*)a++ == 0) return;
   }
}
