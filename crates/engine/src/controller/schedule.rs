//! Carries out what the policy decides: gives banks their next reads and writes, and tells the policy when to decide.

use super::memory::Memory;
use super::policy::{BankFree, Candidate, Choice, Conventions, Look, Next, Schedule};
use super::request::BankRead;
use super::wpq::Wpq;
use crate::config::{Machine, WriteAcknowledged};
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{DevicePort, Event, Issued, Location, MediaOp, Observer};
use std::collections::VecDeque;

/// A read that waits for its bank.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingRead {
    pub read: BankRead,
    pub location: Location,
    pub since: Ps,
}

/// A bank as the controller sees it.
#[derive(Clone)]
pub(super) struct Bank {
    /// Whether it cannot take a request yet; an event reports when it can.
    pub busy: bool,
    /// Whether an event will have it looked at again, because its next request is too early.
    waiting: bool,
    /// In the order of their arrival.
    pub reads: VecDeque<WaitingRead>,
}

/// Number of reads that wait for one of `banks`.
pub(super) fn waiting_reads(banks: &[Bank]) -> usize {
    banks.iter().map(|bank| bank.reads.len()).sum()
}

/// The banks, and what waits for them.
#[derive(Clone)]
pub(super) struct Banks {
    pub wpq: Wpq,
    banks: Vec<Bank>,
    policy: Box<dyn Schedule>,
    pub conventions: Conventions,
    /// Whether the policy's next decision is scheduled.
    awake: bool,
    /// Whether no more requests will come.
    flushing: bool,
    /// Whether writes are acknowledged when they are programmed.
    pub acknowledges_written: bool,
    /// Added to the end of data, in picoseconds.
    answer_latency: Ps,
}

impl Banks {
    /// `banks` banks behind `wpq`.
    pub fn new(machine: &Machine, policy: Box<dyn Schedule>, wpq: Wpq, banks: usize) -> Self {
        let bank = || Bank { busy: false, waiting: false, reads: VecDeque::new() };
        Self {
            wpq,
            banks: std::iter::repeat_with(bank).take(banks).collect(),
            conventions: policy.conventions(),
            policy,
            awake: false,
            flushing: false,
            acknowledges_written: machine.controller.write_acknowledged == WriteAcknowledged::Written,
            answer_latency: ns_to_ps(machine.controller.answer_latency_ns),
        }
    }

    /// Number of entries for counter blocks or for data that a write may take now.
    pub fn free(&self, counter: bool) -> usize {
        if self.conventions.turns_writes_away && !self.policy.takes_writes() {
            return 0;
        }
        let free = self.wpq.free(counter);
        if self.conventions.shared_queue { free.saturating_sub(waiting_reads(&self.banks)) } else { free }
    }

    /// Whether `bank` can take a request and something waits for it.
    fn wants(&self, bank: u16) -> bool {
        let Bank { busy, reads, .. } = &self.banks[bank as usize];
        !busy && (!reads.is_empty() || self.wpq.oldest(bank).is_some())
    }

