/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   The lines of memory that is not watched which the running thread has accessed lately: what translated code accesses there
   is counted and not looked at. */

#include "recorder.h"

ULong near[NEAR];
UInt near_times_forgotten;

void near_add(Addr a, Bool stored) { near[a / LINE % NEAR] = (a & ~(Addr)(LINE - 1)) | stored; }

Bool near_has(Addr a, Bool stored)
{
   ULong held = near[a / LINE % NEAR];
   return (held & ~1ULL) == (a & ~(Addr)(LINE - 1)) && (!stored || (held & 1));
}

void near_forget(void)
{
   VG_(memset)(near, 0, sizeof near);
   near_times_forgotten++;
}
