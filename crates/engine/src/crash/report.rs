//! What a crash exploration says in the end: `crash --json`.

use crate::audit::{Rule, StageTally, Violation};
use crate::config::Variant;
use crate::design::faults::Fault;
use crate::parts::PartsList;
use serde::{Serialize, Serializer};

/// How much of the machine a crash run met. A crash test that met none of something says nothing about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Exercised {
    /// Dirty lines that left the caches without being asked to.
    pub evictions: u64,
    /// Counter cache misses.
    pub counter_misses: u64,
    /// Times a write found the write pending queue full.
    pub wpq_full: u64,
    /// Page re-encryptions.
    pub reencryptions: u64,
}

/// What the exploration took.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct HostFigures {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Crash points judged per second.
    pub points_per_second: f64,
}

/// The run that was explored.
#[derive(Clone, Debug, PartialEq)]
pub struct CrashRun {
    /// Design, by name.
    pub design: String,
    /// The parts of a design that is not built in.
    pub parts: Option<PartsList>,
    /// Reading of its paper.
    pub variant: Variant,
    /// Workload name or trace.
    pub workload: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// The mechanism that is switched off.
    pub fault: Option<Fault>,
    /// The schedule; `None`: none in particular.
    pub schedule: Option<u64>,
    /// What it met.
    pub exercised: Exercised,
    /// The design encrypts, so that leaks are looked for.
    pub secret: bool,
    /// The user interrupted the exploration.
    pub interrupted: bool,
    /// Wall-clock seconds of the exploration.
    pub seconds: f64,
}

/// What a request says, over that of the run that was explored, to show a violation again. The keys are those of a crash
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reproduction {
    /// The shape of a smaller run; `None`: that of the run explored. A shorter run is not the beginning of a longer one,
    /// because structures are laid out with room for every transaction and cores look ahead.
    #[serde(flatten)]
    pub shape: Option<Shape>,
    /// `legal` where no schedule in particular shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explore: Option<&'static str>,
    /// The schedule, where it is not that of the machine by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<u64>,
    /// How many times in a row power fails again during recovery, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nested_depth: Option<usize>,
    /// Power fails after this event, counted from 1.
    pub at_event: u64,
}

/// How large a run is: what is made smaller to find the smallest run that still fails. The keys are those of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Shape {
    /// Bytes of user data in a transaction.
    pub tx_size: u64,
    /// Cores.
    pub cores: u16,
    /// Bytes of populated structure, the total over all cores.
    pub footprint: u64,
    /// Transactions of each core before measuring begins.
    pub warmup: u64,
    /// Measured transactions of each core.
    pub transactions: u64,
}

impl CrashRun {
    fn reproduction(&self, violation: &Violation) -> Reproduction {
        Reproduction {
            shape: None,
            explore: self.schedule.is_none().then_some("legal"),
            schedule: self.schedule.filter(|&schedule| schedule > 0),
            nested_depth: Some(violation.nested_events.len()).filter(|&depth| depth > 0),
            at_event: violation.crash_event,
        }
    }
}

/// What the user's own recovery was run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recoveries {
    /// The command.
    pub command: String,
    /// Seconds after which a run of it has failed.
    pub timeout_seconds: u64,
    /// Different images of memory that the crash points leave.
    pub images: u64,
    /// Runs of the command: fewer than images where some were judged in another exploration.
    pub runs: u64,
    /// Images on which it failed.
    pub failed: u64,
}

impl Recoveries {
    pub(super) fn coverage(&self) -> String {
        let Recoveries { command, images, runs, failed, .. } = self;
        format!(
            " The command '{command}' judged the memory that a boot finds at each of these points: {images} different \
             images of it, {runs} runs, {failed} of the images failed. Equal images have one verdict."
        )
    }
}

