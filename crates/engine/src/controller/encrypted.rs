//! The controller of a machine that encrypts: what it has besides its queues, and the order in which it processes an
//! event.

use super::encryption::aes_circuits::AesCircuits;
use super::encryption::counters::Counters;
use super::encryption::newest_copy::View;
use super::encryption::pairs::PairOrder;
use super::encryption::reencrypt::Rsr;
use super::in_flight::{Cipher, LogWrite, Origin, Part};
use super::integrity::Integrity;
use super::interface::EncryptionParts;
use super::log::manager::{LogManager, Logging};
use super::queues::accepted::AcceptedWrites;
use super::queues::memory::Memory;
use crate::config::Machine;
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{ControllerEvent, DevicePort, Observer};
use crate::parts::{
    AppendOrder, Counter, CounterCoalescing, LogEncryption, MinorReset, PadSource, PageModes, PairedLines, WritePath,
    WritebackOrder, Zeroing,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A design's decisions about the order of writes.
#[derive(Clone)]
pub(super) struct Rules {
    /// How the counter of a data line becomes durable.
    write_path: WritePath,
    /// Which lines are counter-atomic beside those that are marked.
    pub paired_lines: PairedLines,
    /// How the counter of a log line becomes durable, if log lines have counters.
    log_write_path: Option<WritePath>,
    pub append_order: AppendOrder,
    pub coalescing: CounterCoalescing,
    pub writeback_order: WritebackOrder,
    pub minor_reset: MinorReset,
    /// How many increments of a counter may be only in the counter cache, with [`WritePath::StopLoss`].
    pub stop_loss: u64,
    /// Whether the block of a page that is shredded stays in the counter cache alone: a seeded fault.
    pub keeps_shredded: bool,
}

impl Rules {
    fn new(machine: &Machine, parts: &EncryptionParts) -> Self {
        let choices = &parts.parts;
        let coalescing = match choices.coalescing {
            CounterCoalescing::ReadyEntries if !machine.controller.counter_wpq_merging => CounterCoalescing::Off,
            coalescing => coalescing,
        };
        let log_write_path = parts.log.as_ref().and_then(|log| match log.encryption {
            LogEncryption::Counter { write_path } => Some(write_path),
            LogEncryption::Feedback => None,
        });
        Self {
            write_path: choices.write_path,
            paired_lines: choices.paired_lines,
            log_write_path,
            append_order: choices.append_order,
            coalescing,
            writeback_order: choices.writeback_order,
            minor_reset: choices.minor_reset,
            stop_loss: parts.integrity.as_ref().map_or(1, |integrity| integrity.stop_loss(&machine.integrity)),
            keeps_shredded: choices.zeroing == Zeroing::CachedCounters,
        }
    }
}

/// The memory encryption engine: what only a machine with encryption has.
#[derive(Clone)]
pub(super) struct EncryptionEngine {
    pub rules: Rules,
    pub pads: Arc<dyn PadSource>,
    /// How long a tweak takes, in picoseconds, if lines are encrypted with AES-XTS; `None` in counter mode.
    pub tweak: Option<Ps>,
    /// How long one takes.
    pub tweak_latency: Ps,
    /// Whether only its counter says whether a line is encrypted with AES-XTS.
    pub paged: bool,
    pub counters: Counters,
    pub circuits: AesCircuits,
    pub rsr: Rsr,
    pub pair_order: PairOrder,
    /// The counters of the lines that are encrypted in the caches, by line.
    pub resident: FxHashMap<u64, Counter>,
    /// Writes the undo log; `None` if hardware keeps none.
    pub log: Option<LogManager>,
    /// MACs and the integrity tree; `None` if nothing protects integrity.
    pub integrity: Option<Integrity>,
    /// Writes that are accepted before they are encrypted; `None` if none are.
    pub accepted: Option<AcceptedWrites>,
}

impl EncryptionEngine {
    pub fn new(machine: &Machine, parts: EncryptionParts, cores: u16) -> Self {
        let caches = super::encryption::counters::metadata_shape(machine, parts.parts.store, cores);
        Self {
            rules: Rules::new(machine, &parts),
            circuits: AesCircuits::new(machine),
            tweak: (!parts.pads.makes_pads()).then(|| ns_to_ps(machine.controller.aes_latency_ns)),
            tweak_latency: ns_to_ps(machine.controller.aes_latency_ns),
            paged: parts.parts.pages != PageModes::Counters,
            rsr: Rsr::new(machine.controller.reencryption_parallelism, !parts.valid_flags),
            pair_order: PairOrder::new(machine.controller.counter_atomic_order, cores),
            resident: FxHashMap::default(),
            log: parts.log.map(|log| LogManager::new(&machine.log, log)),
            accepted: parts.accepted.map(AcceptedWrites::new),
            integrity: parts.integrity.map(|parts| Integrity::new(machine, parts, caches)),
            counters: Counters::new(machine, &parts.parts, parts.scheme, cores),
            pads: Arc::from(parts.pads),
        }
    }

    /// What a line with this counter needs before it is encrypted, in picoseconds: a tweak, if it has no pad.
    pub fn before(&self, counter: Counter) -> Ps {
        if self.pads.is_direct(counter) { self.tweak_latency } else { 0 }
    }

    /// The log manager. Only designs with a hardware log may call this.
    pub fn log(&mut self) -> &mut LogManager {
        self.log.as_mut().expect("only designs with a hardware log are sent log entries")
    }

    /// How a write of `origin` is encrypted.
    pub fn cipher_of(&self, origin: Origin) -> Cipher {
        match origin {
            Origin::Turn(turn) => Cipher::Turn(turn),
            Origin::Rested(_) => Cipher::Resident,
            Origin::Log(LogWrite { part: Part::Metadata, .. }) => Cipher::None,
            Origin::Log(write) if self.rules.log_write_path.is_none() => Cipher::Feedback(write),
            Origin::Caches(_) | Origin::Reencryption(_) | Origin::Log(_) => Cipher::Counter,
        }
    }

    /// How the counter of a write of `origin` becomes durable, if it is encrypted in counter mode.
    pub fn write_path_of(&self, origin: Origin) -> WritePath {
        match (origin, self.rules.log_write_path) {
            (Origin::Log(_), Some(of_log)) => of_log,
            _ => self.rules.write_path,
        }
    }
}

/// A controller with encryption, together with what it works on during an event.
pub(super) struct Encrypted<'a, D, O: ?Sized> {
    pub memory: Memory<'a, D, O>,
    pub engine: &'a mut EncryptionEngine,
}

