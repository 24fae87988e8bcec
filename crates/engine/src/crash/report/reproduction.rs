//! What shows a violation again: changes to the request of the explored run.

use super::CrashRun;
use crate::audit::{Rule, Violation};
use serde::Serialize;

/// The changes to the explored run's request that show a violation again. The keys are those of a crash request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reproduction {
    /// The shape of a smaller run; `None` for that of the explored run. A shorter run is not the beginning of a longer
    /// one, because structures are laid out with room for every transaction and cores look ahead.
    #[serde(flatten)]
    pub shape: Option<Shape>,
    /// `legal` if the violation does not belong to one schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explore: Option<&'static str>,
    /// The schedule, unless it is the undisturbed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<u64>,
    /// How many times in a row power fails again during recovery, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nested_depth: Option<usize>,
    /// All attacks, if one is what breaks the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack: Option<[&'static str; 1]>,
    /// Power fails after this event, counted from 1.
    pub at_event: u64,
}

/// The size of a run, which is reduced to find the smallest run that still fails. The keys are those of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Shape {
    /// Bytes of user data in a transaction.
    pub tx_size: u64,
    /// Number of cores.
    pub cores: u16,
    /// Bytes of the populated structures, in total over all cores.
    pub footprint: u64,
    /// Transactions of each core before measuring begins.
    pub warmup: u64,
    /// Measured transactions of each core.
    pub transactions: u64,
}

impl CrashRun {
    pub(in crate::crash) fn reproduction(&self, violation: &Violation) -> Reproduction {
        Reproduction {
            shape: None,
            explore: self.schedule.is_none().then_some("legal"),
            schedule: self.schedule.filter(|&schedule| schedule > 0),
            nested_depth: Some(violation.nested_events.len()).filter(|&depth| depth > 0),
            attack: (violation.rule == Rule::Integrity).then_some(["all"]),
            at_event: violation.crash_event,
        }
    }
}
