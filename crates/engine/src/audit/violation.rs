//! What the auditors report.

use super::event_log::EventLog;
use crate::message::{CoreId, Line, Site};
use rustc_hash::FxHashSet;
use serde::{Serialize, Serializer};

/// The most distinct violations (by rule and line) that are explained. In addition, the first violation of every other
/// rule is explained. All are counted.
const EXPLAINED_MAX: usize = 20;

/// The rule that was broken (model.md section 9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A line does not decrypt to a value that it must have.
    Line,
    /// The transaction in flight is only partly there.
    Atomicity,
    /// A committed transaction is missing.
    Durability,
    /// Program data left the chip unencrypted.
    Plaintext,
    /// A pad was used for two different plaintexts.
    PadReuse,
    /// Lines without counters: the same ciphertext stands at two addresses.
    TweakReuse,
    /// The recovered structure breaks its own invariants.
    Structure,
    /// A boot, or a read after it, refuses memory that was not tampered with.
    FalseAlarm,
    /// Memory that an attacker has changed is accepted.
    Integrity,
    /// What must leave after power loss needs more than the battery supports.
    Battery,
    /// The user's own recovery fails.
    Recovery,
    /// It does not end in time.
    #[serde(rename = "timed-out")]
    TimedOut,
}

/// What a broken rule costs, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cost {
    /// The user's own recovery does not succeed.
    Recovery,
    /// Data is lost, torn, or not given to the program.
    Data,
    /// What an attacker has changed is given to the program.
    Tampering,
    /// Somebody may learn what memory holds.
    Secrecy,
}

impl Rule {
    /// Whether the user's own recovery judges it, and no auditor.
    pub fn is_of_command(self) -> bool {
        self.cost() == Cost::Recovery
    }

    fn cost(self) -> Cost {
        match self {
            Rule::Recovery | Rule::TimedOut => Cost::Recovery,
            Rule::Line | Rule::Atomicity | Rule::Durability | Rule::Structure | Rule::FalseAlarm | Rule::Battery => {
                Cost::Data
            }
            Rule::Integrity => Cost::Tampering,
            Rule::Plaintext | Rule::PadReuse | Rule::TweakReuse => Cost::Secrecy,
        }
    }

    /// The rule's name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Line => "line",
            Rule::Atomicity => "atomicity",
            Rule::Durability => "durability",
            Rule::Plaintext => "plaintext",
            Rule::PadReuse => "pad_reuse",
            Rule::TweakReuse => "tweak_reuse",
            Rule::Structure => "structure",
            Rule::FalseAlarm => "false_alarm",
            Rule::Integrity => "integrity",
            Rule::Battery => "battery",
            Rule::Recovery => "recovery",
            Rule::TimedOut => "timed-out",
        }
    }
}

/// Where a recorded program touched a line last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastTouch {
    pub line: Line,
    /// Where it last stored to the line.
    pub stored: Site,
    /// Where it has flushed the line since then, last.
    pub flushed: Option<Site>,
}

/// Lines that a violation is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Some of them, those first that were stored to last.
    pub lines: Vec<LastTouch>,
    /// How many there are.
    pub count: u64,
}

/// One violation of a rule. The auditor that finds it, the reports and the pages that show it use the same value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "FoundViolation")]
pub struct Violation {
    /// The rule that was broken.
    pub rule: Rule,
    /// Power fails after this event, counted from 1.
    pub crash_event: u64,
    /// The steps after which power fails again: of the recovery, of the recovery from that failure, and so on. Empty if
    /// it fails once. A report of crashes has its own keys for them.
    #[serde(skip)]
    pub nested_events: Vec<u64>,
    /// The core that is affected, if there is one.
    #[schemars(with = "Option<u64>")]
    pub core: Option<CoreId>,
    /// The transaction of that core that was in flight, or would have been next.
    pub transaction: Option<u64>,
    /// The stage of the transaction: "prepare", "mutate" or "commit"; null between transactions and if it is unknown.
    pub stage: Option<&'static str>,
    /// The line that is affected; in JSON, its byte address.
    #[serde(serialize_with = "as_address")]
    #[schemars(with = "Option<u64>")]
    pub line: Option<Line>,
    /// What happened, in sentences.
    pub explanation: String,
    /// The lines that it is about, where a recorded program is watched. A report has its own keys for them.
    #[serde(skip)]
    pub lost: Lost,
}

/// What decides where a violation is shown.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    rule: Rule,
    crash_event: u64,
    failures_again: usize,
}

impl Violation {
    pub(crate) fn subject(&self) -> Subject {
        Subject { rule: self.rule, crash_event: self.crash_event, failures_again: self.nested_events.len() }
    }
}

/// Leaks of the running machine in events that are no crash points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: Violation,
}

fn as_address<S: Serializer>(line: &Option<Line>, serializer: S) -> Result<S::Ok, S::Error> {
    line.map(Line::address).serialize(serializer)
}

