//! How many attacks of each kind became of what, with an example of each.

use super::running::{AFTERMATH, HORIZON};
use super::versions::Repeats;
use super::{Attack, Moment, Target, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// A kind of attack: what is done, to what, and when.
type Row = (Attack, Target, Moment);

/// The counts so far.
#[derive(Default)]
pub(super) struct Tallies {
    rows: BTreeMap<Row, BTreeMap<Verdict, (u64, AttackExample)>>,
    states: u64,
    accesses: u64,
    units: u64,
    versions: u64,
}

/// An attack, described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct AttackExample {
    /// The event after which power fails, or after which the running machine is attacked.
    pub crash_event: u64,
    /// What the attacker does and what becomes of it.
    pub told: String,
}

/// What became of the attacks of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct AttackRow {
    /// What the attacker does.
    pub attack: Attack,
    /// What is changed.
    pub target: Target,
    /// When.
    pub when: Moment,
    /// The worst that has become of it.
    pub verdict: Verdict,
    /// Number of attacked states.
    pub attacked: u64,
    /// Attacks that give the program wrong bytes and that nothing notices.
    pub accepted: u64,
    /// Attacks that a check finds after wrong bytes have been used.
    pub late: u64,
    /// Attacks that a check finds before anything wrong is used.
    pub detected: u64,
    /// Attacks that make memory refused although all of it would have been read right.
    pub denied: u64,
    /// Attacks after which everything is read right.
    pub harmless: u64,
    /// The first attack of this kind with the worst outcome.
    pub example: AttackExample,
}

/// What became of all attacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Attacks")]
pub struct AttackReport {
    /// Number of attacked states: each kind of attack on each durable state counts.
    pub attacked: u64,
    /// Number of durable states that were attacked.
    pub states: u64,
    /// Number of accesses before which the running machine was attacked.
    pub accesses: u64,
    /// The attacks by kind.
    pub rows: Vec<AttackRow>,
    /// What whoever only watches the bus learns.
    pub watched: Watched,
    /// What was covered, in a sentence or two.
    pub coverage: String,
}

/// What an attacker learns who changes nothing and compares what crosses the bus: where the same bytes come again at the same
/// address, the plaintext is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Watched")]
pub struct Watched {
    /// Blocks of 16 bytes of data lines that crossed the bus.
    pub blocks: u64,
    /// Those whose bytes had crossed it before at the same address.
    pub repeated: u64,
    /// Whether these are the blocks that modules stored, because they encrypt and the bus has plaintext.
    pub stored: bool,
    /// The first of them, if there is one.
    pub example: Option<AttackExample>,
}

impl Watched {
    /// What `versions` show.
    fn of(repeats: Repeats) -> Self {
        let example = repeats.first.map(|(media, number, [before, event])| AttackExample {
            crash_event: event,
            told: format!(
                "block {number} of the line at {:#x} left in event {event} with the bytes that it had in event {before}: whoever \
                 compares the two knows that its plaintext is the same",
                media.as_line().map_or(0, |line| line.address())
            ),
        });
        Self { blocks: repeats.blocks, repeated: repeats.repeated, stored: repeats.stored, example }
    }

    fn and(&mut self, other: Watched) {
        self.blocks += other.blocks;
        self.repeated += other.repeated;
        self.stored |= other.stored;
        self.example = self.example.take().or(other.example);
    }
}

impl AttackReport {
    /// Adds the attacks of another schedule.
    pub(crate) fn and(&mut self, other: AttackReport) {
        self.attacked += other.attacked;
        self.states += other.states;
        self.accesses += other.accesses;
        for row in other.rows {
            let kind = |row: &AttackRow| (row.attack, row.target, row.when);
            match self.rows.iter_mut().find(|own| kind(own) == kind(&row)) {
                Some(own) => own.and(row),
                None => self.rows.push(row),
            }
        }
        self.watched.and(other.watched);
        self.coverage += &format!(" {}", other.coverage);
    }
}

impl AttackRow {
    fn and(&mut self, other: AttackRow) {
        if other.verdict < self.verdict {
            self.verdict = other.verdict;
            self.example = other.example;
        }
        self.attacked += other.attacked;
        self.accepted += other.accepted;
        self.late += other.late;
        self.detected += other.detected;
        self.denied += other.denied;
        self.harmless += other.harmless;
    }
}

impl Tallies {
    /// A state of memory with so many units, of which there have been so many versions, is attacked.
    pub fn state(&mut self, units: u64, versions: u64) {
        self.states += 1;
        self.reaches(units, versions);
    }

    /// The running machine is attacked before an access, with so many units on the media and versions of them.
    /// Returns the number of such accesses so far.
    pub fn access(&mut self, units: u64, versions: u64) -> u64 {
        self.accesses += 1;
        self.reaches(units, versions);
        self.accesses
    }

    /// The most that attacks are drawn from is told: what a battery leaves is there for one state.
    fn reaches(&mut self, units: u64, versions: u64) {
        (self.units, self.versions) = (self.units.max(units), self.versions.max(versions));
    }

    /// Counts an attack.
    pub fn count(&mut self, row: Row, verdict: Verdict, crash_event: u64, told: impl FnOnce() -> String) {
        let outcomes = self.rows.entry(row).or_default();
        let example = || AttackExample { crash_event, told: told() };
        outcomes.entry(verdict).or_insert_with(|| (0, example())).0 += 1;
    }

    /// The report; one of `every` distinct states was attacked, and the bus showed `repeats`.
    pub fn report(&self, every: u64, repeats: Repeats) -> AttackReport {
        let rows: Vec<AttackRow> = self.rows.iter().map(|(row, outcomes)| row_of(*row, outcomes)).collect();
        let attacked = rows.iter().map(|row| row.attacked).sum();
        let (which, whose) = match every {
            1 => ("Every distinct durable state was attacked".to_owned(), "every access".to_owned()),
            every => (
                format!("One of {every} distinct durable states was attacked, {} in all", self.states),
                format!("one of {every} accesses"),
            ),
        };
        let coverage = format!(
            "{which}, and the running machine before {whose} of the caches to memory, {} in all, with one change of each \
             kind, drawn from {} units on the media and {} versions of them: {attacked} attacks. An attacked machine runs on \
             for {HORIZON} events, or for {AFTERMATH} after a wrong byte or an alarm.",
            self.accesses, self.units, self.versions
        );
        let watched = Watched::of(repeats);
        AttackReport { attacked, states: self.states, accesses: self.accesses, rows, watched, coverage }
    }
}

fn row_of((attack, target, when): Row, outcomes: &BTreeMap<Verdict, (u64, AttackExample)>) -> AttackRow {
    let count = |verdict| outcomes.get(&verdict).map_or(0, |(count, _)| *count);
    let (verdict, (_, worst)) = outcomes.first_key_value().expect("a row has an attack");
    AttackRow {
        attack,
        target,
        when,
        verdict: *verdict,
        attacked: outcomes.values().map(|(count, _)| count).sum(),
        accepted: count(Verdict::Accepted),
        late: count(Verdict::Late),
        detected: count(Verdict::Detected),
        denied: count(Verdict::Denied),
        harmless: count(Verdict::Harmless),
        example: worst.clone(),
    }
}
