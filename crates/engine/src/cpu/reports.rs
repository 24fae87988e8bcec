//! Threads of a recorded program that follow each other: cores report how far theirs are, and hear it of each other.

use super::core::Core;
use crate::kernel::Queue;
use crate::message::{CoreId, Event};

impl Core {
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
