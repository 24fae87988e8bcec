//! The second pass over a recording: turns its acts into the operations of one core.
//!
//! A flush becomes one operation per line, a store one (two if it crosses the end of a line), a DEEP_SYNC flushes and a
//! fence, a locked operation a load, a store and a full fence. In the annotated form the program's own annotations are
//! kept; if it has none, and in the hardware-logged form, counter write-backs come before each fence. The flush-free form has no flushes, a DEEP_SYNC is a fence, and no store goes
//! past the caches. The operations of one instruction are joined: an instruction with several operands, or with one
//! that crosses the end of a line, counts once, and so does a locked one with its fence. A log of pmemcheck shows that a store is non-temporal only by the flush that follows it, so it is
//! an ordinary store in every form. The instructions in between become computation. The acts of all threads are in the
//! order in which they happened; or only those of one thread are there, which waits for the others where it follows them, and
//! reports where they follow it. It sets no marks then, whose order is that of all threads.
//!
//! If the program reports when its transactions begin and end, those are used. If only libpmemobj's marks are known, a
//! transaction ends at `pmemobj_tx_commit.END` and begins where the last one ended. The first begins at the first
//! marker whose name starts with `pmemobj_tx_`, so that the creation of the pool and of its root object, which are
//! atomic operations and not transactions, come before it, outside any. The same holds for what follows the last
//! commit: closing the pool, or a transaction that was aborted or cut off. A transaction that was aborted earlier
//! becomes part of the next one that commits.

use super::annotated::{self, CounterAtomicLines};
use super::counter_writebacks::FlushedCounters;
use super::omitted::Omitting;
use super::other_memory::{Near, OtherAccesses};
use super::recording::{Act, AnnotationKind, FlushKind, Recording, StoreWay};
use super::sites::Sites;
use super::summary::TraceSummary;
use super::threads::{Instance, Own, Threads};
use crate::kernel::ConfigError;
use crate::message::{COUNTER_WRITEBACK_BYTES, LINE_BYTES, NO_SITE, Op, OpBuffer, OpSource, ProgramForm, Site};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

/// The most operations returned at once. A stretch between commits may be tens of thousands of stores long (pool
/// creation, growth of a hash table) and is returned in several pieces: `TxBegin` in the first, `TxEnd` in the last.
pub const OPS_PER_FILL: usize = 4096;
/// Free operations in the buffer that an act needs: those of one word, if every byte were mapped elsewhere.
const OPS_PER_ACT: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No transaction has begun, and a marker shows when the first one does.
    Before,
    /// A transaction begins with the next operation.
    Due,
    /// In a transaction.
    Inside,
    /// Outside any transaction: according to the marks, the last one has ended.
    Outside,
    /// The recording has ended.
    Over,
}

/// Work that must be done before the next act is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Todo {
    /// Instructions, and the loads and stores of other memory among them.
    Compute { instructions: u64, near: Near },
    /// Load from the line at this address of other memory, or store to it.
    Other { address: u64, store: bool },
    /// Load the bytes in `[at, end)`.
    Load { at: u64, end: u64 },
    /// Store those of the kept bytes that belong to `[at, end)`.
    Store { at: u64, end: u64, non_temporal: bool },
    /// Flush the lines of `[at, end)`.
    Flush { at: u64, end: u64, kind: FlushKind },
    /// Write back the counters of the lines of `[at, end)`, as the program asks.
    WriteBack { at: u64, end: u64 },
    /// Fence, after the counters of the flushed lines have been written back. `full`: loads wait for it too.
    Fence { full: bool },
    /// An operation that is no instruction: a mark, a report, or to wait for another core's.
    One(Op),
    /// End the transaction.
    TxEnd,
}

