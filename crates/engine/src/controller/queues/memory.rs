//! What every memory controller does, with or without encryption: its queues in front of the media.

use super::super::encryption::writeback::Writebacks;
use super::super::in_flight::{BankRead, Origin, Read};
use super::super::interface::Response;
use super::super::meter::Meter;
use super::super::policy::Forwards;
use super::admission::Admission;
use super::reads::Reads;
use super::schedule::Banks;
use super::wpq::Arrival;
use super::writes::Writes;
use crate::kernel::{Ps, Queue};
use crate::message::{
    Content, ControllerEvent, DevicePort, Event, LINE_WORDS, LineBytes, MediaLine, MediaUnit, Observer, WriteToken,
    group_mask,
};

/// The parts of the controller that every machine has, together with what they work on during an event.
pub(in crate::controller) struct Memory<'a, D, O: ?Sized> {
    /// Whether real bytes are moved.
    pub bytes: bool,
    pub reads: &'a mut Reads,
    pub writes: &'a mut Writes,
    pub writebacks: &'a mut Writebacks,
    pub admission: &'a mut Admission,
    pub banks: &'a mut Banks,
    pub meter: &'a mut Meter,
    pub responses: &'a mut Vec<Response>,
    /// Tokens of writes of which either the completion or the programming is still to come.
    pub half_written: &'a mut Vec<u32>,
    pub queue: &'a mut Queue<Event>,
    pub device: &'a mut D,
    pub observer: &'a mut O,
}

