//! The log manager (easy-pm sections III-B and III-D, after ATOM): it takes the old bytes that the first level's log
//! trigger sends, writes them and the headers that name them, holds a modified line back until both have persisted, and
//! frees the log of a transaction that ends.
//!
//! ```text
//! entry -> set of registers -> bucket -> open record --full, or a line it names has come--> closed
//!   lines of the record persisted -> header persisted -> (chains: metadata line persisted) -> registers; lines let go
//! ```
//!
//! Decisions. The log metadata registers are in the ADR domain, so that freeing a log is one step and needs no write;
//! they name a bucket from the event on in which its first header persists. Records of a transaction become durable in
//! order. A store waits only until the log manager has taken its entry (ATOM's posted log). Buckets are used in turn, to
//! spread wear.

use super::log_set::{LogSet, Record};
use super::request::{LogWrite, Part, Source, Stage};
use super::state::{Context, Controller, Response};
use crate::kernel::{Ps, Slab};
use crate::message::{
    BucketMetadata, CipherBlock, CoreId, DevicePort, Event, LOG_RECORD_LINES, Line, LineBytes, LogSnapshot, Observer,
};
use crate::parts::{LogChains, LogOrder};
use std::collections::VecDeque;

/// Old bytes on their way into the log.
#[derive(Clone, Copy, Debug)]
struct Entry {
    core: CoreId,
    line: Line,
    old: LineBytes,
}

/// The registers of all transactions, and the buckets that are free.
pub(super) struct LogManager {
    pub sets: Vec<LogSet>,
    free: VecDeque<u32>,
    entries: Slab<Entry>,
    /// Transactions that wait for a set.
    beginning: VecDeque<CoreId>,
    /// Entries that wait for a bucket, or for earlier ones to persist.
    waiting: VecDeque<u32>,
    pending_max: u32,
    /// Initial vectors of each bucket, where it keeps them for its life.
    kept_vectors: Option<Vec<Option<[CipherBlock; 2]>>>,
}

impl LogManager {
    pub fn new(log: &crate::config::Log) -> Self {
        Self {
            sets: (0..log.transactions).map(|_| LogSet::default()).collect(),
            free: (0..log.buckets).collect(),
            entries: Slab::default(),
            beginning: VecDeque::new(),
            waiting: VecDeque::new(),
            pending_max: log.pending_entries,
            kept_vectors: (log.iv == crate::config::LogIv::PerBucket).then(|| vec![None; log.buckets as usize]),
        }
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
}

impl Controller {
    /// Takes the begin of a transaction of `core`, which reaches the log manager at `at`.
    pub fn accept_transaction_begin<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        core: CoreId,
    ) {
        cx.queue.schedule(at, Event::TransactionBeginArrives { core });
    }

