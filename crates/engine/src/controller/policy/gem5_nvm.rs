//! gem5's `MemCtrl` with its `NVMInterface` (as of version 24), in front of modules that are told what is read. The bus turns as
//! with its DRAM ([`super::gem5`]), after an access, so not from reads of which none has its data; and to reads if modules take no
//! more writes. It tells the module of one read
//! with each decision. Of the reads whose data are there the oldest goes next, and of writes the oldest.

use super::gem5::{CONVENTIONS, Turns};
use super::{Candidate, Choice, Conventions, Look, Next, Schedule};
use crate::config::Machine;
use crate::kernel::Ps;
use crate::message::{Issued, MediaOp};

#[derive(Clone)]
pub(super) struct Gem5Nvm {
    turns: Turns,
    /// The last command. The next access is chosen a burst before the bus is free, which is then.
    last: Ps,
}

impl Gem5Nvm {
    pub fn new(machine: &Machine) -> Self {
        Self { turns: Turns::new(machine), last: 0 }
    }

    /// The oldest request of its kind that can be served, or else when the first can.
    fn choose(look: &Look<'_>, op: MediaOp) -> Next {
        let mut oldest: Option<((Ps, u64), Choice)> = None;
        let mut first: Option<(Ps, u16)> = None;
        for bank in 0..look.banks.len() as u16 {
            let request = match op {
                MediaOp::Read => look.oldest_read(bank).map(Candidate::Read),
                MediaOp::Write => look.oldest_write(bank).map(Candidate::Write),
            };
            let Some(request) = request else { continue };
            let ready = look.device.ready_at(look.location(request), op);
            if ready == Ps::MAX {
                // The module has not been told of it.
                continue;
            }
            if ready > look.now {
                first = Some(first.map_or((ready, bank), |known| known.min((ready, bank))));
            } else if oldest.is_none_or(|(age, _)| look.age(request) < age) {
                oldest = Some((look.age(request), Choice { bank, request, overtakes: false, not_before: 0 }));
            }
        }
        match (oldest, first) {
            (Some((_, choice)), _) => Next::Issue(choice),
            (None, Some((ready, bank))) => Next::Wait(bank, ready),
            (None, None) => Next::Nothing,
        }
    }
}

impl Schedule for Gem5Nvm {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        Conventions { tells_reads: true, ..CONVENTIONS }
    }

    fn press(&mut self) -> bool {
        !std::mem::replace(&mut self.turns.pressed, true)
    }

    fn turn(&self, now: Ps) -> Ps {
        now.max(self.last)
    }

    fn next(&mut self, look: &Look<'_>, _bank: u16) -> Next {
        self.turns.begin(look);
        Self::choose(look, if self.turns.writing { MediaOp::Write } else { MediaOp::Read })
    }

    fn settle(&mut self, look: &Look<'_>) {
        let full = matches!(Self::choose(look, MediaOp::Write), Next::Wait(..));
        self.turns.settle(look, full);
    }

    fn issued(&mut self, _choice: &Choice, issued: &Issued) {
        self.last = issued.command;
        self.turns.issued();
    }
}
