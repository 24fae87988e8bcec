//! Which bank does what next. Reads first; writes drain from a high to a low watermark, or go to a bank that no read
//! waits for (model.md section 4). Within a bank the open row goes first, but not past an older request for ever.
//! Counter entries never jump the queue (decision: the open row of the counter blocks would otherwise send each new
//! counter entry out before CWR could remove it).

use super::request::BankRead;
use super::state::{Context, Controller};
use super::wpq::Entry;
use crate::message::{DevicePort, Event, Location, MediaLine, MediaOp, Observer};
use crate::parts::CounterStore;

/// How often in a row an open-row request may pass an older one in its bank. Decision: half of a 32-entry queue,
/// enough to keep a row open and too few to starve anyone.
const ROW_HIT_STREAK_MAX: u32 = 16;

impl Controller {
    /// Every bank looks for work, because draining has just begun.
    pub(super) fn serve_all<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        for bank in 0..self.banks.len() as u16 {
            self.serve(cx, bank);
        }
    }

    /// `Event::BankFree`.
    pub(super) fn bank_free<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, bank: u16) {
        self.banks[bank as usize].busy = false;
        self.serve(cx, bank);
    }

    /// `Event::BankRecovered`.
    pub(super) fn bank_recovered<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, bank: u16) {
        self.banks[bank as usize].recovering = false;
        self.serve(cx, bank);
    }

    /// Whether `location` can be had now. If not, its bank is served again when it can.
    fn is_ready<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, location: Location) -> bool {
        let ready = cx.device.ready_at(location);
        let state = &mut self.banks[location.bank as usize];
        if ready > cx.queue.now() && !std::mem::replace(&mut state.recovering, true) {
            cx.queue.schedule(ready, Event::BankRecovered { bank: location.bank });
        }
        ready <= cx.queue.now()
    }

    /// Nothing more will come: what is queued leaves whatever the watermarks say.
    pub fn flush<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        self.flushing = true;
        self.serve_all(cx);
    }

    /// Gives `bank` its next request if it is free.
    pub(super) fn serve<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, bank: u16) {
        let state = &self.banks[bank as usize];
        if state.busy {
            return;
        }
        let reads = !state.reads.is_empty();
        let writes = self.wpq.waits_for(bank);
        let may_write = self.draining || self.flushing || (self.config.wpq_issue_when_idle && !reads);
        if writes && may_write && (self.draining || !reads) {
            self.issue_write(cx, bank);
        } else if reads {
            self.issue_read(cx, bank);
        }
    }

    fn issue_write<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, bank: u16) {
        let now = cx.queue.now();
        let state = &mut self.banks[bank as usize];
        let open = cx.device.open_row(bank).filter(|_| state.streak < ROW_HIT_STREAK_MAX);
        let oldest = self.wpq.oldest(bank).expect("a write waits");
        let slot = open.and_then(|row| self.wpq.oldest_data_in(bank, row)).unwrap_or(oldest);
        let location = self.wpq.entry(slot).location;
        if !self.is_ready(cx, location) {
            return;
        }
        let state = &mut self.banks[bank as usize];
        state.streak = if slot == oldest { 0 } else { state.streak + 1 };
        self.wpq.mark_issued(slot);
        let entry = self.wpq.entry(slot);
        let issued = cx.device.issue(now, entry.media, entry.location, MediaOp::Write);
        cx.observer.device_access(now, bank, entry.media, MediaOp::Write, issued.data_end);
        state.busy = true;
        cx.queue.schedule(issued.data_end, Event::WriteAccepted { slot });
        cx.queue.schedule(issued.bank_free, Event::BankFree { bank });
    }

    fn issue_read<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, bank: u16) {
        let now = cx.queue.now();
        let media = |read: &BankRead| match *read {
            BankRead::Data(slot) => MediaLine::data(self.reads[slot].line),
            BankRead::Counter(slot) => MediaLine::counter(self.fetches[slot].id),
        };
        let state = &self.banks[bank as usize];
        let may_pass = state.streak < ROW_HIT_STREAK_MAX && state.reads.len() > 1;
        let open = cx.device.open_row(bank).filter(|_| may_pass);
        let hit = open.and_then(|row| state.reads.iter().position(|read| cx.device.locate(media(read)).row == row));
        let chosen = hit.unwrap_or(0);
        let media = media(&state.reads[chosen]);
        let location = cx.device.locate(media);
        if !self.is_ready(cx, location) {
            return;
        }
        let issued = cx.device.issue(now, media, location, MediaOp::Read);
        cx.observer.device_access(now, bank, media, MediaOp::Read, issued.data_end);
        let state = &mut self.banks[bank as usize];
        state.streak = if chosen == 0 { 0 } else { state.streak + 1 };
        state.busy = true;
        let read = state.reads.remove(chosen).expect("chosen from the queue");
        cx.queue.schedule(issued.bank_free, Event::BankFree { bank });
        match read {
            BankRead::Data(slot) => {
                self.reads[slot].data_at = Some(issued.data_end);
                if self.store == CounterStore::Inline {
                    cx.queue.schedule(issued.data_end, Event::InlineCounterArrives { slot });
                } else {
                    self.finish_read_if_known(cx, slot);
                }
            }
            BankRead::Counter(slot) => cx.queue.schedule(issued.data_end, Event::CounterFetched { slot }),
        }
    }

    /// `Event::WriteAccepted`: the bank has the data; the entry leaves the queue and a slot is free.
    pub(super) fn write_accepted<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let now = cx.queue.now();
        self.account_occupancy(now);
        let Entry { media, bytes, beside, epoch, .. } = *self.wpq.remove(slot);
        for (unit, bytes) in self.units_of(media, bytes, beside) {
            cx.observer.bus_write(now, unit, &bytes);
            cx.device.store(unit, &bytes);
        }
        if epoch == self.epoch {
            let written = match (media.is_counter(), self.is_log(media)) {
                (true, _) => &mut self.stats.counter_writes,
                (false, true) => &mut self.stats.log_writes,
                (false, false) => &mut self.stats.data_writes,
            };
            *written += 1;
        }
        if self.draining && self.wpq.is_low() {
            self.draining = false;
        }
        self.admit(cx);
    }
}
