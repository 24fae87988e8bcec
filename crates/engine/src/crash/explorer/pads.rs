//! Whose next pads a boot is asked for. A line's next pad repeats one that was used if its counter is lost, or the register of
//! a global counter. That begins when the line persists and ends when its counter does. So of a new durable state only those
//! lines are asked about that have persisted since the last boot, and those that it has shown to repeat a pad.

use crate::audit::Auditor;
use crate::message::Line;
use std::collections::BTreeSet;

/// The lines that have persisted since the last boot.
pub(super) struct NextPads {
    /// Whether pads matter.
    matter: bool,
    persisted: BTreeSet<Line>,
}

impl NextPads {
    /// Nothing is recorded if pads do not matter.
    pub fn new(matter: bool) -> Self {
        Self { matter, persisted: BTreeSet::new() }
    }

    /// Whether every new durable state is booted for them.
    pub fn matter(&self) -> bool {
        self.matter
    }

    /// Records that `line` has persisted, or leaves on battery, with other bytes than before, when power is lost.
    pub fn persisted(&mut self, line: Line) {
        if self.matter {
            self.persisted.insert(line);
        }
    }

    /// The lines to ask about, in the boot that follows.
    pub fn take(&mut self, auditor: &Auditor) -> BTreeSet<Line> {
        let mut lines = std::mem::take(&mut self.persisted);
        lines.extend(auditor.leaked_by_boot());
        lines
    }
}
