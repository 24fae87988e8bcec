//! What one source line of a recorded program cost.

use serde::Serialize;

/// Counts and times of all operations that are shown at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineCost {
    /// Where: `file:line`, else `symbol+0x..`, else `object+0x..`, else an address.
    pub place: String,
    /// `file:line` with the whole path; null where the debug information does not say.
    pub source: Option<String>,
    /// Function or symbol; null where neither debug information nor symbols say.
    pub function: Option<String>,
    /// Path of the object file; null where no file was mapped.
    pub object: Option<String>,
    /// Loads, each within a line.
    pub loads: u64,
    /// Stores, each within a line.
    pub stores: u64,
    /// Lines flushed, or written past the caches.
    pub flushes: u64,
    /// Fences.
    pub fences: u64,
    /// Mean time from when a flush is sent to the caches until it is acknowledged; null without flushes.
    pub flush_latency_ns: Option<f64>,
    /// The longest of them; null without flushes.
    pub flush_latency_max_ns: Option<f64>,
    /// Time that commit stood still for fences, of any line, because this was done last of what they waited for.
    pub waited_for_ns: f64,
    /// Time that commit stood still for loads of this line.
    pub load_stall_ns: f64,
    /// Time that commit stood still for fences of this line; the sum over lines is the run's `fence_stall_ns`.
    pub fence_stall_ns: f64,
}
