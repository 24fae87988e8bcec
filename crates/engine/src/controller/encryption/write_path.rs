//! A write from its arrival until its pad is ready (model.md section 4; secpm Figures 6 and 7).

use super::super::encrypted::Encrypted;
use super::super::in_flight::{
    Cipher, CircuitWaiter, CounterWaiter, LineWaiter, LogWrite, Origin, Part, Stage, Turn, Write,
};
use crate::kernel::Ps;
use crate::message::{Circuit, ControllerEvent, DevicePort, Line, LineBytes, MediaLine, Observer};
use crate::parts::{Admit, Counter, CounterStore, CounterUpdate, NextCounter};

/// The result of incrementing the counter of a write.
pub(in crate::controller) struct Incremented {
    pub counter: Counter,
    /// The page's block, if the counter is in one.
    pub block: LineBytes,
    /// Whether the write moves its line to the page's new major counter.
    pub renews: bool,
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// `ControllerEvent::WriteArrives`: the write starts, or waits for an earlier one of its line.
    pub fn write_arrives(&mut self, slot: u32) {
        let write = &self.memory.writes[slot];
        let Write { line, origin, .. } = *write;
        let metadata = matches!(origin, Origin::Log(LogWrite { part: Part::Metadata, .. }));
        if !metadata && !matches!(origin, Origin::Reencryption(_) | Origin::Turn(_)) {
            self.memory.observer.write_arrived(self.memory.queue.now(), line, &write.plaintext());
        }
        if self.awaits_acceptance(slot) {
            return;
        }
        // A re-encrypted line goes before writes that wait for its done bit, but not before a write that is already
        // encrypted with the old counter.
        let behind = match origin {
            Origin::Caches(_) | Origin::Rested(_) | Origin::Log(_) | Origin::Turn(_) => self.memory.writes.has(line),
            Origin::Reencryption(_) => {
                self.engine.circuits.staged.iter().any(|&other| self.memory.writes[other].line == line)
            }
        };
        self.memory.writes.arrive(slot, behind);
    }

    /// Starts a write that is the oldest of its line: it requests its counter, or a slot if nothing is encrypted.
    pub fn start_write(&mut self, slot: u32) {
        if let Write { origin: Origin::Caches(token), line, .. } = self.memory.writes[slot]
            && self.engine.resident.contains_key(&line.0)
        {
            self.memory.writes[slot].origin = Origin::Rested(token);
        }
        let Write { line, origin, .. } = self.memory.writes[slot];
        if matches!(origin, Origin::Caches(_)) && self.engine.log.is_some() && self.logging().holds(slot) {
            return;
        }
        if self.waits_for_pair(slot) {
            self.memory.writes[slot].stage = Stage::BehindPair;
            return;
        }
        self.memory.writes[slot].stage = Stage::Waiting;
        match self.engine.cipher_of(origin) {
            Cipher::Counter | Cipher::Turn(_) => {}
            Cipher::Feedback(of) => return self.join_chain(slot, of),
            Cipher::None | Cipher::Resident => {
                let increment = self.memory.writes.next_increment();
                let write = &mut self.memory.writes[slot];
                write.ciphertext = write.plaintext();
                write.stage = Stage::ClaimsEntry;
                write.counter_admitted = true;
                write.increment = increment;
                return self.memory.admission.claim(slot);
            }
        }
        if !matches!(origin, Origin::Reencryption(_) | Origin::Turn(Turn::Renewed(_)))
            && self.engine.rsr.holds_back(line, LineWaiter::Write(slot))
        {
            return;
        }
        if self.engine.counters.store == CounterStore::Inline {
            // The next counter comes from the register and is stored beside the line.
            self.counter_ready(slot);
        } else {
            self.look_up_counter(slot, line);
        }
        if self.engine.cipher_of(origin) == Cipher::Counter {
            self.look_up_metadata(slot, line);
        }
    }

