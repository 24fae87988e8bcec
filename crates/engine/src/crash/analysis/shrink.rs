//! Finds the smallest run that still breaks a rule: fewest transactions, then the smallest structure, then the earliest
//! event.
//!
//! A shorter run is not the beginning of a longer one, because structures are laid out with room for every transaction
//! and cores look ahead. So each candidate is a separate exploration, which ends at the first violation of the rule:
//!
//! ```text
//! smallest of all
//! transactions: 1, 2, 4, ... to the first number that fails, then by halves between it and the last that holds
//! again and again until nothing changes:
//!     one transaction less; if that fails, transactions as before
//!     cores, bytes of a transaction, footprint: from the smallest up, to the first that fails
//! ```
//!
//! A candidate is never larger than the run that it came from, so it costs no more. The number of candidates for a rule
//! and the number of crashes in all of them are bounded. The function that explores is a parameter: schedules and legal
//! states are shrunk in the same way.

use super::super::{CrashReport, Exploration, ReportedViolation, Reproduction, Shape, Shrunk};
use crate::audit::{Rule, Violation};
use crate::config::RunConfig;
use crate::kernel::Failure;
use crate::message::LINE_BYTES;
use crate::workload::footprint_min;

/// Most rules whose violations are shrunk.
const RULES_MAX: usize = 3;
/// Most smaller runs that are explored for one rule.
const CANDIDATES_MAX: usize = 40;
/// Most crashes in all of them, as a multiple of those of the run itself: about the cost of doubling and then bisecting
/// if the last transactions fail.
const WORK_MAX: u64 = 8;
/// This many crashes are always allowed, however short the run itself was.
const WORK_MIN: u64 = 20_000;

/// An exploration of one run.
pub type Explore<'a> = dyn FnMut(&RunConfig, &Exploration) -> Result<CrashReport, Failure> + 'a;

impl Shape {
    fn of(config: &RunConfig) -> Self {
        let RunConfig { transactions, warmup, tx_size, footprint, cores, .. } = *config;
        Self { transactions, warmup, tx_size, footprint, cores }
    }

    fn put_into(self, config: &RunConfig) -> RunConfig {
        let Self { transactions, warmup, tx_size, footprint, cores } = self;
        RunConfig { transactions, warmup, tx_size, footprint, cores, ..config.clone() }
    }

    /// The smallest request that may replace this one.
    fn smallest(self) -> Self {
        let (tx_size, cores) = (LINE_BYTES, 1);
        let footprint = footprint_min(tx_size, cores).min(self.footprint);
        Self { transactions: 1, warmup: 0, tx_size, footprint, cores }
    }

    /// The same number of transactions, all of them measured.
    fn without_warmup(self) -> Self {
        Self { transactions: self.transactions + self.warmup, warmup: 0, ..self }
    }
}

/// Shrinks the violations of `report`, which `explore` returned for `config`: the example of each of its first rules. A run that `explore` refuses counts as holding. After an interruption, returns what was found so far.
pub fn shrink(
    config: &RunConfig,
    exploration: &Exploration,
    report: &CrashReport,
    explore: &mut Explore<'_>,
) -> Vec<Shrunk> {
    // The report begins with an example of each rule.
    let mut first: Vec<&ReportedViolation> = Vec::new();
    for found in &report.violations {
        if first.iter().any(|known| known.violation.rule == found.violation.rule) || first.len() == RULES_MAX {
            break;
        }
        first.push(found);
    }
    let mut work_left = (WORK_MAX * (report.crash_points + report.nested_points)).max(WORK_MIN);
    let mut shrunk: Vec<Shrunk> = Vec::new();
    let mut smaller = None;
    for (place, violation) in first.iter().enumerate() {
        let rules_left = (first.len() - place) as u64;
        let rule = violation.violation.rule;
        let mut search = Search {
            config,
            exploration: Exploration { stop_at: Some(rule), stages: false, ..*exploration },
            explore: &mut *explore,
            rule,
            best: Shape::of(config),
            violation: (*violation).clone(),
            tried: Vec::new(),
            candidates_left: CANDIDATES_MAX,
            work_left: work_left / rules_left,
            interrupted: false,
        };
        let work = search.work_left;
        let minimal = search.run(smaller);
        work_left -= work - search.work_left;
        smaller = Some(search.best);
        let interrupted = search.interrupted;
        shrunk.push(search.result(minimal));
        if interrupted {
            break;
        }
    }
    shrunk
}

