//! Which early crash points are checked for the pads of the next writes.

use crate::audit::Auditor;
use crate::message::Line;
use std::collections::BTreeSet;

/// Number of checks of early crash points: those at which new data has persisted and recovery has nothing to undo. A
/// boot then reports the pads of the next writes of that data's lines, because the effect of a lost counter or a lost
/// register is most visible before the counter persists. Lines of the hardware's log are counted separately, because
/// there are as many of them as of data and they come first.
const EARLY_CHECKS: u64 = 64;

/// The checks that are left, and the lines to check.
pub(super) struct EarlyChecks {
    /// For new data, and for new lines of the hardware's log.
    left: [u64; 2],
    /// The lines that have persisted since the last check, while checks are left.
    new_data: BTreeSet<Line>,
}

impl EarlyChecks {
    /// No checks if pads do not matter.
    pub fn new(pads_matter: bool) -> Self {
        Self { left: [if pads_matter { EARLY_CHECKS } else { 0 }; 2], new_data: BTreeSet::new() }
    }

    /// Records that `line` has persisted; `of_log`: whether it belongs to the hardware's log.
    pub fn persisted(&mut self, line: Line, of_log: bool) {
        if self.left[usize::from(of_log)] > 0 {
            self.new_data.insert(line);
        }
    }

    /// Whether the crash point that `auditor` has judged last needs a check, which then counts as made.
    pub fn asks(&mut self, auditor: &Auditor) -> bool {
        let asks = [false, true].map(|log| {
            let of_log = |&line: &Line| auditor.is_hardware_log(line) == log;
            self.left[usize::from(log)] > 0 && self.new_data.iter().any(of_log)
        });
        // Scanning the log takes most of a boot, so only points are chosen at which it would find nothing to undo.
        let early = asks.contains(&true) && !auditor.recovery_writes();
        for (left, asks) in self.left.iter_mut().zip(asks) {
            *left -= u64::from(early && asks);
        }
        early
    }

    /// Takes the lines of a check.
    pub fn take(&mut self) -> BTreeSet<Line> {
        std::mem::take(&mut self.new_data)
    }
}
