//! The proof: all programs of a space under each timing, the shortest first.

use super::report::{CounterExample, FailingProgram, LengthTally, PlaceUsed, ProofHost, ProofReport, TimingUsed};
use super::space::Space;
use super::timing::{TIMINGS, Timing};
use super::walk::walk;
use crate::audit::Rule;
use crate::config::RunConfig;
use crate::crash::{CrashCase, CrashReport, Exercised, Exploration, Kept};
use crate::kernel::{Failure, Stopwatch};
use crate::message::ProgramForm;
use crate::parts::Design;
use crate::run::Source;
use crate::stats::per_second;
use crate::workload::litmus::{Evicting, Litmus, PLACES};
use std::sync::atomic::{AtomicBool, Ordering};

/// The design and the machine of one timing.
pub struct Case {
    /// The timing.
    pub timing: Timing,
    /// The run, without its program.
    pub config: RunConfig,
    /// The design, which may have a seeded fault.
    pub design: Design,
}

impl Case {
    /// Runs `program`, as it is under the timing, with the power failures that `exploration` describes, and keeps what `kept` asks
    /// for.
    pub(super) fn explore(
        &self,
        program: &Litmus,
        exploration: &Exploration,
        kept: Option<&mut Kept>,
        cancel: &AtomicBool,
    ) -> Result<CrashReport, Failure> {
        if cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        let Self { config, design, .. } = self;
        let source = Source::Litmus(program.clone(), design.form, Evicting::of(&config.machine));
        let progress: &(dyn Fn(u64) + Sync) = &|_| {};
        let case = CrashCase { config, design, source: &source, wrappers: &[], progress, cancel };
        let report = match kept {
            Some(kept) => case.explore_keeping(exploration, kept)?,
            None => case.explore(exploration)?,
        };
        if report.interrupted { Err(Failure::Cancelled) } else { Ok(report) }
    }
}

/// What is proven.
pub struct Proving<'a> {
    /// The programs.
    pub space: &'a Space,
    /// The timings; the first is that of the machine as it is asked for.
    pub cases: &'a [Case],
    /// How power fails in each run.
    pub exploration: Exploration,
    /// Whether programs are judged on all threads of the pool that this thread belongs to.
    pub shared: bool,
    /// Whether the report lists every program that fails.
    pub lists: bool,
    /// Called with the number of programs judged since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Set when the user interrupts.
    pub cancel: &'a AtomicBool,
}

/// A violation of one program: the rule, the timing, and where power failed.
struct Broken {
    rule: Rule,
    timing: usize,
    /// The program as it is under the timing.
    program: String,
    crash_event: u64,
    nested_event: Option<u64>,
    explanation: String,
}

/// What one program has shown.
#[derive(Default)]
struct Judged {
    tally: LengthTally,
    runs: u64,
    exercised: Exercised,
    broken: Vec<Broken>,
    /// By timing, whether it fails.
    failing: Vec<bool>,
    internal_errors: Vec<String>,
}

/// What all programs so far have shown.
#[derive(Default)]
struct Found {
    lengths: Vec<LengthTally>,
    runs: u64,
    exercised: Exercised,
    counterexamples: Vec<CounterExample>,
    failing: Vec<u64>,
    /// Every program that fails, if they are listed.
    failures: Option<Vec<FailingProgram>>,
    internal_errors: Vec<String>,
}

impl Judged {
    /// Adds a run of `program` under the timing of this number.
    fn add(&mut self, timing: usize, program: &Litmus, report: CrashReport) {
        self.runs += 1;
        self.tally.crash_points += report.crash_points;
        self.tally.nested_points += report.nested_points;
        self.tally.distinct_states += report.distinct_states;
        self.exercised = self.exercised.and(report.exercised);
        self.failing[timing] |= report.violation_count > 0;
        for found in report.violations {
            if self.broken.iter().all(|known| known.rule != found.violation.rule) {
                self.broken.push(Broken {
                    rule: found.violation.rule,
                    timing,
                    program: program.to_string(),
                    crash_event: found.violation.crash_event,
                    nested_event: found.nested_event(),
                    explanation: found.violation.explanation,
                });
            }
        }
        self.internal_errors.extend(report.internal_errors.iter().map(|error| format!("{program}: {error}")));
    }
}

