//! Lines that rest in the caches as ciphertext under counters of their own (sepencr section IV-A). A line gets its next
//! counter when it turns dirty, in the counter cache; what it later leaves as has been encrypted long before. A line of a page
//! under re-encryption that is dirty in the caches needs no read and no write: its counter starts anew, and the AES engine of
//! the cache encrypts it anew where it rests.

use super::encrypted::Encrypted;
use super::interface::Response;
use super::request::{LineWaiter, Origin, Stage, Turn};
use super::write_path::Bumped;
use crate::message::{DevicePort, Event, Observer, xor};

impl<D: DevicePort, O: Observer> Encrypted<'_, D, O> {
    /// A line that rested encrypted leaves as it rested.
    pub fn take_from_caches(&mut self, slot: u32) {
        let write = &mut self.memory.writes[slot];
        write.counter = self.engine.resident.remove(&write.line.0).expect("a line that rests encrypted has a counter");
        if self.memory.bytes {
            write.ciphertext = xor(&write.plaintext(), &self.engine.pads.pad(write.line, write.counter));
        }
    }

    /// Whether line `index` of the page under re-encryption is dirty in the caches: then all that it needs is a counter.
    pub fn renews_in_caches(&mut self, index: usize) -> bool {
        let line = self.engine.rsr.page.line(index);
        let rests = self.engine.resident.contains_key(&line.0);
        if rests {
            let slot = self.memory.writes.add(line, &[0; 64], Origin::Turn(Turn::Renewed(index)));
            self.memory.writes.active.push(slot);
            self.memory.writes.start(slot);
        }
        rests
    }

    /// The block of the line in `slot` may be in the counter cache: the line takes its next counter there, at once.
    pub fn turn(&mut self, slot: u32, turn: Turn) {
        let line = self.memory.writes[slot].line;
        if matches!(turn, Turn::Dirty(_)) && self.engine.rsr.holds_back(line, LineWaiter::Write(slot)) {
            self.memory.writes[slot].stage = Stage::Waiting;
            return;
        }
        if let Turn::Renewed(index) = turn
            && !self.engine.resident.contains_key(&line.0)
        {
            // It has left meanwhile, under the old counter: it is read back and encrypted like any other.
            self.reencrypt_line(index);
            return self.memory.writes.finish(slot);
        }
        let Some(Bumped { counter, renews, .. }) = self.bump_in_block(slot, true) else { return };
        self.engine.resident.insert(line.0, counter);
        self.memory.meter.stats.pads += 1;
        if renews {
            self.line_renewed(line);
        }
        match turn {
            Turn::Dirty(core) => self.memory.responses.push(Response::CounterBumped { core }),
            Turn::Renewed(_) => {
                self.engine.rsr.under_way -= 1;
                self.memory.next(Event::ReencryptStep);
            }
        }
        self.memory.writes.finish(slot);
    }
}
