//! The log trigger of the first level: in a transaction, the first store to a line sends the line's old bytes to the
//! log manager and waits until that has taken them (easy-pm section III-B).
//!
//! "Each cache line is augmented with a Log Bit": it is set when the old bytes are sent and goes with the line. A line
//! that comes back to the first level is logged again at its next store. That costs an entry and does no harm, because
//! undoing goes from the newest entry to the oldest.

use super::hierarchy::Hierarchy;
use crate::kernel::Ps;
use crate::message::{Access, CoreId, Line, MemoryRequest};

/// What the trigger of one core knows besides the log bits.
#[derive(Default)]
pub(super) struct LogTrigger {
    /// Between `tx_begin` and `tx_end`.
    active: bool,
    /// Slots of the first level whose log bit has been set since `tx_begin`; a slot may come twice.
    slots: Vec<usize>,
}

impl Hierarchy {
    pub(super) fn begin_logging(&mut self, core: usize) {
        let trigger = &mut self.log_triggers[core];
        trigger.active = true;
        for slot in trigger.slots.drain(..) {
            self.l1[core].clear_logged(slot);
        }
    }

    #[inline]
    pub(super) fn log_store(&mut self, now: Ps, core: CoreId, line: Line) -> Access {
        let c = usize::from(core);
        if !self.log_triggers[c].active {
            return Access::At(now);
        }
        let cache = &mut self.l1[c];
        let slot = cache
            .find(line)
            .unwrap_or_else(|| panic!("core {c} logs line {:#x} that `own` has not made writable", line.0));
        if cache.logged(slot) {
            return Access::At(now);
        }
        cache.set_logged(slot);
        self.log_triggers[c].slots.push(slot);
        let old = *self.l1[c].bytes(slot);
        self.requests.push(MemoryRequest::Log { at: now + self.latency.l3, core, line, old });
        Access::Pending
    }

    /// Nothing is asked of a log manager that has been sent nothing.
    pub(super) fn end_logging(&mut self, now: Ps, core: CoreId) -> Access {
        let trigger = &mut self.log_triggers[usize::from(core)];
        if !std::mem::replace(&mut trigger.active, false) || trigger.slots.is_empty() {
            return Access::At(now);
        }
        self.requests.push(MemoryRequest::EndTransaction { at: now + self.latency.l3, core });
        Access::Pending
    }
}
