//! Lines that are encrypted in the caches with their own counters (sepencr section IV-A). A line gets its next counter,
//! in the counter cache, when it becomes dirty, so its bytes are already encrypted when it leaves. A line of a page
//! under re-encryption that is dirty in the caches needs no read and no write: its counter starts again, and the AES
//! engine of the cache re-encrypts it in place.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{LineWaiter, Origin, Stage, Turn};
use super::super::interface::Response;
use super::write_path::Incremented;
use crate::message::{ControllerEvent, DevicePort, Observer};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Writes a line that was encrypted in the caches as it was stored there.
    pub fn take_from_caches(&mut self, slot: u32) {
        let write = &mut self.memory.writes[slot];
        write.counter = self.engine.resident.remove(&write.line.0).expect("a line that rests encrypted has a counter");
        if self.memory.bytes {
            write.ciphertext = self.engine.pads.encrypt(write.line, write.counter, &write.plaintext());
        }
    }

    /// Whether line `index` of the group under re-encryption is dirty in the caches: then it needs only a counter.
    pub fn renews_in_caches(&mut self, index: usize) -> bool {
        let line = self.engine.rsr.group.line(index);
        let rests = self.engine.resident.contains_key(&line.0);
        if rests {
            let slot = self.memory.writes.add(line, &[0; 64], Origin::Turn(Turn::Renewed(index)));
            self.memory.writes.start_own(slot);
        }
        rests
    }

    /// Gives the line in `slot` its next counter at once, if its block is in the counter cache.
    pub fn turn(&mut self, slot: u32, turn: Turn) {
        let line = self.memory.writes[slot].line;
        if matches!(turn, Turn::Dirty(_)) && self.engine.rsr.holds_back(line, LineWaiter::Write(slot)) {
            self.memory.writes[slot].stage = Stage::Waiting;
            return;
        }
        if let Turn::Renewed(index) = turn
            && !self.engine.resident.contains_key(&line.0)
        {
            // The line has left meanwhile, with the old counter: it is read back and encrypted like any other.
            self.reencrypt_line(index);
            return self.memory.writes.finish(slot);
        }
        let Some(Incremented { counter, renews, .. }) = self.increment_in_block(slot, true) else { return };
        self.engine.resident.insert(line.0, counter);
        self.memory.meter.stats.pads += 1;
        if renews {
            self.line_renewed(line);
        }
        match turn {
            Turn::Dirty(core) => self.memory.responses.push(Response::CounterIncremented { core }),
            Turn::Renewed(_) => {
                self.engine.rsr.under_way -= 1;
                self.memory.next(ControllerEvent::ReencryptStep);
            }
        }
        self.memory.writes.finish(slot);
    }
}
