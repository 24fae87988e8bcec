/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Marks of programs that print what they have done: lines on standard error. */

#include "recorder.h"
#include "pub_tool_libcbase.h"

enum { STANDARD_ERROR = 2 };

const HChar* printed_prefix;

/* The line so far, which may come in pieces. What is beyond is cut off. */
static UChar line[PATH_LIMIT];
static SizeT length;

static void ended(void)
{
   SizeT prefix = VG_(strlen)(printed_prefix);
   if (length >= prefix && VG_(memcmp)(line, printed_prefix, prefix) == 0) mark(line, length);
   length = 0;
}

void printed(Int fd, const UChar* bytes, SizeT count)
{
   if (printed_prefix == NULL || fd != STANDARD_ERROR) return;
   for (SizeT i = 0; i < count; i++) {
      if (bytes[i] == '\n') ended();
      else if (length < PATH_LIMIT) line[length++] = bytes[i];
   }
}