impl<'a, D: DevicePort, O: Observer + ?Sized> Encrypted<'a, D, O> {
    /// Handles one event: its handler marks the consequences, and [`Encrypted::settle`] performs them.
    pub fn handle(&mut self, event: ControllerEvent) {
        match event {
            // Reads on their way mark nothing.
            ControllerEvent::ReadArrives { slot } => return self.read_arrives(slot),
            ControllerEvent::InlineCounterArrives { slot } => return self.counter_known(slot),
            ControllerEvent::WriteProgrammed { token } => return self.memory.acknowledge_written(token),
            ControllerEvent::MediaWritten => return self.memory.media_written(),
            ControllerEvent::BankReady { bank } => self.memory.bank_ready(bank),
            ControllerEvent::Decide => self.memory.decide(),
            ControllerEvent::WriteArrives { slot } => self.write_arrives(slot),
            ControllerEvent::Accepted { slot } => self.accepted(slot),
            ControllerEvent::CounterReady { slot } => self.counter_ready(slot),
            ControllerEvent::PadReady { slot } => self.pad_ready(slot),
            ControllerEvent::CircuitFree { circuit } => self.engine.circuits.free(circuit),
            ControllerEvent::ReadRequestsCircuit { slot } => self.read_requests_circuit(slot),
            ControllerEvent::ReadReady { slot } => self.read_ready(slot),
            ControllerEvent::CounterFetched { slot } => self.counter_arrived(slot),
            ControllerEvent::CounterVerified { slot } => self.counter_fetched(slot),
            ControllerEvent::MetadataFetched { slot } => self.metadata_arrived(slot),
            ControllerEvent::NodeVerified { slot } => self.metadata_fetched(slot),
            ControllerEvent::Authenticated { slot } => self.authenticated(slot),
            ControllerEvent::CounterWritebackArrives { slot } => self.counter_writeback_arrives(slot),
            ControllerEvent::WriteAccepted { slot } => self.memory.write_accepted(slot),
            ControllerEvent::TransactionBeginArrives { core } => self.logging().begin_arrives(core),
            ControllerEvent::LogEntryArrives { slot } => self.logging().entry_arrives(slot),
            ControllerEvent::TransactionEndArrives { core } => self.logging().end_arrives(core),
            ControllerEvent::ReencryptStep => self.engine.rsr.step(),
            ControllerEvent::ReencryptDone { index } => self.set_done(index),
        }
        self.start_waiting_reads();
        self.settle();
    }

    /// Performs everything that the handler of an event has marked, until nothing is left:
    ///
    /// 1. Free AES circuits go to the writes and reads that have waited longest; counters of writes are incremented.
    /// 2. A write that is now first in its line requests its counter or its place in a chain, or claims an entry.
    /// 3. The log manager learns that a log line has persisted; a header follows, or held writes may start.
    /// 4. The next line of the page under re-encryption is sent.
    /// 5. The next claim enters the write pending queue, if it fits. This may complete its write: its circuit is
    ///    free, and the next write of its line may start.
    /// 6. If writes are accepted before they are encrypted, the oldest that has arrived takes an entry, if one is free.
    ///
    /// Steps 2 to 6 do one thing at a time and then start again at 2. When they have nothing left to do, free circuits
    /// are assigned. No step calls another: it marks what must follow.
    fn settle(&mut self) {
        loop {
            self.hand_out_units();
            while self.start_next_write()
                || self.hear_of_log()
                || self.renew_next_line()
                || self.admit_next()
                || self.accept_next()
            {}
            if !self.engine.circuits.can_be_had() {
                break;
            }
        }
        debug_assert!(!self.something_fits(), "something fits into the write pending queue, and nothing marked it");
    }

    fn start_next_write(&mut self) -> bool {
        self.memory.writes.take_starting().map(|slot| self.start_write(slot)).is_some()
    }

    fn hear_of_log(&mut self) -> bool {
        let write = self.engine.log.as_mut().and_then(|log| log.persisted.pop_front());
        write.map(|write| self.logging().persisted(write)).is_some()
    }

    /// The log manager, together with what it works on.
    pub fn logging(&mut self) -> Logging<'_, 'a, D, O> {
        Logging { log: self.engine.log(), memory: &mut self.memory }
    }

    /// A read-only view of where everything is.
    pub fn view(&self) -> View<'_> {
        View {
            writes: self.memory.writes,
            evictions: &self.memory.admission.evictions,
            wpq: &self.memory.banks.wpq,
            engine: self.engine,
        }
    }
}