    /// Looks up the counter block of the write in `slot`, of `line`, in the counter cache.
    fn look_up_counter(&mut self, slot: u32, line: Line) {
        let counters = &mut self.engine.counters;
        let id = counters.block(line);
        let needs_block = !counters.scheme.global();
        let hit = counters.cache.get_mut(MediaLine::counter(id)).is_some();
        let from_region = counters.store == CounterStore::Region;
        self.count_lookup(id, hit);
        if hit || !needs_block {
            let at = self.memory.now() + self.engine.counters.latency;
            self.memory.queue.schedule(at, ControllerEvent::CounterReady { slot });
        }
        if !hit && from_region {
            self.fetch_counter(id, needs_block.then_some(CounterWaiter::Write(slot)));
        }
    }

    /// `ControllerEvent::CounterReady`: the write requests an AES circuit, if it is to be encrypted.
    pub fn counter_ready(&mut self, slot: u32) {
        match self.memory.writes[slot].origin {
            Origin::Turn(turn) => self.turn(slot, turn),
            _ => self.request_circuit(slot),
        }
    }

    /// Requests an AES circuit for the write in `slot`, which can be encrypted.
    pub fn request_circuit(&mut self, slot: u32) {
        self.memory.writes[slot].stage = Stage::AwaitsCircuit;
        self.engine.circuits.request(CircuitWaiter::Write(slot));
    }

    /// Gives free circuits to what has waited longest. If a write must append its counter block separately, that is admitted
    /// before the next line takes a circuit.
    pub fn hand_out_units(&mut self) {
        while let Some(waiter) = self.engine.circuits.take_waiting() {
            let slot = match waiter {
                CircuitWaiter::Write(slot) => slot,
                CircuitWaiter::Read(slot) => {
                    self.share_circuit(slot);
                    continue;
                }
            };
            match self.engine.cipher_of(self.memory.writes[slot].origin) {
                Cipher::Feedback(_) => self.begin_feedback(slot),
                Cipher::Counter => self.begin_pad(slot),
                Cipher::None | Cipher::Resident | Cipher::Turn(_) => unreachable!("there is nothing to encrypt"),
            }
            if self.memory.writes[slot].owes_counter {
                return;
            }
        }
    }

    /// Increments the counter and starts the pad. Not possible if the block has been evicted meanwhile, the page is now
    /// under re-encryption, or the minor counter overflows while the status register is in use.
    fn begin_pad(&mut self, slot: u32) {
        let Write { line, origin, counter_atomic, .. } = self.memory.writes[slot];
        self.memory.writes[slot].stage = Stage::Waiting;
        if !matches!(origin, Origin::Reencryption(_)) && self.engine.rsr.holds_back(line, LineWaiter::Write(slot)) {
            return;
        }
        let path = self.engine.write_path_of(origin);
        let (defers, at_bump) = (path.defers_counter(counter_atomic), path.at_bump());
        let at_encrypted = path.at_encrypted(counter_atomic);
        let global = self.engine.counters.scheme.global();
        let incremented =
            if global { Some(self.increment_register(line, defers)) } else { self.increment_in_block(slot, defers) };
        let Some(Incremented { counter, block, renews }) = incremented else { return };
        self.memory.writes[slot].counter = counter;
        let pads = self.pads_of_write(slot);
        self.occupy_circuit(slot, self.engine.before(counter) + self.engine.circuits.pads(pads), pads);
        let counts = renews || self.engine.counters.scheme.counts(counter);
        let write = &mut self.memory.writes[slot];
        write.block = block;
        write.renews = renews;
        // Without a counter of its own, nothing of the block has changed.
        write.counter_admitted =
            !counts || defers || matches!(at_encrypted, Admit::Unready | Admit::DataThenCounter | Admit::Inline);
        write.owes_counter = counts && at_bump == Admit::Counter;
        if write.owes_counter {
            self.memory.admission.claim(slot);
        }
    }

    /// Gives a free circuit to the write in `slot` for the time `latency`, in which it makes so many `pads`.
    pub fn occupy_circuit(&mut self, slot: u32, latency: Ps, pads: u8) {
        self.memory.meter.count_pads(pads, latency);
        let (circuit, entrance) = self.engine.circuits.occupy(slot);
        let increment = self.memory.writes.next_increment();
        let now = self.memory.now();
        let before = self.engine.before(self.memory.writes[slot].counter);
        let write = &mut self.memory.writes[slot];
        write.stage = Stage::Encrypting;
        write.increment = increment;
        write.circuit = circuit;
        self.memory.observer.pad(write.line, Circuit::Write(circuit), now, now + latency);
        self.memory.queue.schedule(now + latency, ControllerEvent::PadReady { slot });
        if let Some(entrance) = entrance {
            let entrance = before + Ps::from(pads) * entrance;
            self.memory.queue.schedule(now + entrance, ControllerEvent::CircuitFree { circuit });
        }
    }

