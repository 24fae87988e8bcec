//! Room for lines: victims, write-backs that keep their way until they are acknowledged, and misses that complete once
//! their ways are free.
//!
//! Why there is no deadlock: a miss waits only for a way that is being written back, whose acknowledgement does not
//! depend on the caches, or for a line that a core has reserved. The `write` that ends a reservation needs no way and
//! no register; it may wait for the log manager or for a counter, and these do not depend on the caches either. Each of
//! the two ends in `retry`. This holds even if a level has few sets: once every way of a set is being written back, the
//! misses of its lines wait for acknowledgements. Each acknowledgement frees a way, unless a second level has put a
//! newer line into it, which frees a way there.

use super::access::{FoundIn, Promotion};
use super::hierarchy::Hierarchy;
use super::mshr::{Phase, Want, cores_of};
use crate::kernel::Ps;
use crate::message::{CoreId, Line, LineBytes, MemoryRequest, Wake};

impl Hierarchy {
    /// Puts a clean copy of a line that the controller has read itself (page re-encryption) into the third level, if no
    /// cache or register on the chip uses the line and a way is available without a write-back.
    pub fn install_clean(&mut self, now: Ps, line: Line, bytes: &LineBytes) {
        let cached = self.newest_for(0, line).is_some();
        let on_its_way = self.mshrs.find(line).is_some() || self.writes.contains(line);
        // Private third levels belong to a core, and no core has requested this line.
        if cached || on_its_way || self.l3_private() && self.directory.is_some() {
            return;
        }
        let cache = &mut self.l3[0];
        let way = cache.empty_way(line).or_else(|| cache.victim(line, |_| false).filter(|&slot| !cache.dirty(slot)));
        if let Some(slot) = way {
            cache.insert(slot, line, bytes, now);
            self.mshrs.note(line);
        }
    }

    /// Empties a way for `line` in the second level of `core`: its least recently used line is evicted, and also from
    /// the first level. `None` if that line is dirty and the third level cannot take it now.
    pub(super) fn make_l2_way(&mut self, now: Ps, core: usize, line: Line) -> Option<usize> {
        let l2 = self.l2_of(core);
        if let Some(slot) = self.l2[l2].empty_way(line) {
            return Some(slot);
        }
        let slot = self.l2[l2].victim(line, |other| self.reserved_in_l2(l2, other))?;
        let victim = self.l2[l2].line(slot);
        let holders = self.first_levels_with(l2, victim);
        // The copy of a first level, if it is dirty, is newer than that of the second.
        let newest = match self.dirty_above(holders, victim) {
            Some((upper, copy)) => Some(self.l1[upper].bytes(copy)),
            None => self.l2[l2].dirty(slot).then(|| self.l2[l2].bytes(slot)),
        };
        if let Some(newest) = newest
            && !self.put_dirty_in_l3(now, self.l3_of(l2), victim, &newest)
        {
            return None;
        }
        self.l2[l2].remove(slot);
        for upper in cores_of(holders) {
            if let Some(copy) = self.l1[upper].find(victim) {
                self.l1[upper].remove(copy);
            }
            self.forget_if_gone(upper, victim);
        }
        Some(slot)
    }

    /// The cores, one bit each, whose first levels may hold `line`, which is in the second-level cache `l2`.
    fn first_levels_with(&self, l2: usize, line: Line) -> u64 {
        match &self.directory {
            Some(directory) if !self.l2_private() => directory.sharers(line),
            _ => 1 << l2,
        }
    }

    /// The first level among those of `holders` that holds `line` dirty, and the slot of its copy.
    fn dirty_above(&self, holders: u64, line: Line) -> Option<(usize, usize)> {
        let mut copies = cores_of(holders).filter_map(|upper| Some((upper, self.l1[upper].find(line)?)));
        copies.find(|&(upper, copy)| self.l1[upper].dirty(copy))
    }