/// A recording as a program of one core.
pub struct TraceProgram {
    recording: Box<dyn Recording>,
    /// The device address of each file's first byte.
    bases: Vec<u64>,
    records: u64,
    transactions: u64,
    /// Whether the program reports where transactions begin and end.
    told: bool,
    ended: u64,
    phase: Phase,
    todo: VecDeque<Todo>,
    /// The bytes of the current store, and the address of the first.
    stored: Vec<u8>,
    stored_at: u64,
    /// Whether the stored bytes are those of one instruction: not if the kernel has stored them.
    of_one: bool,
    /// Whether the instruction of the current act has had its first operation.
    begun: bool,
    flushes: bool,
    counters: FlushedCounters,
    /// `None` if the program has no annotations, or the form knows none.
    annotated: Option<CounterAtomicLines>,
    failure: Arc<OnceLock<ConfigError>>,
    /// The site of the current act, and where to leave the table of sites; `None` if it is not needed.
    site: Site,
    sites: Option<Arc<OnceLock<Sites>>>,
    omitted: Omitting,
    own: Option<Own>,
    instance: Instance,
    others: OtherAccesses,
}

impl TraceProgram {
    pub(super) fn new(
        mut recording: Box<dyn Recording>,
        summary: &TraceSummary,
        form: ProgramForm,
        failure: Arc<OnceLock<ConfigError>>,
        sites: Option<Arc<OnceLock<Sites>>>,
        omitted: Omitting,
    ) -> Self {
        if sites.is_some() {
            recording.watch_sites();
        }
        let outside = summary.transactions == 0 || summary.transactions_told;
        let annotated = form == ProgramForm::Annotated && summary.annotations > 0;
        TraceProgram {
            recording,
            bases: summary.files.iter().map(|file| file.base).collect(),
            records: summary.records,
            transactions: summary.transactions,
            told: summary.transactions_told,
            ended: 0,
            phase: if outside { Phase::Outside } else { Phase::Before },
            todo: VecDeque::new(),
            stored: Vec::new(),
            stored_at: 0,
            of_one: true,
            begun: false,
            flushes: form != ProgramForm::FlushFree,
            counters: FlushedCounters::new(if annotated { ProgramForm::Plain } else { form }),
            annotated: annotated.then(CounterAtomicLines::default),
            failure,
            site: NO_SITE,
            sites,
            omitted,
            own: None,
            instance: Instance::default(),
            others: OtherAccesses::default(),
        }
    }

    /// The program of an instance, from its beginning.
    pub(super) fn of_instance(mut self, instance: Instance) -> Self {
        self.bases.iter_mut().for_each(|base| *base += instance.offset);
        self.instance = instance;
        self
    }

    /// The program without its accesses of memory that is not persistent.
    pub(super) fn without_others(self) -> Self {
        Self { others: OtherAccesses::left_out(), ..self }
    }

    /// The program of one thread, from its beginning.
    pub(super) fn of_thread(mut self, thread: u64, threads: Arc<Threads>) -> Self {
        self.recording.only_of(thread);
        self.transactions = threads.transactions(thread);
        if self.transactions == 0 {
            self.phase = Phase::Outside;
        }
        self.own = Some(Own::new(thread, threads));
        self
    }

