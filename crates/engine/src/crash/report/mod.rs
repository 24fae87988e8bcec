//! The result of a crash exploration: `crash --json`.

mod again;
pub(super) mod names;
pub(super) mod reproduction;

use super::analysis::by_line::{ByLine, LineLosses};
use super::analysis::cause::Cause;
use super::attack::AttackReport;
use crate::attribution::Place;
use crate::audit::{self, Rule, StageTally, Violation, most_telling_first};
use crate::config::Variant;
use crate::design::faults::Fault;
use crate::parts::PartsList;
use crate::stats::per_second;
use crate::user_recovery::{RecoverySettings, Verdict};
pub use again::{NestedRecoveries, RecoveryCause};
use reproduction::Reproduction;
use serde::{Serialize, Serializer};

/// How much of the machine a crash run exercised. A crash test without one of these says nothing about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Exercised {
    /// Dirty lines that were evicted from the caches.
    pub evictions: u64,
    /// Counter cache misses that fetched the block.
    pub counter_misses: u64,
    /// Number of times that a write found the write pending queue full.
    pub wpq_full: u64,
    /// Number of page re-encryptions.
    pub reencryptions: u64,
}

impl Exercised {
    /// What this run and another have exercised.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            evictions: self.evictions + other.evictions,
            counter_misses: self.counter_misses + other.counter_misses,
            wpq_full: self.wpq_full + other.wpq_full,
            reencryptions: self.reencryptions + other.reencryptions,
        }
    }
}

/// The cost of the exploration.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, schemars::JsonSchema)]
#[schemars(rename = "CrashHost")]
pub struct HostFigures {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Crash points judged per second.
    pub points_per_second: Option<f64>,
}

/// The run that was explored.
#[derive(Clone, Debug, PartialEq)]
pub struct CrashRun {
    /// Design, by name.
    pub design: String,
    /// The parts of a design that is not built in.
    pub parts: Option<PartsList>,
    /// The reading of the design's paper.
    pub variant: Variant,
    /// Workload name or trace.
    pub workload: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// The mechanism that is switched off, if any.
    pub fault: Option<Fault>,
    /// The schedule; `None` if it is not about one schedule.
    pub schedule: Option<u64>,
    /// What the run exercised.
    pub exercised: Exercised,
    /// Whether the design encrypts, so that leaks are checked.
    pub secret: bool,
    /// Whether lines cross the bus in the clear, because modules encrypt.
    pub bus_in_the_clear: bool,
    /// Whether the user interrupted the exploration.
    pub interrupted: bool,
    /// Wall-clock seconds of the exploration.
    pub seconds: f64,
}

/// The runs of the user's own recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Recoveries {
    /// The command that was run.
    pub command: String,
    /// Seconds after which a run of the command counts as failed.
    pub timeout_seconds: u64,
    /// Number of different memory images that the crash points leave.
    pub images: u64,
    /// Number of runs of the command: fewer than images if some were judged in another exploration.
    pub runs: u64,
    /// Number of images on which the command failed.
    pub failed: u64,
    /// Number of images on which it had not ended in time.
    pub timed_out: u64,
    /// What watching its reads has decided; `None` if they were not watched.
    pub watched: Option<WatchedReads>,
    /// What power that failed again in its runs has shown; `None` if it did not.
    pub nested: Option<NestedRecoveries>,
}

/// What was decided by what the user's own recovery reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct WatchedReads {
    /// Number of runs whose reads were watched.
    pub runs: u64,
    /// Number of classes of states that were decided: a class agrees on all that the command reads.
    pub classes: u64,
    /// Number of crash points at which all legal states were decided so.
    pub points: u64,
}

impl Recoveries {
    /// No run yet.
    pub(crate) fn none(settings: &RecoverySettings) -> Self {
        let (command, timeout_seconds) = (settings.command.clone(), settings.timeout_seconds);
        let watched = settings.watcher.as_ref().map(|_| WatchedReads::default());
        Self { command, timeout_seconds, images: 0, runs: 0, failed: 0, timed_out: 0, watched, nested: None }
    }

    pub(crate) fn coverage(&self) -> String {
        let Recoveries { command, images, runs, failed, .. } = self;
        let late = match self.timed_out {
            0 => String::new(),
            late => format!(", {late} timed out"),
        };
        format!(
            " The command '{command}' judged the memory that a boot finds at each of these points: {images} different \
             images of it, {runs} runs, {failed} of the images failed{late}. Equal images have one verdict.{}",
            self.watched.map_or_else(String::new, |watched| watched.coverage())
        )
    }

