//! The controller's state and the small types its files share.

use super::counter_cache::CounterCache;
use super::log_manager::LogManager;
use super::request::{
    BankRead, Cipher, CounterEviction, CounterRequest, CounterWaiter, Fetch, LineWaiter, LogWrite, Part, Read, Source,
    Write, Writeback,
};
use super::stats::ControllerStats;
use super::wpq::{Room, Wpq};
use crate::config::{CfbLatency, Machine};
use crate::kernel::{Ps, Queue, Random, Slab, ns_to_ps};
use crate::message::{
    CoreId, CounterBlock, Coverage, Event, Line, LineBytes, LogLayout, LogRegion, LogSnapshot, MediaLine, Page,
    WriteToken,
};
use crate::parts::{
    Counter, CounterScheme, CounterStore, Encryption, FeedbackSource, LogChains, LogEncryption, LogOrder, PadSource,
    WritePath, WriteQueues,
};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;

/// Blocks of AES in a line.
const BLOCKS_PER_LINE: Ps = 4;

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
    /// The transaction of `core` has registers: its lines can be logged.
    TransactionBegun { core: CoreId },
    /// The log manager has taken the old bytes that `core` sent.
    Logged { core: CoreId },
    /// The line that `core` is about to write has its next counter.
    CounterBumped { core: CoreId },
    /// The log of the transaction of `core` is freed.
    TransactionEnded { core: CoreId },
    /// A line read for page re-encryption, for the last-level cache (secpm section 3.5).
    Install { line: Line, bytes: LineBytes },
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
    /// Counter blocks newer than the queue and the media: those that have left the counter cache and wait for a slot, then
    /// the dirty ones in it.
    pub counters: Vec<(CounterBlock, LineBytes)>,
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
    /// What modified lines wait for.
    pub order: LogOrder,
    /// How chains are linked.
    pub chains: LogChains,
    /// Cipher feedback under the log's key.
    pub feedback: Box<dyn FeedbackSource>,
    /// Where initial vectors come from: a hardware random number generator, repeatable here.
    pub random: Random,
}

impl LogParts {
    /// Whether headers and lines are chains, with a metadata line.
    pub(super) fn chained(&self) -> bool {
        self.region.layout == LogLayout::Chains
    }
}

/// Timing values in picoseconds.
pub(super) struct Timing {
    pub counter_cache: Ps,
    pub aes: Ps,
    /// A line in cipher feedback mode.
    pub feedback: Ps,
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
    pub(super) writebacks_waiting: VecDeque<u32>,
    pub(super) read_units: Vec<Ps>,
    pub(super) rsr: Rsr,
    /// The counters under which dirty lines rest encrypted in the caches, by line.
    pub(super) resident: FxHashMap<u64, Counter>,
    pub(super) log_manager: Option<LogManager>,
    pub(super) arrivals: u64,
    pub(super) bumps: u64,
    pub(super) responses: Vec<Response>,
    pub(super) epoch: u32,
    pub(super) stats: ControllerStats,
    pub(super) stalled_since: Option<Ps>,
    pub(super) occupancy_since: Ps,
    waiter_pool: Vec<Vec<CounterWaiter>>,
}

/// Bytes of the counter cache, and of an entry of it.
fn counter_cache_shape(machine: &Machine, store: CounterStore, cores: u16) -> (u64, u64) {
    let config = &machine.controller;
    let sharers = if config.counter_cache_size_per_core { u64::from(cores) } else { 1 };
    match store {
        CounterStore::Inline => (0, 64),
        CounterStore::InlineCached => (config.counter_cache_size.0 * sharers, 8),
        CounterStore::Region => (config.counter_cache_size.0 * sharers, 64),
    }
}

/// Bytes of the host's memory that the counter cache takes.
pub fn counter_cache_host_bytes(machine: &Machine, store: CounterStore, cores: u16) -> u64 {
    let (bytes, entry_bytes) = counter_cache_shape(machine, store, cores);
    CounterCache::host_bytes(bytes, entry_bytes)
}

