/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Sets of file offsets. */

#include "recorder.h"

/* The first item that ends after `offset`. */
static UInt first_after(const Intervals* set, ULong offset)
{
   UInt low = 0, high = set->count;
   while (low < high) {
      UInt middle = (low + high) / 2;
      if (set->items[middle].end > offset) high = middle; else low = middle + 1;
   }
   return low;
}

/* Puts `count` items in the place of items [from, to). */
static void splice(Intervals* set, UInt from, UInt to, const Interval* items, UInt count)
{
   UInt total = set->count - (to - from) + count;
   if (total > set->room) {
      set->room = 2 * total;
      set->items = VG_(realloc)("counterpoint.intervals", set->items, set->room * sizeof(Interval));
   }
   VG_(memmove)(set->items + from + count, set->items + to, (set->count - to) * sizeof(Interval));
   VG_(memcpy)(set->items + from, items, count * sizeof(Interval));
   set->count = total;
}

void intervals_add(Intervals* set, ULong start, ULong end)
{
   if (start >= end) return;
   /* What ends at `start` is joined, too. */
   UInt from = start == 0 ? 0 : first_after(set, start - 1), to = from;
   Interval joined = { start, end };
   while (to < set->count && set->items[to].start <= end) {
      if (set->items[to].start < joined.start) joined.start = set->items[to].start;
      if (set->items[to].end > joined.end) joined.end = set->items[to].end;
      to++;
   }
   splice(set, from, to, &joined, 1);
}

void intervals_remove(Intervals* set, ULong start, ULong end)
{
   if (start >= end) return;
   UInt from = first_after(set, start), to = from, kept = 0;
   Interval rest[2];
   while (to < set->count && set->items[to].start < end) {
      Interval item = set->items[to++];
      if (item.start < start) rest[kept++] = (Interval){ item.start, start };
      if (item.end > end) rest[kept++] = (Interval){ end, item.end };
   }
   splice(set, from, to, rest, kept);
}

Bool intervals_next(const Intervals* set, ULong start, ULong end, Bool inside, Interval* part)
{
   if (start >= end) return False;
   UInt at = first_after(set, start);
   if (inside) {
      if (at == set->count || set->items[at].start >= end) return False;
      part->start = set->items[at].start > start ? set->items[at].start : start;
      part->end = set->items[at].end < end ? set->items[at].end : end;
      return True;
   }
   if (at < set->count && set->items[at].start <= start) {
      start = set->items[at].end;
      at++;
   }
   if (start >= end) return False;
   part->start = start;
   part->end = at < set->count && set->items[at].start < end ? set->items[at].start : end;
   return True;
}
