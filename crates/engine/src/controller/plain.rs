//! The controller of a machine without counters. Without encryption, a write claims an entry when it starts, and a read is
//! answered when its line is there. With a cipher that needs no counters, a write is encrypted first, and the line of a read
//! is decrypted when it has come: nothing of that can be hidden behind the access. Before the line comes the tweak, which
//! follows from its number: for a read it is made during the access, for a write in the circuit of the line. Where modules
//! encrypt, the controller has nothing to do: a write is queued at once, in the form in which it will be stored.

use super::encryption::aes_circuits::AesCircuits;
use super::in_flight::{CircuitWaiter, Origin, Stage, Write};
use super::interface::Response;
use super::queues::memory::Memory;
use crate::config::Machine;
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Circuit, Content, ControllerEvent, DevicePort, LineBytes, MediaLine, Observer};
use crate::parts::LineCipher;
use std::sync::Arc;

/// What encrypts lines without counters.
#[derive(Clone)]
pub(super) struct DirectEngine {
    pub cipher: Arc<dyn LineCipher>,
    pub circuits: AesCircuits,
    /// How long a tweak takes: a block of AES, in picoseconds.
    tweak: Ps,
}

impl DirectEngine {
    pub fn new(machine: &Machine, cipher: Arc<dyn LineCipher>) -> Self {
        Self { cipher, circuits: AesCircuits::new(machine), tweak: ns_to_ps(machine.controller.aes_latency_ns) }
    }
}

/// A controller without counters, together with what it works on during an event.
pub(super) struct Plain<'a, D, O: ?Sized> {
    pub memory: Memory<'a, D, O>,
    /// What encrypts; `None` if memory holds plaintext.
    pub direct: Option<&'a mut DirectEngine>,
}

