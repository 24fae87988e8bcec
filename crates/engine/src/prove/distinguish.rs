//! Two designs on the same programs: the smallest on which they differ in verdict, in what boots show, or in what is written.

use super::difference::{
    DesignOutcome, DesignTried, Difference, Differs, DistinctionReport, OnlyState, StandsFor, TimingShared,
};
use super::proof::{Case, group_name, left_out, places_of};
use super::report::ProofHost;
use super::space::Space;
use super::states::{State, States};
use super::timing::TIMINGS;
use super::walk::walk;
use crate::crash::{CrashReport, Exploration, Kept, ReportedViolation, Written};
use crate::kernel::{Failure, Stopwatch};
use crate::message::ProgramForm;
use crate::stats::per_second;
use crate::workload::litmus::{Litmus, PLACES, StandIn};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Both designs under one timing.
pub struct Pair {
    /// The first design and the second one, each on its machine.
    pub cases: [Case; 2],
    /// For each of them, whether the timing makes no difference to it.
    pub void: [bool; 2],
}

/// Two designs that are compared.
pub struct Distinguishing<'a> {
    /// The programs, which both run.
    pub space: &'a Space,
    /// The timings; the first is that of the machine as it is asked for, if that is among them.
    pub pairs: &'a [Pair],
    /// How power fails in each run.
    pub exploration: Exploration,
    /// Whether programs are judged on all threads of the pool that this thread belongs to.
    pub shared: bool,
    /// Called with the number of programs judged since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Set when the user interrupts.
    pub cancel: &'a AtomicBool,
}

/// What one design does with a program under one timing.
#[derive(Clone)]
struct Outcome {
    /// What is broken first.
    broken: Option<ReportedViolation>,
    /// What boots show, with the first event after which a power failure leaves it.
    states: BTreeMap<State, u64>,
    written: Written,
    crash_points: u64,
    nested_points: u64,
    internal_error: Option<String>,
}

/// What both do with a program, by design and timing.
type Outcomes = [Vec<Outcome>; 2];

/// What all programs so far have shown.
#[derive(Default)]
struct Found {
    programs: u64,
    failing: [u64; 2],
    crash_points: u64,
    nested_points: u64,
    differences: Vec<Difference>,
    internal_errors: Vec<String>,
}