/// The search for one rule.
struct Search<'a, 'b> {
    config: &'a RunConfig,
    exploration: Exploration,
    explore: &'a mut Explore<'b>,
    rule: Rule,
    /// The smallest known shape that breaks the rule.
    best: Shape,
    /// The violation of that run.
    violation: ReportedViolation,
    /// Shapes that were explored and hold, or that are not possible.
    tried: Vec<Shape>,
    candidates_left: usize,
    work_left: u64,
    interrupted: bool,
}

impl Search<'_, '_> {
    /// Searches. Returns true if no smaller candidate is left. `guess`: a shape that may fail, because it breaks
    /// another rule.
    fn run(&mut self, guess: Option<Shape>) -> bool {
        // Most faults show in the first transaction of the smallest structure.
        if !self.fails(self.best.smallest()) {
            guess.map(|shape| self.fails(shape));
            self.fails(self.best.without_warmup());
        }
        self.fewest_transactions();
        loop {
            let before = self.best;
            // With a smaller structure, fewer transactions may be enough.
            let fewer = self.best.transactions - 1;
            if fewer > 0 && self.fails(Shape { transactions: fewer, ..self.best }) {
                self.fewest_transactions();
            }
            for cores in doubling(1, u64::from(before.cores)) {
                let cores = cores as u16;
                if self.fails(Shape { cores, ..self.best }) {
                    break;
                }
            }
            for tx_size in doubling(LINE_BYTES, before.tx_size) {
                if self.fails(Shape { tx_size, ..self.best }) {
                    break;
                }
            }
            for footprint in doubling(footprint_min(self.best.tx_size, self.best.cores), before.footprint) {
                if self.fails(Shape { footprint, ..self.best }) {
                    break;
                }
            }
            if self.is_over() || self.best == before {
                return !self.is_over();
            }
        }
    }

    fn fewest_transactions(&mut self) {
        let most = self.best.transactions;
        let in_flight = self.violation.violation.transaction.map(|number| number + 1);
        let mut counts: Vec<u64> = doubling(1, most).chain(in_flight.filter(|count| *count < most)).collect();
        counts.sort_unstable();
        let mut holds = 0;
        for transactions in counts {
            if self.fails(Shape { transactions, ..self.best }) {
                break;
            }
            holds = transactions;
        }
        while holds + 1 < self.best.transactions && !self.is_over() {
            let transactions = holds + (self.best.transactions - holds) / 2;
            if !self.fails(Shape { transactions, ..self.best }) {
                holds = transactions;
            }
        }
    }

    /// Whether a run of `shape` breaks the rule, too; if so, it becomes the best.
    fn fails(&mut self, shape: Shape) -> bool {
        if self.is_over() || shape == self.best || self.tried.contains(&shape) {
            return false;
        }
        let found = match (self.explore)(&shape.put_into(self.config), &self.exploration) {
            Ok(report) => {
                self.work_left = self.work_left.saturating_sub(report.crash_points + report.nested_points);
                report.violations.into_iter().find(|found| found.violation.rule == self.rule)
            }
            // Not possible: the structure cannot be that small, or the log is too short for it.
            Err(Failure::Config(_)) => None,
            Err(Failure::Cancelled) => {
                self.interrupted = true;
                return false;
            }
        };
        self.candidates_left -= 1;
        self.tried.push(shape);
        let Some(violation) = found else { return false };
        (self.best, self.violation) = (shape, violation);
        true
    }

    fn is_over(&self) -> bool {
        self.interrupted || self.candidates_left == 0 || self.work_left == 0
    }

    fn result(self, minimal: bool) -> Shrunk {
        let Shape { transactions, tx_size, footprint, cores, .. } = self.best;
        let nested_event = self.violation.nested_event();
        let ReportedViolation { violation, schedule, reproduce, .. } = self.violation;
        let Violation { rule, crash_event, explanation, .. } = violation;
        let tried = self.tried.len() as u32;
        Shrunk {
            rule,
            transactions,
            tx_size,
            footprint,
            cores,
            crash_event,
            nested_event,
            schedule,
            explanation,
            reproduce: Reproduction { shape: Some(self.best), ..reproduce },
            tried,
            minimal,
        }
    }
}

/// `least`, twice that, and so on, below `below`.
fn doubling(least: u64, below: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(least), |value| value.checked_mul(2)).take_while(move |value| *value < below)
}

#[cfg(test)]
mod tests;
