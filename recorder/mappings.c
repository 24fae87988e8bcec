/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Which memory is persistent, and which holds code. Mappings are sorted by address and do not overlap. */

#include "recorder.h"

ULong watch_active;

static Mapping* mappings;
static UInt count, room;

typedef struct { Addr base, end; ULong offset; HChar* path; } Code;
static Code* codes;
static UInt code_count, code_room;

/* The widest access that translated code checks: one that begins before the lowest mapping may reach into it. */
enum { REACH = 512 };

Bool mapping_near(Addr a) { return mapping_at(a & ~(Addr)(LINE - 1), LINE + REACH) != NULL; }

/* The first mapping that ends after `a`. */
static UInt first_after(Addr a)
{
   static UInt last;
   if (last < count && mappings[last].end > a && (last == 0 || mappings[last - 1].end <= a)) return last;
   UInt low = 0, high = count;
   while (low < high) {
      UInt middle = (low + high) / 2;
      if (mappings[middle].end > a) high = middle; else low = middle + 1;
   }
   return last = low;
}

/* The first mapping that meets [a, a + length). */
const Mapping* mapping_at(Addr a, SizeT length)
{
   UInt at = first_after(a);
   return at < count && mappings[at].base < a + length ? &mappings[at] : NULL;
}

Bool mappings_cover(Addr a, SizeT length)
{
   Addr end = a + length;
   while (a < end) {
      const Mapping* mapping = mapping_at(a, 1);
      if (mapping == NULL) return False;
      a = mapping->end;
   }
   return True;
}

static void state(const Mapping* mapping)
{
   record(TAG_MAP);
   field_u(mapping->base);
   field_u(mapping->end - mapping->base);
   field_u(mapping->file->number);
   field_u(mapping->offset);
}

static void state_code(const Code* code)
{
   record(TAG_CODE);
   field_u(code->base);
   field_u(code->end - code->base);
   field_u(code->offset);
   field_text(code->path);
}

/* Addresses that the program has declared not to need durability. */
static Intervals scratch;

static void state_scratch(UInt what, Addr base, SizeT length)
{
   record(TAG_SCRATCH);
   field_u(what);
   field_u(base);
   field_u(length);
}

void scratch_stored(Addr base, SizeT length)
{
   if (base + length > base && mapping_at(base, length) != NULL) state_scratch(0, base, length);
}

void scratch_begin(Addr base, SizeT length)
{
   if (base + length <= base || mapping_at(base, length) == NULL) return;
   intervals_add(&scratch, base, base + length);
   state_scratch(1, base, length);
}

void scratch_end(Addr base, SizeT length)
{
   Interval part;
   if (base + length <= base || !intervals_next(&scratch, base, base + length, True, &part)) return;
   intervals_remove(&scratch, base, base + length);
   state_scratch(2, base, length);
}

static void window_restate(File* file)
{
   if (file->window > 0) window_state(file);
}

void mappings_restate(void)
{
   for (UInt i = 0; i < scratch.count; i++)
      state_scratch(1, scratch.items[i].start, scratch.items[i].end - scratch.items[i].start);
   files_each(window_restate);
   for (UInt i = 0; i < count; i++) state(&mappings[i]);
   for (UInt i = 0; i < code_count; i++) state_code(&codes[i]);
}

void mappings_forget(void)
{
   count = code_count = scratch.count = 0;
   watch_active = 0;
}

static void insert(Mapping mapping)
{
   if (count == room) {
      room = room ? 2 * room : 16;
      mappings = VG_(realloc)("counterpoint.mappings", mappings, room * sizeof(Mapping));
   }
   UInt at = first_after(mapping.base);
   VG_(memmove)(mappings + at + 1, mappings + at, (count - at) * sizeof(Mapping));
   mappings[at] = mapping;
   count++;
   watch_active = 1;
   near_forget();
}

