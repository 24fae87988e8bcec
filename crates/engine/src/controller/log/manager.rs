//! The log manager (easy-pm sections III-B and III-D, after ATOM). It takes the old bytes that the first level's log
//! trigger sends, writes them and the headers that name them, holds a modified line back until both have persisted, and
//! frees the log of a transaction that ends.
//!
//! ```text
//! entry -> set of registers -> bucket -> open record --full, or a line it names has come--> closed
//!   lines of the record persisted -> header persisted -> (chains: metadata line persisted) -> registers; lines let go
//! ```
//!
//! Decisions. The log metadata registers are in the ADR domain, so that freeing a log is one step and needs no write;
//! they contain a bucket from the event in which its first header persists. Records of a transaction become durable in
//! order. A store waits only until the log manager has taken its entry (ATOM's posted log). Buckets are used in turn,
//! to spread wear.

use super::super::in_flight::{LogWrite, Origin, Part, Stage};
use super::super::interface::{LogParts, Response};
use super::super::queues::memory::Memory;
use super::register_set::{Chain, LogSet, Record};
use crate::config::{Log, LogIv};
use crate::kernel::Slab;
use crate::layout::{BucketMetadata, CipherBlock, LOG_RECORD_LINES, LogLayout, LogSnapshot};
use crate::message::{ControllerEvent, CoreId, DevicePort, Line, LineBytes, Observer};
use crate::parts::{LogChains, LogOrder};
use std::collections::VecDeque;

/// The old bytes of a line that are to be logged.
#[derive(Clone, Copy, Debug)]
struct Entry {
    core: CoreId,
    line: Line,
    old: LineBytes,
}

/// The registers of all transactions, and the free buckets.
#[derive(Clone)]
pub(in crate::controller) struct LogManager {
    pub parts: LogParts,
    sets: Vec<LogSet>,
    free: VecDeque<u32>,
    entries: Slab<Entry>,
    /// Transactions that wait for a set of registers.
    beginning: VecDeque<CoreId>,
    /// Entries that wait for a bucket, or for earlier entries to persist.
    waiting: VecDeque<u32>,
    /// Log lines that have persisted in this event and are not handled yet.
    pub persisted: VecDeque<LogWrite>,
    pending_max: u32,
    /// The initial vectors of each bucket, if a bucket keeps them for its whole life.
    kept_vectors: Option<Vec<Option<[CipherBlock; 2]>>>,
}

impl LogManager {
    pub fn new(config: &Log, parts: LogParts) -> Self {
        Self {
            parts,
            sets: (0..config.transactions).map(|_| LogSet::default()).collect(),
            free: (0..config.buckets).collect(),
            entries: Slab::default(),
            beginning: VecDeque::new(),
            waiting: VecDeque::new(),
            persisted: VecDeque::new(),
            pending_max: config.pending_entries,
            kept_vectors: (config.iv == LogIv::PerBucket).then(|| vec![None; config.buckets as usize]),
        }
    }

    /// Registers old bytes that will arrive later. Returns their slot.
    pub fn add(&mut self, core: CoreId, line: Line, old: &LineBytes) -> u32 {
        self.entries.insert(Entry { core, line, old: *old })
    }

    /// Whether `line` belongs to the log region.
    pub fn has(&self, line: Line) -> bool {
        self.parts.region.contains(line)
    }

    /// The error if transactions wait for log space that none of them will free.
    pub fn exhausted(&self) -> Option<String> {
        (!self.waiting.is_empty()).then(|| {
            format!(
                "log.buckets = {} is too few for {} concurrent transactions: they have filled all buckets, need more, and \
                 none can end",
                self.parts.region.buckets,
                self.sets.iter().filter(|set| set.core.is_some()).count(),
            )
        })
    }

    /// The log metadata registers at a power failure, by core.
    pub fn snapshot(&self) -> Vec<LogSnapshot> {
        let durable = self.sets.iter().filter(|set| !set.durable.is_empty());
        let mut sets: Vec<LogSnapshot> =
            durable.filter_map(|set| set.core.map(|core| LogSnapshot { core, buckets: set.durable.clone() })).collect();
        sets.sort_unstable_by_key(|set| set.core);
        sets
    }

    fn set_of(&self, core: CoreId) -> Option<usize> {
        self.sets.iter().position(|set| set.core == Some(core))
    }

    /// The set with a record that names `line` and is not durable, and whether the newest such record is open.
    fn record_naming(&self, line: Line) -> Option<(usize, bool)> {
        self.sets.iter().enumerate().find_map(|(index, set)| {
            let mut records = set.records.iter().rev();
            records.find(|record| record.names(line)).map(|record| (index, !record.closed))
        })
    }

