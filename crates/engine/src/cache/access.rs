//! Accesses that the first level cannot answer at once: find the line on the chip and bring it up, or take a miss
//! register.

use super::hierarchy::Hierarchy;
use super::mshr::{Phase, Waiter, Want};
use crate::kernel::Ps;
use crate::message::{Access, CoreId, Line, MemoryRequest, News};

/// Where a line was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoundIn {
    /// The core's own first level, without write permission.
    L1,
    /// The second level.
    L2,
    /// The third level.
    L3,
    /// The private caches of another core.
    Other,
}

/// Outcome of bringing a line up to a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Promotion {
    /// The core has the line from this time on.
    Done { source: FoundIn, at: Ps },
    /// No cache holds it.
    Absent,
    /// A way must become free first, or another core must write the line first.
    NoWay,
}

impl Hierarchy {
    /// Handles an access that the first level could not answer.
    #[cold]
    pub(super) fn miss(&mut self, now: Ps, core: CoreId, line: Line, want: Want) -> Access {
        let c = usize::from(core);
        // A core that has reserved the line has it on the chip, and others may be waiting for this core: it must not
        // queue behind them.
        if self.reserved[c] != line
            && let Some(id) = self.mshrs.find(line)
        {
            return self.join(now, core, want, id);
        }
        if want.owns() && self.reserved_by_other(c, line) {
            return self.start(now, core, line, want, Phase::OnChip);
        }
        match self.promote(now, c, line, want.owns()) {
            Promotion::Done { source, at } => {
                self.count_hit(source, at - now, want);
                if want == Want::Own {
                    self.reserve(now, c, line);
                }
                Access::At(at)
            }
            Promotion::Absent => self.start(now, core, line, want, Phase::Reading),
            Promotion::NoWay => self.start(now, core, line, want, Phase::OnChip),
        }
    }

    /// Makes a line that `core` has reserved writable again, after another core has read it.
    #[cold]
    pub(super) fn regain(&mut self, now: Ps, core: usize, line: Line) -> usize {
        self.promote(now, core, line, true);
        match self.l1[core].find(line) {
            Some(slot) if self.l1[core].writable(slot) => slot,
            _ => panic!("core {core} writes line {:#x} that `own` has not made writable", line.0),
        }
    }

    fn join(&mut self, now: Ps, core: CoreId, want: Want, id: u32) -> Access {
        if want == Want::Prefetch {
            return Access::Pending;
        }
        if !self.mshrs.join(id, Waiter { core, want, since: now }) {
            return self.block(core, News::Unknown);
        }
        self.counts.l1.misses += 1;
        Access::Pending
    }

    fn start(&mut self, now: Ps, core: CoreId, line: Line, want: Want, phase: Phase) -> Access {
        let c = usize::from(core);
        let prefetch = want == Want::Prefetch;
        // A prefetch that cannot be sent to memory at once is not worth a register.
        if !self.mshrs.has_room(c, prefetch) || prefetch && phase == Phase::OnChip {
            if prefetch {
                return Access::Blocked(News::Unknown);
            }
            let news = if phase == Phase::Reading { self.mshrs.absent(line) } else { News::Unknown };
            return self.block(core, news);
        }
        let id = self.mshrs.start(line, phase, Waiter { core, want, since: now });
        self.counts.l1.misses += 1;
        self.counts.l2.misses += 1;
        if phase == Phase::Reading {
            self.counts.l3.misses += 1;
            self.requests.push(MemoryRequest::Read { at: now + self.latency.l3, line, token: id });
            self.prepare_ways(now, c, line);
        } else {
            self.waiting.push(id);
        }
        Access::Pending
    }

    /// Has `core` wait for a free register.
    fn block(&mut self, core: CoreId, news: News) -> Access {
        if !self.blocked.contains(&core) {
            self.blocked.push_back(core);
        }
        Access::Blocked(news)
    }

    /// Blocks a load again if neither a register is free nor anything has happened to its line.
    pub(super) fn still_blocked(&mut self, core: CoreId, line: Line, news: News) -> Option<Access> {
        if self.mshrs.has_room(usize::from(core), false) || self.mshrs.absent(line) != news {
            return None;
        }
        debug_assert!(self.mshrs.find(line).is_none() && self.newest_for(usize::from(core), line).is_none());
        Some(self.block(core, news))
    }