impl Controller {
    /// A controller for `cores` cores in front of `banks` banks. `log` lists the lines of undo logs, for statistics
    /// only.
    pub fn new(
        machine: &crate::config::Machine,
        encryption: Option<EncryptionParts>,
        cores: u16,
        banks: usize,
        mut log: Vec<Range<Line>>,
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
        let (counter_cache_bytes, counter_entry_bytes) = counter_cache_shape(machine, store, cores);
        let cycle = 1_000_000 / u64::from(machine.core.clock_mhz);
        let aes = ns_to_ps(config.aes_latency_ns);
        let log_parts = encryption.as_ref().and_then(|encryption| encryption.log.as_ref());
        log.extend(log_parts.map(|parts| parts.region.first..Line(parts.region.first.0 + parts.region.lines())));
        Self {
            log_manager: log_parts.map(|_| LogManager::new(&machine.log)),
            bytes: machine.engine.bytes,
            timing: Timing {
                counter_cache: u64::from(config.counter_cache_latency_cycles) * cycle,
                aes,
                feedback: match machine.log.cfb_latency {
                    CfbLatency::Serial => BLOCKS_PER_LINE * aes,
                    CfbLatency::Paper => aes,
                },
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
            writebacks_waiting: VecDeque::new(),
            read_units: vec![0; config.aes_read_units as usize],
            rsr: Rsr::default(),
            resident: FxHashMap::default(),
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

    /// Sets the global counter's register to `value`, the last one given out before a boot.
    pub fn load_global_counter(&mut self, value: u64) {
        self.register = value;
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
            log: self.log_snapshot(),
            counters: self.dirty_counters(),
        }
    }

    fn dirty_counters(&self) -> Vec<(CounterBlock, LineBytes)> {
        let waiting = self.evictions.iter().map(|eviction| (eviction.id, eviction.block));
        waiting.chain(self.counters.dirty().map(|(id, block)| (id, *block))).collect()
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

    /// The parts of the log of a design that has one.
    pub(super) fn log_parts(&self) -> &LogParts {
        let log = self.encryption.as_ref().and_then(|encryption| encryption.log.as_ref());
        log.expect("only designs with a hardware log have log writes")
    }

    pub(super) fn is_hardware_log(&self, line: Line) -> bool {
        let log = self.encryption.as_ref().and_then(|encryption| encryption.log.as_ref());
        log.is_some_and(|log| log.region.contains(line))
    }

    /// How what `source` writes is encrypted.
    pub(super) fn cipher_of(&self, source: Source) -> Cipher {
        match source {
            _ if self.encryption.is_none() => Cipher::None,
            Source::Turn(_) => Cipher::Turn,
            Source::Rested(_) => Cipher::Resident,
            Source::Log(LogWrite { part: Part::Metadata, .. }) => Cipher::None,
            Source::Log(_) if matches!(self.log_parts().encryption, LogEncryption::Feedback) => Cipher::Feedback,
            Source::Caches(_) | Source::Reencryption(_) | Source::Log(_) => Cipher::Counter,
        }
    }

    /// How the counter of a write of `source`, encrypted in counter mode, becomes durable.
    pub(super) fn write_path_of(&self, source: Source) -> WritePath {
        let data = self.encryption.as_ref().expect("only encrypted writes have a path").parts.write_path;
        match source {
            Source::Log(_) => match self.log_parts().encryption {
                LogEncryption::Counter { write_path } => write_path,
                LogEncryption::Feedback => data,
            },
            Source::Caches(_) | Source::Rested(_) | Source::Reencryption(_) | Source::Turn(_) => data,
        }
    }

    pub(super) fn new_waiters(&mut self) -> Vec<CounterWaiter> {
        self.waiter_pool.pop().unwrap_or_default()
    }

    pub(super) fn recycle_waiters(&mut self, mut waiters: Vec<CounterWaiter>) {
        waiters.clear();
        self.waiter_pool.push(waiters);
    }
}