    /// Takes the old bytes of `line` for the log of the transaction of `core`, which reach the log manager at `at`.
    pub fn accept_log<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        core: CoreId,
        line: Line,
        old: &LineBytes,
    ) {
        let slot = self.manager().entries.insert(Entry { core, line, old: *old });
        cx.queue.schedule(at, Event::LogEntryArrives { slot });
    }

    /// Takes the end of the transaction of `core`, which reaches the log manager at `at`.
    pub fn accept_transaction_end<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        core: CoreId,
    ) {
        cx.queue.schedule(at, Event::TransactionEndArrives { core });
    }

    /// Why nothing goes on, if transactions wait for log space that none of them gives back.
    pub fn log_exhausted(&self) -> Option<String> {
        let manager = self.log_manager.as_ref().filter(|manager| !manager.waiting.is_empty())?;
        Some(format!(
            "log.buckets = {} is too few for {} concurrent transactions: they have filled all buckets, need more, and none \
             can end",
            self.log_parts().region.buckets,
            manager.sets.iter().filter(|set| set.core.is_some()).count(),
        ))
    }

    /// The log metadata registers as a power failure finds them, by core.
    pub(super) fn log_snapshot(&self) -> Vec<LogSnapshot> {
        let sets = self.log_manager.iter().flat_map(|manager| &manager.sets);
        let mut sets: Vec<LogSnapshot> = sets
            .filter(|set| !set.durable.is_empty())
            .filter_map(|set| set.core.map(|core| LogSnapshot { core, buckets: set.durable.clone() }))
            .collect();
        sets.sort_unstable_by_key(|set| set.core);
        sets
    }

    fn manager(&mut self) -> &mut LogManager {
        self.log_manager.as_mut().expect("only designs with a hardware log are sent log entries")
    }

    /// Set `index` of the registers.
    pub(super) fn set(&mut self, index: usize) -> &mut LogSet {
        &mut self.manager().sets[index]
    }

    /// `Event::TransactionBeginArrives`.
    pub(super) fn transaction_begin_arrives(&mut self, core: CoreId) {
        self.manager().beginning.push_back(core);
        self.begin_waiting();
    }

    /// Gives unused sets to transactions that wait for one, oldest first.
    fn begin_waiting(&mut self) {
        let manager = self.manager();
        let Some(unused) = manager.sets.iter().position(|set| set.core.is_none()) else { return };
        if let Some(core) = manager.beginning.pop_front() {
            manager.sets[unused].core = Some(core);
            self.responses.push(Response::TransactionBegun { core });
        }
    }

    /// `Event::LogEntryArrives`.
    pub(super) fn log_entry_arrives<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        self.manager().waiting.push_back(slot);
        self.take_entries(cx);
    }

    /// Takes every waiting entry that can be had; one that cannot holds no other core's back.
    fn take_entries<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        let mut at = 0;
        while let Some(&slot) = self.manager().waiting.get(at) {
            if self.take_entry(cx, slot) {
                self.manager().waiting.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Puts an entry into the open record of its transaction; false if there is no room for it.
    fn take_entry<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) -> bool {
        let manager = self.manager();
        let Entry { core, line, old } = manager.entries[slot];
        let index = manager.set_of(core).expect("a transaction that logs has begun");
        if manager.sets[index].pending() >= manager.pending_max || !self.open_record(index) {
            return false;
        }
        let region = self.log_parts().region;
        let set = self.set(index);
        let (place, sequence) = set.put(region, line);
        self.manager().entries.release(slot);
        cx.observer.logged(cx.queue.now(), core, line);
        self.responses.push(Response::Logged { core });
        self.send_log_write(cx, LogWrite { set: index as u8, sequence, part: Part::Entry }, place, &old);
        let full = self.set(index).records.back().is_some_and(|record| record.header.count == LOG_RECORD_LINES as u32);
        if full {
            self.close_record(cx, index);
        }
        true
    }

    /// Makes sure that set `index` has an open record; false if that needs a bucket and none is free.
    fn open_record(&mut self, index: usize) -> bool {
        let records = self.log_parts().region.records;
        let set = self.set(index);
        if set.records.back().is_some_and(|record| !record.closed) {
            return true;
        }
        if set.bucket.is_none_or(|bucket| bucket.records == records) {
            let manager = self.manager();
            let Some(number) = manager.free.pop_front() else { return false };
            let vectors = self.initial_vectors(number);
            self.set(index).take_bucket(number, vectors);
        }
        self.set(index).open();
        true
    }

    /// The initial vectors of the header chain and of the log chain of bucket `number`, for its next transaction.
    fn initial_vectors(&mut self, number: u32) -> [CipherBlock; 2] {
        if self.log_parts().chains == LogChains::ConstantVectors {
            return [CipherBlock::default(); 2];
        }
        let kept = self.manager().kept_vectors.as_ref().and_then(|kept| kept[number as usize]);
        if let Some(vectors) = kept {
            return vectors;
        }
        let random = &mut self.encryption.as_mut().and_then(|parts| parts.log.as_mut()).expect("it logs").random;
        let mut draw = || (u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())).to_le_bytes();
        let vectors = [draw(), draw()];
        if let Some(kept) = &mut self.manager().kept_vectors {
            kept[number as usize] = Some(vectors);
        }
        vectors
    }

    /// The open record of set `index` takes no more lines: its header follows once they have persisted.
    fn close_record<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: usize) {
        if let Some(record) = self.set(index).records.back_mut() {
            record.closed = true;
        }
        self.send_header(cx, index);
    }

    /// Sends the header of the oldest record of set `index`, if it is its turn.
    fn send_header<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: usize) {
        let region = self.log_parts().region;
        let Some(record) = self.set(index).records.front_mut() else { return };
        if !record.closed || record.unpersisted > 0 || std::mem::replace(&mut record.header_sent, true) {
            return;
        }
        let Record { header, bucket, place, .. } = *record;
        let write = LogWrite { set: index as u8, sequence: header.sequence, part: Part::Header };
        self.send_log_write(cx, write, region.header(bucket, place), &header.encode());
    }

    fn send_log_write<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        write: LogWrite,
        place: Line,
        bytes: &LineBytes,
    ) {
        let slot = self.new_write(place, bytes, Source::Log(write));
        self.writes[slot].counter_atomic = true;
        // A step of its own, which power may fail before.
        cx.queue.schedule(cx.queue.now(), Event::WriteArrives { slot });
    }

    /// Whether the write in `slot`, of `line`, has to wait for its log entry. An open record that names it is closed.
    pub(super) fn waits_for_log<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        slot: u32,
        line: Line,
    ) -> bool {
        let Some(manager) = &self.log_manager else { return false };
        let Some((index, open)) = manager.record_naming(line) else { return false };
        if self.log_parts().order != LogOrder::AnyOrder {
            self.writes[slot].stage = Stage::BehindLog;
        }
        if open {
            self.close_record(cx, index);
        }
        self.log_parts().order != LogOrder::AnyOrder
    }

    /// A line of the log has persisted.
    pub(super) fn log_persisted<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, write: LogWrite) {
        let index = usize::from(write.set);
        match write.part {
            Part::Entry => {
                self.set(index).record_mut(write.sequence).unpersisted -= 1;
                self.send_header(cx, index);
                self.take_entries(cx);
                self.end_if_over(cx, index);
            }
            Part::Header if self.log_parts().chained() => {
                let region = self.log_parts().region;
                let Record { bucket, place, vectors: [header_iv, log_iv], .. } =
                    *self.set(index).record_mut(write.sequence);
                let metadata = BucketMetadata { valid_headers: place + 1, header_iv, log_iv };
                let write = LogWrite { part: Part::Metadata, ..write };
                self.send_log_write(cx, write, region.metadata(bucket), &metadata.encode());
            }
            Part::Header | Part::Metadata => self.record_durable(cx, index),
        }
    }

    /// The oldest record of set `index` is durable with its header: the registers say so, and its lines may go.
    fn record_durable<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: usize) {
        let now = cx.queue.now();
        let set = self.set(index);
        let extended = set.extend();
        let core = set.core.expect("a set with records belongs to a transaction");
        cx.observer.log_extended(now, core, extended.bucket, extended.records);
        self.release_held(cx);
        self.send_header(cx, index);
        self.end_if_over(cx, index);
    }

    /// Starts the held writes that no record holds back any more.
    fn release_held<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        let mut at = 0;
        while let Some(&slot) = self.active.get(at) {
            at += 1;
            if self.writes[slot].stage == Stage::BehindLog && !self.waits_for_log(cx, slot, self.writes[slot].line) {
                self.start_write(cx, slot);
            }
        }
    }

    /// `Event::TransactionEndArrives`.
    pub(super) fn transaction_end_arrives<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        core: CoreId,
    ) {
        let manager = self.manager();
        if let Some(index) = manager.set_of(core) {
            manager.sets[index].ending = true;
            self.end_if_over(cx, index);
        } else {
            // It logged nothing, so it may never have had registers.
            manager.beginning.retain(|&waiting| waiting != core);
            self.responses.push(Response::TransactionEnded { core });
        }
    }

    /// Frees the log of a transaction that ends, once nothing of it is on its way any more. That commits it.
    fn end_if_over<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: usize) {
        let set = self.set(index);
        // An open record whose lines were never written back dies with the transaction.
        if !set.ending || set.pending() > 0 || set.records.iter().any(|record| record.closed) {
            return;
        }
        let core = set.core.expect("a transaction ends");
        let manager = self.manager();
        if !manager.sets[index].owned.is_empty() {
            cx.observer.log_freed(cx.queue.now(), core);
        }
        let LogSet { owned, .. } = &mut manager.sets[index];
        manager.free.extend(owned.drain(..));
        manager.sets[index].clear();
        self.responses.push(Response::TransactionEnded { core });
        self.release_held(cx);
        self.begin_waiting();
        self.take_entries(cx);
    }
}
