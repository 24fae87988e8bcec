//! Which early crash points ask for the pads of the next writes.

use crate::audit::Auditor;
use crate::message::Line;
use std::collections::BTreeSet;

/// At so many of the first crash points at which new data has persisted and recovery has nothing to undo, a boot is
/// asked under which pads it would write that data's lines next: what a lost counter or a lost register does shows best
/// before the counter follows. Lines of the hardware's log are counted apart, because there are as many of them as of
/// data and they come first.
const EARLY_CHECKS: u64 = 64;

/// The checks that are left, and what they are about.
pub(super) struct EarlyChecks {
    /// For new data and for new lines of the hardware's log.
    left: [u64; 2],
    /// While there are any, the lines that have persisted since the last check.
    new_data: BTreeSet<Line>,
}

impl EarlyChecks {
    /// There are none if pads do not matter.
    pub fn new(pads_matter: bool) -> Self {
        Self { left: [if pads_matter { EARLY_CHECKS } else { 0 }; 2], new_data: BTreeSet::new() }
    }

    /// `line`, which belongs to the hardware's log or not, has persisted.
    pub fn persisted(&mut self, line: Line, of_log: bool) {
        if self.left[usize::from(of_log)] > 0 {
            self.new_data.insert(line);
        }
    }

    /// Whether the crash point that `auditor` has judged last asks for a check, which counts as made then.
    pub fn asks(&mut self, auditor: &Auditor) -> bool {
        let asks = [false, true].map(|log| {
            let of_log = |&line: &Line| auditor.is_hardware_log(line) == log;
            self.left[usize::from(log)] > 0 && self.new_data.iter().any(of_log)
        });
        // Scanning the log takes most of a boot, so these are points at which it would find nothing to undo.
        let early = asks.contains(&true) && !auditor.recovery_writes();
        for (left, asks) in self.left.iter_mut().zip(asks) {
            *left -= u64::from(early && asks);
        }
        early
    }

    /// The lines that a check is about; those of the next one are still to persist.
    pub fn take(&mut self) -> BTreeSet<Line> {
        std::mem::take(&mut self.new_data)
    }
}
