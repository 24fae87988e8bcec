//! The controller as the rest of the machine sees it. The decision whether it encrypts is made here, once.

use super::encrypted::{Encrypted, EncryptionEngine};
use super::encryption::counters;
use super::encryption::newest_copy::View;
use super::encryption::words::stored_of;
use super::encryption::writeback::Writebacks;
use super::in_flight::{Origin, Turn, Write};
use super::integrity::Integrity;
use super::interface::{Context, ControllerSnapshot, EncryptionParts, Response};
use super::meter::{ControllerStats, Meter};
use super::plain::{DirectEngine, Plain};
use super::policy;
use super::queues::admission::Admission;
use super::queues::memory::Memory;
use super::queues::reads::{ReadCheck, Reads};
use super::queues::schedule::Banks;
use super::queues::wpq::{Room, Wpq};
use super::queues::writes::Writes;
use crate::config::{CounterWrite, Machine};
use crate::kernel::{Ps, Queue};
use crate::layout::TreePlace;
use crate::message::{
    Content, ControllerEvent, CounterGroup, DevicePort, Event, Line, LineBytes, MediaLine, MediaOp, MediaUnit,
    MemoryRequest, Observer, OnChipLine,
};
use crate::parts::{CounterStore, GroupCommit, LineCipher, PairedLines, Stored, WriteQueues};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// The memory controller.
#[derive(Clone)]
pub struct Controller {
    bytes: bool,
    reads: Reads,
    writes: Writes,
    writebacks: Writebacks,
    admission: Admission,
    banks: Banks,
    meter: Meter,
    responses: Vec<Response>,
    half_written: Vec<u32>,
    /// The parts that only a machine with counters has.
    engine: Option<EncryptionEngine>,
    /// The parts that only a machine has that encrypts without counters.
    direct: Option<DirectEngine>,
}

impl Controller {
    /// A controller for `cores` cores in front of `banks` banks. `log` contains the lines of the programs' undo logs.
    pub fn new(
        machine: &Machine,
        encryption: Option<EncryptionParts>,
        cores: u16,
        banks: usize,
        mut log: Vec<Range<Line>>,
    ) -> Self {
        let config = &machine.controller;
        let parts = encryption.as_ref().map(|encryption| &encryption.parts);
        let separate = parts.is_some_and(|parts| parts.queues == WriteQueues::DataAndCounter);
        let inline = parts.is_some_and(|parts| parts.store == CounterStore::Inline);
        let region = encryption.as_ref().and_then(|encryption| encryption.log.as_ref()).map(|log| log.region);
        log.extend(region.map(|region| region.first..Line(region.first.0 + region.lines())));
        let policy = policy::of(machine, banks);
        let frees_at_issue = policy.conventions().writes_free_at_issue;
        let accepted = encryption.as_ref().and_then(|parts| parts.accepted.as_ref());
        let room = accepted.map_or(Room::data(config), |parts| Room::data(config).with_entries(parts.pads.len()));
        let integrity = encryption.as_ref().and_then(|encryption| encryption.integrity.as_ref());
        // Lines in which partial updates are combined are entries of the queue.
        let taken = integrity.and_then(|integrity| integrity.ring).map_or(0, |ring| ring.on_chip);
        let room = if taken > 0 { room.with_entries(room.entries - taken) } else { room };
        let mut wpq = Wpq::new(room, separate.then(|| Room::counters(config)), banks, frees_at_issue);
        wpq.registers = integrity.is_some_and(|integrity| integrity.parts.commit == GroupCommit::Registers);
        let check = integrity.map(|_| ReadCheck::new(&machine.integrity));
        let engine = encryption.map(|parts| EncryptionEngine::new(machine, parts, cores));
        let mut banks = Banks::new(machine, policy, wpq, banks);
        if config.counter_write == CounterWrite::Counter {
            banks.counters_alone = engine.as_ref().and_then(|engine| engine.counters.of_words());
        }
        Self {
            bytes: machine.engine.bytes,
            reads: Reads::new(config.read_queue_entries, counters::latency(machine), inline, check),
            writes: Writes::default(),
            writebacks: Writebacks::default(),
            admission: Admission::default(),
            banks,
            meter: Meter::new(log),
            responses: Vec::with_capacity(64),
            half_written: Vec::new(),
            engine,
            direct: None,
        }
    }

