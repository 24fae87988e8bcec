//! Each bank works whenever it can (model.md section 4). Reads go first; writes enter at any time, and leave while the
//! queue drains from its high to its low watermark, or to a bank that no read waits for. Within a bank, requests to the
//! open row go first, but overtake older ones only a limited number of times.

use super::{BankFree, Candidate, Choice, Conventions, Forwards, Look, Next, Schedule, Streaks};
use crate::config;
use crate::controller::queues::wpq::Wpq;
use crate::message::Issued;

#[derive(Clone)]
pub(super) struct Continuous {
    /// Whether writes go before reads until few are queued.
    draining: bool,
    /// Whether a write may go to a bank that no read waits for when not draining.
    issue_when_idle: bool,
    counters_overtake: bool,
    streaks: Streaks,
}

impl Continuous {
    pub fn new(config: &config::Controller, banks: usize) -> Self {
        Self {
            draining: false,
            issue_when_idle: config.wpq_issue_when_idle,
            counters_overtake: config.counters_overtake,
            streaks: Streaks::new(config, banks),
        }
    }

    fn choose(&self, look: &Look<'_>, bank: u16) -> Option<(Candidate, bool)> {
        let may_overtake = !self.streaks.is_over(bank);
        let read = look.oldest_read(bank);
        let may_write = self.draining || read.is_none() && (look.flushing || self.issue_when_idle);
        if may_write && let Some(oldest) = look.oldest_write(bank) {
            let hit = look.write_hit(bank, self.counters_overtake).filter(|_| may_overtake);
            let slot = hit.unwrap_or(oldest);
            return Some((Candidate::Write(slot), slot != oldest));
        }
        let oldest = read?;
        let slot = may_overtake.then(|| look.read_hit(bank)).flatten().unwrap_or(oldest);
        Some((Candidate::Read(slot), slot != oldest))
    }
}

impl Schedule for Continuous {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        Conventions {
            paced: false,
            reads_free_at_issue: false,
            writes_free_at_issue: false,
            forwards: Forwards::All,
            merges_writes: false,
            tells_reads: false,
            sends_commands: false,
            turns_writes_away: false,
            shared_queue: false,
            bank_free: BankFree::AtNextColumn,
        }
    }

    fn press(&mut self) -> bool {
        !std::mem::replace(&mut self.draining, true)
    }

    fn filled(&mut self, wpq: &Wpq) -> bool {
        wpq.is_high() && self.press()
    }

    fn next(&mut self, look: &Look<'_>, bank: u16) -> Next {
        match self.choose(look, bank) {
            Some((request, overtakes)) => look.when_ready(Choice { bank, request, overtakes, not_before: 0 }),
            None => Next::Nothing,
        }
    }

    fn issued(&mut self, choice: &Choice, _issued: &Issued) {
        self.streaks.count(choice.bank, choice.overtakes);
    }

    fn left(&mut self, wpq: &Wpq) -> bool {
        self.draining && wpq.is_low() && std::mem::take(&mut self.draining)
    }
}
