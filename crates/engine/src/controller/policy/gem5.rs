//! gem5's `MemCtrl` with its `DRAMInterface` (Hansson et al., ISPASS 2014; as of version 20). The bus carries reads or
//! writes. It turns to writes when they reach the high watermark, or when no read waits and they are above the low one;
//! and back after a least number of writes if reads wait, or when few writes are left. One access at a time is chosen,
//! and its column command comes after that of the one before: first one that leaves no gap on the bus, then one whose
//! bank can be prepared before its turn, then one whose row is open, then the bank that is ready first.

use super::{BankFree, Candidate, Choice, Conventions, Look, Next, Schedule};
use crate::config::Machine;
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Issued, MediaOp};

#[derive(Clone)]
pub(super) struct Gem5 {
    counters_overtake: bool,
    /// Whether the bus carries writes.
    writing: bool,
    /// Writes since it has carried them.
    written: usize,
    min_writes: usize,
    /// Whether something waits for more entries than are free.
    pressed: bool,
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
            writing: false,
            written: 0,
            min_writes: machine.controller.min_writes_per_switch as usize,
            pressed: false,
            next_column: 0,
            lead: ns_to_ps(device.t_rp_ns) + ns_to_ps(device.t_rcd_ns),
            column: ns_to_ps(device.t_ccd_ns),
        }
    }

    /// Whether the bus turns to writes now.
    fn turns_to_writes(&self, look: &Look<'_>) -> bool {
        let waiting = look.wpq.waiting().len();
        let none_reads = look.reads.waiting().is_empty();
        waiting > 0 && (look.wpq.is_high() || self.pressed || (none_reads && (look.flushing || !look.wpq.is_low())))
    }

    /// Whether the bus turns to reads now.
    fn turns_to_reads(&self, look: &Look<'_>) -> bool {
        let waiting = look.wpq.waiting().len();
        let few = look.wpq.is_low_by(self.min_writes) && !look.flushing;
        waiting == 0 || (few && !self.pressed) || (!look.reads.waiting().is_empty() && self.written >= self.min_writes)
    }

    fn choose(&self, look: &Look<'_>) -> Option<Choice> {
        let op = if self.writing { MediaOp::Write } else { MediaOp::Read };
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
        Conventions {
            paced: true,
            reads_free_at_issue: false,
            writes_free_at_issue: true,
            forwards_reads: true,
            merges_writes: true,
            sends_commands: false,
            turns_writes_away: false,
            shared_queue: false,
            bank_free: BankFree::Always,
        }
    }

    fn press(&mut self) -> bool {
        !std::mem::replace(&mut self.pressed, true)
    }

    fn turn(&self, now: Ps) -> Ps {
        now.max(self.next_column.saturating_sub(self.lead))
    }

    fn next(&mut self, look: &Look<'_>, _bank: u16) -> Next {
        if self.writing && self.turns_to_reads(look) {
            self.writing = false;
            self.pressed = false;
        }
        if !self.writing && self.turns_to_writes(look) {
            self.writing = true;
            self.written = 0;
        }
        self.choose(look).map_or(Next::Nothing, Next::Issue)
    }

    fn issued(&mut self, choice: &Choice, issued: &Issued) {
        self.next_column = issued.command + issued.burst.max(self.column);
        self.written += usize::from(choice.request.op() == MediaOp::Write);
    }
}
