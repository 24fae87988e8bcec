//! Ramulator 2's `GenericDDR` controller with its scheduler `FRFCFS`, refreshes of all banks of a rank, and rows that stay
//! open (Luo et al., IEEE CAL 2023). It sends one command a cycle on each channel: the first that may be sent now,
//! - of a request for which a row has been opened; until its data has moved, nobody closes that row;
//! - of a refresh that is due, which keeps back all others;
//! - of a read, or, while it writes, of a write: the oldest whose next command may be sent, be it a precharge, an activate or
//!   a column command.
//!
//! It writes while writes drain from their high to their low watermark, and while no read waits. A request gives its entry
//! back when its row is opened, or with its column command if its row is open.

use super::{BankFree, Candidate, Choice, Conventions, Forwards, Look, Next, RowStep, Schedule};
use crate::config::Machine;
use crate::kernel::Ps;
use crate::message::{Issued, Location, MediaOp, RowCommand};

#[derive(Clone)]
pub(super) struct Ramulator2 {
    /// A cycle of the interface.
    cycle: Ps,
    /// For each bank, the request for which its row has been opened, and the number of that opening.
    opened: Vec<Option<(Candidate, u64)>>,
    openings: u64,
    channels: Vec<Channel>,
}

#[derive(Clone, Copy, Default)]
struct Channel {
    writing: bool,
    /// Whether something waits for more entries than are free, and no write has given one back since.
    pressed: bool,
    /// When its last command was sent.
    sent: Option<Ps>,
}

/// A request for which a row is opened.
#[derive(Clone, Copy)]
struct Opened {
    bank: u16,
    request: Candidate,
}

/// Since when a request has waited, and its number among those of its kind, or the number of its opening.
type Age = (Ps, u64);

/// What may be sent: the oldest that may be sent now, and when the first other one may be.
#[derive(Default)]
struct Found {
    best: Option<(Age, Candidate, u16, Option<RowCommand>)>,
    /// The earliest time of what may not be sent yet, with its bank.
    later: Option<(Ps, u16)>,
}

impl Found {
    /// `request`, which waits for `bank` and is of `age`, needs `command` next, from `at` on.
    fn add(&mut self, now: Ps, age: Age, request: Candidate, bank: u16, (command, at): (Option<RowCommand>, Ps)) {
        if at > now {
            self.wait(at, bank);
        } else if self.best.as_ref().is_none_or(|(oldest, ..)| age < *oldest) {
            self.best = Some((age, request, bank, command));
        }
    }

    /// Nothing can be done for `bank` before `at`.
    fn wait(&mut self, at: Ps, bank: u16) {
        if self.later.is_none_or(|(earliest, _)| at < earliest) {
            self.later = Some((at, bank));
        }
    }
}

impl Ramulator2 {
    pub fn new(machine: &Machine, banks: usize) -> Self {
        Self {
            cycle: machine.device.interface_cycle_ps(),
            opened: vec![None; banks],
            openings: 0,
            channels: vec![Channel::default(); machine.device.channels as usize],
        }
    }

    fn banks_of(&self, channel: u16) -> impl Iterator<Item = u16> + use<> {
        (channel..self.opened.len() as u16).step_by(self.channels.len())
    }

    /// A bank of `channel` for which something waits that has come before this cycle; if all has come in it, its bank is in
    /// `Err`.
    fn awaited(&self, look: &Look<'_>, channel: u16) -> Option<Result<u16, u16>> {
        let mut new = None;
        for bank in self.banks_of(channel) {
            let oldest = [look.oldest_read(bank).map(Candidate::Read), look.oldest_write(bank).map(Candidate::Write)];
            for request in oldest.into_iter().flatten() {
                if look.since(request) < look.now {
                    return Some(Ok(bank));
                }
                new = Some(Err(bank));
            }
        }
        new
    }

    /// The next command of `channel`, or when to look again, and for which bank.
    fn of_channel(&mut self, look: &Look<'_>, channel: u16) -> Result<Next, Option<(Ps, u16)>> {
        let next_cycle = look.now + self.cycle;
        let bank = match self.awaited(look, channel) {
            None => return Err(None),
            Some(Ok(bank)) if self.channels[usize::from(channel)].sent != Some(look.now) => bank,
            Some(Ok(bank) | Err(bank)) => return Err(Some((next_cycle, bank))),
        };
        // What the device could do while nothing waited has been done then.
        let (command, at) = look.device.refresh(channel);
        if at < look.now && self.may_send(look, channel, command) {
            return Ok(Next::Row(RowStep { command, at, opened: None }));
        }
        let mut found = Found::default();
        self.of_opened(look, channel, &mut found);
        if found.best.is_none() {
            if look.device.refresh_due(channel) <= look.now {
                if self.may_send(look, channel, command) {
                    if at <= look.now {
                        return Ok(self.row(look.now, channel, command, None));
                    }
                    found.wait(at, bank);
                }
            } else {
                found.wait(look.device.refresh_due(channel), bank);
                self.choose_direction(look, channel);
                self.of_queue(look, channel, &mut found);
            }
        }
        match found.best {
            Some((_, request, bank, None)) => {
                let choice = Choice { bank, request, overtakes: false, not_before: look.now };
                Ok(Next::Issue(choice))
            }
            Some((_, request, bank, Some(command))) => {
                let opened = matches!(command, RowCommand::Activate(_)).then_some(Opened { bank, request });
                Ok(self.row(look.now, channel, command, opened))
            }
            None => Err(found.later),
        }
    }

    fn row(&mut self, now: Ps, channel: u16, command: RowCommand, opened: Option<Opened>) -> Next {
        self.sent(now, channel, opened.map(|opened| opened.request));
        if let Some(Opened { bank, request }) = opened {
            self.openings += 1;
            self.opened[usize::from(bank)] = Some((request, self.openings));
        }
        Next::Row(RowStep { command, at: now, opened: opened.map(|opened| opened.request) })
    }