/// Puts violations into the order in which everything shows them: first an example of each rule, the earliest, then the
/// others. Lost data comes before a leaked secret, and then what happens earlier comes first. `of`: what the violation of an
/// item is about.
pub(crate) fn most_telling_first<T>(items: &mut Vec<T>, of: impl Fn(&T) -> Subject) {
    // The sort is stable: of those of one event, the one that was found first comes first.
    items.sort_by_key(|item| {
        let Subject { rule, crash_event, failures_again } = of(item);
        (rule.cost(), crash_event, failures_again)
    });
    let mut shown: FxHashSet<Rule> = FxHashSet::default();
    let (examples, others): (Vec<T>, Vec<T>) = items.drain(..).partition(|item| shown.insert(of(item).rule));
    items.extend(examples);
    items.extend(others);
}

/// Collects violations: keeps the first ones, and the first of each rule; counts all.
#[derive(Default)]
pub(crate) struct Collector {
    seen: FxHashSet<(Rule, Option<Line>)>,
    pub explained: Vec<Violation>,
    pub count: u64,
    /// The violations since the last call of [`Self::take_violations`], all of them explained; `None` if they are not kept.
    told: Option<Vec<Violation>>,
}

impl Collector {
    /// Counts a violation; calls `explain` if it is new and there is room.
    pub fn add(&mut self, rule: Rule, line: Option<Line>, explain: impl FnOnce() -> Violation) {
        self.count += 1;
        let room = self.explained.len() < EXPLAINED_MAX || !self.seen.iter().any(|(known, _)| *known == rule);
        let new = room && self.seen.insert((rule, line));
        if !new && self.told.is_none() {
            return;
        }
        let violation = explain();
        if let Some(told) = &mut self.told {
            told.push(violation.clone());
        }
        if new {
            self.explained.push(violation);
        }
    }

    /// Keeps a violation that has been counted and still holds, if violations are kept.
    pub fn again(&mut self, explain: impl FnOnce() -> Violation) {
        if let Some(told) = &mut self.told {
            told.push(explain());
        }
    }

    /// Counts a violation without a line, which differs from those before it; calls `explain` if there is room.
    pub fn add_each(&mut self, rule: Rule, explain: impl FnOnce() -> Violation) {
        self.count += 1;
        if self.explained.len() < EXPLAINED_MAX || self.seen.insert((rule, None)) {
            self.seen.insert((rule, None));
            self.explained.push(explain());
        }
    }

    /// The violations that are explained from number `first` on, to be added to.
    pub fn explained_from(&mut self, first: usize) -> &mut [Violation] {
        self.explained.get_mut(first..).unwrap_or_default()
    }

    /// Keeps every violation from now on until [`Collector::take_violations`] takes it.
    pub fn keep_all(&mut self) {
        self.told = Some(Vec::new());
    }

    /// Takes what was added since the last call, all of it explained; empty if violations are not kept.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        self.told.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// Appends the latest things that happened to `line` and to its counter block.
pub(super) fn with_event_log(mut explanation: String, event_log: &EventLog, line: Line) -> String {
    let story = event_log.about(line);
    if !story.is_empty() {
        explanation.push_str(" What happened there last: ");
        explanation.push_str(&story);
    }
    explanation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(rule: Rule, line: Line) -> Violation {
        Violation {
            rule,
            crash_event: 1,
            nested_events: Vec::new(),
            core: None,
            transaction: None,
            stage: None,
            line: Some(line),
            explanation: String::new(),
            lost: Lost::default(),
        }
    }

    #[test]
    fn lost_data_comes_first_then_an_example_of_each_rule() {
        let found = [
            (Rule::PadReuse, 90),
            (Rule::PadReuse, 96),
            (Rule::Line, 113),
            (Rule::Line, 113),
            (Rule::Plaintext, 50),
            (Rule::Durability, 300),
            (Rule::Integrity, 7),
            (Rule::Line, 100),
            (Rule::TimedOut, 400),
        ];
        let mut found: Vec<(usize, Violation)> = found
            .into_iter()
            .map(|(rule, crash_event)| Violation { crash_event, ..violation(rule, Line(0)) })
            .enumerate()
            .collect();
        most_telling_first(&mut found, |(_, violation)| violation.subject());
        let order: Vec<usize> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(order, [8, 7, 5, 6, 4, 0, 2, 3, 1]);
    }

    #[test]
    fn flood_of_one_rule_does_not_hide_the_others() {
        let mut collector = Collector::default();
        for line in (0..30).map(Line) {
            collector.add(Rule::PadReuse, Some(line), || violation(Rule::PadReuse, line));
        }
        for line in (0..2).map(Line) {
            collector.add(Rule::Atomicity, Some(line), || violation(Rule::Atomicity, line));
        }
        let of = |rule| collector.explained.iter().filter(|known| known.rule == rule).count();
        assert_eq!((of(Rule::PadReuse), of(Rule::Atomicity), collector.count), (20, 1, 32));
    }
}