    /// Gives the write of `line` the next value of the global counter.
    fn increment_register(&mut self, line: Line, defers: bool) -> Incremented {
        let counters = &mut self.engine.counters;
        let NextCounter::Is(counter) = counters.scheme.next(&[0; 64], 0, counters.register) else {
            unreachable!("a global counter does not overflow")
        };
        counters.register = counter.major;
        if counters.update == CounterUpdate::AtBump {
            self.update_counter(line, counter, defers);
        }
        Incremented { counter, block: [0; 64], renews: false }
    }

    /// Gives the write in `slot` its line's next counter in the block of its page; `None` if it must wait.
    pub fn increment_in_block(&mut self, slot: u32, defers: bool) -> Option<Incremented> {
        let Write { line, origin, .. } = self.memory.writes[slot];
        let counters = &mut self.engine.counters;
        let (id, index) = (counters.block(line), counters.index(line));
        let Some(block) = counters.cache.get_mut(MediaLine::counter(id)) else {
            self.fetch_counter(id, Some(CounterWaiter::Write(slot)));
            return None;
        };
        let scheme = &counters.scheme;
        // With the data, or now; always now if no data follows.
        let now = counters.update == CounterUpdate::AtBump || matches!(origin, Origin::Turn(_));
        let renewed = matches!(origin, Origin::Reencryption(_) | Origin::Turn(Turn::Renewed(_)));
        let next = if renewed { NextCounter::Is(scheme.restarted(block, index)) } else { scheme.next(block, index, 0) };
        let (counter, old) = match next {
            NextCounter::Is(counter) => (counter, None),
            NextCounter::Overflow if self.engine.rsr.active => {
                self.engine.rsr.overflowing.push_back(slot);
                return None;
            }
            NextCounter::Overflow => {
                let old = *block;
                scheme.increment_major(block, self.engine.rules.minor_reset);
                (scheme.restarted(block, index), Some(old))
            }
        };
        if now {
            scheme.set(block, index, counter);
        }
        let incremented = Incremented { counter, block: *block, renews: old.is_some() || renewed };
        if defers && (now || old.is_some()) {
            self.counter_dirty(id);
        }
        if let Some(old) = old {
            self.begin_reencryption(line, old, counter.major - 1);
            self.major_incremented(id, &incremented.block);
        }
        Some(incremented)
    }

    /// `ControllerEvent::PadReady`: the line is encrypted and claims an entry of the queue.
    pub fn pad_ready(&mut self, slot: u32) {
        let write = &mut self.memory.writes[slot];
        if write.stage == Stage::Encrypting {
            self.engine.circuits.encrypted(write.circuit);
        }
        if let Cipher::Feedback(of) = self.engine.cipher_of(write.origin) {
            self.feedback_done(slot, of);
            return self.claim_entry(slot);
        }
        if self.awaits_line(slot) {
            return;
        }
        let write = &mut self.memory.writes[slot];
        if self.memory.bytes && self.engine.pads.words().is_some() {
            self.encrypt_words(slot);
        } else if self.memory.bytes {
            // The memory's pad replaces the cache's (sepencr section IV-D).
            write.ciphertext = self.engine.pads.encrypt(write.line, write.counter, &write.plaintext());
        }
        if self.engine.integrity.is_some() {
            self.authenticate(slot);
        } else {
            self.claim_entry(slot);
        }
    }

    /// The write in `slot` has everything that goes with it and claims an entry of the queue.
    pub fn claim_entry(&mut self, slot: u32) {
        let write = &mut self.memory.writes[slot];
        write.stage = Stage::ClaimsEntry;
        if write.owes_counter {
            // It has requested one already, and no longer holds back later writes of its page.
            self.memory.admission.look_again();
        } else {
            self.memory.admission.claim(slot);
        }
    }
}