impl Distinguishing<'_> {
    /// Runs all programs on both designs. After an interruption the report covers those that were judged until then.
    ///
    /// # Errors
    /// An interruption before the first program was judged, or a program that cannot be run.
    pub fn distinguish(&self) -> Result<DistinctionReport, Failure> {
        let started = Stopwatch::start();
        let mut found = Found::default();
        let walked = walk(
            self.space,
            self.shared,
            |program| self.judge(program),
            |program, both| self.add(&mut found, program, &both),
        );
        let interrupted = match walked {
            Err(Failure::Cancelled) if found.programs > 0 => true,
            outcome => outcome.map(|()| false)?,
        };
        Ok(self.report(found, interrupted, started.seconds()))
    }

    /// What both designs do with a program under each timing.
    fn judge(&self, program: &Litmus) -> Result<Outcomes, Failure> {
        let mut both: Outcomes = Default::default();
        for (design, outcomes) in both.iter_mut().enumerate() {
            for pair in self.pairs {
                // What a timing does not change is known from the machine as it is.
                let same =
                    (!outcomes.is_empty() && pair.void[design] && self.begins_with_machine()).then(|| &outcomes[0]);
                let outcome = match same {
                    Some(known) => Outcome { crash_points: 0, nested_points: 0, ..known.clone() },
                    None => self.outcome(&pair.cases[design], program)?,
                };
                outcomes.push(outcome);
            }
        }
        (self.progress)(1);
        Ok(both)
    }

    fn begins_with_machine(&self) -> bool {
        self.pairs[0].cases[0].timing == TIMINGS[0]
    }

    fn outcome(&self, case: &Case, program: &Litmus) -> Result<Outcome, Failure> {
        let group = group_of(program);
        let lines = group.iter().map(|place| PLACES[usize::from(*place)].line).collect();
        let mut kept = Kept { lines, ..Kept::default() };
        let program = case.timing.program(program);
        let report = case.explore(&program, &self.exploration, Some(&mut kept), self.cancel)?;
        let CrashReport { crash_points, nested_points, violations, internal_errors, .. } = report;
        let names = States::of(&program, &group, |number| case.timing.operation(number));
        let mut states = BTreeMap::new();
        for (event, shown) in &kept.states {
            states.entry(names.name(shown)).or_insert(*event);
        }
        Ok(Outcome {
            broken: violations.into_iter().next(),
            states,
            written: kept.written,
            crash_points,
            nested_points,
            internal_error: internal_errors.first().map(|error| format!("{}, {program}: {error}", case.design.name)),
        })
    }

    fn add(&self, found: &mut Found, program: &Litmus, both: &Outcomes) {
        found.programs += 1;
        for (failing, outcomes) in found.failing.iter_mut().zip(both) {
            *failing += u64::from(outcomes.iter().any(|outcome| outcome.broken.is_some()));
        }
        for outcome in both.iter().flatten() {
            found.crash_points += outcome.crash_points;
            found.nested_points += outcome.nested_points;
            found.internal_errors.extend(outcome.internal_error.clone());
        }
        // The first tell what is wrong.
        found.internal_errors.truncate(10);
        for (differs, timing) in differing(both) {
            match found.differences.iter_mut().find(|known| known.differs == differs) {
                Some(known) => known.programs += 1,
                None => found.differences.push(self.difference(differs, timing, program, both)),
            }
        }
    }

    /// The row of a program on which the designs differ in this way, first under this timing.
    fn difference(&self, differs: Differs, timing: usize, program: &Litmus, both: &Outcomes) -> Difference {
        let group = group_of(program);
        let shown = |design: usize| {
            let Outcome { broken, states, written, .. } = &both[design][timing];
            let only = only_states(both, design).into_iter().filter(|_| differs == Differs::States);
            let only = only.map(|(state, under, crash_event)| OnlyState {
                state: state.text(&group),
                timing: self.timing(under),
                program: self.pairs[under].cases[0].timing.program(program).to_string(),
                crash_event,
            });
            DesignOutcome {
                holds: broken.is_none(),
                rule: broken.as_ref().map(|found| found.violation.rule),
                crash_event: broken.as_ref().map(|found| found.violation.crash_event),
                nested_event: broken.as_ref().and_then(ReportedViolation::nested_event),
                explanation: broken.as_ref().map(|found| found.violation.explanation.clone()),
                states: states.keys().map(|state| state.text(&group)).collect(),
                only: only.collect(),
                written: *written,
                reproduce: serde_json::Map::new(),
            }
        };
        Difference {
            differs,
            programs: 1,
            program: self.pairs[timing].cases[0].timing.program(program).to_string(),
            operations: program.operations() as u64,
            timing: self.timing(timing),
            first: shown(0),
            second: shown(1),
        }
    }

    fn timing(&self, number: usize) -> &'static str {
        self.pairs[number].cases[0].timing.name
    }

    fn report(&self, found: Found, interrupted: bool, seconds: f64) -> DistinctionReport {
        let Case { config, .. } = &self.pairs[0].cases[0];
        let any = !found.differences.is_empty();
        let shared = |pair: &Pair| {
            let sets = |design: usize| match pair.void[design] {
                true => Vec::new(),
                false => pair.cases[design].timing.sets(&pair.cases[design].design),
            };
            let timing = &pair.cases[0].timing;
            TimingShared { name: timing.name, meaning: timing.meaning, first: sets(0), second: sets(1) }
        };
        DistinctionReport {
            schema: 1,
            design: self.tried(0, found.failing[0]),
            other: self.tried(1, found.failing[1]),
            machine: config.machine.name.clone(),
            seed: config.seed,
            request: serde_json::Map::new(),
            differ: (any || !interrupted).then_some(any),
            operations: self.space.operations as u64,
            steps: self.space.kinds.iter().map(|kind| kind.name()).collect(),
            places: places_of(self.space),
            groups: self.space.groups.iter().map(|group| group_name(group)).collect(),
            timings: self.pairs.iter().map(shared).collect(),
            coverage: self.coverage(found.programs),
            programs: found.programs,
            crash_points: found.crash_points,
            nested_points: found.nested_points,
            differences: found.differences,
            interrupted,
            internal_errors: found.internal_errors,
            host: ProofHost {
                seconds,
                programs_per_second: per_second(found.programs, seconds),
                runs_per_second: per_second(found.programs * 2 * self.pairs.len() as u64, seconds),
            },
        }
    }

    fn tried(&self, number: usize, failing: u64) -> DesignTried {
        let Case { config, design, .. } = &self.pairs[0].cases[number];
        let foreign = self.space.kinds.iter().filter(|kind| !kind.is_in(design.form));
        let stands_for = foreign.map(|kind| StandsFor {
            operation: kind.name(),
            becomes: match kind.stand_in(design.form) {
                Some(StandIn::Step(other)) => Some(other.name()),
                Some(StandIn::Nothing) | None => None,
            },
        });
        DesignTried {
            design: config.design.clone(),
            parts: config.parts.clone(),
            variant: config.variant,
            form: design.form.into(),
            stand_ins: stands_for.collect(),
            failing,
        }
    }

    /// What was tried, and what was not.
    fn coverage(&self, programs: u64) -> String {
        let timings: Vec<&str> = self.pairs.iter().map(|pair| pair.cases[0].timing.name).collect();
        let again = match self.exploration.nested {
            0 => " Power did not fail again during recovery.",
            _ => " From each state it failed again after each step of the recovery.",
        };
        let logged =
            |pair: &Pair| pair.cases.iter().filter(|case| case.design.form == ProgramForm::HardwareLogged).count();
        let promise = match logged(&self.pairs[0]) {
            1 => {
                " Verdicts are about what each design promises: the one that logs in hardware keeps or undoes whole \
                 transactions, the other one keeps lines that a fence has covered."
            }
            _ => "",
        };
        format!(
            "{programs} programs of up to {} operations, each under {} timings ({}) on both designs, with a power failure after \
             each event.{again} These are not all orders in which the hardware may complete operations: no difference here is none \
             on these programs, under these timings.{promise} Programs that differ by interchangeable lines are one. {}",
            self.space.operations,
            self.pairs.len(),
            timings.join(", "),
            left_out(&self.space.forms),
        )
    }
}

