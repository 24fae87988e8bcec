/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What an instruction's bytes say and Valgrind's intermediate code does not: stores past the caches, which fence it is,
   lock prefixes, repetition; and the operand of a flush. */

#include "recorder.h"

typedef struct { Bool operand_size, repeat, lock; UChar rex; } Prefixes;

static void locate(const UChar* modrm, UChar rex, const UChar* start, Instruction* out)
{
   UInt mode = modrm[0] >> 6, rm = modrm[0] & 7;
   const UChar* rest = modrm + 1;
   if (rm == 4) {
      UChar sib = *rest++;
      out->scale = sib >> 6;
      out->index = (sib >> 3 & 7) | (rex & 2 ? 8 : 0);
      if (out->index == 4) out->index = -1;
      out->base = (sib & 7) | (rex & 1 ? 8 : 0);
      if (mode == 0 && (sib & 7) == 5) {
         out->base = -1;
         mode = 2;
      }
   } else if (rm == 5 && mode == 0) {
      out->relative = True;
      mode = 2;
   } else {
      out->base = rm | (rex & 1 ? 8 : 0);
   }
   if (mode == 1) out->displacement = (Char)*rest++;
   if (mode == 2) {
      out->displacement = rest[0] | rest[1] << 8 | rest[2] << 16 | (UInt)rest[3] << 24;
      rest += 4;
   }
   out->length = rest - start;
}

static void decode_group_15(const UChar* modrm, const Prefixes* prefixes, const UChar* start, Instruction* out)
{
   Bool memory = modrm[0] >> 6 != 3;
   UInt operation = modrm[0] >> 3 & 7;
   if (prefixes->repeat) return;
   if (memory && operation == 7) out->kind = prefixes->operand_size ? CLFLUSHOPT : CLFLUSH;
   if (memory && operation == 6 && prefixes->operand_size) out->kind = CLWB;
   if (!memory && !prefixes->operand_size && operation == 7) out->kind = SFENCE;
   if (!memory && !prefixes->operand_size && operation == 6) out->kind = MFENCE;
   if (out->kind == CLWB || out->kind == CLFLUSHOPT || out->kind == CLFLUSH)
      locate(modrm, prefixes->rex, start, out);
}

/* movnti, movntps/pd, movntq/dq, maskmovq/dqu */
static Bool non_temporal(UChar opcode)
{
   return opcode == 0xc3 || opcode == 0x2b || opcode == 0xe7 || opcode == 0xf7;
}

static void decode_two_byte(const UChar* p, const Prefixes* prefixes, const UChar* start, Instruction* out)
{
   if (*p == 0xae) decode_group_15(p + 1, prefixes, start, out);
   else if (non_temporal(*p) && !prefixes->repeat && !(*p == 0xc3 && prefixes->operand_size)) out->kind = NON_TEMPORAL;
}

static void decode_vex(const UChar* p, Instruction* out)
{
   UInt map = p[0] == 0xc5 ? 1 : p[1] & 31, operand = (p[0] == 0xc5 ? p[1] : p[2]) & 3;
   UChar opcode = p[0] == 0xc5 ? p[2] : p[3];
   if (map == 1 && operand < 2 && opcode != 0xc3 && non_temporal(opcode)) out->kind = NON_TEMPORAL;
}

static Bool is_string_operation(UChar opcode)
{
   return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

void decode(const UChar* bytes, Instruction* out)
{
   *out = (Instruction){ .kind = PLAIN, .base = -1, .index = -1, .segment = -1 };
   Prefixes prefixes = { False, False, False, 0 };
   const UChar* p = bytes;
   for (;; p++) {
      if (*p == 0x66) prefixes.operand_size = True;
      else if (*p == 0xf2 || *p == 0xf3) prefixes.repeat = True;
      else if (*p == 0xf0) prefixes.lock = True;
      else if (*p == 0x67) out->narrow = True;
      else if (*p == 0x64 || *p == 0x65) out->segment = *p - 0x60;
      else if (*p != 0x2e && *p != 0x36 && *p != 0x3e && *p != 0x26) break;
   }
   if (*p == 0xc4 || *p == 0xc5) {
      decode_vex(p, out);
      return;
   }
   if ((*p & 0xf0) == 0x40) prefixes.rex = *p++;
   if (prefixes.lock || ((*p == 0x86 || *p == 0x87) && p[1] >> 6 != 3)) out->kind = LOCKED;
   else if (*p == 0x0f) decode_two_byte(p + 1, &prefixes, bytes, out);
   else out->repeats = prefixes.repeat && is_string_operation(*p);
}
