//! Operations that take no slot. Among them: threads of a recorded program that follow each other. Cores report how far theirs
//! are, and hear it of each other.

use super::core::{Core, CoreContext, Dispatch};
use crate::kernel::Queue;
use crate::message::{CachePort, CoreId, Event, Observer, Op};

impl Core {
    /// Passes an operation that takes no slot, if it can be.
    pub(super) fn pass<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        op: Op,
    ) -> Dispatch {
        match op {
            Op::Await { core, count } if self.has_heard(core) < count => return Dispatch::Stall,
            Op::Mark => self.set_mark(cx),
            _ => {}
        }
        self.next_op += 1;
        Dispatch::Done
    }

    /// `CoreEvent::Reported`: core `other` has reported `count` times.
    pub fn hear(&mut self, queue: &mut Queue<Event>, other: CoreId, count: u64) {
        let other = usize::from(other);
        if self.heard.len() <= other {
            self.heard.resize(other + 1, 0);
        }
        self.heard[other] = count;
        self.resume(queue);
    }

    /// How often core `other` has reported.
    pub(super) fn has_heard(&self, other: CoreId) -> u64 {
        self.heard.get(usize::from(other)).copied().unwrap_or(0)
    }

    /// How often this core has reported.
    pub fn reported(&self) -> u64 {
        self.reported
    }
}