    /// Ensures that set `index` has an open record; returns false if that needs a bucket and none is free.
    fn open_record(&mut self, index: usize) -> bool {
        let set = &self.sets[index];
        if set.records.back().is_some_and(|record| !record.closed) {
            return true;
        }
        if set.bucket.is_none_or(|bucket| bucket.records == self.parts.region.records) {
            let Some(number) = self.free.pop_front() else { return false };
            let vectors = self.initial_vectors(number);
            self.sets[index].take_bucket(number, vectors);
        }
        self.sets[index].open();
        true
    }

    /// The initial vectors of the header chain and of the log chain of bucket `number`, for its next transaction.
    fn initial_vectors(&mut self, number: u32) -> [CipherBlock; 2] {
        if self.parts.chains == LogChains::ConstantVectors {
            return [CipherBlock::default(); 2];
        }
        let random = &mut self.parts.random;
        let mut draw = || (u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())).to_le_bytes();
        match &mut self.kept_vectors {
            Some(kept) => *kept[number as usize].get_or_insert_with(|| [draw(), draw()]),
            None => [draw(), draw()],
        }
    }

    /// The initial vector of the line at `place`, if it begins its chain in a bucket.
    pub fn first_of_bucket(&mut self, of: LogWrite, place: Line) -> Option<CipherBlock> {
        let region = self.parts.region;
        let record = self.sets[usize::from(of.set)].record_mut(of.sequence);
        let [header_iv, log_iv] = record.vectors;
        match of.part {
            Part::Header => (place == region.header(record.bucket, 0)).then_some(header_iv),
            Part::Entry | Part::Metadata => (place == region.entry(record.bucket, 0, 0, 0)).then_some(log_iv),
        }
    }

    /// The chain that a write belongs to: that of headers or that of logged lines.
    pub fn chain(&mut self, of: LogWrite) -> &mut Chain {
        let set = &mut self.sets[usize::from(of.set)];
        if of.part == Part::Header { &mut set.headers } else { &mut set.lines }
    }

    /// Advances a chain whose oldest line is encrypted as `ciphertext`; returns the write of its next line.
    pub fn advance_chain(&mut self, of: LogWrite, ciphertext: &LineBytes) -> Option<u32> {
        let linked = self.parts.chains != LogChains::Unlinked;
        let chain = self.chain(of);
        chain.advance(linked.then_some(ciphertext));
        chain.waiting.front().map(|&(next, _)| next)
    }
}

/// The log manager, together with what it works on during an event.
pub(in crate::controller) struct Logging<'m, 'a, D, O: ?Sized> {
    pub log: &'m mut LogManager,
    pub memory: &'m mut Memory<'a, D, O>,
}

impl<D: DevicePort, O: Observer + ?Sized> Logging<'_, '_, D, O> {
    /// `ControllerEvent::TransactionBeginArrives`: a transaction needs a set of registers.
    pub fn begin_arrives(&mut self, core: CoreId) {
        self.log.beginning.push_back(core);
        self.begin_waiting();
    }

    /// Gives free sets of registers to the transactions that have waited longest.
    fn begin_waiting(&mut self) {
        let Some(unused) = self.log.sets.iter().position(|set| set.core.is_none()) else { return };
        if let Some(core) = self.log.beginning.pop_front() {
            self.log.sets[unused].core = Some(core);
            self.memory.responses.push(Response::TransactionBegun { core });
        }
    }

    /// `ControllerEvent::LogEntryArrives`: old bytes are to be logged.
    pub fn entry_arrives(&mut self, slot: u32) {
        self.log.waiting.push_back(slot);
        self.take_entries();
    }

