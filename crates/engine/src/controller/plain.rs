//! The controller of a machine without encryption: a write claims an entry when it starts, a read needs no pad.

use super::in_flight::{Origin, Stage, Write};
use super::interface::Response;
use super::queues::memory::Memory;
use crate::message::{Content, ControllerEvent, DevicePort, MediaLine, Observer};

/// A controller without encryption, together with what it works on during an event.
pub(super) struct Plain<'a, D, O: ?Sized> {
    pub memory: Memory<'a, D, O>,
}

impl<D: DevicePort, O: Observer + ?Sized> Plain<'_, D, O> {
    /// Handles one event: its handler marks the consequences, and [`Plain::settle`] performs them.
    pub fn handle(&mut self, event: ControllerEvent) {
        match event {
            // These mark nothing.
            ControllerEvent::ReadArrives { slot } => return self.read_arrives(slot),
            ControllerEvent::ReadReady { slot } => return self.read_ready(slot),
            ControllerEvent::WriteProgrammed { token } => return self.memory.acknowledge_written(token),
            ControllerEvent::BankReady { bank } => self.memory.bank_ready(bank),
            ControllerEvent::Decide => self.memory.decide(),
            // There are no counters to write back.
            ControllerEvent::CounterWritebackArrives { slot } => return self.memory.acknowledge_writeback(slot),
            ControllerEvent::WriteArrives { slot } => self.write_arrives(slot),
            ControllerEvent::WriteAccepted { slot } => self.memory.write_accepted(slot),
            _ => unreachable!("{event:?} reached a controller without encryption"),
        }
        self.start_waiting_reads();
        self.settle();
    }

    /// Performs everything that the handler of an event has marked, until nothing is left: a write that is now first in
    /// its line claims an entry, and the oldest claim enters the write pending queue, if it fits.
    fn settle(&mut self) {
        while self.start_next_write() || self.admit_next() {}
    }

    fn start_next_write(&mut self) -> bool {
        let starting = self.memory.writes.take_starting();
        if let Some(slot) = starting {
            self.memory.writes[slot].stage = Stage::ClaimsEntry;
            self.memory.admission.claim(slot);
        }
        starting.is_some()
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
        let Write { line, origin, .. } = *write;
        let bytes = write.plaintext();
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
        let queued = self.memory.banks.wpq.newest(media);
        if self.memory.bytes {
            self.memory.reads[slot].bytes = match (queued, self.memory.device.content(media)) {
                (Some(entry), _) => entry.bytes,
                (None, Content::Base(bytes) | Content::Stored(bytes)) => *bytes,
                (None, Content::Never) => [0; 64],
            };
        }
        let queued = queued.is_some();
        self.memory.reads[slot].pad_at = Some(now);
        self.memory.read_data(slot, queued);
    }

    fn read_ready(&mut self, slot: u32) {
        let (origin, line, bytes) = self.memory.reads.finish(slot);
        self.start_waiting_reads();
        let Origin::Caches(token) = origin else { unreachable!("only the caches read here") };
        self.memory.observer.read_answered(self.memory.queue.now(), line, &bytes);
        self.memory.responses.push(Response::Read { token, bytes });
    }
}
