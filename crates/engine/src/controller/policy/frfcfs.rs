//! First ready, first come, as in NVMain's `MemoryController`: one request a cycle over all banks whose last column
//! command has been sent. A request that an open row has kept waiting for too long goes first, then the oldest that
//! finds its row open, then the oldest of all.

use super::{BankFree, Candidate, Choice, Conventions, Forwards, Look, Next, Streaks};
use crate::config::Machine;
use crate::kernel::Ps;
use crate::message::Issued;

#[derive(Clone)]
pub(super) struct FirstReady {
    /// A cycle of the interface.
    cycle: Ps,
    counters_overtake: bool,
    /// NVMain counts every access to an open row, whether or not another one waits.
    streaks: Streaks,
}

/// Why a request goes first: less is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Starved,
    Hit,
    Miss,
    ClosedBank,
}

impl FirstReady {
    pub fn new(machine: &Machine, banks: usize) -> Self {
        Self {
            cycle: machine.device.interface_cycle_ps(),
            counters_overtake: machine.controller.counters_overtake,
            streaks: Streaks::new(&machine.controller, banks),
        }
    }

    /// What both controllers of NVMain do alike.
    pub fn conventions(&self, shared_queue: bool) -> Conventions {
        Conventions {
            paced: true,
            reads_free_at_issue: true,
            writes_free_at_issue: true,
            forwards: Forwards::None,
            merges_writes: false,
            tells_reads: false,
            sends_commands: false,
            turns_writes_away: false,
            shared_queue,
            bank_free: BankFree::AtCommand,
        }
    }

    /// Decisions are made at clock edges, in a cycle after that of what they react to.
    pub fn turn(&self, now: Ps) -> Ps {
        (now / self.cycle + 1) * self.cycle
    }

    /// The best of the `reads` and `writes` that wait.
    pub fn choose(&self, look: &Look<'_>, reads: bool, writes: bool) -> Next {
        let mut best: Option<(Class, Ps, Choice)> = None;
        // What arrives in a cycle is seen in the next.
        let mut too_new = false;
        for bank in 0..look.banks.len() as u16 {
            if look.is_busy(bank) {
                continue;
            }
            let of_reads = reads.then(|| self.of_reads(look, bank)).into_iter().flatten().flatten();
            let of_writes = writes.then(|| self.of_writes(look, bank)).into_iter().flatten().flatten();
            for (class, request, overtakes) in of_reads.chain(of_writes) {
                let since = look.since(request);
                let choice = Choice { bank, request, overtakes, not_before: 0 };
                if since >= look.now {
                    too_new = true;
                } else if best.is_none_or(|(least, oldest, _)| (class, since) < (least, oldest)) {
                    best = Some((class, since, choice));
                }
            }
        }
        match (best, too_new) {
            (Some((.., choice)), _) => Next::Issue(choice),
            (None, true) => Next::AtTurn,
            (None, false) => Next::Nothing,
        }
    }

    fn miss_class(&self, look: &Look<'_>, bank: u16) -> Class {
        match look.device.open_row(bank) {
            None => Class::ClosedBank,
            Some(_) if self.streaks.is_over(bank) => Class::Starved,
            Some(_) => Class::Miss,
        }
    }

    fn of_reads(&self, look: &Look<'_>, bank: u16) -> [Option<(Class, Candidate, bool)>; 2] {
        let (hit, miss) = (look.read_hit(bank), look.read_miss(bank));
        [
            hit.map(|slot| (Class::Hit, Candidate::Read(slot), Some(slot) != look.oldest_read(bank))),
            miss.map(|slot| (self.miss_class(look, bank), Candidate::Read(slot), false)),
        ]
    }

    fn of_writes(&self, look: &Look<'_>, bank: u16) -> [Option<(Class, Candidate, bool)>; 2] {
        let oldest = look.oldest_write(bank);
        let hit = look.write_hit(bank, self.counters_overtake);
        // A counter block that may not overtake still goes in its turn.
        let other = if self.counters_overtake { look.write_miss(bank) } else { oldest.filter(|_| oldest != hit) };
        [
            hit.map(|slot| (Class::Hit, Candidate::Write(slot), Some(slot) != oldest)),
            other.map(|slot| (self.miss_class(look, bank), Candidate::Write(slot), false)),
        ]
    }

    pub fn issued(&mut self, choice: &Choice, issued: &Issued) {
        self.streaks.count(choice.bank, issued.row_hit);
    }
}