    /// More runs were watched.
    pub(crate) fn watched(&mut self, runs: u64) {
        if let Some(watched) = &mut self.watched {
            watched.runs += runs;
        }
    }

    /// What came of it.
    pub(crate) fn by_reads(&mut self, classes: u64, points: u64) {
        if let Some(watched) = &mut self.watched {
            (watched.classes, watched.points) = (classes, points);
        }
    }

    /// Number of images from which the program does not recover.
    pub(crate) fn lost(&self) -> u64 {
        self.failed + self.timed_out
    }

    pub(crate) fn count(&mut self, verdict: &Verdict) {
        match (verdict.recovers(), verdict.timed_out()) {
            (true, _) => {}
            (false, true) => self.timed_out += 1,
            (false, false) => self.failed += 1,
        }
    }
}

impl WatchedReads {
    fn coverage(&self) -> String {
        let WatchedReads { runs, classes, points } = self;
        format!(
            " {runs} more runs were watched, at points with too many states to try each: of the states that agree on what the \
             command reads, one was tried. These are {classes} classes of states; at {points} points they cover every legal \
             state."
        )
    }
}

/// Numbers of what was judged and found.
pub(crate) struct Findings {
    pub crash_points: u64,
    pub nested_points: u64,
    pub recovered: u64,
    pub distinct_states: u64,
    pub coverage: String,
    pub violations: Vec<Violation>,
    pub violation_count: u64,
    pub left_out: Option<audit::LeftOut>,
    pub stages: Vec<StageTally>,
    pub recoveries: Option<Recoveries>,
    pub by_line: Option<ByLine>,
    pub attacks: Option<AttackReport>,
    pub internal_errors: Vec<String>,
    pub unjudged: Option<String>,
}

/// A violation as reported: the auditors' finding, the steps of recoveries after which power failed again, and how to
/// reproduce it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Violation")]
pub struct ReportedViolation {
    /// What is broken, and when power failed.
    #[serde(flatten, serialize_with = "with_nested_events")]
    #[schemars(with = "WithNestedEvents<'static>")]
    pub violation: Violation,
    /// The schedule; 0 is the undisturbed one; null if a legal state of no schedule breaks the rule.
    pub schedule: Option<u64>,
    /// How to reproduce the violation.
    #[schemars(with = "String", extend("x-document" = "The command line that shows it again."))]
    pub reproduce: Reproduction,
    /// The lines of a recorded program that it is about: that of the rule, or those of which the command was not given what
    /// the program had stored last; some of them, the newest first. Empty where the trace does not have places.
    pub lines: Vec<LineAt>,
    /// How many there are.
    pub lost_lines: u64,
}

/// Leaks of the running machine in events that are no crash points: how many there are, and the first of them.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: ReportedViolation,
}

/// Where a recorded program touched a line last.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LineAt {
    /// Path of the file that the line belongs to.
    pub file: String,
    /// Offset of the line in it.
    pub offset: u64,
    /// Where the program stored to it last.
    pub stored: Place,
    /// Where it has flushed it since; null if it has not.
    pub flushed: Option<Place>,
}

impl ReportedViolation {
    /// The step of the recovery after which power fails again; `None` if it does not.
    pub fn nested_event(&self) -> Option<u64> {
        self.violation.nested_events.first().copied()
    }
}

/// A violation with the failures of power during recovery.
#[derive(Serialize, schemars::JsonSchema)]
struct WithNestedEvents<'a> {
    #[serde(flatten)]
    violation: &'a Violation,
    /// Power fails again after this step of the recovery, counted from 1; null if it does not.
    nested_event: Option<u64>,
    /// The step for each time that power fails again, in order: a step of the recovery, then of the recovery from that, and so on.
    nested_events: &'a [u64],
}

fn with_nested_events<S: Serializer>(violation: &Violation, serializer: S) -> Result<S::Ok, S::Error> {
    let nested_events = violation.nested_events.as_slice();
    WithNestedEvents { violation, nested_event: nested_events.first().copied(), nested_events }.serialize(serializer)
}

/// The smallest run that was found to break a rule, and where.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Shrunk {
    /// The rule that was broken.
    pub rule: Rule,
    /// Number of transactions of each core.
    pub transactions: u64,
    /// Bytes of user data in a transaction.
    pub tx_size: u64,
    /// Bytes of the populated structures, in total over all cores.
    pub footprint: u64,
    /// Number of cores.
    pub cores: u16,
    /// The event of the smaller run after which power fails, counted from 1: the earliest one at which the rule is
    /// broken.
    pub crash_event: u64,
    /// The event of the recovery after which power fails again; null if it does not.
    pub nested_event: Option<u64>,
    /// The schedule, as in a violation.
    pub schedule: Option<u64>,
    /// What happened, in sentences.
    pub explanation: String,
    /// How to reproduce the violation.
    #[schemars(with = "String", extend("x-document" = "The command line that shows it again."))]
    pub reproduce: Reproduction,
    /// Number of smaller runs that were explored.
    pub tried: u32,
    /// Whether the search ended because every next smaller run holds, and not because it took too long.
    pub minimal: bool,
}