    /// Must be called when an entry has left the queue.
    pub fn entry_left(&mut self) {
        self.policy.left(&self.wpq);
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Memory<'_, D, O> {
    /// Declares that no more requests will come: queued writes leave regardless of the watermarks.
    pub fn flush(&mut self) {
        self.banks.flushing = true;
        self.serve_all();
    }

    /// `Event::BankFree`: serves the bank.
    pub fn bank_free(&mut self, bank: u16) {
        self.banks.banks[bank as usize].busy = false;
        self.serve(bank);
        let banks = &*self.banks;
        if banks.conventions.paced && !banks.policy.takes_writes() && !banks.banks.iter().any(|bank| bank.busy) {
            // Nothing else might have the policy notice that writes may enter again.
            self.wake();
        }
    }

    /// `Event::BankReady`: serves the bank.
    pub fn bank_ready(&mut self, bank: u16) {
        self.banks.banks[bank as usize].waiting = false;
        self.serve(bank);
    }

    /// `Event::Decide`: one decision of a policy that looks at all banks.
    pub fn decide(&mut self) {
        self.banks.awake = false;
        if self.issue_next(0) && (0..self.banks.banks.len() as u16).any(|bank| self.banks.wants(bank)) {
            self.wake();
        }
    }

    /// Must be called when an entry has become ready.
    pub fn entry_ready(&mut self) {
        if self.banks.policy.filled(&self.banks.wpq) {
            self.serve_all();
        }
    }

    /// Something waits for entries that will not become free unless writes leave.
    pub fn press(&mut self) {
        if self.banks.policy.press() {
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
        let (location, since) = (self.device.locate(read.media()), self.now());
        self.banks.banks[location.bank as usize].reads.push_back(WaitingRead { read, location, since });
        self.serve(location.bank);
    }

    /// Gives `bank` its next requests, or has the policy decide when its turn comes.
    pub fn serve(&mut self, bank: u16) {
        if self.banks.conventions.paced {
            if self.banks.wants(bank) {
                self.wake();
            }
        } else {
            while !self.banks.banks[bank as usize].busy && self.issue_next(bank) {}
        }
    }

    fn wake(&mut self) {
        if !std::mem::replace(&mut self.banks.awake, true) {
            self.queue.schedule(self.banks.policy.turn(self.queue.now()), Event::Decide);
        }
    }

    /// Issues the request that goes next; returns false if there is none.
    fn issue_next(&mut self, bank: u16) -> bool {
        let Banks { wpq, banks, policy, flushing, conventions, .. } = &mut *self.banks;
        let look = Look { banks, wpq, device: &*self.device, now: self.queue.now(), flushing: *flushing };
        let next = if conventions.turns_writes_away {
            let took = policy.takes_writes();
            let next = policy.next(&look, bank);
            if took != policy.takes_writes() {
                self.admission.look_again();
            }
            next
        } else {
            policy.next(&look, bank)
        };
        match next {
            Next::Issue(choice) => self.issue(&choice),
            Next::Wait(bank, ready) => self.wait(bank, ready),
            Next::AtTurn => self.wake(),
            Next::Nothing => {}
        }
        matches!(next, Next::Issue(_))
    }

    /// Has `bank` looked at again at `ready`.
    fn wait(&mut self, bank: u16, ready: Ps) {
        if !std::mem::replace(&mut self.banks.banks[bank as usize].waiting, true) {
            self.queue.schedule(ready, Event::BankReady { bank });
        }
    }

    fn issue(&mut self, choice: &Choice) {
        let issued = match choice.request {
            Candidate::Read(index) => self.issue_read(choice, index),
            Candidate::Write(slot) => self.issue_write(choice, slot),
        };
        self.banks.policy.issued(choice, &issued);
        let bank = choice.bank;
        let free = match self.banks.conventions.bank_free {
            BankFree::Always => return,
            BankFree::AtCommand => issued.command,
            BankFree::AtNextColumn => issued.next,
        };
        self.banks.banks[bank as usize].busy = true;
        self.queue.schedule(free, Event::BankFree { bank });
    }

    fn issue_write(&mut self, choice: &Choice, slot: u32) -> Issued {
        let now = self.now();
        self.banks.wpq.mark_issued(slot);
        let entry = self.banks.wpq.entry(slot);
        let (media, acknowledge) = (entry.media, entry.acknowledge);
        let issued = self.device.issue(now, media, entry.location, MediaOp::Write, choice.not_before);
        self.observer.device_access(now, choice.bank, media, MediaOp::Write, issued.done);
        self.queue.schedule(issued.data_end, Event::WriteAccepted { slot });
        if let Some(token) = acknowledge {
            let at = issued.done + self.banks.answer_latency;
            self.queue.schedule(at, Event::WriteProgrammed { token: token.0 });
        }
        if self.banks.conventions.writes_free_at_issue {
            self.admission.look_again();
        }
        issued
    }

    fn issue_read(&mut self, choice: &Choice, index: usize) -> Issued {
        let now = self.now();
        let waiting = &mut self.banks.banks[choice.bank as usize].reads;
        let WaitingRead { read, location, .. } = waiting.remove(index).expect("chosen from the queue");
        let media = read.media();
        let issued = self.device.issue(now, media, location, MediaOp::Read, choice.not_before);
        self.observer.device_access(now, choice.bank, media, MediaOp::Read, issued.data_end);
        let answered = issued.data_end + self.banks.answer_latency;
        match read {
            BankRead::Data(slot, _) => {
                self.reads[slot].data_at = Some(answered);
                if self.banks.conventions.reads_free_at_issue {
                    self.reads.free_room(slot);
                }
                if self.reads.with_counter {
                    self.queue.schedule(answered, Event::InlineCounterArrives { slot });
                } else {
                    self.finish_read_if_known(slot);
                }
            }
            BankRead::Counter(slot, _) => self.queue.schedule(answered, Event::CounterFetched { slot }),
            BankRead::Metadata(slot, _) => self.queue.schedule(answered, Event::MetadataFetched { slot }),
        }
        if self.banks.conventions.shared_queue {
            self.admission.look_again();
        }
        issued
    }
}
