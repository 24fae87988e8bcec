/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What the stream lacks, as records of its own, so that whoever reads it knows. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"

/* As docs/traces.md numbers them. */
typedef enum { PROCESSES, EXEC, EXEC_FAILED, TRANSFERS, KINDS } Lack;

/* Each time for an exec, once for the others. */
static void lacks(Lack what, const HChar* text)
{
   static Bool told[KINDS];
   if (!stream_is_open() || told[what]) return;
   told[what] = what != EXEC && what != EXEC_FAILED;
   record(TAG_LACKS);
   field_u(what);
   field_text(text);
}

void unrecorded_fork(void) { lacks(PROCESSES, ""); }

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
   lacks(EXEC, text);
}

void unrecorded_exec_failed(void) { lacks(EXEC_FAILED, ""); }

void unrecorded_transfers(const HChar* call) { lacks(TRANSFERS, call); }
