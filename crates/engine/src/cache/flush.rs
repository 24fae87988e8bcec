//! Flushes and non-temporal stores: what must reach the persistence domain before a fence may complete.

use super::hierarchy::Hierarchy;
use super::level::Resting;
use super::mshr::cores_of;
use crate::kernel::Ps;
use crate::message::{Access, CoreId, FlushKind, LINES_PER_PAGE, Line, LineBytes};

impl Hierarchy {
    /// Writes the newest copy of `line` back if any cache holds it dirty. A write of a line that is clean everywhere
    /// may still be in flight (an eviction, another core's flush). The flush then completes with that write, because a
    /// fence must not complete before everything it covers is in the persistence domain.
    pub(super) fn flush_line(&mut self, now: Ps, core: CoreId, line: Line, kind: FlushKind) -> Access {
        let dirty = self.clean(usize::from(core), line);
        if kind == FlushKind::Invalidate {
            self.drop_copies(line, None);
        }
        if kind == FlushKind::Keep && self.flush_disowns {
            self.take_right_to_write(usize::from(core), line);
        }
        if let Some(resting) = dirty {
            let token = self.send_write(now, line, resting, None, Some(core), kind == FlushKind::KeepWithCounter);
            self.leave_buffer(now, line, token, &resting);
            self.counts.flush_writes += 1;
            Access::Pending
        } else if self.writes.join(line, core) {
            Access::Pending
        } else {
            Access::At(now + self.latency.l3)
        }
    }

    /// The core that alone may write `line`, or else `core`.
    fn owner_or(&self, core: usize, line: Line) -> usize {
        self.directory.as_ref().and_then(|directory| directory.owner(line)).unwrap_or(core)
    }

    /// The copy in the first level of whoever may write `line` becomes one to read, unless somebody is about to write it.
    fn take_right_to_write(&mut self, core: usize, line: Line) {
        if self.reserved.contains(&line) {
            return;
        }
        let holder = self.owner_or(core, line);
        if let Some(slot) = self.l1[holder].find(line) {
            self.l1[holder].set_writable(slot, false);
        }
        if let Some(directory) = &mut self.directory {
            directory.disown(line);
        }
    }

    /// Writes a whole line past the caches. Replaces older copies, dirty or clean, and the result of a read in flight.
    pub(super) fn write_past(&mut self, now: Ps, core: CoreId, line: Line, data: &LineBytes) {
        self.supersede(line, data);
        self.send_write(now, line, Resting::in_the_clear(*data), None, Some(core), false);
    }

    /// Drops all copies of the lines of the page whose first line is `first`, which becomes zeros.
    pub(super) fn drop_page(&mut self, first: Line) {
        (0..LINES_PER_PAGE).for_each(|index| self.supersede(Line(first.0 + index), &[0; 64]));
    }

    /// Drops all copies of `line`, dirty or clean, and the result of a read in flight: it becomes `data` elsewhere.
    fn supersede(&mut self, line: Line, data: &LineBytes) {
        self.drop_copies(line, Some(data));
        if let Some(id) = self.mshrs.find(line) {
            let register = self.mshrs.get(id);
            register.superseded = true;
            register.bytes = *data;
        }
    }

    /// If any cache holds `line` dirty, makes all copies clean and equal to the newest, and returns its bytes as the
    /// newest copy stores them.
    pub(super) fn clean(&mut self, core: usize, line: Line) -> Option<Resting> {
        // Dirty lines in private caches belong to the owner; if the line has no owner, only shared levels can hold it
        // dirty.
        let holder = self.owner_or(core, line);
        let (l2, l3) = (self.l2_of(holder), self.l3_of(holder));
        let caches = [&mut self.l1[holder], &mut self.l2[l2], &mut self.l3[l3]];
        let copies = caches.map(|cache| cache.find(line).map(|slot| (cache, slot)));
        if !copies.iter().flatten().any(|(cache, slot)| cache.dirty(*slot)) {
            return None;
        }
        let mut newest = None;
        for (cache, slot) in copies.into_iter().flatten() {
            let newest = newest.get_or_insert_with(|| cache.resting(slot));
            cache.set_bytes(slot, &newest.plaintext());
            cache.set_clean(slot);
        }
        newest
    }

    /// Drops every copy of `line`. Two copies stay: that of a core about to write the line, which becomes clean, and
    /// one that is being written back. They receive the bytes `newer`.
    fn drop_copies(&mut self, line: Line, newer: Option<&LineBytes>) {
        let holders = self.directory.as_ref().map_or(1, |directory| directory.sharers(line));
        let mut kept_above = false;
        for core in cores_of(holders) {
            let keep = self.reserved[core] == line;
            kept_above |= keep;
            let l2 = self.l2_private().then_some(core);
            let l3 = self.l3_private().then_some(core);
            let caches = [Some(&mut self.l1[core]), l2.map(|c| &mut self.l2[c]), l3.map(|c| &mut self.l3[c])];
            caches.into_iter().flatten().for_each(|cache| cache.drop_copy(line, keep, newer));
            self.forget_if_gone(core, line);
        }
        if !self.l2_private() {
            self.l2[0].drop_copy(line, kept_above, newer);
        }
        if !self.l3_private() {
            self.l3[0].drop_copy(line, false, newer);
        }
    }
}