static void code_remove(Addr base, Addr end)
{
   for (UInt i = 0; i < code_count; i++) {
      Code* code = &codes[i];
      if (code->end <= base || end <= code->base) continue;
      if (code->base < base) {
         code->end = base;
      } else if (end < code->end) {
         code->offset += end - code->base;
         code->base = end;
      } else {
         VG_(free)(code->path);
         codes[i--] = codes[--code_count];
      }
   }
}

void mapping_remove(Addr base, SizeT length, Bool registered_only)
{
   Addr end = base + length;
   if (!registered_only) {
      scratch_end(base, length);
      code_remove(base, end);
      callers_remapped();
   }
   UInt at = first_after(base);
   while (at < count && mappings[at].base < end) {
      Mapping whole = mappings[at];
      if (registered_only && !whole.registered) {
         at++;
         continue;
      }
      Addr from = whole.base > base ? whole.base : base, to = whole.end < end ? whole.end : end;
      count--;
      VG_(memmove)(mappings + at, mappings + at + 1, (count - at) * sizeof(Mapping));
      if (whole.base < from) {
         Mapping left = whole;
         left.end = from;
         insert(left);
         at++;
      }
      if (to < whole.end) {
         Mapping right = whole;
         right.base = to;
         right.offset += to - whole.base;
         insert(right);
      }
      record(TAG_UNMAP);
      field_u(from);
      field_u(to - from);
   }
}

void mapping_add(Addr base, SizeT length, File* file, ULong offset, Bool registered)
{
   if (!stream_is_open() || length == 0) return;
   mapping_remove(base, length, False);
   file_image(file, offset, length);
   insert((Mapping){ base, base + length, file, offset, registered });
   state(mapping_at(base, length));
}

void mapping_move(Addr from, SizeT old_length, Addr to, SizeT new_length)
{
   const Mapping* mapping = mapping_at(from, 1);
   if (mapping == NULL || mapping->base > from) return;
   File* file = mapping->file;
   ULong offset = mapping->offset + (from - mapping->base);
   Bool registered = mapping->registered;
   if (to == from && new_length <= old_length) {
      mapping_remove(from + new_length, old_length - new_length, False);
      return;
   }
   mapping_remove(from, old_length, False);
   mapping_add(to, new_length, file, offset, registered);
}

void code_add(Addr base, SizeT length, ULong offset, const HChar* path)
{
   if (!stream_is_open()) return;
   code_remove(base, base + length);
   callers_remapped();
   if (code_count == code_room) {
      code_room = code_room ? 2 * code_room : 32;
      codes = VG_(realloc)("counterpoint.codes", codes, code_room * sizeof(Code));
   }
   codes[code_count] = (Code){ base, base + length, offset, VG_(strdup)("counterpoint.code", path) };
   state_code(&codes[code_count++]);
}

Bool code_at(Addr a)
{
   for (UInt i = 0; i < code_count; i++)
      if (codes[i].base <= a && a < codes[i].end) return True;
   return False;
}

/* The mapping that has byte `offset` of the file; or NULL, and the next offset before `end` that one has, or `end`. */
static const Mapping* mapping_of(const File* file, ULong offset, ULong* end)
{
   for (UInt i = 0; i < count; i++) {
      const Mapping* mapping = &mappings[i];
      ULong stop = mapping->offset + (mapping->end - mapping->base);
      if (mapping->file != file || stop <= offset || *end <= mapping->offset) continue;
      if (mapping->offset > offset) {
         *end = mapping->offset;
         continue;
      }
      if (stop < *end) *end = stop;
      return mapping;
   }
   return NULL;
}

void mappings_places(File* file, ULong start, ULong end, void (*visit)(File*, ULong, Addr, SizeT))
{
   while (start < end) {
      ULong stop = end;
      const Mapping* mapping = mapping_of(file, start, &stop);
      if (stop - start > CHUNK) stop = start + CHUNK;
      SizeT length = stop - start;
      Addr a = mapping != NULL ? mapping->base + (start - mapping->offset) : window_at(file, start, length);
      visit(file, start, a, length);
      start = stop;
   }
}
