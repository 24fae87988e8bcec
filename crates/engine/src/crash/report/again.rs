//! What power that fails again in recorded recoveries shows.

use super::super::analysis::cause::Cause;
use serde::Serialize;

/// Power that failed again in recorded runs of the user's own recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct NestedRecoveries {
    /// Number of runs of the command that were recorded, each on another image from which it recovers.
    pub recorded: u64,
    /// Number of recorded runs that stored something.
    pub stored: u64,
    /// Number of recordings that were explored: of those that do the same, one.
    pub explored: u64,
    /// Number of recorded runs that could not be explored, because their recordings do not have all that they have done.
    pub unknown: u64,
    /// Number of different images that power failures in them leave, counted for each recording.
    pub images: u64,
    /// Number of these images on which the command failed.
    pub failed: u64,
    /// Number of these images on which it had not ended in time.
    pub timed_out: u64,
}

impl NestedRecoveries {
    /// Number of images from which the program does not recover.
    pub(crate) fn lost(&self) -> u64 {
        self.failed + self.timed_out
    }
}

/// Why images fail that power failing again leaves, in the recovery.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RecoveryCause {
    /// When power failed before that, for the first of these images: the record of the program's trace, then those of the
    /// recordings of its recoveries.
    pub after: Vec<u64>,
    /// The cause; its records and places are those of the recovery.
    pub cause: Cause,
}
