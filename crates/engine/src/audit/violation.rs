//! What the auditors report.

use super::event_log::EventLog;
use crate::message::{CoreId, Line};
use rustc_hash::FxHashSet;
use serde::{Serialize, Serializer};

/// Distinct violations (by rule and line) that are explained, and after them the first of every rule that is not among
/// them; all are counted.
const EXPLAINED_MAX: usize = 20;

/// Which rule was broken (model.md section 9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A line does not decrypt to what it must.
    Line,
    /// The transaction in flight is there in part.
    Atomicity,
    /// A committed transaction is not there.
    Durability,
    /// Program data left the chip in the clear.
    Plaintext,
    /// A pad was used for two different plaintexts.
    PadReuse,
    /// The recovered structure breaks its own invariants.
    Structure,
    /// What is to leave after power is lost takes more than the battery supports.
    Battery,
    /// The user's own recovery fails.
    Recovery,
}

impl Rule {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Line => "line",
            Rule::Atomicity => "atomicity",
            Rule::Durability => "durability",
            Rule::Plaintext => "plaintext",
            Rule::PadReuse => "pad_reuse",
            Rule::Structure => "structure",
            Rule::Battery => "battery",
            Rule::Recovery => "recovery",
        }
    }
}

/// One broken rule: the same value from the auditor that finds it to the reports and pages that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule broken.
    pub rule: Rule,
    /// Power fails after this event, counted from 1.
    pub crash_event: u64,
    /// Power fails again after these steps, first to last: of the recovery, of the recovery from that, and so on. Empty:
    /// it fails once. A report of crashes has its own keys for it.
    #[serde(skip)]
    pub nested_events: Vec<u64>,
    /// The core concerned, where there is one.
    pub core: Option<CoreId>,
    /// The transaction of that core that was in flight, or would have been next.
    pub transaction: Option<u64>,
    /// The stage that the transaction was in: "prepare", "mutate" or "commit"; null between transactions and where it is
    /// unknown.
    pub stage: Option<&'static str>,
    /// The line concerned; in JSON, its byte address.
    #[serde(serialize_with = "as_address")]
    pub line: Option<Line>,
    /// What happened, in sentences.
    pub explanation: String,
}

fn as_address<S: Serializer>(line: &Option<Line>, serializer: S) -> Result<S::Ok, S::Error> {
    line.map(Line::address).serialize(serializer)
}

/// Gathers violations: keeps the first, and the first of each rule; counts all.
#[derive(Default)]
pub(crate) struct Collector {
    seen: FxHashSet<(Rule, Option<Line>)>,
    pub explained: Vec<Violation>,
    pub count: u64,
    /// What was added since this was last taken, all of it explained; `None`: nobody wants it.
    told: Option<Vec<Violation>>,
}

impl Collector {
    /// Counts a violation; `explain` is called if it is a new one and there is room.
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

    /// Counts a violation of no line that differs from those before it; `explain` is called if there is room.
    pub fn add_each(&mut self, rule: Rule, explain: impl FnOnce() -> Violation) {
        self.count += 1;
        if self.explained.len() < EXPLAINED_MAX || self.seen.insert((rule, None)) {
            self.seen.insert((rule, None));
            self.explained.push(explain());
        }
    }

    /// Keeps every violation from now on until [`Collector::take_told`] takes it.
    pub fn keep_all(&mut self) {
        self.told = Some(Vec::new());
    }

    /// Takes what was added since the last call, all of it explained; nothing if nobody asked to keep it.
    pub fn take_told(&mut self) -> Vec<Violation> {
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

    #[test]
    fn a_flood_of_one_rule_does_not_hide_the_others() {
        let mut collector = Collector::default();
        let violation = |rule, line| Violation {
            rule,
            crash_event: 1,
            nested_events: Vec::new(),
            core: None,
            transaction: None,
            stage: None,
            line: Some(line),
            explanation: String::new(),
        };
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
