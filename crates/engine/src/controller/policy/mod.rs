//! Scheduling policies: what is read and written next, and when writes enter the write pending queue. Each file is the
//! behaviour of one memory controller. A policy decides; [`super::queues::schedule`] carries out.

mod continuous;
mod dramsim2;
mod frfcfs;
mod gem5;
mod gem5_nvm;
mod nvmain_frfcfs;
mod nvmain_frfcfs_wqf;
mod ramulator2;

use super::queues::schedule::{Bank, WaitingReads};
use super::queues::wpq::Wpq;
use crate::config::{self, Machine, ModuleKind, SchedulingPolicy};
use crate::kernel::Ps;
use crate::message::{DevicePort, Issued, Location, MediaOp, RowCommand};

/// What a policy sees.
pub(super) struct Look<'a> {
    pub banks: &'a [Bank],
    pub reads: &'a WaitingReads,
    pub wpq: &'a Wpq,
    pub device: &'a dyn DevicePort,
    /// The current time, or, if that is later, when the bank in question is free, in picoseconds.
    pub now: Ps,
    /// Whether no more requests will come: everything that is queued must leave.
    pub flushing: bool,
}

/// A request that goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub bank: u16,
    pub request: Candidate,
    /// Whether it goes before an older request of its bank because its row is open.
    pub overtakes: bool,
    /// The earliest time of its column command.
    pub not_before: Ps,
}

/// A request that waits for a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Candidate {
    /// The waiting read in this slot.
    Read(u32),
    /// The entry in this slot of the write pending queue.
    Write(u32),
}

impl Candidate {
    pub fn op(self) -> MediaOp {
        match self {
            Candidate::Read(_) => MediaOp::Read,
            Candidate::Write(_) => MediaOp::Write,
        }
    }
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Issue(Choice),
    /// A command about rows is sent, by a policy that sends commands and not whole accesses.
    Row(RowStep),
    /// The request that goes next to this bank can be served from this time on.
    Wait(u16, Ps),
    /// What a paced policy decides at its next turn.
    AtTurn,
    /// Nothing, until something changes.
    Nothing,
}

/// A command about rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RowStep {
    pub command: RowCommand,
    /// When it is sent: not after now.
    pub at: Ps,
    /// The request for which it opens a row, and which gives its entry back.
    pub opened: Option<Candidate>,
}

/// How a policy uses queues and banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Conventions {
    /// Whether there is one decision at a time for all banks together, at times that the policy chooses.
    pub paced: bool,
    /// Whether a read gives its place in the queue back when it is issued. Otherwise it does when it is answered.
    pub reads_free_at_issue: bool,
    /// Whether a write gives its entry back when it is issued. Otherwise it does when the bank has its data.
    pub writes_free_at_issue: bool,
    /// Which writes a read is answered from, if the queue has one of its line. Otherwise it takes as long as one from its bank.
    pub forwards: Forwards,
    /// Whether a write replaces an older one of its line in the queue.
    pub merges_writes: bool,
    /// Whether modules are told of a read, one with each decision, before its data are asked for.
    pub tells_reads: bool,
    /// Whether it sends the commands of accesses, each when it decides so; it may decide several at a time.
    pub sends_commands: bool,
    /// Whether it sometimes lets no writes enter the write pending queue.
    pub turns_writes_away: bool,
    /// Whether reads and writes share the entries of the write pending queue.
    pub shared_queue: bool,
    /// When a bank takes its next request after one.
    pub bank_free: BankFree,
}

/// Which writes of the write pending queue a read is answered from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forwards {
    None,
    /// Those that have not been issued.
    Waiting,
    /// Those whose data the bank does not have.
    All,
}

/// When a bank takes its next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BankFree {
    /// At once: the device delays what comes too early.
    Always,
    /// When the column command of the last one has been sent.
    AtCommand,
    /// When its open row takes another column command.
    AtNextColumn,
}