    /// Copies a line from `slot` of the second level into the first. Returns false if the core has reserved every way.
    pub(super) fn copy_to_l1(&mut self, core: usize, line: Line, slot: usize, ready: Ps, writable: bool) -> bool {
        let l2 = self.l2_of(core);
        let cache = &mut self.l1[core];
        let way = match cache.empty_way(line) {
            Some(way) => way,
            None => {
                let Some(way) = cache.victim(line, |other| other == self.reserved[core]) else { return false };
                let victim = cache.line(way);
                if cache.dirty(way) {
                    let below = self.l2[l2].find(victim);
                    let below = below.unwrap_or_else(|| panic!("line {:#x} is in l1 and not in l2", victim.0));
                    self.l2[l2].set_bytes(below, &cache.bytes(way));
                    self.l2[l2].set_dirty(below);
                }
                cache.remove(way);
                self.forget_if_gone(core, victim);
                way
            }
        };
        let cache = &mut self.l1[core];
        cache.insert(way, line, &self.l2[l2].bytes(slot), ready);
        cache.set_writable(way, writable);
        true
    }

    /// Finds an empty way for `line` in the third-level cache `l3`. A clean victim is dropped at once. A dirty victim
    /// is written back and keeps its way until that is acknowledged; the result is then `None`. During a write-back, no
    /// second line of the set is evicted.
    fn make_l3_way(&mut self, now: Ps, l3: usize, line: Line) -> Option<usize> {
        if let Some(slot) = self.l3[l3].empty_way(line) {
            return Some(slot);
        }
        if self.l3[l3].set_has_leaving(line) {
            return None;
        }
        let slot = self.l3[l3].victim(line, |_| false)?;
        if self.l3[l3].dirty(slot) {
            self.write_back(now, l3, slot);
            return None;
        }
        let victim = self.l3[l3].line(slot);
        self.l3[l3].remove(slot);
        if self.l3_private() {
            self.forget_if_gone(l3, victim);
        }
        Some(slot)
    }

    /// Moves a dirty line down into the third-level cache `l3`; returns false if no way is free.
    pub(super) fn put_dirty_in_l3(&mut self, now: Ps, l3: usize, line: Line, bytes: &LineBytes) -> bool {
        let slot = match self.l3[l3].find(line) {
            Some(slot) => {
                self.l3[l3].set_bytes(slot, bytes);
                self.l3[l3].touch(slot);
                slot
            }
            None => {
                let Some(slot) = self.make_l3_way(now, l3, line) else { return false };
                self.l3[l3].insert(slot, line, bytes, now);
                slot
            }
        };
        self.l3[l3].set_dirty(slot);
        true
    }

    /// Writes the dirty line in `slot` of the third-level cache `l3` to memory; it keeps its way until that is
    /// acknowledged.
    fn write_back(&mut self, now: Ps, l3: usize, slot: usize) {
        let line = self.l3[l3].line(slot);
        debug_assert!(
            !self.counters_in_caches() || !self.dirty_above_l3(line),
            "an older copy of {line:?} would leave"
        );
        let resting = self.l3[l3].resting(slot);
        self.count_eviction(line);
        let token = self.send_write(now, line, resting, Some((l3, slot)), None, false);
        self.l3[l3].set_leaving(slot, token);
        if self.buffers.is_some() && !self.dirty_above_l3(line) {
            self.leave_buffer(now, line, token, &resting);
        }
    }

    /// Counts and reports the eviction of a dirty line.
    pub(super) fn count_eviction(&mut self, line: Line) {
        self.evicted.push(line);
        self.counts.dirty_evictions += 1;
    }

    /// Starts the write-backs that the fill of `line` will need, so that they overlap with its read.
    pub(super) fn prepare_ways(&mut self, now: Ps, core: usize, line: Line) {
        let (l2, l3) = (self.l2_of(core), self.l3_of(core));
        self.prepare_l3_way(now, l3, line);
        if self.l2[l2].empty_way(line).is_some() {
            return;
        }
        let Some(slot) = self.l2[l2].victim(line, |other| self.reserved_in_l2(l2, other)) else { return };
        let victim = self.l2[l2].line(slot);
        let dirty = self.l2[l2].dirty(slot) || self.dirty_above(self.first_levels_with(l2, victim), victim).is_some();
        if dirty && self.l3[l3].find(victim).is_none() {
            self.prepare_l3_way(now, l3, victim);
        }
    }

    fn prepare_l3_way(&mut self, now: Ps, l3: usize, line: Line) {
        if self.l3[l3].empty_way(line).is_none()
            && let Some(slot) = self.l3[l3].victim(line, |_| false)
            && self.l3[l3].dirty(slot)
        {
            self.write_back(now, l3, slot);
        }
    }