impl<D: DevicePort, O: Observer + ?Sized> Plain<'_, D, O> {
    /// Handles one event: its handler marks the consequences, and [`Plain::settle`] performs them.
    pub fn handle(&mut self, event: ControllerEvent) {
        match event {
            // These mark nothing.
            ControllerEvent::ReadArrives { slot } => return self.read_arrives(slot),
            ControllerEvent::ReadReady { slot } => return self.read_ready(slot),
            ControllerEvent::WriteProgrammed { token } => return self.memory.acknowledge_written(token),
            ControllerEvent::MediaWritten => return self.memory.media_written(),
            ControllerEvent::BankReady { bank } => self.memory.bank_ready(bank),
            ControllerEvent::Decide => self.memory.decide(),
            // There are no counters to write back.
            ControllerEvent::CounterWritebackArrives { slot } => return self.memory.acknowledge_writeback(slot),
            ControllerEvent::WriteArrives { slot } => self.write_arrives(slot),
            ControllerEvent::WriteAccepted { slot } => self.memory.write_accepted(slot),
            ControllerEvent::PadReady { slot } => self.encrypted(slot),
            ControllerEvent::CircuitFree { circuit } => self.direct().circuits.free(circuit),
            ControllerEvent::ReadRequestsCircuit { slot } => self.line_arrived(slot),
            _ => unreachable!("{event:?} reached a controller without counters"),
        }
        self.start_waiting_reads();
        self.settle();
    }

    /// Performs everything that the handler of an event has marked, until nothing is left: a write that is now first in
    /// its line requests a circuit, or claims an entry, free circuits go to what has waited longest, and the oldest claim
    /// enters the write pending queue, if it fits.
    fn settle(&mut self) {
        while self.start_next_write() || self.hand_out_circuit() || self.admit_next() {}
    }

    fn start_next_write(&mut self) -> bool {
        let starting = self.memory.writes.take_starting();
        if let Some(slot) = starting {
            if let Some(direct) = self.direct.as_mut().filter(|_| self.memory.banks.in_modules.is_none()) {
                self.memory.writes[slot].stage = Stage::AwaitsCircuit;
                direct.circuits.request(CircuitWaiter::Write(slot));
            } else {
                if let Some(cipher) = self.memory.banks.in_modules.as_ref().filter(|_| self.memory.bytes) {
                    let write = &mut self.memory.writes[slot];
                    write.ciphertext = cipher.encrypt(write.line, &write.plaintext());
                }
                self.memory.writes[slot].stage = Stage::ClaimsEntry;
                self.memory.admission.claim(slot);
            }
        }
        starting.is_some()
    }

    /// What encrypts; only its events need it without asking whether there is one.
    fn direct(&mut self) -> &mut DirectEngine {
        self.direct.as_mut().expect("only a machine that encrypts has circuits")
    }

    /// Gives a free circuit to what has waited longest.
    fn hand_out_circuit(&mut self) -> bool {
        let Some(direct) = &mut self.direct else { return false };
        let Some(waiter) = direct.circuits.take_waiting() else { return false };
        let now = self.memory.queue.now();
        match waiter {
            CircuitWaiter::Write(slot) => {
                let (circuit, entrance) = direct.circuits.occupy(slot);
                let latency = direct.tweak + direct.circuits.pad;
                self.memory.meter.count_pads(1, latency);
                let write = &mut self.memory.writes[slot];
                (write.stage, write.circuit) = (Stage::Encrypting, circuit);
                self.memory.observer.pad(write.line, Circuit::Write(circuit), now, now + latency);
                self.memory.queue.schedule(now + latency, ControllerEvent::PadReady { slot });
                if let Some(entrance) = entrance {
                    let entrance = direct.tweak + entrance;
                    self.memory.queue.schedule(now + entrance, ControllerEvent::CircuitFree { circuit });
                }
            }
            CircuitWaiter::Read(slot) => {
                let (circuit, occupied) = direct.circuits.occupy_for_read(1);
                self.memory.queue.schedule(now + occupied, ControllerEvent::CircuitFree { circuit });
                self.decrypt(slot, circuit, now);
            }
        }
        true
    }

    /// `ControllerEvent::PadReady`: the write in `slot` is encrypted and claims an entry of the queue.
    fn encrypted(&mut self, slot: u32) {
        let bytes = self.memory.bytes;
        let DirectEngine { cipher, circuits, .. } = &mut **self.direct.as_mut().expect("it has encrypted");
        let write = &mut self.memory.writes[slot];
        circuits.encrypted(write.circuit);
        if bytes {
            write.ciphertext = cipher.encrypt(write.line, &write.plaintext());
        }
        write.stage = Stage::ClaimsEntry;
        self.memory.admission.claim(slot);
    }

    /// `ControllerEvent::ReadRequestsCircuit`: the line of the read in `slot` has come, and is decrypted.
    fn line_arrived(&mut self, slot: u32) {
        let now = self.memory.queue.now();
        let circuits = &mut self.direct().circuits;
        if circuits.are_shared() {
            return circuits.request(CircuitWaiter::Read(slot));
        }
        let (circuit, begun) = circuits.read_pad(now, 1);
        self.decrypt(slot, circuit, begun);
    }

    /// Decrypts the line of the read in `slot` in `circuit`, from the time `begun` on.
    fn decrypt(&mut self, slot: u32, circuit: u32, begun: Ps) {
        let latency = self.direct().circuits.pad;
        let read = &mut self.memory.reads[slot];
        read.pad_at = Some(begun + latency);
        self.memory.observer.pad(read.line, Circuit::Read(circuit), begun, begun + latency);
        self.memory.meter.count_pads(1, latency);
        self.memory.finish_read_if_known(slot);
    }

    fn write_arrives(&mut self, slot: u32) {
        let write = &self.memory.writes[slot];
        let line = write.line;
        self.memory.observer.write_arrived(self.memory.queue.now(), line, &write.plaintext());
        self.memory.writes.arrive(slot, self.memory.writes.has(line));
    }

    fn admit_next(&mut self) -> bool {
        if !self.memory.admission.changed() {
            return false;
        }
        let oldest = self.memory.admission.claims.first().copied();
        let older = oldest.and_then(|slot| self.memory.merges_data(MediaLine::data(self.memory.writes[slot].line)));
        let Some(slot) = oldest.filter(|_| older.is_some() || self.memory.banks.free(false) >= 1) else {
            self.memory.nothing_fits(oldest.is_some());
            return false;
        };
        self.memory.account_occupancy();
        let write = &self.memory.writes[slot];
        let Write { line, origin, circuit, .. } = *write;
        let bytes = if self.direct.is_some() { write.ciphertext } else { write.plaintext() };
        if let Some(direct) = self.direct.as_mut().filter(|_| self.memory.banks.in_modules.is_none()) {
            direct.circuits.give_back(slot, circuit);
        }
        match older {
            Some(older) => self.memory.merge(older, &bytes, None),
            None => {
                let acknowledge = self.memory.token_of(origin);
                self.memory.append(MediaLine::data(line), bytes, 0, true, None, acknowledge);
            }
        }
        self.memory.admission.withdraw(slot);
        self.memory.writes.finish(slot);
        let Origin::Caches(token) = origin else { unreachable!("only the caches write here") };
        self.memory.acknowledge(token);
        true
    }

    fn read_arrives(&mut self, slot: u32) {
        if self.memory.reads.take_room(slot) {
            self.start_read(slot);
        }
    }

    /// Starts the reads that wait for room, if there is some now.
    fn start_waiting_reads(&mut self) {
        while let Some(slot) = self.memory.reads.start_waiting() {
            self.start_read(slot);
        }
    }

    fn start_read(&mut self, slot: u32) {
        let line = self.memory.reads[slot].line;
        let now = self.memory.now();
        self.memory.observer.read_arrived(now, line, true);
        if let Some(write) = self.memory.writes.newest(line) {
            return self.memory.forward(slot, write);
        }
        let media = MediaLine::data(line);
        let queued = self.memory.banks.wpq.newest(media).map(|entry| entry.bytes);
        // Where neither bytes nor a cipher depend on it, the device need not look the line up.
        let matters = self.memory.bytes || self.direct.is_some();
        let blank = matters && queued.is_none() && matches!(self.memory.device.content(media), Content::Never);
        if self.memory.bytes && !blank {
            self.memory.reads[slot].bytes = self.read_bytes(media, queued);
        }
        match &self.direct {
            Some(direct) if !blank && self.memory.banks.in_modules.is_none() => {
                self.memory.reads[slot].tweak_at = Some(now + direct.tweak)
            }
            _ => self.memory.reads[slot].pad_at = Some(now),
        }
        self.memory.reads[slot].blank = blank;
        self.memory.read_data(slot, queued.is_some());
    }

    /// The plaintext of a line that is `queued` or on the media. A populated line that nothing has accessed is encrypted
    /// first.
    fn read_bytes(&mut self, media: MediaLine, queued: Option<LineBytes>) -> LineBytes {
        let line = media.as_line().expect("only data lines are read here");
        let stored = match (queued, self.memory.device.content(media)) {
            (Some(bytes), _) => bytes,
            (None, Content::Stored(bytes)) => *bytes,
            (None, Content::Base(plaintext)) => {
                let plaintext = *plaintext;
                let Some(direct) = &self.direct else { return plaintext };
                let ciphertext = direct.cipher.encrypt(line, &plaintext);
                self.memory.device.materialise(media, &ciphertext);
                ciphertext
            }
            (None, Content::Never) => return [0; 64],
        };
        self.direct.as_ref().map_or(stored, |direct| direct.cipher.decrypt(line, &stored))
    }

    fn read_ready(&mut self, slot: u32) {
        let (origin, line, bytes) = self.memory.reads.finish(slot);
        self.start_waiting_reads();
        let Origin::Caches(token) = origin else { unreachable!("only the caches read here") };
        self.memory.observer.read_answered(self.memory.queue.now(), line, &bytes);
        self.memory.responses.push(Response::Read { token, bytes });
    }
}
