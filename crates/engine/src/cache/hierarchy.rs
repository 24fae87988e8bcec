//! The hierarchy as its neighbours see it: the port for the cores, the outboxes and answers for the controller, and the
//! snapshot for crashes.
//!
//! The second level holds every line that a first level above it holds (inclusive). The third level is independent of
//! the second: memory fills go to all three, and dirty lines of the second level move down to the third.

use super::directory::{CORES_MAX, Directory};
use super::level::{Level, PadOfSlot, Resting};
use super::log_trigger::LogTrigger;
use super::mshr::{Mshrs, Phase, Want};
use super::parts::{self, CacheParts, Latency};
use super::persist_buffer::PersistBuffers;
use super::stats::CacheCounts;
use super::writes::Writes;
use crate::config::{CacheLevel, ClwbLeaves, Machine};
use crate::kernel::{ConfigError, Ps};
use crate::message::{Access, CachePort, CoreId, FlushKind, Line, LineBytes, MemoryRequest, News, Wake, WriteToken};
use crate::parts::CachePads;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Marks a core that has reserved no line.
pub(super) const NO_LINE: Line = Line(u64::MAX);

/// The caches of all cores.
#[derive(Clone)]
pub struct Hierarchy {
    pub(super) l1: Vec<Level>,
    pub(super) l2: Vec<Level>,
    pub(super) l3: Vec<Level>,
    pub(super) latency: Latency,
    pub(super) pads: CachePads,
    /// Whether the caches are in the persistence domain.
    pub(super) persistent: bool,
    /// The persist buffers, if there are any.
    pub(super) buffers: Option<PersistBuffers>,
    /// `None` with one core.
    pub(super) directory: Option<Directory>,
    /// For each core: the line that `own` has granted and that its `write` has not reached yet. It stays writable in
    /// the core's caches until then.
    pub(super) reserved: Vec<Line>,
    /// The log trigger of each core.
    pub(super) log_triggers: Vec<LogTrigger>,
    pub(super) mshrs: Mshrs,
    /// Registers that wait for ways or for another core's write, oldest first.
    pub(super) waiting: Vec<u32>,
    pub(super) writes: Writes,
    /// Lines that hold a `CounterAtomic` variable. While there is none, a lookup needs one comparison and no hash.
    pub(super) counter_atomic: FxHashSet<u64>,
    /// Cores that found no free register, in the order in which they asked.
    pub(super) blocked: VecDeque<CoreId>,
    pub(super) requests: Vec<MemoryRequest>,
    pub(super) wakes: Vec<(CoreId, Wake)>,
    /// Outbox: evicted dirty lines, in order. The reader empties it.
    pub evicted: Vec<Line>,
    /// Whether a flush that keeps a line takes the right to write it.
    pub(super) flush_disowns: bool,
    pub(super) counts: CacheCounts,
}

impl Hierarchy {
    /// Empty caches for `cores` cores.
    ///
    /// # Errors
    /// A sentence if the machine's geometry cannot be built or has no room for pads.
    pub fn new(machine: &Machine, cores: u16, of: CacheParts<'_>) -> Result<Self, ConfigError> {
        if cores == 0 || cores > CORES_MAX {
            return Err(ConfigError(format!("cores is {cores}; the caches serve 1 to {CORES_MAX} cores")));
        }
        if machine.core.clock_mhz == 0 {
            return Err(ConfigError("core.clock_mhz is 0; a cache latency in cycles needs a clock".into()));
        }
        if machine.l1.shared {
            return Err(ConfigError("l1.shared is true; the first level is private to its core".into()));
        }
        if machine.l2.shared && !machine.l3.shared && cores > 1 {
            return Err(ConfigError(
                "l3.shared is false below a shared l2; a shared cache has one cache below it".into(),
            ));
        }
        parts::check(machine, of.pads)?;
        let mut first_slot = 0;
        let mut build = |level: &CacheLevel, name| -> Result<Vec<Level>, ConfigError> {
            let multiple = parts::multiple(level, cores);
            let one = |_| {
                let pad_of_slot = |slot: usize| (of.pad_of_slot)(first_slot + slot as u64);
                let pads = (of.pads == CachePads::BootPads).then_some(&pad_of_slot as PadOfSlot<'_>);
                let cache = Level::new(level, multiple, name, machine.engine.bytes, pads)?;
                first_slot += cache.lines() as u64;
                Ok(cache)
            };
            (0..parts::caches(level, cores)).map(one).collect()
        };
        let (l1, l2, l3) = (&machine.l1, &machine.l2, &machine.l3);
        Ok(Hierarchy {
            latency: Latency::of(machine, of.pads),
            pads: of.pads,
            persistent: of.persistent,
            buffers: of.buffers.map(|parts| PersistBuffers::new(parts, cores)),
            directory: (cores > 1).then(Directory::default),
            reserved: vec![NO_LINE; usize::from(cores)],
            log_triggers: (0..cores).map(|_| LogTrigger::default()).collect(),
            mshrs: Mshrs::new([l1, l2, l3].map(|level| (level.mshrs, level.shared)), usize::from(cores)),
            waiting: Vec::new(),
            writes: Writes::default(),
            counter_atomic: FxHashSet::default(),
            blocked: VecDeque::new(),
            requests: Vec::new(),
            wakes: Vec::new(),
            evicted: Vec::new(),
            flush_disowns: machine.core.clwb_leaves == ClwbLeaves::Readable,
            counts: CacheCounts::default(),
            l1: build(l1, "l1")?,
            l2: build(l2, "l2")?,
            l3: build(l3, "l3")?,
        })
    }

    /// Whether every outbox is empty.
    pub fn quiet(&self) -> bool {
        self.requests.is_empty() && self.wakes.is_empty() && self.evicted.is_empty()
    }

    /// Outbox: requests to memory, in order. Requests for one line must arrive in this order.
    pub fn requests(&mut self) -> std::vec::Drain<'_, MemoryRequest> {
        self.requests.drain(..)
    }