    /// Retries every register that waits for ways or reservations, oldest first.
    pub(super) fn retry(&mut self, now: Ps) {
        if self.waiting.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&id| !self.advance(now, id));
        self.waiting = waiting;
    }

    /// Advances register `id` as far as possible. Returns true if it is finished or waits for memory again, false if it
    /// must be retried.
    pub(super) fn advance(&mut self, now: Ps, id: u32) -> bool {
        if self.mshrs.get(id).phase == Phase::Arrived && !self.install_arrived(now, id) {
            return false;
        }
        let line = self.mshrs.get(id).line;
        let mut next = 0;
        while let Some(&waiter) = self.mshrs.get(id).waiters.get(next) {
            let core = usize::from(waiter.core);
            if waiter.want.owns() && self.reserved_by_other(core, line) {
                // A prefetch gives up; a store waits for the other core's store.
                if waiter.want == Want::Prefetch {
                    self.mshrs.get(id).waiters.remove(next);
                } else {
                    next += 1;
                }
                continue;
            }
            match self.promote(now, core, line, waiter.want.owns()) {
                Promotion::Done { source, at } => {
                    let at = if source == FoundIn::Other { at } else { self.arrive(now, core, line) };
                    self.mshrs.get(id).waiters.remove(next);
                    self.answer(now, waiter.core, line, waiter.want, at);
                    self.counts.waits += u64::from(waiter.want != Want::Prefetch);
                    self.counts.wait_ps += if waiter.want == Want::Prefetch { 0 } else { at - waiter.since };
                }
                Promotion::NoWay => next += 1,
                Promotion::Absent => {
                    let register = self.mshrs.get(id);
                    register.phase = Phase::Reading;
                    register.superseded = false;
                    self.requests.push(MemoryRequest::Read { at: now + self.latency.l3, line, token: id });
                    return true;
                }
            }
        }
        if next > 0 {
            return false;
        }
        self.mshrs.release(id);
        self.wake_blocked(now);
        true
    }

    /// Puts the line that memory has returned into the third level of the core that requested it first, once that
    /// core's second level also has room.
    fn install_arrived(&mut self, now: Ps, id: u32) -> bool {
        let register = self.mshrs.get(id);
        let (line, core) = (register.line, register.first);
        let l3 = self.l3_of(core);
        if self.make_l2_way(now, core, line).is_none() {
            return false;
        }
        let Some(slot) = self.make_l3_way(now, l3, line) else { return false };
        let register = self.mshrs.get(id);
        register.phase = Phase::OnChip;
        self.l3[l3].insert(slot, line, &register.bytes, now);
        if self.l3_private()
            && let Some(directory) = &mut self.directory
        {
            directory.add(line, core, true);
        }
        true
    }

    /// Returns when `core` has the line that it waited for: the line is forwarded to the core while the levels are
    /// filled.
    fn arrive(&mut self, now: Ps, core: usize, line: Line) -> Ps {
        let l2 = self.l2_of(core);
        for cache in [&mut self.l1[core], &mut self.l2[l2]] {
            if let Some(slot) = cache.find(line) {
                cache.set_ready(slot, now);
            }
        }
        now
    }

    fn answer(&mut self, now: Ps, core: CoreId, line: Line, want: Want, at: Ps) {
        match want {
            Want::Load(token) => self.wakes.push((core, Wake::Load { token, at })),
            Want::Own => {
                debug_assert!(self.l1[usize::from(core)].find(line).is_some());
                self.reserved[usize::from(core)] = line;
                self.wakes.push((core, Wake::Store { line, at }));
            }
            Want::Prefetch => {}
        }
        debug_assert!(at >= now);
    }

    /// Wakes the cores that free registers help, those first that have waited longest: they ask again. Not more are woken
    /// than there are registers for, unless no register is in use, because then none will become free.
    fn wake_blocked(&mut self, now: Ps) {
        let mut room = if self.mshrs.len() == 0 { u32::MAX } else { self.mshrs.shared_room() };
        let mut next = 0;
        while room > 0
            && let Some(&core) = self.blocked.get(next)
        {
            if self.mshrs.has_room(usize::from(core), false) {
                room -= 1;
                self.blocked.remove(next);
                self.wakes.push((core, Wake::Retry { at: now }));
            } else {
                next += 1;
            }
        }
    }
}
