//! Lines that rest encrypted under their own counters: a line that turns dirty gets its next counter first (sepencr section
//! IV-A).
//!
//! One counter serves one stay of a line on the chip, from the store that makes it dirty to the write that takes it out. So
//! the newest copy alone is dirty in the third level's eyes: when a level above takes over from a dirty copy there, that
//! copy turns clean and never leaves beside the newer one; and a copy that is leaving is no dirty one, because its counter
//! goes with the write.

use super::hierarchy::{Hierarchy, NO_LINE};
use super::mshr::cores_of;
use crate::kernel::Ps;
use crate::message::{Access, CoreId, Line, MemoryRequest, Wake};
use crate::parts::CachePads;

impl Hierarchy {
    /// Whether lines rest encrypted under their own counters.
    #[inline]
    pub(super) fn counters_in_caches(&self) -> bool {
        self.pads == CachePads::AesAtAccess
    }

    /// `core` is about to write `line`, which it has reserved: makes it dirty in the first level, or asks for the counter
    /// without which it may not be.
    pub(super) fn turn_dirty(&mut self, now: Ps, core: CoreId, line: Line) -> Access {
        let c = usize::from(core);
        let slot = self.writable_slot(now, c, line);
        if self.l1[c].dirty(slot) {
            return Access::At(now);
        }
        let (l2, l3) = (self.l2_of(c), self.l3_of(c));
        let dirty_l2 = self.l2[l2].find(line).is_some_and(|slot| self.l2[l2].dirty(slot));
        let dirty_l3 = self.l3[l3].find(line).filter(|&slot| self.l3[l3].dirty(slot));
        if !dirty_l2 && dirty_l3.is_none() {
            self.ask_again(c);
            self.requests.push(MemoryRequest::BumpCounter { at: now + self.latency.l3, core, line });
            return Access::Pending;
        }
        self.l1[c].set_dirty(slot);
        if let Some(lower) = dirty_l3 {
            self.l3[l3].set_clean(lower);
        }
        Access::At(now)
    }

    /// The line that `core` is about to write has its next counter: it is dirty from now on, because what memory holds of
    /// it is under the one before.
    pub fn counter_bumped(&mut self, now: Ps, core: CoreId) {
        let c = usize::from(core);
        let line = self.reserved[c];
        assert_ne!(line, NO_LINE, "core {core} has asked for no counter");
        let slot = self.writable_slot(now, c, line);
        self.l1[c].set_dirty(slot);
        self.wakes.push((core, Wake::Prepared { at: now }));
    }

    /// Whether `line` is leaving one of the private third levels of `cores`. Who took it over then would have a dirty line
    /// without a counter of its own; once it has left, there is a clean one to take.
    pub(super) fn leaves_private_l3(&self, cores: u64, line: Line) -> bool {
        self.l3_private()
            && cores_of(cores).any(|core| self.l3[core].find(line).is_some_and(|slot| self.l3[core].leaving(slot)))
    }

    /// Whether a first or second level holds `line` dirty.
    pub(super) fn dirty_above_l3(&self, line: Line) -> bool {
        self.l1.iter().chain(&self.l2).any(|cache| cache.find(line).is_some_and(|slot| cache.dirty(slot)))
    }
}