/// The behaviour of a memory controller.
pub(super) trait Schedule: Send {
    /// A copy of it.
    fn copy(&self) -> Box<dyn Schedule>;
    /// How it uses queues and banks.
    fn conventions(&self) -> Conventions;
    /// Whether writes may enter the write pending queue; always, unless its conventions say otherwise.
    fn takes_writes(&self) -> bool {
        true
    }
    /// Something waits for entries, and none will become free unless writes leave. Returns whether that changes what goes
    /// next.
    fn press(&mut self) -> bool {
        false
    }
    /// An entry has become ready. Returns whether that changes what goes next to other banks than its own.
    fn filled(&mut self, _wpq: &Wpq) -> bool {
        false
    }
    /// The earliest time of the next decision of a paced policy, as seen at `now`.
    fn turn(&self, now: Ps) -> Ps {
        now
    }
    /// What goes next to `bank`, which something waits for; a paced policy looks at all banks.
    fn next(&mut self, look: &Look<'_>, bank: u16) -> Next;
    /// What a paced policy chose has been issued: how things are now.
    fn settle(&mut self, _look: &Look<'_>) {}
    /// `choice` has been issued.
    fn issued(&mut self, choice: &Choice, issued: &Issued);
    /// An entry has left the write pending queue. Returns whether that changes what goes next.
    fn left(&mut self, _wpq: &Wpq) -> bool {
        false
    }
}

impl Clone for Box<dyn Schedule> {
    fn clone(&self) -> Self {
        self.copy()
    }
}

/// The policy of `machine`, in front of `banks` banks.
pub(super) fn of(machine: &Machine, banks: usize) -> Box<dyn Schedule> {
    let config = &machine.controller;
    match config.policy {
        SchedulingPolicy::Continuous => Box::new(continuous::Continuous::new(config, banks)),
        SchedulingPolicy::NvmainFrfcfsWqf => Box::new(nvmain_frfcfs_wqf::NvmainFrfcfsWqf::new(machine, banks)),
        SchedulingPolicy::NvmainFrfcfs => Box::new(nvmain_frfcfs::NvmainFrfcfs::new(machine, banks)),
        SchedulingPolicy::Gem5 if machine.module.kind == ModuleKind::Transactional => {
            Box::new(gem5_nvm::Gem5Nvm::new(machine))
        }
        SchedulingPolicy::Gem5 => Box::new(gem5::Gem5::new(machine)),
        SchedulingPolicy::Ramulator2 => Box::new(ramulator2::Ramulator2::new(machine, banks)),
        SchedulingPolicy::Dramsim2 => Box::new(dramsim2::Dramsim2::new(config, banks)),
    }
}

/// A policy's view of what waits for a bank.
impl Look<'_> {
    /// Whether `bank` cannot take a request yet.
    fn is_busy(&self, bank: u16) -> bool {
        self.banks[usize::from(bank)].free > self.now
    }

    /// The oldest write that waits for `bank`.
    fn oldest_write(&self, bank: u16) -> Option<u32> {
        self.wpq.waiting().oldest(bank)
    }

    /// The oldest write that waits for `bank` and finds its row open. Counter blocks overtake only if `counters`.
    fn write_hit(&self, bank: u16, counters: bool) -> Option<u32> {
        self.wpq.oldest_in(self.open_row(bank)?, counters)
    }

    /// The oldest write that waits for `bank` and does not find its row open.
    fn write_miss(&self, bank: u16) -> Option<u32> {
        self.wpq.waiting().oldest_but(bank, self.device.open_row(bank))
    }

    /// The oldest read that waits for `bank`.
    fn oldest_read(&self, bank: u16) -> Option<u32> {
        self.reads.waiting().oldest(bank)
    }

    /// The oldest read that waits for `bank` and finds its row open.
    fn read_hit(&self, bank: u16) -> Option<u32> {
        self.reads.waiting().of_row(self.open_row(bank)?).next()
    }

    /// The oldest read that waits for `bank` and does not find its row open.
    fn read_miss(&self, bank: u16) -> Option<u32> {
        self.reads.waiting().oldest_but(bank, self.device.open_row(bank))
    }

    fn open_row(&self, bank: u16) -> Option<Location> {
        self.device.open_row(bank).map(|row| Location { bank, row })
    }

    /// Since when `request` has waited.
    fn since(&self, request: Candidate) -> Ps {
        match request {
            Candidate::Read(slot) => self.reads.get(slot).since,
            Candidate::Write(slot) => self.wpq.entry(slot).ready_at,
        }
    }

    /// Since when `request` has waited, and its number among the requests of its kind.
    fn age(&self, request: Candidate) -> (Ps, u64) {
        let number = match request {
            Candidate::Read(slot) => self.reads.get(slot).number,
            Candidate::Write(slot) => self.wpq.entry(slot).sequence,
        };
        (self.since(request), number)
    }

    fn location(&self, request: Candidate) -> Location {
        match request {
            Candidate::Read(slot) => self.reads.get(slot).location,
            Candidate::Write(slot) => self.wpq.entry(slot).location,
        }
    }

    /// When `request` would have its column command if the data bus were free.
    fn command_at(&self, request: Candidate) -> Ps {
        self.device.command_at(self.now, self.location(request), request.op())
    }

    /// Issues `choice` to its bank, which is not busy, or waits until the bank can work on it without delay.
    fn when_ready(&self, choice: Choice) -> Next {
        let ready = self.device.ready_at(self.location(choice.request), choice.request.op());
        if ready > self.now { Next::Wait(choice.bank, ready) } else { Next::Issue(choice) }
    }
}

/// How often in succession each bank's open row has served requests; see `controller.row_hit_limit`.
#[derive(Clone)]
struct Streaks {
    of_bank: Vec<u32>,
    limit: u32,
}

impl Streaks {
    fn new(config: &config::Controller, banks: usize) -> Self {
        Self { of_bank: vec![0; banks], limit: config.row_hit_limit }
    }

    fn is_over(&self, bank: u16) -> bool {
        self.of_bank[usize::from(bank)] >= self.limit
    }

    /// Counts an access that goes on with the streak of its bank, or ends it.
    fn count(&mut self, bank: u16, goes_on: bool) {
        let streak = &mut self.of_bank[usize::from(bank)];
        *streak = if goes_on { *streak + 1 } else { 0 };
    }
}