    /// Appends operations until the buffer is full, a transaction ends, or one is about to begin.
    fn fill(&mut self, buffer: &mut OpBuffer) -> Result<(), ConfigError> {
        while buffer.ops.len() + OPS_PER_ACT <= OPS_PER_FILL {
            if self.counters.leaving() {
                self.counters.write_back(buffer, OPS_PER_FILL);
                continue;
            }
            if let Some(todo) = self.todo.pop_front() {
                if todo == Todo::TxEnd {
                    buffer.ops.push(Op::TxEnd);
                    self.ended += 1;
                    let follows = !self.told && self.ended < self.transactions;
                    self.phase = if follows { Phase::Due } else { Phase::Outside };
                    return Ok(());
                }
                if let Some(rest) = self.work(todo, buffer)? {
                    self.todo.push_front(rest);
                }
                continue;
            }
            self.note_site(buffer);
            let Some(deed) = self.others.keep(self.recording.next_deed(&mut |_| Ok(()))?) else { continue };
            self.begun = deed.joined;
            if self.sites.is_some() {
                self.site = self.recording.site();
            }
            self.report(deed.act);
            if deed.instructions > 0 || deed.near.any() {
                self.todo.push_back(Todo::Compute { instructions: deed.instructions, near: deed.near });
            }
            if self.own.is_none() && self.recording.mark().is_some() {
                self.todo.push_back(Todo::One(Op::Mark));
            }
            match deed.act {
                Act::Load { address, size } => self.load(address, size),
                Act::Store { address, size, way } => self.store(address, size, way),
                Act::Other { offset, store } => {
                    self.todo.push_back(Todo::Other { address: self.instance.others.address(offset), store });
                }
                Act::Flush { .. } if !self.flushes => {}
                Act::Flush { address, end, kind } => self.todo.push_back(Todo::Flush { at: address, end, kind }),
                Act::Fence => self.fence(false),
                Act::FullFence | Act::Locked => self.fence(true),
                Act::DeepSync { address, end } => {
                    if self.flushes {
                        self.todo.push_back(Todo::Flush { at: address, end, kind: FlushKind::Clwb });
                    }
                    self.fence(false);
                }
                Act::TxBegin | Act::TxEnd | Act::Transactional | Act::Commit => {
                    if self.transaction(deed.act)? {
                        return Ok(());
                    }
                }
                Act::Annotation { address, end, kind } => self.annotation(address, end, kind)?,
                Act::Follows { thread, records } => self.follow(thread, records),
                Act::Scratch { .. } | Act::Nothing => {}
                Act::Over { .. } if !self.todo.is_empty() => {}
                Act::Over { .. } => {
                    let same = self.recording.records() == self.records && self.ended == self.transactions;
                    self.phase = Phase::Over;
                    if let Some(sites) = &self.sites {
                        // Several programs of one trace leave the same table.
                        let _ = sites.set(self.recording.take_sites());
                    }
                    return if same { Ok(()) } else { Err(self.changed()) };
                }
            }
        }
        Ok(())
    }

    /// Records that the new operations in `buffer` come from the site of the current act.
    fn note_site(&self, buffer: &mut OpBuffer) {
        if self.sites.is_some() {
            buffer.sites.resize(buffer.ops.len(), self.site);
        }
    }

    /// The thread reports what it has done, if another follows that and this is its next act.
    fn report(&mut self, act: Act) {
        let Some(own) = &mut self.own else { return };
        let done = match act {
            Act::Over { .. } => u64::MAX,
            _ => self.recording.records() - 1,
        };
        self.todo.extend((0..own.reports(done)).map(|_| Todo::One(Op::Report)));
    }

    /// The thread waits for what it follows of another.
    fn follow(&mut self, thread: u64, records: u64) {
        if let Some(own) = &self.own {
            let (core, count) = own.threads.awaited(thread, records);
            self.todo.push_back(Todo::One(Op::Await { core: self.instance.first + core, count }));
        }
    }

    /// Handles begin and end of transactions. Returns true if one is about to begin.
    fn transaction(&mut self, act: Act) -> Result<bool, ConfigError> {
        match act {
            // What begins after the last end is cut off.
            Act::TxBegin if self.told && self.ended < self.transactions => {
                self.phase = Phase::Due;
                return Ok(true);
            }
            // The first pass counted the ends; one more is possible only if the file has changed.
            Act::TxEnd if self.told && !matches!(self.phase, Phase::Due | Phase::Inside) => return Err(self.changed()),
            Act::Commit if !self.told && self.phase == Phase::Outside => return Err(self.changed()),
            Act::TxEnd if self.told => self.todo.push_back(Todo::TxEnd),
            Act::Commit if !self.told => self.todo.push_back(Todo::TxEnd),
            _ => {}
        }
        if matches!(act, Act::Transactional | Act::Commit) && self.phase == Phase::Before {
            self.phase = Phase::Due;
            return Ok(true);
        }
        Ok(false)
    }

