//! What one source line of a recorded program cost.

use serde::Serialize;

/// Counts and times of all operations that are shown for one place.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LineCost {
    /// The place: `file:line`, otherwise `symbol+0x..`, otherwise `object+0x..`, otherwise an address.
    pub place: String,
    /// `file:line` with the whole path; null if debug information does not have it.
    pub source: Option<String>,
    /// Function or symbol; null if neither debug information nor symbols have it.
    pub function: Option<String>,
    /// Path of the object file; null if no file was mapped.
    pub object: Option<String>,
    /// Number of loads, each within a line.
    pub loads: u64,
    /// Number of stores, each within a line.
    pub stores: u64,
    /// Number of lines that were flushed or written past the caches.
    pub flushes: u64,
    /// Number of fences.
    pub fences: u64,
    /// Mean time from when a flush is sent to the caches until it is acknowledged; null without flushes.
    pub flush_latency_ns: Option<f64>,
    /// Longest time from when a flush is sent to the caches until it is acknowledged; null without flushes.
    pub flush_latency_max_ns: Option<f64>,
    /// Time that fences of any line stalled commit because this line's operation was the last that they waited for.
    pub waited_for_ns: f64,
    /// Time that loads of this line stalled commit.
    pub load_stall_ns: f64,
    /// Time that fences of this line stalled commit; the sum over all lines is the run's `fence_stall_ns`.
    pub fence_stall_ns: f64,
}
