//! What a proof reports.

use crate::audit::Rule;
use crate::config::Variant;
use crate::crash::Exercised;
use crate::parts::PartsList;
use serde::Serialize;

/// The programs of one length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct LengthTally {
    /// Number of operations, of all cores together.
    pub operations: u64,
    /// Number of programs.
    pub programs: u64,
    /// Number of programs that break a rule under one of the timings.
    pub failing: u64,
    /// Number of judged power failures.
    pub crash_points: u64,
    /// Number of judged power failures during recovery.
    pub nested_points: u64,
    /// Number of distinct durable states, those of each run counted for themselves.
    pub distinct_states: u64,
}

/// A line of the programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PlaceUsed {
    /// Its name.
    pub name: &'static str,
    /// Its byte address.
    pub address: u64,
    /// What it has in common with line A.
    pub meaning: &'static str,
}

/// A timing under which each program was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TimingUsed {
    /// Its name.
    pub name: &'static str,
    /// What is different in it.
    pub meaning: &'static str,
    /// What of the machine is changed.
    pub set: Vec<String>,
    /// Number of programs that break a rule under it.
    pub failing: u64,
}

/// The smallest program that breaks a rule, the first of its length in the order in which programs are tried.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CounterExample {
    /// The rule that is broken.
    pub rule: Rule,
    /// Number of programs that break it.
    pub programs: u64,
    /// The smallest of them, as a workload that `crash` takes.
    pub program: String,
    /// Number of its operations.
    pub operations: u64,
    /// The timing under which it breaks the rule.
    pub timing: &'static str,
    /// Power fails after this event, counted from 1.
    pub crash_event: u64,
    /// Power fails again after this step of the recovery, counted from 1; null if it does not.
    pub nested_event: Option<u64>,
    /// What happened, in sentences.
    pub explanation: String,
    /// How to reproduce the violation.
    #[schemars(with = "String", extend("x-document" = "The command line that shows it."))]
    pub reproduce: serde_json::Map<String, serde_json::Value>,
}

/// A program that fails, where all of them are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FailingProgram {
    /// The program, without the waits that a timing may add.
    pub program: String,
    /// The timings under which it breaks a rule.
    pub timings: Vec<&'static str>,
}

/// The cost of a proof.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct ProofHost {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Programs judged per second, each under all timings.
    pub programs_per_second: Option<f64>,
    /// Runs judged per second.
    pub runs_per_second: Option<f64>,
}

/// The report of a proof over all small programs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Proof")]
pub struct ProofReport {
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
    /// Machine, by name.
    pub machine: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// What was asked for, with the defaults stated: those options of `prove` on which the verdict depends. Paths are as they
    /// were given.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// Whether every rule held in every program; null if the proof was interrupted before it found a program that fails.
    pub holds: Option<bool>,
    /// Most operations of a program, on each core.
    pub operations: u64,
    /// Number of cores that share the lines, each with a program of its own.
    pub cores: u64,
    /// The forms whose contracts programs keep to: that of the design, and those that were named.
    pub forms: Vec<&'static str>,
    /// The operations that programs have.
    pub steps: Vec<&'static str>,
    /// The lines that programs have.
    pub places: Vec<PlaceUsed>,
    /// The groups of these lines: a program uses all lines of one of them.
    pub groups: Vec<String>,
    /// The timings under which each program was run.
    pub timings: Vec<TimingUsed>,
    /// Number of programs.
    pub programs: u64,
    /// Number of runs: of each program, one for each timing, and for several cores one for each order that the timing has.
    pub runs: u64,
    /// Number of programs that break a rule under one of the timings.
    pub failing: u64,
    /// Number of judged power failures.
    pub crash_points: u64,
    /// Number of judged power failures during recovery.
    pub nested_points: u64,
    /// Number of distinct durable states, those of each run counted for themselves.
    pub distinct_states: u64,
    /// The same by the number of operations.
    pub lengths: Vec<LengthTally>,
    /// The smallest program for each rule that is broken, the smallest of all first.
    pub counterexamples: Vec<CounterExample>,
    /// Every program that fails, in the order in which programs are tried; null if they are not listed.
    pub failures: Option<Vec<FailingProgram>>,
    /// What the runs exercised.
    pub exercised: Exercised,
    /// What was covered, and what was not, in sentences.
    pub coverage: String,
    /// Whether the user interrupted: the report covers what was finished.
    pub interrupted: bool,
    /// Disagreements between the auditors and a real boot: faults of this program, not of the design.
    pub internal_errors: Vec<String>,
    /// The cost of the proof.
    pub host: ProofHost,
}