    /// The same controller, which encrypts lines with a cipher that needs no counters, or whose modules do.
    #[must_use]
    pub fn encrypting(mut self, machine: &Machine, cipher: Option<Arc<dyn LineCipher>>, in_modules: bool) -> Self {
        debug_assert!(self.engine.is_none() || cipher.is_none(), "lines are encrypted once");
        self.banks.in_modules = cipher.clone().filter(|_| in_modules);
        self.direct = cipher.map(|cipher| DirectEngine::new(machine, cipher));
        self
    }

    /// Fills the counter cache, which is empty, with the blocks of `lines`, the one that was used last first. Beside a shadow
    /// table or bits that say what is stale it stays empty, because these are told of each block that is brought.
    pub fn warm<D: DevicePort>(&mut self, device: &D, lines: impl Iterator<Item = Line>) {
        let Some(engine) = &self.engine else { return };
        if engine.counters.store == CounterStore::Inline || engine.tells_what_is_cached() {
            return;
        }
        let view = View { writes: &self.writes, evictions: &self.admission.evictions, wpq: &self.banks.wpq, engine };
        let mut filled = engine.counters.cache.clone();
        let mut empty = filled.slots();
        for line in lines {
            if empty == 0 {
                break;
            }
            let id = engine.counters.block(line);
            let media = MediaLine::counter(id);
            if filled.has_empty_way(media) && !filled.contains(media) {
                filled.insert_used(media, view.newest_block(device, id), empty as u64);
                empty -= 1;
            }
        }
        self.engine.as_mut().expect("it is there").counters.cache = filled;
    }

    /// Accepts a request of the caches. Returns the event of its arrival, and its time; a [`Response`] follows that.
    pub fn accept(&mut self, request: &MemoryRequest) -> (Ps, ControllerEvent) {
        match *request {
            MemoryRequest::Read { at, line, token } => {
                (at, ControllerEvent::ReadArrives { slot: self.reads.add(line, Origin::Caches(token)) })
            }
            MemoryRequest::Write { at, line, ref bytes, ref cache_pad, token, core, counter_atomic } => {
                let paired = self.engine.as_ref().map_or(PairedLines::Marked, |engine| engine.rules.paired_lines);
                let slot = self.writes.add(line, bytes, Origin::Caches(token.0));
                let write = &mut self.writes[slot];
                (write.cache_pad, write.core) = (*cache_pad, core);
                write.counter_atomic = counter_atomic || paired.has(|| self.meter.in_log(line));
                (at, ControllerEvent::WriteArrives { slot })
            }
            MemoryRequest::IncrementCounter { at, core, line } => {
                let slot = self.writes.add(line, &[0; 64], Origin::Turn(Turn::Dirty(core)));
                (at, ControllerEvent::WriteArrives { slot })
            }
            MemoryRequest::CounterWriteback { at, line, token } => {
                (at, ControllerEvent::CounterWritebackArrives { slot: self.writebacks.add(line, token, false) })
            }
            MemoryRequest::ZeroPage { at, line, token } => {
                (at, ControllerEvent::CounterWritebackArrives { slot: self.writebacks.add(line, token, true) })
            }
            MemoryRequest::BeginTransaction { at, core } => (at, ControllerEvent::TransactionBeginArrives { core }),
            MemoryRequest::Log { at, core, line, ref old } => {
                let engine = self.engine.as_mut().expect("only a machine that encrypts has a hardware log");
                (at, ControllerEvent::LogEntryArrives { slot: engine.log().add(core, line, old) })
            }
            MemoryRequest::EndTransaction { at, core } => (at, ControllerEvent::TransactionEndArrives { core }),
        }
    }

