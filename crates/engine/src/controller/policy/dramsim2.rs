//! DRAMSim2's `MemoryController` and `CommandQueue` with open pages: reads and writes wait in one queue. Each bank serves
//! the oldest request that finds its row open, at most `controller.row_hit_limit` times in succession, then the oldest
//! of all. Writes do not wait for more of them.
//!
//! Not modelled: its limit of 16 accesses for each rank that the command queue sees, and that it closes a row which
//! nobody asks for.

use super::{BankFree, Candidate, Choice, Conventions, Forwards, Look, Next, Schedule, Streaks};
use crate::config;
use crate::message::Issued;

#[derive(Clone)]
pub(super) struct Dramsim2 {
    counters_overtake: bool,
    streaks: Streaks,
}

impl Dramsim2 {
    pub fn new(config: &config::Controller, banks: usize) -> Self {
        Self { counters_overtake: config.counters_overtake, streaks: Streaks::new(config, banks) }
    }

    fn choose(&self, look: &Look<'_>, bank: u16) -> Option<Choice> {
        let older = |requests: [Option<Candidate>; 2]| {
            requests.into_iter().flatten().min_by_key(|&request| look.since(request))
        };
        let oldest =
            older([look.oldest_read(bank).map(Candidate::Read), look.oldest_write(bank).map(Candidate::Write)])?;
        let hit = || {
            let write = look.write_hit(bank, self.counters_overtake);
            older([look.read_hit(bank).map(Candidate::Read), write.map(Candidate::Write)])
        };
        let miss = || older([look.read_miss(bank).map(Candidate::Read), look.write_miss(bank).map(Candidate::Write)]);
        let chosen = if self.streaks.is_over(bank) { miss() } else { hit() };
        let request = chosen.unwrap_or(oldest);
        Some(Choice { bank, request, overtakes: request != oldest, not_before: 0 })
    }
}

impl Schedule for Dramsim2 {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        Conventions {
            paced: false,
            reads_free_at_issue: true,
            writes_free_at_issue: true,
            forwards: Forwards::None,
            merges_writes: false,
            tells_reads: false,
            sends_commands: false,
            turns_writes_away: false,
            shared_queue: false,
            bank_free: BankFree::AtNextColumn,
        }
    }

    fn next(&mut self, look: &Look<'_>, bank: u16) -> Next {
        self.choose(look, bank).map_or(Next::Nothing, |choice| look.when_ready(choice))
    }

    fn issued(&mut self, choice: &Choice, issued: &Issued) {
        self.streaks.count(choice.bank, issued.row_hit);
    }
}
