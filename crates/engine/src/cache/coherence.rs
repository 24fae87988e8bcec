//! Coherence between private caches: one writer or many readers of a line.
//!
//! Within one core's private caches the topmost copy is the newest, and only the owner's copies may be dirty. When
//! another core reads a dirty line, the line moves down into the shared level, so that readers hold only clean copies.
//! If the caches are in the persistence domain and that level has no room, it moves to the reader.

use super::hierarchy::{Hierarchy, NO_LINE};
use super::mshr::cores_of;
use crate::kernel::Ps;
use crate::message::{Line, LineBytes};

impl Hierarchy {
    /// The other cores whose private caches hold `line`, one bit each.
    pub(super) fn others(&self, core: usize, line: Line) -> u64 {
        self.directory.as_ref().map_or(0, |directory| directory.sharers(line) & !(1 << core))
    }

    /// The core among `cores` that has the exclusive right to write `line`.
    pub(super) fn owner_among(&self, cores: u64, line: Line) -> Option<usize> {
        self.directory.as_ref()?.owner(line).filter(|owner| cores & 1 << owner != 0)
    }

    /// Whether another core is about to write `line`.
    pub(super) fn reserved_by_other(&self, core: usize, line: Line) -> bool {
        self.directory.is_some() && self.reserved.iter().enumerate().any(|(c, &held)| held == line && c != core)
    }

    /// Whether `line` must stay in the second-level cache `l2` because a core is about to write it.
    pub(super) fn reserved_in_l2(&self, l2: usize, line: Line) -> bool {
        debug_assert_ne!(line, NO_LINE);
        if self.l2_private() { self.reserved[l2] == line } else { self.reserved.contains(&line) }
    }

    /// The newest copy of `line` in the caches that `core` uses, private or shared.
    fn newest_of(&self, core: usize, line: Line) -> Option<LineBytes> {
        [&self.l1[core], &self.l2[self.l2_of(core)], &self.l3[self.l3_of(core)]]
            .into_iter()
            .find_map(|cache| cache.find(line).map(|slot| cache.bytes(slot)))
    }

    /// The bytes that a load of `core` would find.
    pub(super) fn newest_for(&self, core: usize, line: Line) -> Option<LineBytes> {
        let others = self.others(core, line);
        if let Some(owner) = self.owner_among(others, line) {
            return self.newest_of(owner, line);
        }
        std::iter::once(core).chain(cores_of(others)).find_map(|c| self.newest_of(c, line))
    }

    /// Removes `line` from the private caches of `cores` and returns its newest bytes and whether memory (or the shared
    /// level) may lack them. Also gives up a private way that is being written back, because the new holder keeps its
    /// bytes.
    pub(super) fn take_from(&mut self, cores: u64, line: Line) -> (LineBytes, bool) {
        let mut newest = None;
        let mut dirty = false;
        for core in cores_of(cores) {
            let (l2, l3) = (self.l2_private().then_some(core), self.l3_private().then_some(core));
            let caches = [Some(&mut self.l1[core]), l2.map(|c| &mut self.l2[c]), l3.map(|c| &mut self.l3[c])];
            for cache in caches.into_iter().flatten() {
                if let Some(slot) = cache.find(line) {
                    newest.get_or_insert_with(|| cache.bytes(slot));
                    dirty |= cache.dirty(slot) || cache.leaving(slot);
                    cache.remove(slot);
                }
            }
            if let Some(directory) = &mut self.directory {
                directory.remove(line, core);
            }
        }
        (newest.unwrap_or_else(|| panic!("no core named by the directory holds line {:#x}", line.0)), dirty)
    }

    /// Makes `cores`, which keep their copies, share `line`: the owner's newer bytes go down to the shared level or, if
    /// it has no free way, to memory. Returns the newest bytes. For private second levels.
    ///
    /// Caches in the persistence domain never lose a line before memory has it. There the line moves to the reader,
    /// which then holds it dirty: true. `None` if the owner is about to write it.
    pub(super) fn share_with(&mut self, now: Ps, cores: u64, line: Line) -> Option<(LineBytes, bool)> {
        let Some(owner) = self.owner_among(cores, line) else {
            let newest = cores_of(cores).find_map(|core| self.newest_of(core, line));
            return Some((newest.unwrap_or_else(|| panic!("no core named by the directory holds {line:?}")), false));
        };
        let private_l3 = self.l3_private().then_some(owner);
        let mut newest = None;
        let mut dirty = false;
        let caches = [Some(&self.l1[owner]), Some(&self.l2[owner]), private_l3.map(|core| &self.l3[core])];
        for (cache, slot) in caches.into_iter().flatten().filter_map(|cache| Some((cache, cache.find(line)?))) {
            newest.get_or_insert_with(|| cache.resting(slot));
            dirty |= cache.dirty(slot);
        }
        let newest = newest.unwrap_or_else(|| panic!("the owner of {line:?} does not hold it"));
        let bytes = newest.plaintext();
        if dirty && !(private_l3.is_none() && self.put_dirty_in_l3(now, 0, line, &bytes)) {
            if self.persistent {
                return (self.reserved[owner] != line).then(|| self.take_from(cores, line));
            }
            self.count_eviction(line);
            let token = self.send_write(now, line, newest, None, None, false);
            self.leave_buffer(now, line, token, &newest);
        }
        let caches = [Some(&mut self.l1[owner]), Some(&mut self.l2[owner]), private_l3.map(|core| &mut self.l3[core])];
        for cache in caches.into_iter().flatten() {
            if let Some(slot) = cache.find(line) {
                cache.set_bytes(slot, &bytes);
                cache.set_clean(slot);
                cache.set_writable(slot, false);
            }
        }
        if let Some(directory) = &mut self.directory {
            directory.disown(line);
        }
        Some((bytes, false))
    }

    /// Recalls a line from the first levels above a shared second level: removes their copies (`own`) or ends their
    /// right to write. Returns the bytes if a first level had newer ones than the second.
    pub(super) fn recall_to_shared_l2(&mut self, cores: u64, line: Line, own: bool) -> Option<LineBytes> {
        let mut newer = None;
        for core in cores_of(cores) {
            let cache = &mut self.l1[core];
            let Some(slot) = cache.find(line) else { continue };
            if cache.dirty(slot) {
                newer = Some(cache.bytes(slot));
            }
            if own {
                cache.remove(slot);
            } else {
                cache.set_clean(slot);
                cache.set_writable(slot, false);
            }
            if let Some(directory) = &mut self.directory {
                if own { directory.remove(line, core) } else { directory.disown(line) }
            }
        }
        newer
    }

    /// Tells the directory if `core`'s private caches no longer hold `line`.
    pub(super) fn forget_if_gone(&mut self, core: usize, line: Line) {
        if self.directory.is_none() {
            return;
        }
        let gone = self.l1[core].find(line).is_none()
            && !(self.l2_private() && self.l2[core].find(line).is_some())
            && !(self.l3_private() && self.l3[core].find(line).is_some());
        if gone && let Some(directory) = &mut self.directory {
            directory.remove(line, core);
        }
    }
}