/// How many of what were judged, and what was found.
pub(crate) struct Findings {
    pub crash_points: u64,
    pub nested_points: u64,
    pub recovered: u64,
    pub distinct_states: u64,
    pub coverage: String,
    pub violations: Vec<Violation>,
    pub violation_count: u64,
    pub stages: Vec<StageTally>,
    pub recoveries: Option<Recoveries>,
    pub internal_errors: Vec<String>,
    pub unjudged: Option<String>,
}

/// A violation as reported: what the auditors say of it, the steps of recoveries after which power failed again, and how
/// to see it once more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedViolation {
    /// What is broken, and when power failed.
    #[serde(flatten, serialize_with = "with_nested_events")]
    pub violation: Violation,
    /// In this schedule; 0 is that of the machine by itself; null where a legal state of no schedule breaks the rule.
    pub schedule: Option<u64>,
    /// How to see it again.
    pub reproduce: Reproduction,
}

impl ReportedViolation {
    /// Power fails again after this step of the recovery; `None` where it does not.
    pub fn nested_event(&self) -> Option<u64> {
        self.violation.nested_events.first().copied()
    }
}

fn with_nested_events<S: Serializer>(violation: &Violation, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Keys<'a> {
        #[serde(flatten)]
        violation: &'a Violation,
        /// The first of `nested_events`; null if there are none.
        nested_event: Option<u64>,
        nested_events: &'a [u64],
    }
    let nested_events = violation.nested_events.as_slice();
    Keys { violation, nested_event: nested_events.first().copied(), nested_events }.serialize(serializer)
}

/// The smallest run that was found to break a rule, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shrunk {
    /// The rule broken.
    pub rule: Rule,
    /// Transactions of each core.
    pub transactions: u64,
    /// Bytes of user data in a transaction.
    pub tx_size: u64,
    /// Bytes of populated structure, the total over all cores.
    pub footprint: u64,
    /// Cores.
    pub cores: u16,
    /// Power fails after this event of the smaller run, counted from 1: the earliest at which the rule is broken.
    pub crash_event: u64,
    /// Power fails again after this event of the recovery; null where it does not.
    pub nested_event: Option<u64>,
    /// The schedule, as in a violation.
    pub schedule: Option<u64>,
    /// What happened, in sentences.
    pub explanation: String,
    /// How to see it.
    pub reproduce: Reproduction,
    /// Smaller runs that were explored.
    pub tried: u32,
    /// Whether the search ended because every next smaller run that it knows holds, and not because it took too long.
    pub minimal: bool,
}

/// Who is to blame for a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blamed {
    /// The program: it fails without any encryption, or left out a step of its protocol that it needs.
    Program,
    /// The design.
    Design,
    /// What the programmer has to tell the design.
    Annotations,
}

/// The verdict told apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blame {
    /// Who is to blame.
    pub who: Blamed,
    /// What was run to find out, and what it showed, in sentences.
    pub why: String,
}

/// The report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrashReport {
    /// Version of this document.
    pub schema: u32,
    /// Design, by name.
    pub design: String,
    /// The parts of a design that is not built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartsList>,
    /// Reading of its paper.
    pub variant: Variant,
    /// The mechanism that is switched off, by name.
    pub fault: Option<&'static str>,
    /// Workload.
    pub workload: String,
    /// Seed.
    pub seed: u64,
    /// Power failures judged.
    pub crash_points: u64,
    /// Power failures during recovery, of each that leaves the same state as another only one.
    pub nested_points: u64,
    /// Distinct durable states among them.
    pub distinct_states: u64,
    /// Points after which every rule held.
    pub recovered: u64,
    /// What the run met.
    pub exercised: Exercised,
    /// What was covered, in a sentence or two.
    pub coverage: String,
    /// The design promises secrecy, so that leaks were looked for.
    pub secret: bool,
    /// The user interrupted the exploration, or what follows from what it found: this is what was finished.
    pub interrupted: bool,
    /// Why there is no verdict: no crash point followed a store. `None` where something was judged.
    #[serde(skip)]
    pub unjudged: Option<String>,
    /// The first violations of each kind, explained.
    pub violations: Vec<ReportedViolation>,
    /// How many violations there were, explained or not.
    pub violation_count: u64,
    /// For the rules that were broken first, the smallest run that still breaks them; empty where nothing was broken or
    /// nothing smaller was asked for.
    pub shrunk: Vec<Shrunk>,
    /// Who is to blame; null where every rule held or nobody asked.
    pub blame: Option<Blame>,
    /// Prepare, Mutate and Commit, where that was asked for and programs keep logs; else empty.
    pub stages: Vec<StageTally>,
    /// What the user's own recovery was run on; null where there was none.
    pub recoveries: Option<Recoveries>,
    /// Disagreements between the auditors and a real boot: faults of this program, not of the design.
    pub internal_errors: Vec<String>,
    /// What it took.
    pub host: HostFigures,
}

