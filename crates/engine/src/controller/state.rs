//! The controller's state and the small types its files share.

use super::counter_cache::CounterCache;
use super::stats::ControllerStats;
use super::wpq::{Room, Wpq};
use crate::design::parts::{
    Counter, CounterScheme, CounterStore, Encryption, FeedbackSource, LogEncryption, PadSource, WriteQueues,
};
use crate::kernel::{Ps, Queue, Random, Slab, ns_to_ps};
use crate::message::{
    CoreId, CounterBlock, Coverage, Event, Line, LineBytes, LogBucket, LogRegion, MediaLine, Page, WriteToken,
};
use std::collections::VecDeque;
use std::ops::Range;

/// What a handler works with besides the controller itself.
pub struct Context<'a, D, O> {
    /// Time and events.
    pub queue: &'a mut Queue<Event>,
    /// The media.
    pub device: &'a mut D,
    /// Who watches.
    pub observer: &'a mut O,
}

/// What the controller answers.
#[derive(Clone, Copy, Debug)]
pub enum Response {
    /// A read is done.
    Read { token: u32, bytes: LineBytes },
    /// A write is in the persistence domain.
    Written { token: WriteToken },
    /// The log manager has taken the old bytes that `core` sent.
    Logged { core: CoreId },
    /// The log of the transaction of `core` is freed.
    TransactionEnded { core: CoreId },
    /// A line read for page re-encryption, for the last-level cache (secpm section 3.5).
    Install { line: Line, bytes: LineBytes },
}

/// Who asked for a read or a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The caches, by token.
    Caches(u32),
    /// Page re-encryption, by line index.
    Reencryption(usize),
}

/// Where a write stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// An earlier write of the same line goes first.
    BehindSameLine,
    /// Waits for its line's done bit, for a counter, or for a free status register.
    Waiting,
    /// It can get its counter; it waits for an AES circuit.
    WantsUnit,
    /// Its counter has been bumped; circuit `unit` makes its pad.
    Encrypting,
    /// Encrypted; it waits for slots.
    WantsSlots,
    /// Its data is queued with the ready bit clear, in entry `entry`; it waits for its counter block to be queued.
    Unready,
}

/// A write on its way into the queue.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub line: Line,
    pub plaintext: LineBytes,
    pub ciphertext: LineBytes,
    pub source: Source,
    pub stage: Stage,
    /// Arrival number.
    pub arrival: u64,
    /// Order of the counter bump; meaningful from `Encrypting` on.
    pub bump: u64,
    pub unit: u32,
    pub entry: u32,
    pub counter: Counter,
    /// It holds a `CounterAtomic` variable.
    pub counter_atomic: bool,
    /// The counter block as it was when this write bumped it: the staging register's second line, if it has one.
    pub block: LineBytes,
    /// It puts its line under the page's new major counter: the append sets the line's done bit.
    pub renews: bool,
    /// The block is still to be appended on its own.
    pub owes_counter: bool,
    /// Nothing of its page has to wait until its counter is queued: that has happened, or its counter does not reach
    /// the queue in a copy of the page's block.
    pub counter_admitted: bool,
}

/// A read on its way back.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub line: Line,
    pub source: Source,
    pub bytes: LineBytes,
    pub data_at: Option<Ps>,
    pub pad_at: Option<Ps>,
    /// Never written: nothing to decrypt.
    pub blank: bool,
}

/// Who waits in a bank's read queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BankRead {
    Data(u32),
    Counter(u32),
}

/// Who waits for a counter block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CounterWaiter {
    Write(u32),
    Read(u32),
    /// A write whose data is queued and whose counter goes into the block.
    Pair(u32),
    /// A write-back of the block on demand.
    Writeback(u32),
}

/// A counter block on its way from the media.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    pub id: CounterBlock,
    pub waiters: Vec<CounterWaiter>,
    /// New counters of lines of the block, to be put into it when it arrives.
    pub updates: Vec<(Line, Counter)>,
}

/// Who asks for an entry of the counter write queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CounterRequest {
    /// A write whose data is queued with its ready bit clear.
    Pair(u32),
    /// A write-back on demand.
    Writeback(u32),
}

/// A `counter_cache_writeback` on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writeback {
    pub id: CounterBlock,
    pub token: WriteToken,
    /// Writes up to this arrival number came before it.
    pub after: u64,
}

/// Who waits for a line of the page under re-encryption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineWaiter {
    Write(u32),
    Read(u32),
}

/// A dirty counter block that left the cache and waits for a slot; still the newest copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterEviction {
    pub id: CounterBlock,
    pub block: LineBytes,
    pub bump: u64,
}

/// Re-encryption status register: page, old major, 64 done bits (secpm section 3.5). What lies beside it here
/// (the old block, what is under way) is volatile.
#[derive(Clone, Debug, Default)]
pub(super) struct Rsr {
    pub active: bool,
    pub page: Page,
    pub old_major: u64,
    pub done: u64,
    /// The block before the major counter advanced, for reading lines that are not done.
    pub old_block: Option<LineBytes>,
    pub next: usize,
    pub under_way: u32,
    /// The line whose write caused it re-encrypts itself.
    pub trigger: usize,
    pub waiters: Vec<(usize, LineWaiter)>,
    /// Writes whose own overflow waits for the register.
    pub overflowing: VecDeque<u32>,
}

