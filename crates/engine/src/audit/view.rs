//! Access to the auditors' knowledge: every line as a power failure would leave it, and which violations still hold.

use super::counter::AuditedCounter;
use super::line_record::{Id, LineView, Role};
use super::{Auditor, CounterLayout, Rule, Violation, explain};
use crate::message::{CoreId, Line, LineBytes};

impl Auditor {
    /// Every line that something happened to, in a fixed order.
    pub fn line_views(&self) -> impl Iterator<Item = LineView<'_>> {
        self.lines.records.iter().map(|record| {
            let cell = self.lines.cell(record.line).filter(|_| self.durable.cipher().is_some());
            // What the program needs no more counts as covered once it is stored, without a number.
            let volatile = matches!(record.role, Role::Volatile(_)) && record.history.stored_at.is_some();
            LineView {
                line: record.line,
                found: if self.drains { record.booted() } else { &record.durable.plain },
                covered: &record.history.covered,
                covered_is_base: record.history.number == 0 && !volatile,
                later: &record.history.later,
                restored: record.restored.is_some(),
                in_the_clear: record.durable.in_the_clear(),
                counter: cell.filter(|_| !self.is_chained_log(record.role)).map(|cell| plain(cell.effective)),
                wrong: record.history.is_bad(),
            }
        })
    }

    /// The counter that the bytes which a boot finds for `line` were encrypted with. `None` if the line has none, or if
    /// no counter near the durable one gives something that the program has stored since the last fence over the line.
    pub fn counter_used(&self, line: Line) -> Option<(u64, u16)> {
        let (cipher, id) = (self.durable.cipher()?, self.lines.find(line)?);
        let record = self.lines.record(id);
        if self.is_chained_log(record.role) || record.durable.in_the_clear() {
            return None;
        }
        if record.durable.found().is_none() {
            return self.lines.base(line).map(|_| plain(cipher.base()));
        }
        let effective = self.lines.cell(line)?.effective;
        let (plaintext, history) = (&record.durable.plain, &record.history);
        if !cipher.reads_as_zeros(effective) && (*plaintext == history.covered || history.later.contains(plaintext)) {
            return Some(plain(effective));
        }
        explain::counter_used(&self.lines, cipher, &self.durable, id).map(plain)
    }

    /// The owner and the purpose of `line`.
    pub fn role(&self, line: Line) -> String {
        match self.lines.find(line).map(|id| self.lines.record(id).role) {
            Some(Role::Heap(core)) => format!("heap of core {core}"),
            Some(Role::Log(core)) => format!("log of core {core}"),
            Some(Role::Volatile(core)) => format!("volatile data of core {core}"),
            Some(Role::HardwareLog) => "hardware log".into(),
            Some(Role::Other) | None => "other".into(),
        }
    }

    /// How counters are laid out on the media; `None` if memory holds plaintext.
    pub fn counter_layout(&self) -> Option<CounterLayout> {
        self.durable.cipher().map(|cipher| cipher.layout())
    }

    /// The transaction of `core` that is in flight or would be next, and its stage.
    pub fn transaction_of(&self, core: CoreId) -> (Option<u64>, Option<&'static str>) {
        self.in_flight(Some(core))
    }

    /// Whether `violation` still holds, as of the last judgement. Not defined for violations of a boot or of a battery;
    /// a leak during the run holds forever.
    pub fn stands(&self, violation: &Violation) -> bool {
        match violation.rule {
            Rule::Line => violation.line.and_then(|line| self.lines.find(line)).is_some_and(|id| self.is_wrong(id)),
            Rule::Atomicity | Rule::Durability => self
                .transactions
                .as_ref()
                .zip(violation.core)
                .is_some_and(|(transactions, core)| transactions.is_bad(core)),
            Rule::Plaintext | Rule::PadReuse | Rule::TweakReuse => {
                let of = |line: Line, rule| violation.line == Some(line) && violation.rule == rule;
                self.loss_leaks.iter().any(|(line, leak)| of(*line, leak.rule()))
            }
            Rule::Structure | Rule::FalseAlarm | Rule::Integrity | Rule::Battery | Rule::Recovery | Rule::TimedOut => {
                false
            }
        }
    }

    /// What `line` holds after the boot sequence, as of the last judgement; `None` for a line that nothing happened to.
    pub fn booted_line(&self, line: Line) -> Option<LineBytes> {
        self.lines.find(line).map(|id| *self.lines.record(id).booted())
    }

    /// Whether something happened to `line`.
    pub fn knows(&self, line: Line) -> bool {
        self.lines.find(line).is_some()
    }

    /// Keeps every violation from now on until [`Auditor::take_violations`] takes it.
    pub fn keep_all(&mut self) {
        self.collector.keep_all();
    }

    /// Takes the violations since the last call, all of them explained; empty unless [`Auditor::keep_all`] was called.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        self.collector.take_violations()
    }

    fn is_wrong(&self, id: Id) -> bool {
        self.lines.record(id).history.is_bad()
    }

    /// Whether the line belongs to a hardware log without counters.
    fn is_chained_log(&self, role: Role) -> bool {
        role == Role::HardwareLog && !self.durable.log_has_counters()
    }
}

fn plain(counter: AuditedCounter) -> (u64, u16) {
    (counter.major, counter.minor)
}