    /// Outbox: messages to waiting cores, in order, into the empty `wakes`.
    pub fn take_wakes(&mut self, wakes: &mut Vec<(CoreId, Wake)>) {
        debug_assert!(wakes.is_empty());
        std::mem::swap(&mut self.wakes, wakes);
    }

    /// Handles memory's answer to the read `token`.
    pub fn read_done(&mut self, now: Ps, token: u32, bytes: &LineBytes) {
        let register = self.mshrs.get(token);
        debug_assert_eq!(register.phase, Phase::Reading);
        register.phase = Phase::Arrived;
        if !register.superseded {
            register.bytes = *bytes;
        }
        if !self.advance(now, token) {
            self.waiting.push(token);
        }
    }

    /// Handles the acknowledgement of the write `token`, which is in the persistence domain.
    pub fn write_acked(&mut self, now: Ps, token: WriteToken) {
        let record = self.writes.acknowledge(token.0);
        let (line, counters, place) = (record.line, record.counters, record.place);
        self.wakes.extend(record.waiters.iter().map(|&core| (core, Wake::Flush { line, counters, at: now })));
        if !counters {
            self.free_entry(now, token.0);
        }
        if let Some((cache, slot)) = place
            && self.l3[cache].leaves_with(slot, token.0)
        {
            self.l3[cache].remove(slot);
            if self.l3_private() {
                self.forget_if_gone(cache, line);
            }
        }
        self.retry(now);
    }

    /// The counts since the beginning or the last reset.
    pub fn counts(&self) -> &CacheCounts {
        &self.counts
    }

    /// Resets the counts.
    pub fn reset_counts(&mut self) {
        self.counts = CacheCounts::default();
    }

    /// Whether nothing is in flight: no miss, no unacknowledged write.
    pub fn idle(&self) -> bool {
        self.mshrs.len() == 0 && self.writes.len() == 0
    }

    /// Lines that all caches of `level` (1 to 3) can hold together: their data slots.
    pub fn lines(&self, level: u8) -> usize {
        [&self.l1, &self.l2, &self.l3][usize::from(level) - 1].iter().map(Level::lines).sum()
    }

    /// The second-level cache of `core`.
    pub(super) fn l2_of(&self, core: usize) -> usize {
        if self.l2.len() == 1 { 0 } else { core }
    }

    /// The third-level cache of `core`.
    pub(super) fn l3_of(&self, core: usize) -> usize {
        if self.l3.len() == 1 { 0 } else { core }
    }

    /// Whether each core has its own second-level cache.
    pub(super) fn l2_private(&self) -> bool {
        self.l2.len() == self.l1.len()
    }

    /// Whether each core has its own third-level cache.
    pub(super) fn l3_private(&self) -> bool {
        self.l3.len() == self.l1.len()
    }

    /// Sends a write to memory, marked to persist together with its counter if `with_counter` or if the line is marked.
    /// All requests leave with the same delay, so that those of one line arrive in the order in which they were sent.
    pub(super) fn send_write(
        &mut self,
        now: Ps,
        line: Line,
        resting: Resting,
        place: Option<(usize, usize)>,
        waiter: Option<CoreId>,
        with_counter: bool,
    ) -> u32 {
        let token = self.writes.send(line, place, waiter);
        let at = now + self.latency.l3;
        self.requests.push(MemoryRequest::Write {
            at,
            line,
            bytes: resting.bytes,
            cache_pad: resting.cache_pad,
            token: WriteToken(token),
            core: waiter,
            counter_atomic: with_counter || self.counter_atomic.contains(&line.0),
        });
        token
    }

