//! Lines that rest in the caches as ciphertext under counters of their own (sepencr section IV-A). A line gets its next
//! counter when it turns dirty, in the counter cache; what it later leaves as has been encrypted long before. A line of a page
//! under re-encryption that is dirty in the caches needs no read and no write: its counter starts anew, and the AES engine of
//! the cache encrypts it anew where it rests.

use super::request::{LineWaiter, Source, Stage, Turn};
use super::state::{Context, Controller, Response};
use super::write_path::Bumped;
use crate::kernel::Ps;
use crate::message::{CoreId, DevicePort, Event, Line, LineBytes, Observer, xor};

impl Controller {
    /// Takes the request of `core` for the next counter of `line`, which reaches the controller at `at`; answered by
    /// [`Response::CounterBumped`].
    pub fn accept_bump<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        core: CoreId,
        line: Line,
    ) {
        let slot = self.new_write(line, &[0; 64], Source::Turn(Turn::Dirty(core)));
        cx.queue.schedule(at, Event::WriteArrives { slot });
    }

    /// What `plaintext` is in the caches, where `line` rests encrypted; `None` if it does not.
    pub fn encrypt_resident(&self, line: Line, plaintext: &LineBytes) -> Option<LineBytes> {
        let counter = *self.resident.get(&line.0)?;
        self.encryption.as_ref().map(|encryption| xor(plaintext, &encryption.pads.pad(line, counter)))
    }

    /// A line that rested encrypted leaves as it rested.
    pub(super) fn take_from_caches(&mut self, slot: u32) {
        let line = self.writes[slot].line;
        let counter = self.resident.remove(&line.0).expect("a line that rests encrypted has a counter");
        let encryption = self.encryption.as_ref().expect("lines rest encrypted");
        let write = &mut self.writes[slot];
        write.counter = counter;
        if self.bytes {
            write.ciphertext = xor(&write.plaintext(), &encryption.pads.pad(line, counter));
        }
    }

    /// A line of the page under re-encryption is dirty in the caches: all that it needs is a counter.
    pub(super) fn renews_in_caches<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        index: usize,
    ) -> bool {
        let line = self.rsr.page.line(index);
        if !self.resident.contains_key(&line.0) {
            return false;
        }
        let slot = self.new_write(line, &[0; 64], Source::Turn(Turn::Renewed(index)));
        self.active.push(slot);
        self.start_write(cx, slot);
        true
    }

    /// The block of the line in `slot` may be in the counter cache: the line takes its next counter there, at once.
    pub(super) fn turn<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32, turn: Turn) {
        let line = self.writes[slot].line;
        if matches!(turn, Turn::Dirty(_)) && self.waits_for_reencryption(line, LineWaiter::Write(slot)) {
            self.writes[slot].stage = Stage::Waiting;
            return;
        }
        if let Turn::Renewed(index) = turn
            && !self.resident.contains_key(&line.0)
        {
            // It has left meanwhile, under the old counter: it is read back and encrypted like any other.
            return self.turned(cx, slot, |controller, cx| controller.reencrypt_line(cx, index));
        }
        let Some(Bumped { counter, renews, .. }) = self.bump_in_block(cx, slot, true) else { return };
        self.resident.insert(line.0, counter);
        self.stats.pads += 1;
        if renews {
            self.line_renewed(cx, line);
        }
        match turn {
            Turn::Dirty(core) => self.turned(cx, slot, |controller, _| {
                controller.responses.push(Response::CounterBumped { core });
            }),
            Turn::Renewed(_) => self.turned(cx, slot, |controller, cx| {
                controller.rsr.under_way -= 1;
                cx.queue.schedule(cx.queue.now(), Event::ReencryptStep);
            }),
        }
    }

    /// The line in `slot` has what it asked for.
    fn turned<'a, D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'a, D, O>,
        slot: u32,
        then: impl FnOnce(&mut Self, &mut Context<'a, D, O>),
    ) {
        self.leave_active(slot);
        then(self, cx);
        self.start_next_of_line(cx, slot);
    }
}
