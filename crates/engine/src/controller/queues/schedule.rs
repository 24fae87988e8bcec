//! Carries out what the policy decides: gives banks their next reads and writes, and tells the policy when to decide.

use super::super::in_flight::{BankRead, Compared, Stage};
use super::super::policy::{BankFree, Candidate, Choice, Conventions, Look, Next, RowStep, Schedule};
use super::bank_queues::BankQueues;
use super::memory::Memory;
use super::wpq::Wpq;
use crate::config::{Machine, WriteAcknowledged};
use crate::kernel::{Ps, Queue, Slab, ns_to_ps};
use crate::message::{ControllerEvent, DevicePort, Event, Issued, LINE_WORDS, Location, MediaLine, MediaOp, Observer};
use crate::parts::{CounterScheme, LineCipher};
use std::collections::VecDeque;
use std::sync::Arc;

/// A read that waits for its bank.
#[derive(Clone, Copy, Debug)]
pub(in crate::controller) struct WaitingRead {
    pub read: BankRead,
    pub location: Location,
    pub since: Ps,
    /// Its number among all reads that have waited.
    pub number: u64,
}

/// The reads that wait for their banks, by slot.
#[derive(Clone)]
pub(in crate::controller) struct WaitingReads {
    slots: Slab<WaitingRead>,
    queues: BankQueues,
    added: u64,
    /// Those that the modules have not been told of, if they are told.
    untold: VecDeque<(MediaLine, Location)>,
}

impl WaitingReads {
    fn new(banks: usize) -> Self {
        Self { slots: Slab::default(), queues: BankQueues::new(banks), added: 0, untold: VecDeque::new() }
    }

    fn add(&mut self, read: BankRead, location: Location, since: Ps) {
        self.added += 1;
        let slot = self.slots.insert(WaitingRead { read, location, since, number: self.added });
        self.queues.push(slot, location);
    }

    fn take(&mut self, slot: u32) -> WaitingRead {
        self.queues.remove(slot);
        self.slots.release(slot);
        self.slots[slot]
    }

    /// The read in `slot`.
    pub fn get(&self, slot: u32) -> &WaitingRead {
        &self.slots[slot]
    }

    /// What waits for each bank.
    pub fn waiting(&self) -> &BankQueues {
        &self.queues
    }
}

/// A bank as the controller sees it.
#[derive(Clone, Copy)]
pub(in crate::controller) struct Bank {
    /// From when on it can take a request, in picoseconds.
    pub free: Ps,
    /// When an event will have it looked at again; `Ps::MAX` if none will.
    wakes: Ps,
}

/// The banks, and what waits for them.
#[derive(Clone)]
pub(in crate::controller) struct Banks {
    pub wpq: Wpq,
    reads: WaitingReads,
    banks: Vec<Bank>,
    policy: Box<dyn Schedule>,
    pub conventions: Conventions,
    /// Whether the policy's next decision is scheduled.
    awake: bool,
    /// Whether no more requests will come.
    flushing: bool,
    /// Whether a power failure leaves what is in the queue.
    pub keeps_queue: bool,
    /// Whether writes are acknowledged when they are programmed.
    pub acknowledges_written: bool,
    /// Added to the end of data, in picoseconds.
    answer_latency: Ps,
    /// The scheme of the counters of which only those that changed are written; `None` if whole blocks are.
    pub counters_alone: Option<Arc<dyn CounterScheme>>,
    /// What modules encrypt with, if they do: lines are queued as a power failure leaves them, and cross the bus in the clear.
    pub in_modules: Option<Arc<dyn LineCipher>>,
}

impl Banks {
    /// `banks` banks behind `wpq`.
    pub fn new(machine: &Machine, policy: Box<dyn Schedule>, wpq: Wpq, banks: usize) -> Self {
        Self {
            wpq,
            reads: WaitingReads::new(banks),
            banks: vec![Bank { free: 0, wakes: Ps::MAX }; banks],
            conventions: policy.conventions(),
            policy,
            awake: false,
            flushing: false,
            keeps_queue: machine.link.keeps_queue(),
            acknowledges_written: machine.controller.write_acknowledged == WriteAcknowledged::Written,
            answer_latency: ns_to_ps(machine.controller.answer_latency_ns),
            counters_alone: None,
            in_modules: None,
        }
    }

    /// Number of entries for counter blocks or for data that a write may take now.
    pub fn free(&self, counter: bool) -> usize {
        self.room(counter, 0)
    }