    /// A command has been sent at `now`, by which `left` gives its entry back.
    fn sent(&mut self, now: Ps, channel: u16, left: Option<Candidate>) {
        let of_channel = &mut self.channels[usize::from(channel)];
        of_channel.sent = Some(now);
        of_channel.pressed &= !matches!(left, Some(Candidate::Write(_)));
    }

    /// Whether `command` of a refresh closes no row that was opened for a request.
    fn may_send(&self, look: &Look<'_>, channel: u16, command: RowCommand) -> bool {
        match command {
            RowCommand::PrechargeAll { rank } => self
                .banks_of(channel)
                .all(|bank| self.opened[usize::from(bank)].is_none() || look.device.rank_of(bank) != rank),
            _ => true,
        }
    }

    fn of_opened(&self, look: &Look<'_>, channel: u16, found: &mut Found) {
        for bank in self.banks_of(channel) {
            if let Some((request, opening)) = self.opened[usize::from(bank)] {
                let needs = look.device.needs(look.location(request), request.op());
                found.add(look.now, (look.since(request), opening), request, bank, needs);
            }
        }
    }

    /// Whether it writes from now on.
    fn choose_direction(&mut self, look: &Look<'_>, channel: u16) {
        let waits = |op| {
            let mut oldest = self.banks_of(channel).filter_map(|bank| self.first(look, bank, op, None));
            oldest.any(|request| look.since(request) < look.now)
        };
        let [reads, writes] = [MediaOp::Read, MediaOp::Write].map(waits);
        let of_channel = &mut self.channels[usize::from(channel)];
        let must_write =
            writes && (of_channel.pressed || if of_channel.writing { !look.wpq.is_low() } else { look.wpq.is_high() });
        of_channel.writing = must_write || !reads;
    }

    /// The oldest request of `bank`, of the row `row` if there is one, for which no row was opened.
    fn first(&self, look: &Look<'_>, bank: u16, op: MediaOp, row: Option<u32>) -> Option<Candidate> {
        let skipped = self.opened[usize::from(bank)].map(|(request, _)| request);
        let first = |slots: &mut dyn Iterator<Item = u32>, candidate: fn(u32) -> Candidate| {
            slots.map(candidate).find(|&request| Some(request) != skipped)
        };
        let (queues, candidate): (_, fn(u32) -> Candidate) = match op {
            MediaOp::Read => (look.reads.waiting(), Candidate::Read),
            MediaOp::Write => (look.wpq.waiting(), Candidate::Write),
        };
        match row {
            Some(row) => first(&mut queues.of_row(Location { bank, row }), candidate),
            None => first(&mut queues.of_bank(bank), candidate),
        }
    }

    fn of_queue(&self, look: &Look<'_>, channel: u16, found: &mut Found) {
        let op = if self.channels[usize::from(channel)].writing { MediaOp::Write } else { MediaOp::Read };
        for bank in self.banks_of(channel) {
            let mut add = |request: Candidate| {
                let age = look.age(request);
                let needs = look.device.needs(look.location(request), op);
                if age.0 < look.now {
                    found.add(look.now, age, request, bank, needs);
                } else {
                    found.wait(look.now + self.cycle, bank);
                }
            };
            let open = look.device.open_row(bank);
            if let Some(request) = open.and_then(|row| self.first(look, bank, op, Some(row))) {
                add(request);
            }
            // Nobody closes a row that was opened for a request.
            if self.opened[usize::from(bank)].is_none()
                && let Some(request) = match op {
                    MediaOp::Read => look.read_miss(bank).map(Candidate::Read),
                    MediaOp::Write => look.write_miss(bank).map(Candidate::Write),
                }
            {
                add(request);
            }
        }
    }
}

impl Schedule for Ramulator2 {
    fn copy(&self) -> Box<dyn Schedule> {
        Box::new(self.clone())
    }

    fn conventions(&self) -> Conventions {
        Conventions {
            paced: true,
            reads_free_at_issue: true,
            writes_free_at_issue: true,
            forwards: Forwards::All,
            merges_writes: true,
            tells_reads: false,
            sends_commands: true,
            turns_writes_away: false,
            shared_queue: false,
            bank_free: BankFree::Always,
        }
    }

    fn press(&mut self) -> bool {
        let calm = self.channels.iter().any(|channel| !channel.pressed);
        self.channels.iter_mut().for_each(|channel| channel.pressed = true);
        calm
    }

    /// Commands are sent at clock edges, in a cycle after that of what they react to.
    fn turn(&self, now: Ps) -> Ps {
        (now / self.cycle + 1) * self.cycle
    }

    fn next(&mut self, look: &Look<'_>, _bank: u16) -> Next {
        let mut later: Option<(Ps, u16)> = None;
        for channel in 0..self.channels.len() as u16 {
            match self.of_channel(look, channel) {
                Ok(next) => return next,
                Err(again) => later = [later, again].into_iter().flatten().min(),
            }
        }
        match later {
            None => Next::Nothing,
            Some((at, _)) if at <= look.now + self.cycle => Next::AtTurn,
            // The turn after that is at the time in question.
            Some((at, bank)) => Next::Wait(bank, at - self.cycle),
        }
    }

    fn issued(&mut self, choice: &Choice, issued: &Issued) {
        let channel = usize::from(choice.bank) % self.channels.len();
        self.sent(issued.command, channel as u16, Some(choice.request));
        let opened = &mut self.opened[usize::from(choice.bank)];
        if opened.is_some_and(|(request, _)| request == choice.request) {
            *opened = None;
        }
    }
}
