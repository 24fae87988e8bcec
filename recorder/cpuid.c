/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Valgrind's CPUID shows a processor without CLWB and CLFLUSHOPT. Programs that ask are shown one that has both. */

#include "recorder.h"
#include "libvex_guest_amd64.h"

enum { FEATURES = 7, EBX_CLFLUSHOPT = 1 << 23, EBX_CLWB = 1 << 24 };

/* What the processor has, which the originals want to know, in this order; those that want less read less. */
typedef void Original(VexGuestAMD64State* state, ULong f16c, ULong rdrand, ULong rdseed);

static void cpuid(VexGuestAMD64State* state, Original* original, ULong f16c, ULong rdrand, ULong rdseed)
{
   UInt leaf = (UInt)state->guest_RAX, subleaf = (UInt)state->guest_RCX;
   original(state, f16c, rdrand, rdseed);
   if (leaf == 0 && (UInt)state->guest_RAX < FEATURES) state->guest_RAX = FEATURES;
   if (leaf == FEATURES && subleaf == 0) state->guest_RBX |= EBX_CLFLUSHOPT | EBX_CLWB;
}

void cpuid_offer_flushes(IRDirty* call)
{
   if (VG_(strncmp)(call->cee->name, "amd64g_dirtyhelper_CPUID", 24) != 0) return;
   IRExpr* args[4] = { NULL };
   UInt count = 0;
   for (; call->args[count] != NULL; count++) {
      tl_assert(count < 4);
      args[count] = call->args[count];
   }
   for (UInt i = count; i < 4; i++) args[i] = mkIRExpr_HWord(0);
   call->args = mkIRExprVec_5(args[0], mkIRExpr_HWord((HWord)call->cee->addr), args[1], args[2], args[3]);
   call->cee = mkIRCallee(0, "cpuid", VG_(fnptr_to_fnentry)(cpuid));
}