    fn count_hit(&mut self, source: FoundIn, latency: Ps, want: Want) {
        if source == FoundIn::L1 && want == Want::Prefetch {
            return;
        }
        let counts = &mut self.counts;
        let level = match source {
            FoundIn::L1 => &mut counts.l1,
            FoundIn::L2 => {
                counts.l1.misses += 1;
                &mut counts.l2
            }
            FoundIn::L3 | FoundIn::Other => {
                counts.l1.misses += 1;
                counts.l2.misses += 1;
                &mut counts.l3
            }
        };
        level.hits += 1;
        level.latency_ps += latency;
    }

    /// Brings `line` up to the first level of `core`, writable if `own`, from any cache on the chip. The line itself is
    /// not changed unless this succeeds.
    pub(super) fn promote(&mut self, now: Ps, core: usize, line: Line, own: bool) -> Promotion {
        let (l2, l3) = (self.l2_of(core), self.l3_of(core));
        let others = self.others(core, line);
        if own && self.counters_in_caches() && self.leaves_private_l3(others, line) {
            return Promotion::NoWay;
        }
        let mut alone = own || others == 0;
        let (source, at, slot) = match self.l2[l2].find(line) {
            Some(slot) => {
                let (source, at) = self.claim(now, core, line, slot, own, others);
                (source, at.max(self.l2[l2].ready(slot)), slot)
            }
            None => {
                let absent = |caches: &Self| others == 0 && caches.l3[l3].find(line).is_none();
                if absent(self) {
                    return Promotion::Absent;
                }
                let Some(slot) = self.make_l2_way(now, core, line) else { return Promotion::NoWay };
                // Making room may have evicted this very line from the third level.
                if absent(self) {
                    return Promotion::Absent;
                }
                let Some((source, at, taken)) = self.bring_into_l2(now, core, line, slot, own, others) else {
                    return Promotion::NoWay;
                };
                alone |= taken;
                (source, at, slot)
            }
        };
        self.l2[l2].touch(slot);
        let in_l1 = match self.l1[core].find(line) {
            Some(upper) => {
                self.l1[core].set_writable(upper, alone);
                self.l1[core].touch(upper);
                true
            }
            None => self.copy_to_l1(core, line, slot, at, alone),
        };
        if let Some(directory) = &mut self.directory
            && (in_l1 || self.l2.len() > 1)
        {
            directory.add(line, core, alone);
        }
        Promotion::Done { source, at }
    }

    /// Decides who may keep the line, which is in the second level of `core`.
    fn claim(&mut self, now: Ps, core: usize, line: Line, slot: usize, own: bool, others: u64) -> (FoundIn, Ps) {
        let from = if self.l1[core].find(line).is_some() { FoundIn::L1 } else { FoundIn::L2 };
        if self.l2_private() {
            if own && others != 0 {
                // The copies are equal; the directory of the third level must be asked.
                if self.take_from(others, line).1 {
                    self.l2[core].set_dirty(slot);
                }
                return (from, now + self.latency.l3);
            }
        } else if others != 0 {
            let owned_by_other = self.owner_among(others, line).is_some();
            if let Some(bytes) = self.recall_to_shared_l2(others, line, own) {
                self.l2[0].set_bytes(slot, &bytes);
                self.l2[0].set_dirty(slot);
            }
            let transfer = if own || owned_by_other { self.latency.transfer } else { 0 };
            return (from, now + self.latency.l2 + transfer);
        }
        (from, now + self.latency.l2)
    }

    /// Copies a line of the third level or of other cores into the empty way `slot` of the second level. Returns
    /// whether `core` has taken the line over from its owner although it only reads. `None` if the owner can neither
    /// share the line now nor give it away.
    fn bring_into_l2(
        &mut self,
        now: Ps,
        core: usize,
        line: Line,
        slot: usize,
        own: bool,
        others: u64,
    ) -> Option<(FoundIn, Ps, bool)> {
        let (l2, l3) = (self.l2_of(core), self.l3_of(core));
        let below = self.l3[l3].find(line);
        let owned_by_other = self.owner_among(others, line).is_some();
        if let Some(lower) = below {
            self.l3[l3].touch(lower);
            if !owned_by_other {
                let at = self.l3[l3].ready(lower).max(now + self.latency.l3);
                self.l2[l2].insert(slot, line, &self.l3[l3].bytes(lower), at);
                if own && others != 0 && self.take_from(others, line).1 {
                    self.l2[l2].set_dirty(slot);
                }
                return Some((FoundIn::L3, at, false));
            }
        }
        let at = now + self.latency.l3 + self.latency.transfer;
        let (bytes, dirty) = if own { self.take_from(others, line) } else { self.share_with(now, others, line)? };
        self.l2[l2].insert(slot, line, &bytes, at);
        if dirty {
            self.l2[l2].set_dirty(slot);
        }
        Some((FoundIn::Other, at, !own && dirty))
    }
}
