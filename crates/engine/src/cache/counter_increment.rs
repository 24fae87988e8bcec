//! Caches that encrypt lines with their own counters: a line that becomes dirty first gets its next counter (sepencr
//! section IV-A).
//!
//! One counter serves one period in which a line is dirty on the chip, from the store that makes it dirty to the write
//! that sends it out. So only the newest copy counts as dirty in the third level: when a level above takes over from a
//! dirty copy there, that copy becomes clean and is never written beside the newer one. A copy that is being written
//! back is not dirty either, because its counter leaves with the write.

use super::hierarchy::{Hierarchy, NO_LINE};
use super::mshr::cores_of;
use crate::kernel::Ps;
use crate::message::{Access, CoreId, Line, MemoryRequest, Wake};
use crate::parts::CachePads;

impl Hierarchy {
    /// Whether lines are encrypted in the caches with their own counters.
    #[inline]
    pub(super) fn counters_in_caches(&self) -> bool {
        self.pads == CachePads::AesAtAccess
    }

    /// Makes `line`, which `core` has reserved and is about to write, dirty in the first level, or requests the counter
    /// that it needs first.
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
            self.requests.push(MemoryRequest::IncrementCounter { at: now + self.latency.l3, core, line });
            return Access::Pending;
        }
        self.l1[c].set_dirty(slot);
        if let Some(lower) = dirty_l3 {
            self.l3[l3].set_clean(lower);
        }
        Access::At(now)
    }

    /// The line that `core` is about to write has its next counter: it is dirty from now on, because memory's copy is
    /// encrypted with the previous counter.
    pub fn counter_incremented(&mut self, now: Ps, core: CoreId) {
        let c = usize::from(core);
        let line = self.reserved[c];
        assert_ne!(line, NO_LINE, "core {core} has asked for no counter");
        let slot = self.writable_slot(now, c, line);
        self.l1[c].set_dirty(slot);
        self.wakes.push((core, Wake::Prepared { at: now }));
    }

    /// Whether `line` is being written back from one of the private third levels of `cores`. A core that took it over
    /// then would have a dirty line without a counter of its own. After the write-back there is a clean line to take.
    pub(super) fn leaves_private_l3(&self, cores: u64, line: Line) -> bool {
        self.l3_private()
            && cores_of(cores).any(|core| self.l3[core].find(line).is_some_and(|slot| self.l3[core].leaving(slot)))
    }

    /// Whether a first or second level holds `line` dirty.
    pub(super) fn dirty_above_l3(&self, line: Line) -> bool {
        self.l1.iter().chain(&self.l2).any(|cache| cache.find(line).is_some_and(|slot| cache.dirty(slot)))
    }
}