    /// Takes the next event. When none is left, there is one more for each busy bank: time ends when the last one is free.
    #[inline]
    pub fn next_event(&mut self, queue: &mut Queue<Event>) -> Option<Event> {
        match queue.pop() {
            None => self.next_of_busy(queue),
            event => event,
        }
    }

    #[cold]
    fn next_of_busy(&mut self, queue: &mut Queue<Event>) -> Option<Event> {
        self.banks.wake_busy(queue);
        queue.pop()
    }

    /// The line of the request that arrives with `event`, if one does.
    pub fn arriving(&self, event: ControllerEvent) -> Option<Line> {
        match event {
            ControllerEvent::ReadArrives { slot } => Some(self.reads[slot].line),
            ControllerEvent::WriteArrives { slot } => Some(self.writes[slot].line),
            _ => None,
        }
    }

    /// Handles an event of the controller.
    pub fn handle<D: DevicePort, O: Observer + ?Sized>(&mut self, cx: &mut Context<'_, D, O>, event: ControllerEvent) {
        match self.at_work(cx) {
            (memory, None, direct) => Plain { memory, direct }.handle(event),
            (memory, Some(engine), _) => Encrypted { memory, engine }.handle(event),
        }
    }

    /// Declares that no more requests will come: queued writes leave regardless of the watermarks.
    pub fn flush<D: DevicePort, O: Observer + ?Sized>(&mut self, cx: &mut Context<'_, D, O>) {
        self.at_work(cx).0.flush();
    }