    /// The slot in which `core` may write `line`, which it has reserved.
    #[inline]
    pub(super) fn writable_slot(&mut self, now: Ps, core: usize, line: Line) -> usize {
        match self.l1[core].find(line) {
            Some(slot) if self.l1[core].writable(slot) => slot,
            _ => self.regain(now, core, line),
        }
    }

    /// Reserves `line`, which must be writable, for the next write of `core`.
    pub(super) fn reserve(&mut self, now: Ps, core: usize, line: Line) {
        let before = std::mem::replace(&mut self.reserved[core], line);
        if before != line && before != NO_LINE {
            self.retry(now);
        }
    }

    /// Ends the reservation of `core`; others may be waiting for the line.
    pub(super) fn release(&mut self, now: Ps, core: usize) {
        if self.reserved[core] != NO_LINE {
            self.reserved[core] = NO_LINE;
            self.retry(now);
        }
    }
}

impl CachePort for Hierarchy {
    #[inline]
    fn load(&mut self, now: Ps, core: CoreId, line: Line, token: u32) -> Access {
        let cache = &mut self.l1[usize::from(core)];
        let Some(slot) = cache.find(line) else { return self.miss(now, core, line, Want::Load(token)) };
        cache.touch(slot);
        let at = cache.ready(slot).max(now + self.latency.l1);
        self.counts.l1.hits += 1;
        self.counts.l1.latency_ps += at - now;
        Access::At(at)
    }

    fn load_again(&mut self, now: Ps, core: CoreId, line: Line, token: u32, news: News) -> Access {
        self.still_blocked(core, line, news).unwrap_or_else(|| self.load(now, core, line, token))
    }

    #[inline]
    fn own(&mut self, now: Ps, core: CoreId, line: Line, prefetch: bool) -> Access {
        let c = usize::from(core);
        let again = !prefetch && self.asks_again(c);
        let cache = &mut self.l1[c];
        if let Some(slot) = cache.find(line)
            && cache.writable(slot)
        {
            cache.touch(slot);
            let at = cache.ready(slot).max(now + self.latency.l1);
            if !prefetch {
                if !again {
                    self.counts.l1.hits += 1;
                    self.counts.l1.latency_ps += at - now;
                }
                self.reserve(now, c, line);
            }
            return Access::At(at);
        }
        if prefetch {
            return self.miss(now, core, line, Want::Prefetch);
        }
        if self.reserved[c] != line {
            self.release(now, c);
        }
        self.miss(now, core, line, Want::Own)
    }

    #[inline]
    fn write(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        let c = usize::from(core);
        let slot = self.writable_slot(now, c, line);
        let cache = &mut self.l1[c];
        cache.set_dirty(slot);
        cache.patch(slot, offset, data);
        if self.buffers.is_some() {
            // Before others may evict the line.
            self.note_in_buffer(now, c, line);
        }
        if self.reserved[c] == line {
            self.release(now, c);
        }
    }

    fn flush(&mut self, now: Ps, core: CoreId, line: Line, kind: FlushKind) -> Access {
        self.flush_line(now, core, line, kind)
    }

    fn begin_transaction(&mut self, now: Ps, core: CoreId) {
        self.begin_logging(now, core);
    }

    #[inline]
    fn prepare_store(&mut self, now: Ps, core: CoreId, line: Line) -> Access {
        if self.counters_in_caches() {
            self.turn_dirty(now, core, line)
        } else if self.buffers.is_some() {
            self.take_entry(now, core, line)
        } else {
            self.log_store(now, core, line)
        }
    }

    fn end_transaction(&mut self, now: Ps, core: CoreId) -> Access {
        self.end_logging(now, core)
    }

    fn first_level_latency(&self) -> Ps {
        self.latency.l1
    }

    fn store_occupancy(&self) -> Ps {
        self.latency.store
    }

    fn mark_counter_atomic(&mut self, line: Line) {
        self.counter_atomic.insert(line.0);
    }

    fn counter_writeback(&mut self, now: Ps, core: CoreId, line: Line) {
        let token = self.writes.send_counters(line, core);
        let at = now + self.latency.l3;
        self.requests.push(MemoryRequest::CounterWriteback { at, line, token: WriteToken(token) });
    }

    fn zero_page(&mut self, now: Ps, core: CoreId, line: Line) {
        self.drop_page(line);
        let token = self.writes.send_counters(line, core);
        let at = now + self.latency.l3;
        self.requests.push(MemoryRequest::ZeroPage { at, line, token: WriteToken(token) });
    }

    fn persistent(&self) -> bool {
        self.persistent || self.buffers.is_some()
    }

    fn write_around(&mut self, now: Ps, core: CoreId, line: Line, data: &LineBytes) {
        debug_assert!(!self.persistent);
        self.write_past(now, core, line, data);
    }

    fn peek(&self, core: CoreId, line: Line) -> Option<LineBytes> {
        self.newest_for(usize::from(core), line)
    }
}