/// Who is to blame for a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BlameWho")]
pub enum Blamed {
    /// The program: it fails without any encryption, or left out a necessary step of its protocol.
    Program,
    /// The design.
    Design,
    /// The annotations that the programmer must add for the design.
    Annotations,
    /// What was assumed of a recorded program without annotations.
    Assumption,
    /// The machine: it loses what it has told programs is durable.
    Machine,
}

/// Who is to blame, and why.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Blame {
    /// Who is to blame.
    pub who: Blamed,
    /// What was run to find out, and what it showed, in sentences.
    pub why: String,
}

/// The report of a crash exploration.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Crash")]
pub struct CrashReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The design's name.
    pub design: String,
    /// The parts of a design that is not built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub parts: Option<PartsList>,
    /// The reading of the design's paper.
    #[schemars(with = "String")]
    pub variant: Variant,
    /// The name of the mechanism that is switched off, if any.
    pub fault: Option<&'static str>,
    /// Workload name or trace.
    pub workload: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// What was asked for, with the defaults of its run stated: `design` and `workload`, and those options of `crash` on which
    /// the verdict depends. Paths are as they were given.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// Whether every rule held and the auditors agree with the boot; null if nothing was judged, because the exploration was
    /// ended before the first crash point that follows a store.
    pub holds: Option<bool>,
    /// Number of judged power failures.
    pub crash_points: u64,
    /// Number of judged power failures during recovery; those that leave the same state count once.
    pub nested_points: u64,
    /// Number of distinct durable states among the power failures.
    pub distinct_states: u64,
    /// Number of crash points after which every rule held.
    pub recovered: u64,
    /// What the run exercised.
    pub exercised: Exercised,
    /// What was covered, in a sentence or two.
    pub coverage: String,
    /// What was assumed of a recorded program that its trace does not say; null if nothing was.
    pub assumed: Option<String>,
    /// What the trace of a recorded program lacks of what it did, in sentences; empty for a workload.
    #[serde(rename = "lacks")]
    pub trace_lacks: Vec<String>,
    /// Whether the design promises secrecy, so that leaks were checked.
    pub secret: bool,
    /// Whether lines cross the bus in the clear, because modules encrypt: leaks were checked, and watched, in what is stored.
    pub bus_in_the_clear: bool,
    /// Whether the user interrupted the exploration or the analysis after it: the report covers what was finished.
    pub interrupted: bool,
    /// Whether the time budget ended the exploration, or the analysis after it.
    pub out_of_time: bool,
    /// Why there is no verdict: no crash point followed a store. `None` if something was judged.
    #[serde(skip)]
    pub unjudged: Option<String>,
    /// The first violations of each rule and line, explained: an example of each rule, those first that lost data, then the
    /// others in the same order.
    pub violations: Vec<ReportedViolation>,
    /// Number of violations, explained or not.
    pub violation_count: u64,
    /// Leaks of the running machine in events that are no crash points, which do not count; null if there were none.
    pub left_out: Option<LeftOut>,
    /// For the first rules of `violations`, the smallest run that still breaks them; empty if no rule was broken or
    /// shrinking was not requested.
    pub shrunk: Vec<Shrunk>,
    /// Who is to blame; null if every rule held or the analysis was not requested.
    pub blame: Option<Blame>,
    /// Counts of Prepare, Mutate and Commit, if requested and if programs keep logs; otherwise empty.
    pub stages: Vec<StageTally>,
    /// The runs of the user's own recovery; null if there was none.
    pub recoveries: Option<Recoveries>,
    /// Why images fail, for the legal states of a recorded program, the first found first; null for other explorations.
    pub causes: Option<Vec<Cause>>,
    /// Why images fail that power failing again during the user's own recovery leaves, in that recovery; empty without.
    pub recovery_causes: Vec<RecoveryCause>,
    /// What the images that fail lack, by places of the recorded program, those first that explain the failures best; null
    /// without places, without a recovery of the user's own, and for legal states.
    pub by_line: Option<Vec<LineLosses>>,
    /// What an attacker achieved, if there was one; null otherwise.
    pub attacks: Option<AttackReport>,
    /// The same before places have names.
    #[serde(skip)]
    pub(crate) lacks: Option<ByLine>,
    /// Disagreements between the auditors and a real boot: faults of this program, not of the design.
    pub internal_errors: Vec<String>,
    /// The cost of the exploration.
    pub host: HostFigures,
}