    /// The controller, together with what it works on during an event.
    #[inline]
    pub(super) fn at_work<'a, D, O: ?Sized>(
        &'a mut self,
        cx: &'a mut Context<'_, D, O>,
    ) -> (Memory<'a, D, O>, Option<&'a mut EncryptionEngine>, Option<&'a mut DirectEngine>) {
        let memory = Memory {
            bytes: self.bytes,
            reads: &mut self.reads,
            writes: &mut self.writes,
            writebacks: &mut self.writebacks,
            admission: &mut self.admission,
            banks: &mut self.banks,
            meter: &mut self.meter,
            responses: &mut self.responses,
            half_written: &mut self.half_written,
            queue: cx.queue,
            device: cx.device,
            observer: cx.observer,
        };
        (memory, self.engine.as_mut(), self.direct.as_mut())
    }

    /// Whether a read or write that arrived now would find room in its queue. A write that is not yet in the write
    /// pending queue keeps an entry.
    pub fn accepts(&self, op: MediaOp) -> bool {
        match op {
            MediaOp::Read => self.reads.room(),
            MediaOp::Write => self.banks.free(false) > self.writes.active_len(),
        }
    }

    /// Swaps the answers since the last call, in order, into the empty vector `into`.
    pub fn take_responses(&mut self, into: &mut Vec<Response>) {
        debug_assert!(into.is_empty());
        std::mem::swap(into, &mut self.responses);
    }

    /// Whether there are answers to take.
    pub fn has_responses(&self) -> bool {
        !self.responses.is_empty()
    }

    /// Sets the global counter's register to `value`, the last value that was used before a boot.
    pub fn load_global_counter(&mut self, value: u64) {
        if let Some(engine) = &mut self.engine {
            engine.counters.register = value;
        }
    }

    /// Sets the register of the root of the integrity tree, if there is one, or its several `roots`, to what a boot has left.
    pub fn load_root(&mut self, root: Option<LineBytes>, roots: &[(TreePlace, LineBytes)]) {
        let integrity = self.engine.as_mut().and_then(|engine| engine.integrity.as_mut());
        if let Some((integrity, root)) = integrity.zip(root) {
            integrity.load_root(root);
            if let Some(forest) = &mut integrity.forest {
                forest.load(roots);
            }
        }
    }

    /// The error if transactions wait for log space that none of them will free.
    pub fn log_exhausted(&self) -> Option<String> {
        self.engine.as_ref()?.log.as_ref()?.exhausted()
    }

    /// The stored form of `plaintext` in the caches, if `line` is encrypted there; otherwise `None`.
    pub fn encrypt_resident(&self, line: Line, plaintext: &LineBytes) -> Option<LineBytes> {
        let engine = self.engine.as_ref()?;
        let counter = *engine.resident.get(&line.0)?;
        Some(engine.pads.encrypt(line, counter, plaintext))
    }

    /// What the controller holds if power fails now. The design decides which of it survives.
    pub fn snapshot(&self) -> ControllerSnapshot {
        let entries = self.banks.wpq.in_order();
        let units = entries.iter().flat_map(|entry| entry.units());
        let mut snapshot = ControllerSnapshot {
            wpq: units.map(|(media, bytes)| (media, *bytes)).collect(),
            global_counter: None,
            rsr: None,
            log: Vec::new(),
            counters: Vec::new(),
            root: None,
            roots: Vec::new(),
            table_root: None,
            chip_lines: Vec::new(),
        };
        if let Some(engine) = &self.engine {
            let counters = &engine.counters;
            let evicted = self.admission.evictions.iter().map(|eviction| (eviction.media, eviction.block));
            let blocks = evicted.chain(counters.cache.dirty().map(|(media, block)| (media, *block)));
            let counter = |(media, block): (MediaLine, LineBytes)| match media.unit() {
                MediaUnit::Counter(id) => Some((id, block)),
                _ => None,
            };
            snapshot.global_counter = counters.scheme.global().then_some(counters.register);
            snapshot.rsr = engine.rsr.snapshot();
            snapshot.log = engine.log.as_ref().map_or(Vec::new(), |log| log.snapshot());
            snapshot.counters = blocks.filter_map(counter).collect();
            snapshot.root = engine.integrity.as_ref().and_then(Integrity::root);
            let forest = engine.integrity.as_ref().and_then(|integrity| integrity.forest.as_ref());
            snapshot.roots = forest.map_or(Vec::new(), |forest| forest.roots().collect());
            snapshot.table_root = engine.integrity.as_ref().and_then(Integrity::table_root);
            snapshot.chip_lines = engine.integrity.as_ref().map_or(Vec::new(), Integrity::chip_lines);
        }
        snapshot
    }

    /// The newest accepted write of each line that is not queued yet, as it rests in its entry, in the order of the entries;
    /// `None` if no writes are accepted before they are encrypted.
    pub fn accepted(&self) -> Option<Vec<OnChipLine>> {
        let accepted = self.engine.as_ref()?.accepted.as_ref()?;
        let held = accepted.writes().map(|(entry, slot)| (entry, &self.writes[slot]));
        let mut held: Vec<(usize, &Write)> = held.filter(|(_, write)| write.accepted).collect();
        let newest: FxHashMap<Line, u64> = held.iter().fold(FxHashMap::default(), |mut newest, (_, write)| {
            let last = newest.entry(write.line).or_default();
            *last = write.arrival.max(*last);
            newest
        });
        held.retain(|(_, write)| newest[&write.line] == write.arrival);
        Some(held.into_iter().map(|(entry, write)| accepted.resting(entry, write.line, write.plaintext())).collect())
    }

    /// The lines of MACs and tree nodes that are newer than the queue and the media: first those that were evicted and wait
    /// for a slot, then the dirty ones in their cache.
    pub fn dirty_metadata(&self) -> Vec<(MediaLine, LineBytes)> {
        let Some(engine) = &self.engine else { return Vec::new() };
        let evicted = self.admission.evictions.iter().map(|eviction| (eviction.media, eviction.block));
        let separate = engine.integrity.as_ref().and_then(|integrity| integrity.separate.as_ref());
        let caches = [Some(&engine.counters.cache), separate].into_iter().flatten();
        let dirty = caches.flat_map(|cache| cache.dirty().map(|(media, block)| (media, *block)));
        let is_metadata = |(media, _): &(MediaLine, LineBytes)| !matches!(media.unit(), MediaUnit::Counter(_));
        evicted.chain(dirty).filter(is_metadata).collect()
    }

    /// The bytes that a read of `line` would find if it arrived now: writes that are due now arrive before it. Takes no
    /// simulated time and changes nothing. Zeros if the engine does not move bytes.
    pub fn peek<D: DevicePort>(&self, queue: &Queue<Event>, device: &D, line: Line) -> LineBytes {
        if !self.bytes {
            return [0; 64];
        }
        let due = self.newest_due(queue, line);
        if let Some(write) = due.or_else(|| self.writes.newest(line)) {
            return self.writes[write].plaintext();
        }
        let view =
            |engine| View { writes: &self.writes, evictions: &self.admission.evictions, wpq: &self.banks.wpq, engine };
        let renewed = |engine: &EncryptionEngine| renewed_now(queue, engine.rsr.group, line);
        if let Some(engine) = &self.engine
            && view(engine).is_shredded(device, line, renewed(engine))
        {
            return [0; 64];
        }
        let media = MediaLine::data(line);
        let stored = match (self.banks.wpq.newest(media), device.content(media)) {
            (Some(entry), _) => stored_of(entry),
            (None, Content::Stored(bytes)) => Stored { bytes: *bytes, modified: 0 },
            // Nothing has encrypted the line yet.
            (None, Content::Base(plaintext)) => return *plaintext,
            (None, Content::Never) => return [0; 64],
        };
        let Some(engine) = &self.engine else {
            return self.direct.as_ref().map_or(stored.bytes, |direct| direct.cipher.decrypt(line, &stored.bytes));
        };
        let on_media = self.banks.wpq.newest(media).is_none();
        let modified = if on_media { engine.modified_on(device, line) } else { stored.modified };
        view(engine).plaintext_of(device, line, &Stored { modified, ..stored }, renewed(engine))
    }

    /// The last write of `line` that reaches the controller at the current time and has not arrived yet.
    fn newest_due(&self, queue: &Queue<Event>, line: Line) -> Option<u32> {
        let of_line = queue.due().filter_map(|(sequence, event)| match event {
            Event::Controller(ControllerEvent::WriteArrives { slot }) if self.writes[slot].line == line => {
                Some((sequence, slot))
            }
            _ => None,
        });
        let writes = of_line.filter(|&(_, slot)| !matches!(self.writes[slot].origin, Origin::Turn(_)));
        writes.max().map(|(_, slot)| slot)
    }

    /// Counts of the current measurement period up to `now`.
    pub fn stats(&mut self, now: Ps) -> ControllerStats {
        self.meter.up_to(now, self.banks.wpq.len())
    }

    /// The most entries that the write pending queue had since the last call.
    pub fn take_most_queued(&mut self) -> u64 {
        self.meter.take_most(self.banks.wpq.len()) as u64
    }

    /// Begins a new measurement period at `now`. Entries that were admitted earlier are not counted when they leave.
    pub fn reset_stats(&mut self, now: Ps) {
        self.meter.reset(now, self.banks.wpq.len());
    }
}
/// Whether the re-encrypted copy of `line` is queued and its done bit is about to be set, at the current time; `group`: the lines
/// that were put under re-encryption last.
fn renewed_now(queue: &Queue<Event>, group: CounterGroup, line: Line) -> bool {
    group.contains(line) && {
        let done = ControllerEvent::ReencryptDone { index: group.index(line) as u32 };
        queue.due().any(|(_, event)| event == Event::Controller(done))
    }
}