fn points_per_second(points: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { points as f64 / seconds } else { 0.0 }
}

impl CrashReport {
    pub(crate) fn new(run: CrashRun, findings: Findings) -> Self {
        let reported = |violation: Violation| ReportedViolation {
            schedule: run.schedule,
            reproduce: run.reproduction(&violation),
            violation,
        };
        let violations = findings.violations.into_iter().map(reported).collect();
        let points_per_second = points_per_second(findings.crash_points, run.seconds);
        Self {
            schema: 1,
            design: run.design,
            parts: run.parts,
            variant: run.variant,
            fault: run.fault.map(Fault::name),
            workload: run.workload,
            seed: run.seed,
            crash_points: findings.crash_points,
            nested_points: findings.nested_points,
            distinct_states: findings.distinct_states,
            recovered: findings.recovered,
            exercised: run.exercised,
            coverage: match run.fault {
                Some(fault) => {
                    format!("With a seeded fault, {}: {} {}", fault.name(), fault.summary(), findings.coverage)
                }
                None => findings.coverage,
            },
            secret: run.secret,
            interrupted: run.interrupted,
            unjudged: findings.unjudged,
            violations,
            violation_count: findings.violation_count,
            shrunk: Vec::new(),
            blame: None,
            stages: findings.stages,
            recoveries: findings.recoveries,
            internal_errors: findings.internal_errors,
            host: HostFigures { seconds: run.seconds, points_per_second },
        }
    }

    /// This and what another schedule of the same program gave.
    pub(crate) fn and(mut self, other: CrashReport) -> Self {
        self.crash_points += other.crash_points;
        self.nested_points += other.nested_points;
        self.distinct_states += other.distinct_states;
        self.recovered += other.recovered;
        self.interrupted |= other.interrupted;
        self.unjudged = self.unjudged.filter(|_| other.unjudged.is_some());
        self.exercised.evictions += other.exercised.evictions;
        self.exercised.counter_misses += other.exercised.counter_misses;
        self.exercised.wpq_full += other.exercised.wpq_full;
        self.exercised.reencryptions += other.exercised.reencryptions;
        if let Some((all, more)) = self.recoveries.as_mut().zip(other.recoveries) {
            all.images += more.images;
            all.runs += more.runs;
            all.failed += more.failed;
        }
        if self.violations.is_empty() {
            self.violations = other.violations;
        }
        self.violation_count += other.violation_count;
        self.internal_errors.extend(other.internal_errors);
        self.host.seconds += other.host.seconds;
        self.host.points_per_second = points_per_second(self.crash_points, self.host.seconds);
        self
    }

    /// What was covered, if this is what `schedules` schedules gave.
    pub(crate) fn over_schedules(mut self, schedules: u64) -> Self {
        self.coverage = format!(
            "Sampled: {schedules} schedules of the same program, of a number that nobody knows. In the others hardware \
             prefetches at random moments push dirty lines and counter blocks out and keep queues and circuits busy. They \
             have {} crash points and {} distinct durable states together. Of the first: {}",
            self.crash_points, self.distinct_states, self.coverage
        );
        self
    }

    /// Whether every rule held and the program agrees with itself.
    pub fn holds(&self) -> bool {
        self.violation_count == 0 && self.internal_errors.is_empty()
    }
}
