/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What both tools of this folder tell Valgrind of themselves. */

#include "recorder.h"

static void debug_usage(void) { VG_(printf)("    (none)\n"); }

void tool_set_up(const HChar* name, const HChar* description, void (*start)(void), void (*finish)(Int),
                 Bool (*option)(const HChar*), void (*usage)(void))
{
   VG_(details_name)(name);
   VG_(details_version)(NULL);
   VG_(details_description)(description);
   VG_(details_copyright_author)("Copyright (C) 2026, the Counterpoint developers; GNU GPL version 2 or later");
   VG_(details_bug_reports_to)("the Counterpoint developers");
   VG_(details_avg_translation_sizeB)(640);
   VG_(basic_tool_funcs)(start, instrument, finish);
   VG_(needs_command_line_options)(option, usage, debug_usage);
}
