//! gem5's `MemCtrl` with its `DRAMInterface` (Hansson et al., ISPASS 2014; as of version 20). The bus carries reads or
//! writes. It turns to writes when they reach the high watermark, or when no read waits and they are above the low one;
//! and back after a least number of writes if reads wait, or when few writes are left. One access at a time is chosen,
//! and its column command comes after that of the one before: first one that leaves no gap on the bus, then one whose
//! bank can be prepared before its turn, then one whose row is open, then the bank that is ready first.

use super::{BankFree, Candidate, Choice, Conventions, Forwards, Look, Next, Schedule};
use crate::config::Machine;
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Issued, MediaOp};

/// Whether the bus carries reads or writes.
#[derive(Clone)]
pub(super) struct Turns {
    pub writing: bool,
    /// Reads or writes since it has carried them.
    issued: usize,
    min_reads: usize,
    min_writes: usize,
    /// Whether something waits for more entries than are free.
    pub pressed: bool,
}

impl Turns {
    pub fn new(machine: &Machine) -> Self {
        let controller = &machine.controller;
        Self {
            writing: false,
            issued: 0,
            min_reads: controller.min_reads_per_switch as usize,
            min_writes: controller.min_writes_per_switch as usize,
            pressed: false,
        }
    }

    /// Before a choice: without reads it may turn to writes.
    pub fn begin(&mut self, look: &Look<'_>) {
        let writes = !look.wpq.waiting().is_empty();
        if self.writing && !writes {
            self.turn(false);
        }
        let enough = self.pressed || look.flushing || !look.wpq.is_low();
        if !self.writing && writes && look.reads.waiting().is_empty() && enough {
            self.turn(true);
        }
    }

    /// After what was chosen has been issued. `full`: the memory takes no more writes.
    pub fn settle(&mut self, look: &Look<'_>, full: bool) {
        let (reads, writes) = (!look.reads.waiting().is_empty(), !look.wpq.waiting().is_empty());
        if self.writing {
            let few = look.wpq.is_low_by(self.min_writes) && !look.flushing && !self.pressed;
            if !writes || few || (reads && (full || self.issued >= self.min_writes)) {
                self.turn(false);
            }
        } else if writes && !full && (look.wpq.is_high() || self.pressed) && (!reads || self.issued >= self.min_reads) {
            self.turn(true);
        }
    }

    fn turn(&mut self, writing: bool) {
        (self.writing, self.issued) = (writing, 0);
        self.pressed = self.pressed && writing;
    }

    pub fn issued(&mut self) {
        self.issued += 1;
    }
}

pub(super) const CONVENTIONS: Conventions = Conventions {
    paced: true,
    reads_free_at_issue: false,
    writes_free_at_issue: true,
    forwards: Forwards::Waiting,
    merges_writes: true,
    tells_reads: false,
    sends_commands: false,
    turns_writes_away: false,
    shared_queue: false,
    bank_free: BankFree::Always,
};

#[derive(Clone)]
pub(super) struct Gem5 {
    counters_overtake: bool,
    turns: Turns,
    /// Earliest time of the next column command.
    next_column: Ps,
    /// How long before its column command an access is chosen: the time to close and open a row.
    lead: Ps,
    /// Least time between two column commands, if no burst takes longer.
    column: Ps,
}

impl Gem5 {
    pub fn new(machine: &Machine) -> Self {
        let device = &machine.device;
        Self {
            counters_overtake: machine.controller.counters_overtake,
            turns: Turns::new(machine),
            next_column: 0,
            lead: ns_to_ps(device.t_rp_ns) + ns_to_ps(device.t_rcd_ns),
            column: ns_to_ps(device.t_ccd_ns),
        }
    }

    fn choose(&self, look: &Look<'_>) -> Option<Choice> {
        let op = if self.turns.writing { MediaOp::Write } else { MediaOp::Read };
        let mut hit: Option<(bool, Ps, Choice)> = None;
        let mut miss: Option<(Ps, Ps, Choice)> = None;
        for bank in 0..look.banks.len() as u16 {
            let (of_row, other) = match op {
                MediaOp::Read => (look.read_hit(bank).map(Candidate::Read), look.read_miss(bank).map(Candidate::Read)),
                MediaOp::Write => {
                    let hit = look.write_hit(bank, self.counters_overtake);
                    let oldest = look.oldest_write(bank).filter(|&slot| Some(slot) != hit);
                    (hit.map(Candidate::Write), oldest.map(Candidate::Write))
                }
            };
            let choice = |request, overtakes| Choice { bank, request, overtakes, not_before: self.next_column };
            if let Some(request) = of_row {
                let late = look.command_at(request) > self.next_column.max(look.now);
                let since = look.since(request);
                if hit.is_none_or(|(least, oldest, _)| (late, since) < (least, oldest)) {
                    hit = Some((late, since, choice(request, other.is_some())));
                }
            }
            if let Some(request) = other {
                let (at, since) = (look.command_at(request), look.since(request));
                if miss.is_none_or(|(least, oldest, _)| (at, since) < (least, oldest)) {
                    miss = Some((at, since, choice(request, false)));
                }
            }
        }
        match (hit, miss) {
            (Some((false, _, hit)), _) => Some(hit),
            (_, Some((at, _, miss))) if at <= self.next_column => Some(miss),
            (Some((.., hit)), _) => Some(hit),
            (None, miss) => miss.map(|(.., miss)| miss),
        }
    }
}

impl Schedule for Gem5 {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        CONVENTIONS
    }

    fn press(&mut self) -> bool {
        !std::mem::replace(&mut self.turns.pressed, true)
    }

    fn turn(&self, now: Ps) -> Ps {
        now.max(self.next_column.saturating_sub(self.lead))
    }

    fn next(&mut self, look: &Look<'_>, _bank: u16) -> Next {
        self.turns.begin(look);
        self.choose(look).map_or(Next::Nothing, Next::Issue)
    }

    fn settle(&mut self, look: &Look<'_>) {
        self.turns.settle(look, false);
    }

    fn issued(&mut self, _choice: &Choice, issued: &Issued) {
        self.next_column = issued.command + issued.burst.max(self.column);
        self.turns.issued();
    }
}
