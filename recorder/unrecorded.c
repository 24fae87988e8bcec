/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Tells whoever started the recorder what it does not see: a file in memory says 'F' in its first byte once the program
   has forked, and from its second byte on what the program became by exec, with a zero at its end. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_vki.h"

static Int told = -1;

void unrecorded_open(Int fd) { told = VG_(safe_fd)(fd); }

void unrecorded_close(void)
{
   if (told >= 0) VG_(close)(told);
   told = -1;
}

static void tell(Off64T at, const HChar* bytes, SizeT length)
{
   if (told >= 0 && VG_(lseek)(told, at, VKI_SEEK_SET) == at) VG_(write)(told, bytes, length);
}

void unrecorded_fork(void) { tell(0, "F", 1); }

void unrecorded_exec(Addr path)
{
   HChar text[PATH_LIMIT + 1];
   SizeT length = 0;
   while (length < PATH_LIMIT && VG_(am_is_valid_for_client)(path + length, 1, VKI_PROT_READ)
          && *(const HChar*)(path + length) != 0) {
      text[length] = *(const HChar*)(path + length);
      length++;
   }
   text[length] = 0;
   tell(1, text, length + 1);
}

void unrecorded_exec_failed(void) { tell(1, "", 1); }