impl<D: DevicePort, O: Observer + ?Sized> Memory<'_, D, O> {
    pub fn now(&self) -> Ps {
        self.queue.now()
    }

    /// Schedules a separate event for the current time: power may fail before it.
    pub fn next(&mut self, event: ControllerEvent) {
        self.queue.schedule(self.queue.now(), event);
    }

    /// Puts a write into the write pending queue, which must have a free entry.
    pub fn append(
        &mut self,
        media: MediaLine,
        bytes: LineBytes,
        increment: u64,
        ready: bool,
        beside: Option<(MediaLine, LineBytes)>,
        acknowledge: Option<WriteToken>,
    ) -> u32 {
        let now = self.now();
        let location = self.device.locate(media);
        self.device.prefetch(media);
        self.meter.stats.admitted += 1;
        let epoch = self.meter.epoch;
        let slot =
            self.banks.wpq.push(Arrival { media, location, bytes, ready, now, epoch, increment, beside, acknowledge });
        self.entry_ready();
        if ready {
            self.queued(slot);
            self.serve(location.bank);
        }
        slot
    }

    /// The entry in `slot` has its bytes. If the queue is in the persistence domain, so have they.
    pub fn queued(&mut self, slot: u32) {
        if !self.banks.keeps_queue {
            return;
        }
        let now = self.now();
        for (media, bytes) in self.banks.wpq.entry(slot).units() {
            self.observer.persisted(now, media, bytes);
        }
    }

    /// The bytes of `media` leave the queue because newer ones replace them.
    pub fn replaced(&mut self, media: MediaLine, bytes: &LineBytes) {
        if self.banks.keeps_queue {
            self.observer.coalesced(self.queue.now(), media, bytes);
        }
    }

    /// Replaces the bytes of the queued entry `older`, which no bank has taken, by those of a newer write of its line.
    pub fn merge(&mut self, older: u32, bytes: &LineBytes, beside: Option<(MediaLine, LineBytes)>) {
        let now = self.now();
        self.meter.stats.admitted += 1;
        let entry = self.banks.wpq.entry(older);
        self.meter.count_merged(entry.epoch);
        if self.banks.keeps_queue {
            for (media, bytes) in entry.units() {
                self.observer.coalesced(now, media, bytes);
            }
        }
        self.banks.wpq.replace(older, bytes, 0, beside);
        self.queued(older);
    }

    /// One of the two things that the acknowledgement of a written line waits for: that its write is complete, and that
    /// the device has programmed it.
    pub fn acknowledge_written(&mut self, token: u32) {
        match self.half_written.iter().position(|&other| other == token) {
            Some(at) => {
                self.half_written.swap_remove(at);
                self.responses.push(Response::Written { token: WriteToken(token) });
            }
            None => self.half_written.push(token),
        }
    }

    /// Answers a write of the caches, which is in the persistence domain.
    pub fn acknowledge(&mut self, token: u32) {
        if self.banks.acknowledges_written {
            self.acknowledge_written(token);
        } else {
            self.responses.push(Response::Written { token: WriteToken(token) });
        }
    }

    /// The token that the entry of a write with this origin returns when it is programmed.
    pub fn token_of(&self, origin: Origin) -> Option<WriteToken> {
        match origin {
            Origin::Caches(token) | Origin::Rested(token) if self.banks.acknowledges_written => Some(WriteToken(token)),
            _ => None,
        }
    }

    /// The queued entry that a new write of the line `media` replaces.
    pub fn merges_data(&self, media: MediaLine) -> Option<u32> {
        if self.banks.conventions.merges_writes { self.banks.wpq.superseded(media) } else { None }
    }

    /// Number of words that the write of the entry in `slot` moves, which goes next: all of a line, and of a counter block
    /// whose counters are written alone those that are not as the write before it leaves them. It moves one at least.
    pub fn words_of(&self, slot: u32) -> u8 {
        let Banks { wpq, counters_alone, .. } = &*self.banks;
        let entry = wpq.entry(slot);
        let (Some(scheme), MediaUnit::Counter(id)) = (counters_alone, entry.media.unit()) else { return LINE_WORDS };
        let before = match (wpq.before(slot), self.device.content(entry.media)) {
            (Some(before), _) => before.bytes,
            (None, Content::Stored(block)) => *block,
            (None, _) => {
                scheme.initial(group_mask(scheme.coverage().numbers_of(id), |lines| self.device.populated_mask(lines)))
            }
        };
        changed_words(&before, &entry.bytes).max(1)
    }

    /// Must be called before an entry enters or leaves the write pending queue.
    pub fn account_occupancy(&mut self) {
        self.meter.account_occupancy(self.queue.now(), self.banks.wpq.len());
    }

    /// `ControllerEvent::WriteAccepted`: the bank has the data. The entry leaves the queue and its slot is free.
    pub fn write_accepted(&mut self, slot: u32) {
        self.account_occupancy();
        let now = self.now();
        let may_lose = self.device.may_lose();
        let newer = may_lose && self.banks.wpq.has_newer(slot);
        let entry = self.banks.wpq.remove(slot);
        let keeps_queue = self.banks.keeps_queue;
        for (media, bytes) in entry.units() {
            if !keeps_queue {
                self.observer.persisted(now, media, bytes);
            }
            match self.banks.in_modules.as_ref().zip(media.as_line()).filter(|_| self.observer.listens()) {
                Some((cipher, line)) => self.observer.bus_write(now, media, &cipher.decrypt(line, bytes)),
                None => self.observer.bus_write(now, media, bytes),
            }
            self.device.store(media, bytes);
            let held = if may_lose { self.device.instead(media) } else { None };
            if let Some(held) = held.filter(|_| !(newer && keeps_queue) || media.is_counter()) {
                self.observer.media_hold(now, media, held);
            }
        }
        self.meter.count_written(entry);
        self.entry_left();
        self.admission.look_again();
    }

    /// `ControllerEvent::MediaWritten`: what the media have written survives a power failure.
    pub fn media_written(&mut self) {
        let now = self.now();
        for (media, bytes) in self.device.ended(now) {
            if media.is_counter() || !(self.banks.keeps_queue && self.banks.wpq.holds_ready(media)) {
                self.observer.media_hold(now, media, Some(&bytes));
            }
        }
    }

    /// Has an event come for each write of the media that matters to a power failure.
    pub fn await_media(&mut self) {
        if !self.device.may_lose() {
            return;
        }
        while let Some(at) = self.device.next_end() {
            self.queue.schedule(at.max(self.queue.now()), ControllerEvent::MediaWritten);
        }
    }

    /// Records that no claim fits; `waits`: whether there are claims.
    pub fn nothing_fits(&mut self, waits: bool) {
        self.admission.settled();
        self.meter.set_stalled(self.queue.now(), waits);
        if waits {
            self.press();
        }
    }

    /// Answers the read in `slot` from the write in `write`, which is not yet in the queue and still unencrypted on the
    /// chip.
    pub fn forward(&mut self, slot: u32, write: u32) {
        self.meter.stats.forwarded_reads += 1;
        self.reads[slot].bytes = self.writes[write].plaintext();
        self.queue.schedule(self.queue.now() + self.reads.forwarding, ControllerEvent::ReadReady { slot });
    }

    /// Reads the line of the read in `slot`: from the write pending queue if it is `queued` there and the policy answers
    /// reads from it, otherwise from its bank.
    pub fn read_data(&mut self, slot: u32, queued: bool) {
        let forwards = match self.banks.conventions.forwards {
            Forwards::None => false,
            Forwards::Waiting => self.banks.wpq.superseded(MediaLine::data(self.reads[slot].line)).is_some(),
            Forwards::All => true,
        };
        if queued && forwards {
            self.meter.stats.forwarded_reads += 1;
            self.reads[slot].data_at = Some(self.now());
            self.finish_read_if_known(slot);
        } else {
            self.meter.stats.data_reads += 1;
            self.ask_bank(BankRead::Data(slot, self.reads[slot].line));
        }
    }

    /// Completes the read in `slot` if its line, its pad and what checks it are known.
    pub fn finish_read_if_known(&mut self, slot: u32) {
        if let Some(at) = self.reads.ready_at(slot) {
            self.queue.schedule(at.max(self.now()), ControllerEvent::ReadReady { slot });
            return;
        }
        let Read { data_at, tweak_at, .. } = self.reads[slot];
        if let Some((data, tweak)) = data_at.zip(tweak_at) {
            // Only now can it be decrypted; it has no pad until then.
            self.reads[slot].tweak_at = None;
            let at = data.max(tweak).max(self.now());
            self.queue.schedule(at, ControllerEvent::ReadRequestsCircuit { slot });
        }
    }
}

/// In how many words two blocks differ.
fn changed_words(one: &LineBytes, other: &LineBytes) -> u8 {
    let (one, other) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    one.iter().zip(other).filter(|(one, other)| one != other).count() as u8
}
