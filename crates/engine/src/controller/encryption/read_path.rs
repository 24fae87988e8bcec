//! A read from its arrival to its answer. Its contents are decided at arrival, in one event, so that nothing that
//! happens while the array is being read can tear them; the rest is timing.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{CircuitWaiter, CounterWaiter, LineWaiter, Origin, Read};
use super::super::interface::Response;
use super::words::stored_of;
use crate::kernel::{Ps, prefetch};
use crate::message::{
    Circuit, Content, ControllerEvent, CounterBlock, CounterCacheAct, DevicePort, Line, LineBytes, MediaLine, Observer,
};
use crate::parts::{Counter, CounterStore, Stored};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// `ControllerEvent::ReadArrives`: a read starts, or waits for room.
    pub fn read_arrives(&mut self, slot: u32) {
        if self.memory.reads.take_room(slot) {
            self.start_read(slot);
        }
    }

    /// Starts the reads that wait for room, if there is some now.
    pub fn start_waiting_reads(&mut self) {
        while let Some(slot) = self.memory.reads.start_waiting() {
            self.start_read(slot);
        }
    }

    fn start_read(&mut self, slot: u32) {
        let Read { line, origin, .. } = self.memory.reads[slot];
        let answered = matches!(origin, Origin::Caches(_));
        self.memory.observer.read_arrived(self.memory.queue.now(), line, answered);
        if let Some(write) = self.view().newest_write(line, origin) {
            return self.memory.forward(slot, write);
        }
        if matches!(origin, Origin::Caches(_)) && self.engine.rsr.holds_back(line, LineWaiter::Read(slot)) {
            return;
        }
        if self.engine.counters.scheme.shreds() && self.is_shredded(line, origin) {
            return self.read_zeros(slot);
        }
        let media = MediaLine::data(line);
        let queued = self.memory.banks.wpq.newest(media).map(stored_of);
        let content = self.memory.device.content(media);
        let blank = queued.is_none() && matches!(content, Content::Never);
        if self.memory.bytes && !blank {
            if let Content::Stored(bytes) | Content::Base(bytes) = content {
                // The host fetches them while the pad is made. They may lie in two of its lines.
                prefetch(&bytes[0]);
                prefetch(&bytes[bytes.len() - 1]);
            }
            let counter = self.counter_for_read(line, origin);
            self.memory.reads[slot].bytes = self.decrypt(line, counter, queued);
            if queued.is_none() && self.engine.integrity.is_some() {
                self.check_mac(line, counter);
            }
        }
        if self.memory.bytes && blank && self.engine.integrity.is_some() {
            self.check_blank(line, origin);
        }
        self.memory.reads[slot].blank = blank;
        if let Some(words) = self.engine.pads.words().filter(|_| !blank) {
            let counter = self.counter_for_read(line, origin);
            self.memory.reads[slot].pads = 1 + u8::from(!words.begins_epoch(counter));
        }
        self.memory.reads[slot].tweak_at = self.engine.tweak.filter(|_| !blank).map(|tweak| self.memory.now() + tweak);
        if self.engine.paged && !blank {
            let direct = self.engine.pads.is_direct(self.counter_for_read(line, origin));
            self.memory.reads[slot].direct_from = direct.then(|| self.memory.now() + self.engine.tweak_latency);
        }
        if !blank && queued.is_none() && self.engine.integrity.is_some() {
            self.check_read(slot);
        }
        self.memory.read_data(slot, queued.is_some());
        // Where counters are only versions, none but the check of a MAC asks for one.
        if self.engine.tweak.is_none() || blank || self.memory.reads[slot].checked {
            self.read_counter(slot, queued.is_some());
        }
    }

    /// Whether `line` reads as zeros because its page was shredded, whatever memory has. A line that was never written is read as
    /// on any machine.
    fn is_shredded(&self, line: Line, origin: Origin) -> bool {
        self.engine.counters.scheme.is_shredded(self.counter_for_read(line, origin))
    }

    /// Answers the read in `slot` of a line that its counter calls zero, from the counter cache. If its block is not there, the line
    /// is read while the block is fetched, because nobody knows better yet.
    fn read_zeros(&mut self, slot: u32) {
        let id = self.engine.counters.block(self.memory.reads[slot].line);
        self.memory.reads[slot].blank = true;
        if self.engine.counters.cache.contains(MediaLine::counter(id)) {
            self.memory.reads[slot].data_at = Some(self.memory.now());
        } else {
            self.memory.read_data(slot, false);
        }
        self.read_counter(slot, false);
    }

    /// Finds the counter of the read in `slot`: that of the line as it is `queued` in the write pending queue, or as it
    /// is on the media.
    fn read_counter(&mut self, slot: u32, queued: bool) {
        let Read { line, origin, .. } = self.memory.reads[slot];
        if matches!(origin, Origin::Reencryption(_)) {
            // Re-encryption has the old counters in its register; the pad starts at once.
            return self.counter_known(slot);
        }
        if self.engine.counters.store == CounterStore::Inline {
            // The counter comes with the line.
            if queued {
                self.counter_known(slot);
            }
            return;
        }
        let id = self.engine.counters.block(line);
        let hit = self.engine.counters.cache.get_mut(MediaLine::counter(id)).is_some();
        self.count_lookup(id, hit);
        if hit {
            self.counter_known_at(slot, self.memory.now() + self.engine.counters.latency);
        } else {
            self.fetch_counter(id, Some(CounterWaiter::Read(slot)));
        }
    }

    /// Counts a lookup of the block `id` in the counter cache. Must be called before a miss begins to fetch the block.
    pub fn count_lookup(&mut self, id: CounterBlock, hit: bool) {
        let stats = &mut self.memory.meter.stats;
        let (counted, act) = if hit {
            (&mut stats.counter_hits, CounterCacheAct::Hit)
        } else if self.engine.counters.fetch_of(id).is_some() {
            (&mut stats.counter_secondary_misses, CounterCacheAct::SecondaryMiss)
        } else {
            (&mut stats.counter_misses, CounterCacheAct::Miss)
        };
        *counted += 1;
        self.memory.observer.counter_cache(self.memory.queue.now(), id, act);
    }

    /// `line` looks as if it had never been written: its counter must say so, too.
    fn check_blank(&mut self, line: Line, origin: Origin) {
        if self.counter_for_read(line, origin) != Counter::NEVER {
            self.refuse(MediaLine::data(line));
        }
    }

    /// The counter that the stored copy of `line` is encrypted with.
    fn counter_for_read(&self, line: Line, origin: Origin) -> Counter {
        let view = self.view();
        let old = if matches!(origin, Origin::Reencryption(_)) { view.old_counter(line) } else { None };
        old.unwrap_or_else(|| view.counter_of(self.memory.device, line))
    }

    /// The plaintext of a written line. A populated line that nothing has accessed is encrypted first.
    fn decrypt(&mut self, line: Line, counter: Counter, queued: Option<Stored>) -> LineBytes {
        let media = MediaLine::data(line);
        let stored = match (queued, self.memory.device.content(media)) {
            (Some(stored), _) => stored,
            (None, Content::Stored(bytes)) => {
                Stored { bytes: *bytes, modified: self.engine.modified_on(self.memory.device, line) }
            }
            (None, Content::Base(plaintext)) => {
                let ciphertext = self.engine.encrypt_first(line, counter, plaintext);
                self.memory.device.materialise(media, &ciphertext);
                Stored { bytes: ciphertext, modified: 0 }
            }
            (None, Content::Never) => return [0; 64],
        };
        self.engine.decrypt(line, counter, &stored)
    }

    /// Handles that the counter of the read in `slot` is now known.
    pub fn counter_known(&mut self, slot: u32) {
        self.counter_known_at(slot, self.memory.now());
    }

    fn counter_known_at(&mut self, slot: u32, known: Ps) {
        let read = &mut self.memory.reads[slot];
        read.counter_at = Some(known);
        if read.blank {
            read.pad_at = Some(known);
            self.memory.finish_read_if_known(slot);
        } else if self.engine.tweak.is_some() {
            // It is decrypted without its counter, which only its MAC needs.
            self.memory.finish_read_if_known(slot);
        } else if let Some(tweak) = read.direct_from {
            // Only now is it known that it has no pad; its tweak has been made during the access.
            read.tweak_at = Some(tweak.max(known));
            self.memory.finish_read_if_known(slot);
        } else if self.engine.circuits.are_shared() {
            self.memory.queue.schedule(known, ControllerEvent::ReadRequestsCircuit { slot });
        } else {
            let (circuit, begun) = self.engine.circuits.read_pad(known, self.memory.reads[slot].pads);
            self.begin_read_pad(slot, circuit, begun);
        }
    }

    /// `ControllerEvent::ReadRequestsCircuit`: the read in `slot` asks for a circuit of writes, or, if its line has come and is
    /// decrypted without pads, takes one of those of reads.
    pub fn read_requests_circuit(&mut self, slot: u32) {
        if self.engine.circuits.are_shared() {
            return self.engine.circuits.request(CircuitWaiter::Read(slot));
        }
        let (circuit, begun) = self.engine.circuits.read_pad(self.memory.now(), 1);
        self.begin_read_pad(slot, circuit, begun);
    }

    /// Makes the pad of the read in `slot` in a circuit of writes, from now on.
    pub fn share_circuit(&mut self, slot: u32) {
        let now = self.memory.now();
        let (circuit, occupied) = self.engine.circuits.occupy_for_read(self.memory.reads[slot].pads);
        self.memory.queue.schedule(now + occupied, ControllerEvent::CircuitFree { circuit });
        self.begin_read_pad(slot, circuit, now);
    }

    /// Makes the pad of the read in `slot` in `circuit`, from the time `begun` on.
    fn begin_read_pad(&mut self, slot: u32, circuit: u32, begun: Ps) {
        let pads = self.memory.reads[slot].pads;
        let latency = self.engine.circuits.pads(pads);
        let read = &mut self.memory.reads[slot];
        read.pad_at = Some(begun + latency);
        self.memory.observer.pad(read.line, Circuit::Read(circuit), begun, begun + latency);
        self.memory.meter.count_pads(pads, latency);
        self.memory.finish_read_if_known(slot);
    }

    /// `ControllerEvent::ReadReady`: the line is decrypted and the read is answered.
    pub fn read_ready(&mut self, slot: u32) {
        let (origin, line, bytes) = self.memory.reads.finish(slot);
        self.start_waiting_reads();
        match origin {
            Origin::Caches(token) => {
                self.memory.observer.read_answered(self.memory.queue.now(), line, &bytes);
                self.memory.responses.push(Response::Read { token, bytes });
            }
            Origin::Rested(_) | Origin::Log(_) | Origin::Turn(_) => unreachable!("these read nothing"),
            Origin::Reencryption(index) => {
                // The log does not concern the caches, and they have evicted something newer if an accepted write still waits.
                let of_log = self.engine.log.as_ref().is_some_and(|log| log.has(line));
                let outdated = self.engine.accepted.is_some() && self.memory.writes.has(line);
                if !of_log && !outdated && !self.memory.writebacks.shreds(line) {
                    self.memory.responses.push(Response::Install { line, bytes });
                }
                let write = self.memory.writes.add(line, &bytes, Origin::Reencryption(index));
                // The line's done bit shows that both have persisted.
                self.memory.writes[write].counter_atomic = true;
                self.write_arrives(write);
            }
        }
    }
}
