//! What every memory controller does, with or without encryption: its queues in front of the media.

use super::admission::Admission;
use super::interface::Response;
use super::meter::Meter;
use super::reads::Reads;
use super::request::{BankRead, Read};
use super::schedule::Banks;
use super::wpq::Arrival;
use super::writeback::Writebacks;
use super::writes::Writes;
use crate::kernel::{Ps, Queue};
use crate::message::{CounterBlock, DevicePort, Event, LineBytes, MediaLine, Observer};

/// The parts of the controller that every machine has, together with what they work on during an event.
pub(super) struct Memory<'a, D, O> {
    /// Whether real bytes are moved.
    pub bytes: bool,
    pub reads: &'a mut Reads,
    pub writes: &'a mut Writes,
    pub writebacks: &'a mut Writebacks,
    pub admission: &'a mut Admission,
    pub banks: &'a mut Banks,
    pub meter: &'a mut Meter,
    pub responses: &'a mut Vec<Response>,
    pub queue: &'a mut Queue<Event>,
    pub device: &'a mut D,
    pub observer: &'a mut O,
}

impl<D: DevicePort, O: Observer> Memory<'_, D, O> {
    pub fn now(&self) -> Ps {
        self.queue.now()
    }

    /// Schedules a separate event for the current time: power may fail before it.
    pub fn next(&mut self, event: Event) {
        self.queue.schedule(self.queue.now(), event);
    }

    /// Puts a write into the write pending queue, which must have a free entry.
    pub fn append(
        &mut self,
        media: MediaLine,
        bytes: LineBytes,
        bump: u64,
        ready: bool,
        beside: Option<(CounterBlock, LineBytes)>,
    ) -> u32 {
        let now = self.now();
        let location = self.device.locate(media);
        self.meter.stats.admitted += 1;
        let epoch = self.meter.epoch;
        let slot = self.banks.wpq.push(Arrival { media, location, bytes, ready, epoch, bump, beside });
        self.drain_if_high();
        if ready {
            for (media, bytes) in self.banks.wpq.entry(slot).units() {
                self.observer.persisted(now, media, bytes);
            }
            self.serve(location.bank);
        }
        slot
    }

    /// Must be called before an entry enters or leaves the write pending queue.
    pub fn account_occupancy(&mut self) {
        self.meter.account_occupancy(self.queue.now(), self.banks.wpq.len());
    }

    /// `Event::WriteAccepted`: the bank has the data. The entry leaves the queue and its slot is free.
    pub fn write_accepted(&mut self, slot: u32) {
        self.account_occupancy();
        let now = self.now();
        let entry = self.banks.wpq.remove(slot);
        for (media, bytes) in entry.units() {
            self.observer.bus_write(now, media, bytes);
            self.device.store(media, bytes);
        }
        self.meter.count_written(entry);
        self.banks.drain_until_low();
        self.admission.look_again();
    }

    /// Records that no request for an entry fits; `waits`: whether there are requests.
    pub fn nothing_fits(&mut self, waits: bool) {
        self.admission.settled();
        self.meter.set_stalled(self.queue.now(), waits);
        if waits {
            self.start_draining();
        }
    }

    /// Answers the read in `slot` from the write in `write`, which is not yet in the queue and still unencrypted on the
    /// chip.
    pub fn forward(&mut self, slot: u32, write: u32) {
        self.meter.stats.forwarded_reads += 1;
        self.reads[slot].bytes = self.writes[write].plaintext();
        self.queue.schedule(self.queue.now() + self.reads.forwarding, Event::ReadReady { slot });
    }

    /// Reads the line of the read in `slot`: from the write pending queue if it is `queued` there, otherwise from its
    /// bank.
    pub fn read_data(&mut self, slot: u32, queued: bool) {
        if queued {
            self.meter.stats.forwarded_reads += 1;
            self.reads[slot].data_at = Some(self.now());
            self.finish_read_if_known(slot);
        } else {
            self.meter.stats.data_reads += 1;
            self.ask_bank(BankRead::Data(slot, self.reads[slot].line));
        }
    }

    /// Completes the read in `slot` if both its line and its pad are known.
    pub fn finish_read_if_known(&mut self, slot: u32) {
        if let Read { data_at: Some(data), pad_at: Some(pad), .. } = self.reads[slot] {
            let at = data.max(pad).max(self.now());
            self.queue.schedule(at, Event::ReadReady { slot });
        }
    }
}