impl Proving<'_> {
    /// Judges all programs. After an interruption the report covers those that were judged until then.
    ///
    /// # Errors
    /// An interruption before the first program was judged, or a program that cannot be run.
    pub fn prove(&self) -> Result<ProofReport, Failure> {
        let started = Stopwatch::start();
        let failures = self.lists.then(Vec::new);
        let mut found = Found { failing: vec![0; self.cases.len()], failures, ..Found::default() };
        let judged = walk(
            self.space,
            self.shared,
            |program| self.judge(program),
            |program, judged| found.add(program, judged, self.cases),
        );
        let interrupted = match judged {
            Err(Failure::Cancelled) => true,
            outcome => outcome.map(|()| false)?,
        };
        if interrupted && found.lengths.is_empty() {
            return Err(Failure::Cancelled);
        }
        if !interrupted {
            found.reach(self.space.length_max());
        }
        Ok(self.report(found, interrupted, started.seconds()))
    }

    /// Runs a program under each timing, in each order of its cores that the timing has, with a power failure after each event.
    fn judge(&self, program: &Litmus) -> Result<Judged, Failure> {
        let mut judged = Judged::default();
        for (number, case) in self.cases.iter().enumerate() {
            judged.failing.push(false);
            for program in case.timing.programs(program) {
                let report = case.explore(&program, &self.exploration, None, self.cancel)?;
                judged.add(number, &program, report);
            }
        }
        (self.progress)(1);
        Ok(judged)
    }

    fn report(&self, found: Found, interrupted: bool, seconds: f64) -> ProofReport {
        let Case { config, .. } = &self.cases[0];
        let sum = |of: fn(&LengthTally) -> u64| found.lengths.iter().map(of).sum::<u64>();
        let (programs, failing) = (sum(|length| length.programs), sum(|length| length.failing));
        let timing = |(case, failing): (&Case, &u64)| TimingUsed {
            name: case.timing.name,
            meaning: case.timing.meaning,
            set: case.timing.sets(&case.design),
            failing: *failing,
        };
        let broken = failing > 0 || !found.internal_errors.is_empty();
        ProofReport {
            schema: 1,
            design: config.design.clone(),
            parts: config.parts.clone(),
            variant: config.variant,
            fault: self.exploration.fault.map(|fault| fault.name()),
            machine: config.machine.name.clone(),
            seed: config.seed,
            request: serde_json::Map::new(),
            holds: (broken || !interrupted).then_some(!broken),
            operations: self.space.operations as u64,
            cores: self.space.cores as u64,
            forms: self.space.forms.iter().map(|form| form.into()).collect(),
            steps: self.space.kinds.iter().map(|kind| kind.name()).collect(),
            places: places_of(self.space),
            groups: self.space.groups.iter().map(|group| group_name(group)).collect(),
            timings: self.cases.iter().zip(&found.failing).map(timing).collect(),
            programs,
            runs: found.runs,
            failing,
            crash_points: sum(|length| length.crash_points),
            nested_points: sum(|length| length.nested_points),
            distinct_states: sum(|length| length.distinct_states),
            coverage: self.coverage(&found, programs),
            lengths: found.lengths,
            counterexamples: found.counterexamples,
            failures: found.failures,
            exercised: found.exercised,
            interrupted,
            internal_errors: found.internal_errors,
            host: ProofHost {
                seconds,
                programs_per_second: per_second(programs, seconds),
                runs_per_second: per_second(found.runs, seconds),
            },
        }
    }

    /// What was tried, and what was not.
    fn coverage(&self, found: &Found, programs: u64) -> String {
        let Case { config, design, .. } = &self.cases[0];
        let timings: Vec<&str> = self.cases.iter().map(|case| case.timing.name).collect();
        let begins = match &self.space.beginning[..] {
            [] => String::new(),
            steps => format!(" Only programs that begin with '{}' were tried.", Litmus::of(steps)),
        };
        let left = |timing: &&Timing| self.cases.iter().all(|case| case.timing.name != timing.name);
        let void: Vec<String> = TIMINGS
            .iter()
            .filter(left)
            .map(|timing| match timing.void(design, &config.machine) {
                Some(why) => format!(" Timing '{}' would change nothing: {why}.", timing.name),
                None => format!(" Timing '{}' was not tried.", timing.name),
            })
            .collect();
        let Exercised { evictions, counter_misses, wpq_full, reencryptions } = found.exercised;
        let met = [
            ("eviction of a dirty line", evictions),
            ("counter miss", counter_misses),
            ("full write queue", wpq_full),
            ("page re-encryption", reencryptions),
        ];
        let never: Vec<&str> = met.iter().filter(|(_, times)| *times == 0).map(|(what, _)| *what).collect();
        let never = match &never[..] {
            [] => String::new(),
            never => format!(" No run met: {}.", never.join(", ")),
        };
        let again = match self.exploration.nested {
            0 => " Power did not fail again during recovery.",
            _ => " From each state it failed again after each step of the recovery.",
        };
        let (of, orders, alike) = self.of_cores();
        format!(
            "{programs} programs of up to {} operations{of}, each under {} timings ({}), with a power failure after each \
             event.{again}{orders} These are not all orders in which the hardware may complete operations.{}{never} Programs that \
             differ by {alike} are one.{begins} {}",
            self.space.operations,
            self.cases.len(),
            timings.join(", "),
            void.concat(),
            left_out(&self.space.forms),
        )
    }

    /// What is said of several cores: whose operations these are, in which orders, and what is one program.
    fn of_cores(&self) -> (String, &'static str, &'static str) {
        if self.space.cores == 1 {
            return (String::new(), "", "interchangeable lines");
        }
        let orders = if self.cases.iter().any(|case| case.timing.apart()) {
            " Under 'apart', operations of the cores follow each other in every order; under other timings all cores begin at once."
        } else {
            " All cores begin at once: other orders of their operations were not tried."
        };
        (
            format!(" on each of {} cores that share all lines", self.space.cores),
            orders,
            "interchangeable lines, or cores,",
        )
    }
}