    fn annotation(&mut self, address: u64, end: u64, kind: AnnotationKind) -> Result<(), ConfigError> {
        if self.omitted.annotation() || self.annotated.is_none() {
            return Ok(());
        }
        match kind {
            AnnotationKind::Writeback if self.is_of_another() => {}
            AnnotationKind::Writeback => self.todo.push_back(Todo::WriteBack { at: address, end }),
            AnnotationKind::Atomic => self.declare(address, end)?,
        }
        Ok(())
    }

    /// Whether the newest act is another thread's.
    fn is_of_another(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.thread != self.recording.thread())
    }

    /// `[address, end)` holds `CounterAtomic` variables.
    fn declare(&mut self, address: u64, end: u64) -> Result<(), ConfigError> {
        let mut at = address;
        while let Some((start, part)) = self.recording.first_placed(at, end) {
            let (device, _) = self.place(start)?;
            if let Some(lines) = &mut self.annotated {
                lines.declare(device..device + part.length);
            }
            at = start + part.length;
        }
        Ok(())
    }

    fn load(&mut self, address: u64, size: u32) {
        self.todo.push_back(Todo::Load { at: address, end: address + u64::from(size) });
    }

    fn store(&mut self, address: u64, size: u32, way: StoreWay) {
        if way == StoreWay::Atomic {
            self.load(address, size);
        }
        self.stored.clear();
        self.stored.extend_from_slice(self.recording.bytes());
        self.stored_at = address;
        self.of_one = way != StoreWay::Kernel;
        let non_temporal = way == StoreWay::NonTemporal;
        self.todo.push_back(Todo::Store { at: address, end: address + u64::from(size), non_temporal });
        if way == StoreWay::Atomic {
            self.fence(true);
        }
    }

    fn fence(&mut self, full: bool) {
        if !self.omitted.fence() {
            self.todo.push_back(Todo::Fence { full });
        }
    }

    /// Does as much of `todo` as there is room for; returns the rest.
    fn work(&mut self, todo: Todo, buffer: &mut OpBuffer) -> Result<Option<Todo>, ConfigError> {
        let mut todo = todo;
        while buffer.ops.len() < OPS_PER_FILL {
            match &mut todo {
                Todo::Compute { instructions, near } => {
                    if self.others.compute(instructions, near, buffer) {
                        return Ok(None);
                    }
                }
                Todo::Other { address, store } => {
                    self.count_operation(buffer);
                    self.others.access(*address, *store, buffer);
                    return Ok(None);
                }
                Todo::Load { at, end } => {
                    let (device, length) = self.piece(*at, *end)?;
                    self.count_operation(buffer);
                    buffer.load_unknown(device, length);
                    *at += u64::from(length);
                    if at == end {
                        return Ok(None);
                    }
                }
                Todo::Store { at, end, non_temporal } => {
                    let (device, length) = self.piece(*at, *end)?;
                    self.store_piece(*at, device, length, *non_temporal, buffer);
                    *at += u64::from(length);
                    if at == end {
                        return Ok(None);
                    }
                }
                Todo::Flush { at, end, kind } => {
                    let Some(next) = self.flush(*at, *end, *kind, buffer)? else { return Ok(None) };
                    *at = next;
                    // If there are too many counters, they are written back before the next line is flushed.
                    return Ok(Some(todo));
                }
                Todo::WriteBack { at, end } => {
                    let Some((start, part)) = self.recording.first_placed(*at, *end) else { return Ok(None) };
                    let (device, _) = self.place(start)?;
                    let into = device % COUNTER_WRITEBACK_BYTES;
                    buffer.ops.push(Op::CounterCacheWriteback { address: device - into });
                    *at = start + part.length.min(COUNTER_WRITEBACK_BYTES - into);
                }
                Todo::Fence { full } => {
                    if self.counters.is_empty() {
                        self.count_operation(buffer);
                        buffer.ops.push(if *full { Op::Mfence } else { Op::Sfence });
                        return Ok(None);
                    }
                    self.counters.leave();
                    return Ok(Some(todo));
                }
                Todo::One(op) => {
                    buffer.ops.push(*op);
                    return Ok(None);
                }
                Todo::TxEnd => return Ok(Some(todo)),
            }
        }
        Ok(Some(todo))
    }

    /// Stores the `length` kept bytes of `at` to `device`; they lie in one line.
    fn store_piece(&mut self, at: u64, device: u64, length: u8, non_temporal: bool, buffer: &mut OpBuffer) {
        if self.of_one {
            self.count_operation(buffer);
        }
        let from = (at - self.stored_at) as usize;
        let bytes = &self.stored[from..from + usize::from(length)];
        if self.annotated.as_ref().is_some_and(|lines| lines.hold(device)) {
            annotated::store(device, bytes, non_temporal, buffer);
        } else if non_temporal {
            buffer.store_non_temporal(device, bytes);
            // A fence makes it durable, without a flush that would also write back its counter.
            self.counters.add(device..device + u64::from(length));
        } else {
            buffer.store(device, bytes, LINE_BYTES as usize);
        }
    }

    /// The current act is about to append an operation, which belongs to its instruction like those before.
    fn count_operation(&mut self, buffer: &mut OpBuffer) {
        if std::mem::replace(&mut self.begun, true) {
            buffer.join(buffer.ops.len());
        }
    }

    /// What `at` is mapped to, and how many bytes from there are before `end`, in the same line and contiguous.
    fn piece(&mut self, at: u64, end: u64) -> Result<(u64, u8), ConfigError> {
        let (device, length) = self.place(at)?;
        let in_line = LINE_BYTES - device % LINE_BYTES;
        Ok((device, length.min(end - at).min(in_line) as u8))
    }

    /// Flushes as much of `[at, end)` as is contiguous and there is room for. Returns where to continue, if there is
    /// more.
    fn flush(&mut self, at: u64, end: u64, kind: FlushKind, buffer: &mut OpBuffer) -> Result<Option<u64>, ConfigError> {
        let Some((start, part)) = self.recording.first_placed(at, end) else { return Ok(None) };
        let (device, _) = self.place(start)?;
        let room = (OPS_PER_FILL - buffer.ops.len()) as u64;
        let first_line = device - device % LINE_BYTES;
        let given = part.length.min(first_line + room * LINE_BYTES - device);
        for address in (first_line..device + given).step_by(LINE_BYTES as usize) {
            if self.omitted.flush() {
                continue;
            }
            buffer.ops.push(match kind {
                FlushKind::Clwb | FlushKind::Sync => Op::Clwb { address },
                FlushKind::Clflushopt => Op::Clflushopt { address },
                FlushKind::Clflush | FlushKind::SyncAtOnce => Op::Clflush { address },
            });
            self.counters.add(address.max(device)..(address + LINE_BYTES).min(device + given));
        }
        Ok(Some(start + given))
    }

    /// The device address of a mapped virtual address, and how many bytes from there are contiguous.
    fn place(&mut self, address: u64) -> Result<(u64, u64), ConfigError> {
        let place = self.recording.place(address);
        let found = place.and_then(|place| Some((self.bases.get(place.file)? + place.offset, place.length)));
        found.ok_or_else(|| self.changed())
    }

    fn changed(&self) -> ConfigError {
        ConfigError(format!("{}: the trace changed while it was being replayed", self.recording.name()))
    }
}

impl OpSource for TraceProgram {
    /// The next piece: operations outside any transaction, or (a part of) one transaction.
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        while self.phase != Phase::Over && buffer.ops.is_empty() {
            if self.phase == Phase::Due {
                buffer.ops.push(Op::TxBegin);
                self.phase = Phase::Inside;
            }
            if let Err(error) = self.fill(buffer) {
                self.phase = Phase::Over;
                // The first error is kept.
                let _ = self.failure.set(error);
            }
            self.note_site(buffer);
        }
        !buffer.ops.is_empty()
    }
}