    /// Takes every waiting entry that is possible; an entry that must wait delays no other core's entries.
    fn take_entries(&mut self) {
        let mut at = 0;
        while let Some(&slot) = self.log.waiting.get(at) {
            if self.take_entry(slot) {
                self.log.waiting.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Puts an entry into the open record of its transaction; returns false if there is no room for it.
    fn take_entry(&mut self, slot: u32) -> bool {
        let Entry { core, line, old } = self.log.entries[slot];
        let index = self.log.set_of(core).expect("a transaction that logs has begun");
        if self.log.sets[index].pending() >= self.log.pending_max || !self.log.open_record(index) {
            return false;
        }
        let (place, sequence) = self.log.sets[index].put(self.log.parts.region, line);
        self.log.entries.release(slot);
        self.memory.observer.logged(self.memory.queue.now(), core, line);
        self.memory.responses.push(Response::Logged { core });
        self.send(LogWrite { set: index as u8, sequence, part: Part::Entry }, place, &old);
        let open = self.log.sets[index].records.back();
        if open.is_some_and(|record| record.header.count == LOG_RECORD_LINES as u32) {
            self.close_record(index);
        }
        true
    }

    /// Closes the open record of set `index`: its header follows once its lines have persisted.
    fn close_record(&mut self, index: usize) {
        if let Some(record) = self.log.sets[index].records.back_mut() {
            record.closed = true;
        }
        self.send_header(index);
    }

    /// Sends the header of the oldest record of set `index`, if its turn has come.
    fn send_header(&mut self, index: usize) {
        let region = self.log.parts.region;
        let Some(record) = self.log.sets[index].records.front_mut() else { return };
        if !record.closed || record.unpersisted > 0 || std::mem::replace(&mut record.header_sent, true) {
            return;
        }
        let Record { header, bucket, place, .. } = *record;
        let write = LogWrite { set: index as u8, sequence: header.sequence, part: Part::Header };
        self.send(write, region.header(bucket, place), &header.encode());
    }

    fn send(&mut self, write: LogWrite, place: Line, bytes: &LineBytes) {
        let slot = self.memory.writes.add(place, bytes, Origin::Log(write));
        self.memory.writes[slot].counter_atomic = true;
        // A separate step: power may fail before it.
        self.memory.next(ControllerEvent::WriteArrives { slot });
    }

    /// Whether the write in `slot` must wait for its log entry; if so, marks it. Closes an open record that names its
    /// line.
    pub fn holds(&mut self, slot: u32) -> bool {
        let Some((index, open)) = self.log.record_naming(self.memory.writes[slot].line) else { return false };
        let holds = self.log.parts.order != LogOrder::AnyOrder;
        if holds {
            self.memory.writes[slot].stage = Stage::BehindLog;
        }
        if open {
            self.close_record(index);
        }
        holds
    }

    /// Handles that a log line has persisted.
    pub fn persisted(&mut self, write: LogWrite) {
        let index = usize::from(write.set);
        match write.part {
            Part::Entry => {
                self.log.sets[index].record_mut(write.sequence).unpersisted -= 1;
                self.send_header(index);
                self.take_entries();
                self.end_if_over(index);
            }
            Part::Header if self.log.parts.region.layout == LogLayout::Chains => {
                let record = self.log.sets[index].record_mut(write.sequence);
                let Record { bucket, place, vectors: [header_iv, log_iv], .. } = *record;
                let metadata = BucketMetadata { valid_headers: place + 1, header_iv, log_iv };
                let write = LogWrite { part: Part::Metadata, ..write };
                self.send(write, self.log.parts.region.metadata(bucket), &metadata.encode());
            }
            Part::Header | Part::Metadata => self.record_durable(index),
        }
    }

    /// Handles that the oldest record of set `index` is durable with its header: updates the registers and releases its
    /// lines.
    fn record_durable(&mut self, index: usize) {
        let set = &mut self.log.sets[index];
        let extended = set.extend();
        let core = set.core.expect("a set with records belongs to a transaction");
        self.memory.observer.log_extended(self.memory.queue.now(), core, extended.bucket, extended.records);
        self.release_held();
        self.send_header(index);
        self.end_if_over(index);
    }

    /// Lets the held writes start that no record holds back any more.
    fn release_held(&mut self) {
        let writes = &self.memory.writes;
        let held: Vec<u32> = writes.active().filter(|&slot| writes[slot].stage == Stage::BehindLog).collect();
        for slot in held {
            if !self.holds(slot) {
                self.memory.writes.start(slot);
            }
        }
    }

    /// `ControllerEvent::TransactionEndArrives`: a transaction ends.
    pub fn end_arrives(&mut self, core: CoreId) {
        if let Some(index) = self.log.set_of(core) {
            self.log.sets[index].ending = true;
            self.end_if_over(index);
        } else {
            // It logged nothing, so it may not have registers.
            self.log.beginning.retain(|&waiting| waiting != core);
            self.memory.responses.push(Response::TransactionEnded { core });
        }
    }

    /// Frees the log of a transaction that ends, once none of its writes is in flight. This commits the transaction.
    fn end_if_over(&mut self, index: usize) {
        let set = &mut self.log.sets[index];
        // An open record whose lines were never written back is dropped with the transaction.
        if !set.ending || set.pending() > 0 || set.records.iter().any(|record| record.closed) {
            return;
        }
        let core = set.core.expect("a transaction ends");
        if !set.owned.is_empty() {
            self.memory.observer.log_freed(self.memory.queue.now(), core);
        }
        self.log.free.extend(set.owned.drain(..));
        set.clear();
        self.memory.responses.push(Response::TransactionEnded { core });
        self.release_held();
        self.begin_waiting();
        self.take_entries();
    }
}
