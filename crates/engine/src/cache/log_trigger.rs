//! The log trigger of the first level: in a transaction, the first store to a line sends the line's old bytes to the
//! log manager and waits until it has taken them (easy-pm section III-B).
//!
//! `tx_begin` asks the log manager for registers. A store that comes before the answer does not reserve its line while
//! it waits, because transactions that have registers may need the way.
//!
//! "Each cache line is augmented with a Log Bit": it is set when the old bytes are sent, and leaves with the line. A
//! line that comes back to the first level is logged again at its next store. That costs an entry but is correct,
//! because undo goes from the newest entry to the oldest.

use super::hierarchy::Hierarchy;
use crate::kernel::Ps;
use crate::message::{Access, CoreId, Line, MemoryRequest, Wake};

/// The state of one core's trigger, except the log bits.
#[derive(Clone, Default)]
pub(super) struct LogTrigger {
    /// Whether the core is between `tx_begin` and `tx_end`.
    active: bool,
    /// Whether the log manager has registers for the transaction.
    begun: bool,
    /// Whether a store waits for the registers.
    waits: bool,
    /// Whether a store that had to wait requests its line again, which is not counted as another access.
    again: bool,
    /// Slots of the first level whose log bit has been set since `tx_begin`; a slot may occur twice.
    slots: Vec<usize>,
}

impl Hierarchy {
    pub(super) fn begin_logging(&mut self, now: Ps, core: CoreId) {
        let c = usize::from(core);
        let trigger = &mut self.log_triggers[c];
        (trigger.active, trigger.begun) = (true, false);
        for slot in trigger.slots.drain(..) {
            self.l1[c].clear_logged(slot);
        }
        self.requests.push(MemoryRequest::BeginTransaction { at: now + self.latency.l3, core });
    }

    /// Records that the store of `core` must wait although its line is there.
    pub(super) fn ask_again(&mut self, core: usize) {
        self.log_triggers[core].again = true;
    }

    /// Whether `core` requests a line again only because its store had to wait for the log or for a counter.
    #[inline]
    pub(super) fn asks_again(&mut self, core: usize) -> bool {
        std::mem::take(&mut self.log_triggers[core].again)
    }

    /// Handles the answer that the log manager has registers for the transaction of `core`.
    pub fn transaction_begun(&mut self, now: Ps, core: CoreId) {
        let trigger = &mut self.log_triggers[usize::from(core)];
        trigger.begun = true;
        if std::mem::replace(&mut trigger.waits, false) {
            self.wakes.push((core, Wake::Prepared { at: now }));
        }
    }

    /// Handles the answer that the log manager has taken the old bytes that `core` sent.
    pub fn logged(&mut self, now: Ps, core: CoreId) {
        self.wakes.push((core, Wake::Prepared { at: now }));
    }

    /// Handles the answer that the log of the transaction of `core` is freed.
    pub fn transaction_ended(&mut self, now: Ps, core: CoreId) {
        self.wakes.push((core, Wake::TransactionEnded { at: now }));
    }

    #[inline]
    pub(super) fn log_store(&mut self, now: Ps, core: CoreId, line: Line) -> Access {
        let c = usize::from(core);
        if !self.log_triggers[c].active {
            return Access::At(now);
        }
        let slot = self.l1[c]
            .find(line)
            .unwrap_or_else(|| panic!("core {c} logs line {:#x} that `own` has not made writable", line.0));
        if self.l1[c].logged(slot) {
            return Access::At(now);
        }
        self.ask_again(c);
        if !self.log_triggers[c].begun {
            self.log_triggers[c].waits = true;
            self.release(now, c);
            return Access::Pending;
        }
        self.l1[c].set_logged(slot);
        self.log_triggers[c].slots.push(slot);
        let old = self.l1[c].bytes(slot);
        self.requests.push(MemoryRequest::Log { at: now + self.latency.l3, core, line, old });
        Access::Pending
    }

    pub(super) fn end_logging(&mut self, now: Ps, core: CoreId) -> Access {
        if !std::mem::replace(&mut self.log_triggers[usize::from(core)].active, false) {
            return Access::At(now);
        }
        self.requests.push(MemoryRequest::EndTransaction { at: now + self.latency.l3, core });
        Access::Pending
    }
}