/// The lines of a program, in the order of their names.
fn group_of(program: &Litmus) -> Vec<u8> {
    let mut group: Vec<u8> =
        program.steps().filter(|(_, step)| step.kind.has_line()).map(|(_, step)| step.line).collect();
    group.sort_unstable();
    group.dedup();
    group
}

/// In what the designs differ on a program, each with the first timing under which they do.
fn differing(both: &Outcomes) -> Vec<(Differs, usize)> {
    let [first, second] = both;
    let under =
        |differ: &dyn Fn(&Outcome, &Outcome) -> bool| first.iter().zip(second).position(|(one, two)| differ(one, two));
    let fails = |one: &Outcome, two: &Outcome| one.broken.is_some() && two.broken.is_none();
    let states = [0, 1].into_iter().flat_map(|design| only_states(both, design)).map(|(_, timing, _)| timing).min();
    [
        (Differs::FirstFails, under(&fails)),
        (Differs::SecondFails, under(&|one, two| fails(two, one))),
        (Differs::States, states),
        (Differs::Writes, under(&|one, two| one.written != two.written)),
    ]
    .into_iter()
    .filter_map(|(differs, timing)| Some((differs, timing?)))
    .collect()
}

/// The states that only this design leaves, each with the first timing and event with which it does.
fn only_states(both: &Outcomes, design: usize) -> Vec<(State, usize, u64)> {
    let mut only: Vec<(State, usize, u64)> = Vec::new();
    for (timing, outcome) in both[design].iter().enumerate() {
        for (state, event) in &outcome.states {
            let known = only.iter().any(|(known, ..)| known == state);
            if !known && both[1 - design].iter().all(|other| !other.states.contains_key(state)) {
                only.push((state.clone(), timing, *event));
            }
        }
    }
    only
}
