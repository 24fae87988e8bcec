//! How many attacks of each kind became of what, with an example of each.

use super::{Attack, Target, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// A kind of attack: what is done, to what, and whether power is cut again during the boot.
type Row = (Attack, Target, bool);

/// The counts so far.
#[derive(Default)]
pub(super) struct Tallies {
    rows: BTreeMap<Row, BTreeMap<Verdict, (u64, AttackExample)>>,
    states: u64,
    units: u64,
    versions: u64,
}

/// An attack, described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttackExample {
    /// The event after which power fails.
    pub crash_event: u64,
    /// What the attacker does and what becomes of it.
    pub told: String,
}

/// What became of the attacks of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttackRow {
    /// What the attacker does.
    pub attack: Attack,
    /// What he changes.
    pub target: Target,
    /// Whether he also cuts power during the boot.
    pub power_cut: bool,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttackReport {
    /// Number of attacked states: each kind of attack on each durable state counts.
    pub attacked: u64,
    /// Number of durable states that were attacked.
    pub states: u64,
    /// The attacks by kind.
    pub rows: Vec<AttackRow>,
    /// What was covered, in a sentence or two.
    pub coverage: String,
}

impl AttackReport {
    /// Adds the attacks of another schedule.
    pub(crate) fn and(&mut self, other: AttackReport) {
        self.attacked += other.attacked;
        self.states += other.states;
        for row in other.rows {
            let kind = |row: &AttackRow| (row.attack, row.target, row.power_cut);
            match self.rows.iter_mut().find(|own| kind(own) == kind(&row)) {
                Some(own) => own.and(row),
                None => self.rows.push(row),
            }
        }
        self.coverage += &format!(" {}", other.coverage);
    }
}

impl AttackRow {
    fn and(&mut self, other: AttackRow) {
        let worst = |row: &AttackRow| [row.accepted, row.late, row.detected, row.denied].map(|count| count > 0);
        if worst(&other) > worst(self) {
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
        (self.units, self.versions) = (units, versions);
    }

    /// Counts an attack.
    pub fn count(&mut self, row: Row, verdict: Verdict, crash_event: u64, told: impl FnOnce() -> String) {
        let outcomes = self.rows.entry(row).or_default();
        let example = || AttackExample { crash_event, told: told() };
        outcomes.entry(verdict).or_insert_with(|| (0, example())).0 += 1;
    }

    /// The report; one of `every` distinct states was attacked.
    pub fn report(&self, every: u64) -> AttackReport {
        let rows: Vec<AttackRow> = self.rows.iter().map(|(row, outcomes)| row_of(*row, outcomes)).collect();
        let attacked = rows.iter().map(|row| row.attacked).sum();
        let which = match every {
            1 => "Every distinct durable state was attacked".to_owned(),
            every => format!("One of {every} distinct durable states was attacked, {} in all", self.states),
        };
        let coverage = format!(
            "{which}, with one change of each kind, drawn from {} units on the media and {} versions of them: {attacked} \
             attacked states.",
            self.units, self.versions
        );
        AttackReport { attacked, states: self.states, rows, coverage }
    }
}

fn row_of((attack, target, power_cut): Row, outcomes: &BTreeMap<Verdict, (u64, AttackExample)>) -> AttackRow {
    let count = |verdict| outcomes.get(&verdict).map_or(0, |(count, _)| *count);
    let (_, worst) = outcomes.values().next().expect("a row has an attack");
    AttackRow {
        attack,
        target,
        power_cut,
        attacked: outcomes.values().map(|(count, _)| count).sum(),
        accepted: count(Verdict::Accepted),
        late: count(Verdict::Late),
        detected: count(Verdict::Detected),
        denied: count(Verdict::Denied),
        harmless: count(Verdict::Harmless),
        example: worst.clone(),
    }
}