/// Which programs of these forms were left out, in a sentence.
pub(super) fn left_out(forms: &[ProgramForm]) -> String {
    let mut left = "Left out: programs that store nothing, that begin with an operation that finds nothing to do, or have a fence \
                    right after a fence"
        .to_owned();
    if forms.contains(&ProgramForm::Annotated) {
        left += "; and those with a fence after a write-back whose counters no counter-writeback has written back";
    }
    if forms.contains(&ProgramForm::HardwareLogged) {
        left += "; and those that store outside a transaction, or end one without flush-data of each line that it stores to";
    }
    if forms.iter().all(|form| *form == ProgramForm::FlushFree) {
        left += "; flushes, which programs of this design do not have";
    }
    left + "."
}

/// The lines that the groups of a space have.
pub(super) fn places_of(space: &Space) -> Vec<PlaceUsed> {
    let used = |place: usize| space.groups.iter().any(|group| group.contains(&(place as u8)));
    let place = |place: usize| PlaceUsed {
        name: PLACES[place].name,
        address: PLACES[place].line.address(),
        meaning: PLACES[place].meaning,
    };
    (0..PLACES.len()).filter(|place| used(*place)).map(place).collect()
}

pub(super) fn group_name(group: &[u8]) -> String {
    group.iter().map(|place| PLACES[usize::from(*place)].name).collect()
}

impl Found {
    /// Has a tally for each length up to `length`.
    fn reach(&mut self, length: usize) {
        while self.lengths.len() < length {
            let operations = self.lengths.len() as u64 + 1;
            self.lengths.push(LengthTally { operations, ..LengthTally::default() });
        }
    }

    /// Adds what `judged`, this program, has shown.
    fn add(&mut self, program: &Litmus, judged: Judged, cases: &[Case]) {
        self.reach(program.operations());
        self.runs += judged.runs;
        let length = &mut self.lengths[program.operations() - 1];
        length.programs += 1;
        length.failing += u64::from(judged.failing.contains(&true));
        length.crash_points += judged.tally.crash_points;
        length.nested_points += judged.tally.nested_points;
        length.distinct_states += judged.tally.distinct_states;
        self.exercised = self.exercised.and(judged.exercised);
        for (count, failing) in self.failing.iter_mut().zip(&judged.failing) {
            *count += u64::from(*failing);
        }
        if let Some(failures) = self.failures.as_mut().filter(|_| judged.failing.contains(&true)) {
            let under = cases.iter().zip(&judged.failing).filter(|(_, failing)| **failing);
            failures.push(FailingProgram {
                program: program.to_string(),
                timings: under.map(|(case, _)| case.timing.name).collect(),
            });
        }
        // The first tell what is wrong.
        self.internal_errors.extend(judged.internal_errors.into_iter().take(1));
        self.internal_errors.truncate(10);
        for broken in judged.broken {
            if let Some(known) = self.counterexamples.iter_mut().find(|known| known.rule == broken.rule) {
                known.programs += 1;
                continue;
            }
            self.counterexamples.push(CounterExample {
                rule: broken.rule,
                programs: 1,
                program: broken.program,
                operations: program.operations() as u64,
                timing: cases[broken.timing].timing.name,
                crash_event: broken.crash_event,
                nested_event: broken.nested_event,
                explanation: broken.explanation,
                reproduce: serde_json::Map::new(),
            });
        }
    }
}