    /// As [`Self::free`], for a write that has `own` entries of data already.
    pub fn room(&self, counter: bool, own: usize) -> usize {
        if self.conventions.turns_writes_away && !self.policy.takes_writes() {
            return 0;
        }
        let free = self.wpq.room(counter, own);
        if self.conventions.shared_queue { free.saturating_sub(self.reads.queues.len()) } else { free }
    }

    /// Whether something waits for `bank`.
    fn waits(&self, bank: u16) -> bool {
        self.reads.waiting().oldest(bank).is_some() || self.wpq.waiting().oldest(bank).is_some()
    }

    /// Whether `bank` can take a request `now` and something waits for it.
    fn wants(&self, bank: u16, now: Ps) -> bool {
        self.banks[bank as usize].free <= now && self.waits(bank)
    }

    /// Has `bank` looked at again at `at`, unless it will be earlier.
    fn wake(&mut self, bank: u16, at: Ps, queue: &mut Queue<Event>) {
        let wakes = &mut self.banks[bank as usize].wakes;
        if at < *wakes {
            *wakes = at;
            queue.schedule(at, ControllerEvent::BankReady { bank });
        }
    }

    /// Has the banks looked at again that are busy, when they are free.
    pub fn wake_busy(&mut self, queue: &mut Queue<Event>) {
        for bank in 0..self.banks.len() as u16 {
            let Bank { free, .. } = self.banks[bank as usize];
            if free > queue.now() {
                self.wake(bank, free, queue);
            }
        }
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Memory<'_, D, O> {
    /// Declares that no more requests will come: queued writes leave regardless of the watermarks.
    pub fn flush(&mut self) {
        self.banks.flushing = true;
        self.serve_all();
    }

    /// `ControllerEvent::BankReady`: serves the bank.
    pub fn bank_ready(&mut self, bank: u16) {
        let (banks, now) = (&mut *self.banks, self.queue.now());
        if banks.banks[bank as usize].wakes == now {
            banks.banks[bank as usize].wakes = Ps::MAX;
        }
        self.serve(bank);
        let banks = &*self.banks;
        if banks.conventions.paced && !banks.policy.takes_writes() && banks.banks.iter().all(|bank| bank.free <= now) {
            // Nothing else might have the policy notice that writes may enter again.
            self.decide_soon();
        }
    }

    /// `ControllerEvent::Decide`: one decision of a policy that looks at all banks.
    pub fn decide(&mut self) {
        self.banks.awake = false;
        let now = self.queue.now();
        if let Some((media, location)) = self.banks.reads.untold.pop_front() {
            self.device.begin_read(now, media, location);
        }
        if self.banks.conventions.sends_commands {
            while self.issue_next(0) {}
        } else if self.issue_next(0) {
            let Banks { wpq, reads, banks, policy, flushing, .. } = &mut *self.banks;
            policy.settle(&Look { banks, reads, wpq, device: &*self.device, now, flushing: *flushing });
            if (0..self.banks.banks.len() as u16).any(|bank| self.banks.wants(bank, now)) {
                self.decide_soon();
            }
        }
    }

    /// Must be called when an entry has become ready.
    pub fn entry_ready(&mut self) {
        if self.banks.policy.filled(&self.banks.wpq) {
            self.serve_all();
        }
    }

    /// Must be called when an entry has left the queue.
    pub fn entry_left(&mut self) {
        if self.banks.policy.left(&self.banks.wpq) {
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
        if self.banks.conventions.tells_reads {
            self.banks.reads.untold.push_back((read.media(), location));
        }
        self.banks.reads.add(read, location, since);
        self.serve(location.bank);
    }

    /// Gives `bank` its next requests, or has the policy decide when its turn comes.
    pub fn serve(&mut self, bank: u16) {
        if self.banks.conventions.paced {
            if self.banks.wants(bank, self.queue.now()) {
                self.decide_soon();
            }
        } else {
            while self.banks.waits(bank) && self.issue_next(bank) {}
        }
    }

    fn decide_soon(&mut self) {
        if !std::mem::replace(&mut self.banks.awake, true) {
            self.queue.schedule(self.banks.policy.turn(self.queue.now()), ControllerEvent::Decide);
        }
    }

    /// Issues the request that goes next; returns false if there is none. A bank that is busy, or is not ready for that
    /// request, is looked at again when it is.
    fn issue_next(&mut self, bank: u16) -> bool {
        let Banks { wpq, reads, banks, policy, flushing, conventions, .. } = &mut *self.banks;
        let now = self.queue.now();
        let at = if conventions.paced { now } else { now.max(banks[bank as usize].free) };
        if at > now && banks[bank as usize].wakes <= at {
            return false;
        }
        let look = Look { banks, reads, wpq, device: &*self.device, now: at, flushing: *flushing };
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
            Next::Issue(choice) if at == now => {
                self.issue(&choice);
                return true;
            }
            Next::Row(step) => {
                self.send(&step);
                return true;
            }
            Next::Issue(_) => self.banks.wake(bank, at, self.queue),
            Next::Wait(bank, ready) => self.banks.wake(bank, ready, self.queue),
            Next::AtTurn => self.decide_soon(),
            Next::Nothing => {}
        }
        false
    }

    /// Sends a command about rows.
    fn send(&mut self, step: &RowStep) {
        self.device.send(step.at, step.command);
        match step.opened {
            None => return,
            Some(Candidate::Write(slot)) => self.banks.wpq.mark_opened(slot),
            Some(Candidate::Read(slot)) => {
                if let BankRead::Data(slot, _) = self.banks.reads.get(slot).read {
                    self.reads.free_room(slot);
                }
            }
        }
        self.admission.look_again();
    }

    fn issue(&mut self, choice: &Choice) {
        let issued = match choice.request {
            Candidate::Read(slot) => self.issue_read(choice, slot),
            Candidate::Write(slot) => self.issue_write(choice, slot),
        };
        self.await_media();
        self.banks.policy.issued(choice, &issued);
        let bank = choice.bank;
        let free = match self.banks.conventions.bank_free {
            BankFree::Always => return,
            BankFree::AtCommand => issued.command,
            BankFree::AtNextColumn => issued.next,
        };
        self.banks.banks[bank as usize].free = free;
        if self.banks.conventions.paced {
            self.banks.wake(bank, free, self.queue);
        }
    }

    fn issue_write(&mut self, choice: &Choice, slot: u32) -> Issued {
        let now = self.now();
        let words = self.words_of(slot);
        self.banks.wpq.mark_issued(slot, words);
        let entry = self.banks.wpq.entry(slot);
        let (media, acknowledge) = (entry.media, entry.acknowledge);
        let issued = self.device.issue(now, media, entry.location, MediaOp::Write, words, choice.not_before);
        self.observer.device_access(now, choice.bank, media, MediaOp::Write, issued.done);
        self.queue.schedule(issued.data_end, ControllerEvent::WriteAccepted { slot });
        if let Some(token) = acknowledge {
            let at = issued.done + self.banks.answer_latency;
            self.queue.schedule(at, ControllerEvent::WriteProgrammed { token: token.0 });
        }
        if self.banks.conventions.writes_free_at_issue {
            self.admission.look_again();
        }
        issued
    }

    fn issue_read(&mut self, choice: &Choice, slot: u32) -> Issued {
        let now = self.now();
        let WaitingRead { read, location, .. } = self.banks.reads.take(slot);
        let media = read.media();
        let issued = self.device.issue(now, media, location, MediaOp::Read, LINE_WORDS, choice.not_before);
        self.observer.device_access(now, choice.bank, media, MediaOp::Read, issued.data_end);
        let answered = issued.data_end + self.banks.answer_latency;
        match read {
            BankRead::Data(slot, _) => {
                self.reads[slot].data_at = Some(answered);
                if self.banks.conventions.reads_free_at_issue {
                    self.reads.free_room(slot);
                }
                if self.reads.with_counter {
                    self.queue.schedule(answered, ControllerEvent::InlineCounterArrives { slot });
                } else {
                    self.finish_read_if_known(slot);
                }
            }
            BankRead::Counter(slot, _) => self.queue.schedule(answered, ControllerEvent::CounterFetched { slot }),
            BankRead::Metadata(slot, _) => self.queue.schedule(answered, ControllerEvent::MetadataFetched { slot }),
            BankRead::Compared(slot, _) => {
                let write = &mut self.writes[slot];
                write.compares = Compared::At(answered);
                if write.stage == Stage::Comparing {
                    self.queue.schedule(answered, ControllerEvent::PadReady { slot });
                }
            }
        }
        if self.banks.conventions.shared_queue {
            self.admission.look_again();
        }
        issued
    }
}