impl Rsr {
    pub fn holds(&self, line: Line) -> bool {
        self.active && line.page() == self.page
    }
    pub fn pending(&self, line: Line) -> bool {
        self.holds(line) && self.done >> line.index_in_page() & 1 == 0
    }
}

/// The status register as a power failure finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RsrSnapshot {
    /// Page under re-encryption.
    pub page: Page,
    /// Its major counter before.
    pub old_major: u64,
    /// Bit `i`: line `i` is under the new major counter.
    pub done: u64,
}

/// One set of log metadata registers as a power failure finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSnapshot {
    /// Whose transaction it belongs to.
    pub core: CoreId,
    /// Buckets with a header that has persisted, in the order in which the transaction got them.
    pub buckets: Vec<LogBucket>,
}

/// What the controller holds at a power failure.
#[derive(Clone, Debug)]
pub struct ControllerSnapshot {
    /// What lies ready in the write pending queue, in admission order.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// The global counter's register, if counters are global.
    pub global_counter: Option<u64>,
    /// Status register, if it is in use.
    pub rsr: Option<RsrSnapshot>,
    /// Log metadata registers, a set for each transaction with a log.
    pub log: Vec<LogSnapshot>,
}

pub(super) struct Bank {
    pub busy: bool,
    /// It is free and waits for its open row to be programmed; an event says when that is.
    pub recovering: bool,
    pub streak: u32,
    pub reads: VecDeque<BankRead>,
}

/// What encryption needs, built once from the design's parts.
pub struct EncryptionParts {
    /// The design's choices.
    pub parts: Encryption,
    /// The counter scheme.
    pub scheme: Box<dyn CounterScheme>,
    /// The pads.
    pub pads: Box<dyn PadSource>,
    /// The undo log that the controller writes, if it writes one.
    pub log: Option<LogParts>,
}

/// What the log manager needs, built once from the design's parts.
pub struct LogParts {
    /// Where the log lies.
    pub region: LogRegion,
    /// How its lines are encrypted.
    pub encryption: LogEncryption,
    /// Cipher feedback under the log's key.
    pub feedback: Box<dyn FeedbackSource>,
    /// Where initial vectors come from: a hardware random number generator, repeatable here.
    pub random: Random,
}

/// Timing values in picoseconds.
pub(super) struct Timing {
    pub counter_cache: Ps,
    pub aes: Ps,
}

/// The memory controller.
pub struct Controller {
    pub(super) config: crate::config::Controller,
    pub(super) bytes: bool,
    pub(super) timing: Timing,
    pub(super) encryption: Option<EncryptionParts>,
    /// Lines per counter block.
    pub(super) coverage: Coverage,
    pub(super) log: Vec<Range<Line>>,
    pub(super) writes: Slab<Write>,
    /// Slots of writes not yet admitted, in arrival order.
    pub(super) active: Vec<u32>,
    /// Of these, the ones that hold an AES circuit and the ones that ask for slots in the queue.
    pub(super) in_units: Vec<u32>,
    pub(super) asking: Vec<u32>,
    pub(super) reads: Slab<Read>,
    pub(super) reads_active: u32,
    pub(super) reads_waiting: VecDeque<u32>,
    pub(super) fetches: Slab<Fetch>,
    pub(super) fetching: Vec<u32>,
    pub(super) counters: CounterCache,
    pub(super) evictions: VecDeque<CounterEviction>,
    pub(super) wpq: Wpq,
    pub(super) banks: Vec<Bank>,
    pub(super) draining: bool,
    pub(super) flushing: bool,
    pub(super) units_free: Vec<u32>,
    pub(super) wants_unit: VecDeque<u32>,
    /// The global counter: the last value given out.
    pub(super) register: u64,
    /// Where counters lie.
    pub(super) store: CounterStore,
    pub(super) counter_asking: VecDeque<CounterRequest>,
    pub(super) writebacks: Slab<Writeback>,
    /// Write-backs that wait for earlier writes.
    pub(super) writebacks_waiting: Vec<u32>,
    pub(super) read_units: Vec<Ps>,
    pub(super) rsr: Rsr,
    pub(super) arrivals: u64,
    pub(super) bumps: u64,
    pub(super) responses: Vec<Response>,
    pub(super) epoch: u32,
    pub(super) stats: ControllerStats,
    pub(super) stalled_since: Option<Ps>,
    pub(super) occupancy_since: Ps,
    waiter_pool: Vec<Vec<CounterWaiter>>,
}

