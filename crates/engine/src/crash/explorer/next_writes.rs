//! The pads that a booted machine would use next.

use crate::audit::BootWatch;
use crate::message::{Line, Observer};
use crate::recovery::Boot;

/// How many next writes of all are considered for the first write of a line after a boot. With per-line counters the
/// pad is always the same. A global register that is restored with too small a value is behind by the writes whose
/// values it or the media had not received, and the last of these may have been to any line. That is about as many as
/// write queues hold; a register that is further behind repeats the values in between, too.
const WRITES_AHEAD: usize = 64;

/// Shows the auditors, through `watch` in the boot's observer, the pads that the first write of each of `lines` might
/// have.
pub(super) fn watch_next_writes<'a, O: Observer>(
    boot: &mut Boot<'_, O>,
    watch: fn(&mut O) -> &mut BootWatch<'a>,
    lines: impl Iterator<Item = Line>,
) {
    if !watch(boot.observer()).watches_pads() {
        return;
    }
    for line in lines {
        let pads = boot.next_pads(line).take(WRITES_AHEAD);
        watch(boot.observer()).next_write(line, pads);
    }
}