impl CrashReport {
    pub(crate) fn new(run: CrashRun, findings: Findings) -> Self {
        let reported = |violation: Violation| ReportedViolation {
            schedule: run.schedule,
            reproduce: run.reproduction(&violation),
            violation,
            lines: Vec::new(),
            lost_lines: 0,
        };
        let left_out = findings.left_out.map(|left| LeftOut { count: left.count, first: reported(left.first) });
        let mut violations = findings.violations.into_iter().map(reported).collect();
        most_telling_first(&mut violations, |found: &ReportedViolation| found.violation.subject());
        let points_per_second = per_second(findings.crash_points, run.seconds);
        Self {
            schema: 1,
            design: run.design,
            parts: run.parts,
            variant: run.variant,
            fault: run.fault.map(Fault::name),
            workload: run.workload,
            seed: run.seed,
            request: serde_json::Map::new(),
            holds: None,
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
            assumed: None,
            trace_lacks: Vec::new(),
            secret: run.secret,
            bus_in_the_clear: run.bus_in_the_clear,
            interrupted: run.interrupted,
            out_of_time: false,
            unjudged: findings.unjudged,
            violations,
            violation_count: findings.violation_count,
            left_out,
            shrunk: Vec::new(),
            blame: None,
            stages: findings.stages,
            recoveries: findings.recoveries,
            causes: None,
            recovery_causes: Vec::new(),
            by_line: findings.by_line.as_ref().map(|_| Vec::new()),
            lacks: findings.by_line.map(|by_line| by_line.of_schedule(run.schedule.unwrap_or(0))),
            attacks: findings.attacks,
            internal_errors: findings.internal_errors,
            host: HostFigures { seconds: run.seconds, points_per_second },
        }
    }

    /// Combines this report with that of another schedule of the same program.
    pub(crate) fn and(mut self, other: CrashReport) -> Self {
        self.crash_points += other.crash_points;
        self.nested_points += other.nested_points;
        self.distinct_states += other.distinct_states;
        self.recovered += other.recovered;
        self.interrupted |= other.interrupted;
        self.unjudged = self.unjudged.filter(|_| other.unjudged.is_some());
        self.exercised = self.exercised.and(other.exercised);
        if let Some((all, more)) = self.recoveries.as_mut().zip(other.recoveries) {
            all.images += more.images;
            all.runs += more.runs;
            all.failed += more.failed;
            all.timed_out += more.timed_out;
        }
        if let Some((all, more)) = self.attacks.as_mut().zip(other.attacks) {
            all.and(more);
        }
        if let Some((all, more)) = self.lacks.as_mut().zip(other.lacks) {
            all.and(more);
        }
        let known: Vec<Rule> = self.violations.iter().map(|found| found.violation.rule).collect();
        self.violations.extend(other.violations.into_iter().filter(|found| !known.contains(&found.violation.rule)));
        most_telling_first(&mut self.violations, |found| found.violation.subject());
        if let Some(more) = other.left_out {
            let before = self.left_out.as_ref().map_or(0, |left_out| left_out.count);
            self.left_out.get_or_insert(more.clone()).count = before + more.count;
        }
        self.violation_count += other.violation_count;
        self.internal_errors.extend(other.internal_errors);
        self.host.seconds += other.host.seconds;
        self.host.points_per_second = per_second(self.crash_points, self.host.seconds);
        self
    }

    /// This report with the coverage sentence for `schedules` schedules.
    pub(crate) fn over_schedules(mut self, schedules: u64) -> Self {
        self.coverage = format!(
            "Sampled: {schedules} schedules of the same program; how many there are in all is not known. In the others hardware \
             prefetches at random moments push dirty lines and counter blocks out and keep queues and circuits busy. They \
             have {} crash points and {} distinct durable states together. Of the first: {}",
            self.crash_points, self.distinct_states, self.coverage
        );
        self
    }

    /// Whether every rule held and there are no internal errors.
    pub fn holds(&self) -> bool {
        self.violation_count == 0 && self.internal_errors.is_empty()
    }

    /// The same, if anything was judged.
    pub(crate) fn verdict(&self) -> Option<bool> {
        self.unjudged.is_none().then(|| self.holds())
    }
}
