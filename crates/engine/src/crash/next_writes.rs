//! Which pads a machine that has booted would use next.

use crate::audit::BootWatch;
use crate::message::{Line, Observer};
use crate::recovery::Boot;

/// A boot is asked under which pads a line may first be written if that is one of so many next writes of all; with
/// counters of the line's own it is always the same pad. A global register that comes back behind is behind by the
/// writes whose values it or the media had yet to learn of, and the last of these may have been to any line. That is
/// about as many as write queues hold; a register that is further behind repeats the values in between, too.
const WRITES_AHEAD: usize = 64;

/// Lets the auditors, whom `watch` finds in the boot's observer, see the pads that the first write of each of `lines` might
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
