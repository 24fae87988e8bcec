//! Which bank does what next. Reads go first; writes drain from a high to a low watermark, or go to a bank that no read
//! waits for (model.md section 4). Within a bank, requests to the open row go first, but may overtake an older request
//! only a limited number of times. Counter entries never overtake (decision: otherwise the open row of the counter
//! blocks would send each new counter entry out before CWR could remove it).

use super::memory::Memory;
use super::request::BankRead;
use super::wpq::Wpq;
use crate::message::{DevicePort, Event, Location, MediaOp, Observer};
use std::collections::VecDeque;

/// How often in succession a request to the open row may overtake an older request of its bank. Decision: half of a
/// 32-entry queue, which is enough to keep a row open but does not starve a request.
const ROW_HIT_STREAK_MAX: u32 = 16;

struct Bank {
    busy: bool,
    /// Whether the free bank waits for its open row to be programmed; an event reports the end.
    recovering: bool,
    /// How often in succession a request to the open row has overtaken an older one.
    streak: u32,
    reads: VecDeque<BankRead>,
}

/// The banks, and the writes that wait for them.
pub(super) struct Banks {
    pub wpq: Wpq,
    banks: Vec<Bank>,
    /// Whether writes go before reads until few are queued.
    draining: bool,
    /// Whether no more requests will come.
    flushing: bool,
    /// Whether a write may go to a bank that no read waits for when not draining.
    issue_when_idle: bool,
}

impl Banks {
    /// `banks` banks behind `wpq`.
    pub fn new(wpq: Wpq, banks: usize, issue_when_idle: bool) -> Self {
        let bank = || Bank { busy: false, recovering: false, streak: 0, reads: VecDeque::new() };
        let banks = std::iter::repeat_with(bank).take(banks).collect();
        Self { wpq, banks, draining: false, flushing: false, issue_when_idle }
    }

    /// Must be called when an entry has left the queue.
    pub fn drain_until_low(&mut self) {
        if self.draining && self.wpq.is_low() {
            self.draining = false;
        }
    }

    /// What `bank` does next, if it is free.
    fn next_of(&self, bank: u16) -> Option<MediaOp> {
        let state = &self.banks[bank as usize];
        if state.busy {
            return None;
        }
        let reads = !state.reads.is_empty();
        let may_write = self.draining || self.flushing || (self.issue_when_idle && !reads);
        if may_write && (self.draining || !reads) && self.wpq.waits_for(bank) {
            return Some(MediaOp::Write);
        }
        reads.then_some(MediaOp::Read)
    }
}

impl<D: DevicePort, O: Observer> Memory<'_, D, O> {
    /// Declares that no more requests will come: queued writes leave regardless of the watermarks.
    pub fn flush(&mut self) {
        self.banks.flushing = true;
        self.serve_all();
    }

    /// `Event::BankFree`: serves the bank.
    pub fn bank_free(&mut self, bank: u16) {
        self.banks.banks[bank as usize].busy = false;
        self.serve(bank);
    }

    /// `Event::BankRecovered`: serves the bank.
    pub fn bank_recovered(&mut self, bank: u16) {
        self.banks.banks[bank as usize].recovering = false;
        self.serve(bank);
    }

    /// Must be called when an entry has become ready.
    pub fn drain_if_high(&mut self) {
        if self.banks.wpq.is_high() {
            self.start_draining();
        }
    }

    /// From now on, writes go before reads in every bank.
    pub fn start_draining(&mut self) {
        if !self.banks.draining {
            self.banks.draining = true;
            self.serve_all();
        }
    }

    fn serve_all(&mut self) {
        for bank in 0..self.banks.banks.len() as u16 {
            self.serve(bank);
        }
    }

    /// Adds `read` to the requests of its bank.
    pub fn ask_bank(&mut self, read: BankRead) {
        let bank = self.device.locate(read.media()).bank;
        self.banks.banks[bank as usize].reads.push_back(read);
        self.serve(bank);
    }

    /// Gives `bank` its next request if it is free.
    pub fn serve(&mut self, bank: u16) {
        match self.banks.next_of(bank) {
            Some(MediaOp::Write) => self.issue_write(bank),
            Some(MediaOp::Read) => self.issue_read(bank),
            None => {}
        }
    }

    /// Whether `location` can be accessed now. If not, its bank is served again when it can.
    fn is_ready(&mut self, location: Location) -> bool {
        let (ready, now) = (self.device.ready_at(location), self.now());
        let state = &mut self.banks.banks[location.bank as usize];
        if ready > now && !std::mem::replace(&mut state.recovering, true) {
            self.queue.schedule(ready, Event::BankRecovered { bank: location.bank });
        }
        ready <= now
    }

    fn issue_write(&mut self, bank: u16) {
        let now = self.now();
        let streak = self.banks.banks[bank as usize].streak;
        let open = self.device.open_row(bank).filter(|_| streak < ROW_HIT_STREAK_MAX);
        let oldest = self.banks.wpq.oldest(bank).expect("a write waits");
        let slot = open.and_then(|row| self.banks.wpq.oldest_data_in(bank, row)).unwrap_or(oldest);
        let location = self.banks.wpq.entry(slot).location;
        if !self.is_ready(location) {
            return;
        }
        self.banks.wpq.mark_issued(slot);
        let media = self.banks.wpq.entry(slot).media;
        let issued = self.device.issue(now, media, location, MediaOp::Write);
        self.observer.device_access(now, bank, media, MediaOp::Write, issued.data_end);
        let state = &mut self.banks.banks[bank as usize];
        state.streak = if slot == oldest { 0 } else { state.streak + 1 };
        state.busy = true;
        self.queue.schedule(issued.data_end, Event::WriteAccepted { slot });
        self.queue.schedule(issued.bank_free, Event::BankFree { bank });
    }

    fn issue_read(&mut self, bank: u16) {
        let now = self.now();
        let state = &self.banks.banks[bank as usize];
        let may_pass = state.streak < ROW_HIT_STREAK_MAX && state.reads.len() > 1;
        let open = self.device.open_row(bank).filter(|_| may_pass);
        let of_row = |row, read: &BankRead| self.device.locate(read.media()).row == row;
        let hit = open.and_then(|row| state.reads.iter().position(|read| of_row(row, read)));
        let chosen = hit.unwrap_or(0);
        let media = state.reads[chosen].media();
        let location = self.device.locate(media);
        if !self.is_ready(location) {
            return;
        }
        let issued = self.device.issue(now, media, location, MediaOp::Read);
        self.observer.device_access(now, bank, media, MediaOp::Read, issued.data_end);
        let state = &mut self.banks.banks[bank as usize];
        state.streak = if chosen == 0 { 0 } else { state.streak + 1 };
        state.busy = true;
        let read = state.reads.remove(chosen).expect("chosen from the queue");
        self.queue.schedule(issued.bank_free, Event::BankFree { bank });
        match read {
            BankRead::Data(slot, _) => {
                self.reads[slot].data_at = Some(issued.data_end);
                if self.reads.with_counter {
                    self.queue.schedule(issued.data_end, Event::InlineCounterArrives { slot });
                } else {
                    self.finish_read_if_known(slot);
                }
            }
            BankRead::Counter(slot, _) => self.queue.schedule(issued.data_end, Event::CounterFetched { slot }),
        }
    }
}
