//! What is reported of two designs on the same programs.

use super::report::{PlaceUsed, ProofHost};
use crate::audit::Rule;
use crate::config::Variant;
use crate::crash::Written;
use crate::parts::PartsList;
use serde::Serialize;

/// In what two designs differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Differs {
    /// A power failure breaks a rule on the first design, and none does on the second, under the same timing.
    FirstFails,
    /// A power failure breaks a rule on the second design, and none does on the first, under the same timing.
    SecondFails,
    /// What boots after power failures show of the program's lines, under all timings together.
    States,
    /// How many lines are written to memory by the end of the run, under the same timing.
    Writes,
}

/// A state that only one of two designs leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct OnlyState {
    /// What a boot shows of the program's lines: `A=2 B=0` is what operation 2 left in A, and what B held before the program;
    /// `A=0+2` has words of both, and `A=?` what was never stored there. `refused`: the boot, or a read after it, refuses memory.
    pub state: String,
    /// The first timing under which a power failure leaves it.
    pub timing: &'static str,
    /// The program as it runs under that timing, as a workload that `crash` takes.
    pub program: String,
    /// The first event of that run after which a power failure leaves it, counted from 1.
    pub crash_event: u64,
}

/// What one design does with a program.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DesignOutcome {
    /// Whether every rule holds under the timing of the row.
    pub holds: bool,
    /// The rule that is broken first; null if none is.
    pub rule: Option<Rule>,
    /// Power fails after this event, counted from 1; null if no rule is broken.
    pub crash_event: Option<u64>,
    /// Power fails again after this step of the recovery, counted from 1; null if it does not.
    pub nested_event: Option<u64>,
    /// What happened, in sentences; null if no rule is broken.
    pub explanation: Option<String>,
    /// What boots show of the program's lines under the timing of the row, written as in `only`.
    pub states: Vec<String>,
    /// The states that the other design leaves under none of the timings, in a row about states.
    pub only: Vec<OnlyState>,
    /// The lines that are written to memory by the end of the run.
    pub written: Written,
    /// How to see it: a crash run, or in a row about writes a run.
    #[schemars(with = "String", extend("x-document" = "The command line that shows it."))]
    pub reproduce: serde_json::Map<String, serde_json::Value>,
}

/// The smallest program on which two designs differ in one way, the first of its length in the order in which programs are tried.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// In what they differ.
    pub differs: Differs,
    /// Number of programs on which they differ so.
    pub programs: u64,
    /// The smallest of them, as a workload that `crash` takes.
    pub program: String,
    /// Number of its operations, without the waits that a timing adds.
    pub operations: u64,
    /// The first timing under which they differ so.
    pub timing: &'static str,
    /// What the first design does.
    pub first: DesignOutcome,
    /// What the second design does.
    pub second: DesignOutcome,
}

/// What a design does in the place of an operation that its own programs do not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct StandsFor {
    /// The operation.
    pub operation: &'static str,
    /// What is done in its place; null: it is left out.
    pub becomes: Option<&'static str>,
}

/// One of two designs that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DesignTried {
    /// The design's name.
    pub design: String,
    /// The parts of a design that is not built in; null for others.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub parts: Option<PartsList>,
    /// The reading of the design's paper.
    #[schemars(with = "String")]
    pub variant: Variant,
    /// The form of its own programs.
    pub form: &'static str,
    /// What it does in the place of operations that its own programs do not have.
    pub stand_ins: Vec<StandsFor>,
    /// Number of programs that break a rule under one of the timings.
    pub failing: u64,
}

/// A timing under which each program was run on both designs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TimingShared {
    /// Its name.
    pub name: &'static str,
    /// What is different in it.
    pub meaning: &'static str,
    /// What of the machine is changed for the first design; nothing where it would make no difference.
    pub first: Vec<String>,
    /// The same for the second design.
    pub second: Vec<String>,
}

/// The report of two designs on the same small programs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Distinction")]
pub struct DistinctionReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The first design.
    pub design: DesignTried,
    /// The second design.
    pub other: DesignTried,
    /// Machine, by name.
    pub machine: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// What was asked for, with the defaults stated: those options of `distinguish` on which the result depends. Paths are as
    /// they were given.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// Whether the designs differ on some program; null if the comparison was interrupted before it found one.
    pub differ: Option<bool>,
    /// Most operations of a program.
    pub operations: u64,
    /// The operations that programs have.
    pub steps: Vec<&'static str>,
    /// The lines that programs have.
    pub places: Vec<PlaceUsed>,
    /// The groups of these lines: a program uses all lines of one of them.
    pub groups: Vec<String>,
    /// The timings under which each program was run.
    pub timings: Vec<TimingShared>,
    /// Number of programs that were run on both designs.
    pub programs: u64,
    /// Number of judged power failures, on both designs together.
    pub crash_points: u64,
    /// Number of judged power failures during recovery, on both designs together.
    pub nested_points: u64,
    /// The smallest program for each way in which they differ.
    pub differences: Vec<Difference>,
    /// What was covered, and what was not, in sentences.
    pub coverage: String,
    /// Whether the user interrupted: the report covers what was finished.
    pub interrupted: bool,
    /// Disagreements between the auditors and a real boot: faults of this program, not of the designs.
    pub internal_errors: Vec<String>,
    /// The cost of the comparison.
    pub host: ProofHost,
}
