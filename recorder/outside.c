/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Which code is not the program's own: what it stores is the doing of its caller. That are libraries of the system, the C
   library wherever it lies, functions that only copy, and what is compiled from headers of the system. */

#include "recorder.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"

static Bool begins_with_one_of(const HChar* text, const HChar* const* beginnings)
{
   for (; *beginnings != NULL; beginnings++)
      if (VG_(strncmp)(text, *beginnings, VG_(strlen)(*beginnings)) == 0) return True;
   return False;
}

static Bool is_library(const HChar* path)
{
   static const HChar* const folders[] = { "/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/",
                                           "/usr/local/lib/", "/usr/local/lib64/", NULL };
   static const HChar* const names[] = { "libc.so", "libc-2.", "libpthread.so", "libpthread-2.", "ld-linux", "ld-2.",
                                         "ld-musl", "libstdc++.so", "libc++.so", "libgcc_s.so", "libpmem.so",
                                         "libpmem2.so", NULL };
   const HChar* slash = VG_(strrchr)(path, '/');
   const HChar* name = slash == NULL ? path : slash + 1;
   /* Some programs lie in /usr/lib. */
   return begins_with_one_of(name, names)
          || (begins_with_one_of(path, folders) && VG_(strstr)(name, ".so") != NULL);
}

static Bool is_header(const HChar* folder)
{
   static const HChar* const folders[] = { "/usr/include", "/usr/local/include", "/usr/lib/gcc", "/usr/lib/llvm",
                                           "/usr/lib/clang", "/rustc/", NULL };
   return begins_with_one_of(folder, folders);
}

/* In a statically linked program these are its own code, and it may have others for the same. */
static Bool copies(const HChar* function)
{
   static const HChar* const parts[] = { "cpy", "copy", "memmove", "memset", "bzero", "strcat", "strncat", "strlcat", NULL };
   for (const HChar* const* part = parts; *part != NULL; part++)
      if (VG_(strstr)(function, *part) != NULL) return True;
   return False;
}

Bool is_outside(Addr pc)
{
   NSegment const* segment = VG_(am_find_nsegment)(pc);
   const HChar* path = segment != NULL && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
   if (path != NULL && is_library(path)) return True;
   const HChar *file, *folder, *function;
   UInt line;
   DiEpoch now = VG_(current_DiEpoch)();
   if (VG_(get_filename_linenum)(now, pc, &file, &folder, &line) && is_header(folder)) return True;
   return VG_(get_fnname)(now, pc, &function) && copies(function);
}