impl Controller {
    /// A controller for `cores` cores in front of `banks` banks. `log` lists the lines of undo logs, for statistics
    /// only.
    pub fn new(
        machine: &crate::config::Machine,
        encryption: Option<EncryptionParts>,
        cores: u16,
        banks: usize,
        log: Vec<Range<Line>>,
    ) -> Self {
        let config = machine.controller.clone();
        let store = encryption.as_ref().map_or(CounterStore::Region, |encryption| encryption.parts.store);
        let apart =
            encryption.as_ref().is_some_and(|encryption| encryption.parts.queues == WriteQueues::DataAndCounter);
        let counter_room = Room {
            entries: config.counter_wpq_entries as usize,
            high: config.counter_wpq_high_watermark as usize,
            low: config.counter_wpq_low_watermark as usize,
        };
        let data_room = Room {
            entries: config.wpq_entries as usize,
            high: config.wpq_high_watermark as usize,
            low: config.wpq_low_watermark as usize,
        };
        let sharers = if config.counter_cache_size_per_core { u64::from(cores) } else { 1 };
        let counter_cache_bytes = match store {
            CounterStore::Inline => 0,
            _ => config.counter_cache_size.0 * sharers,
        };
        let counter_entry_bytes = if store == CounterStore::InlineCached { 8 } else { 64 };
        let cycle = 1_000_000 / u64::from(machine.core.clock_mhz);
        Self {
            bytes: machine.engine.bytes,
            timing: Timing {
                counter_cache: u64::from(config.counter_cache_latency_cycles) * cycle,
                aes: ns_to_ps(config.aes_latency_ns),
            },
            coverage: encryption.as_ref().map_or(Coverage::PAGE, |encryption| encryption.scheme.coverage()),
            encryption,
            log,
            writes: Slab::default(),
            active: Vec::with_capacity(64),
            in_units: Vec::with_capacity(16),
            asking: Vec::with_capacity(64),
            reads: Slab::default(),
            reads_active: 0,
            reads_waiting: VecDeque::new(),
            fetches: Slab::default(),
            fetching: Vec::with_capacity(32),
            counters: CounterCache::new(counter_cache_bytes, counter_entry_bytes, config.counter_cache_ways),
            evictions: VecDeque::new(),
            wpq: Wpq::new(data_room, apart.then_some(counter_room), banks),
            banks: (0..banks)
                .map(|_| Bank { busy: false, recovering: false, streak: 0, reads: VecDeque::new() })
                .collect(),
            draining: false,
            flushing: false,
            units_free: (0..config.aes_units).rev().collect(),
            wants_unit: VecDeque::new(),
            register: 0,
            store,
            counter_asking: VecDeque::new(),
            writebacks: Slab::default(),
            writebacks_waiting: Vec::new(),
            read_units: vec![0; config.aes_read_units as usize],
            rsr: Rsr::default(),
            arrivals: 0,
            bumps: 0,
            responses: Vec::with_capacity(64),
            epoch: 0,
            stats: ControllerStats::default(),
            stalled_since: None,
            occupancy_since: 0,
            waiter_pool: Vec::new(),
            config,
        }
    }

    /// Answers since the last call, in order. The caller hands the vector back empty through the same variable.
    pub fn take_responses(&mut self, into: &mut Vec<Response>) {
        debug_assert!(into.is_empty());
        std::mem::swap(into, &mut self.responses);
    }

    /// Whether an answer waits.
    pub fn has_responses(&self) -> bool {
        !self.responses.is_empty()
    }

    /// What the controller holds, should power fail now. Which of it survives is the design's affair.
    pub fn snapshot(&self) -> ControllerSnapshot {
        ControllerSnapshot {
            wpq: self
                .wpq
                .in_order()
                .into_iter()
                .flat_map(|entry| self.units_of(entry.media, entry.bytes, entry.beside))
                .collect(),
            global_counter: self.encryption.as_ref().filter(|parts| parts.scheme.global()).map(|_| self.register),
            rsr: self.rsr.active.then_some(RsrSnapshot {
                page: self.rsr.page,
                old_major: self.rsr.old_major,
                done: self.rsr.done,
            }),
            log: Vec::new(),
        }
    }

    /// Counts of the current measurement period up to `now`.
    pub fn stats(&mut self, now: Ps) -> ControllerStats {
        self.account_occupancy(now);
        let mut stats = self.stats.clone();
        if let Some(since) = self.stalled_since {
            stats.full_stall_ps += now - since;
        }
        stats
    }

    /// Begins a new measurement period at `now`. Entries admitted before it are not counted when they leave.
    pub fn reset_stats(&mut self, now: Ps) {
        self.account_occupancy(now);
        self.epoch += 1;
        self.stats = ControllerStats::default();
        if self.stalled_since.is_some() {
            self.stalled_since = Some(now);
        }
    }

    pub(super) fn account_occupancy(&mut self, now: Ps) {
        self.stats.occupancy_ps += u128::from(now - self.occupancy_since) * self.wpq.len() as u128;
        self.occupancy_since = now;
    }

    pub(super) fn is_log(&self, media: MediaLine) -> bool {
        media.as_line().is_some_and(|line| self.log.iter().any(|range| range.contains(&line)))
    }

    pub(super) fn new_waiters(&mut self) -> Vec<CounterWaiter> {
        self.waiter_pool.pop().unwrap_or_default()
    }

    pub(super) fn recycle_waiters(&mut self, mut waiters: Vec<CounterWaiter>) {
        waiters.clear();
        self.waiter_pool.push(waiters);
    }
}
