//! Figures of a run over time.

use serde::Serialize;

/// The figures of a run in windows of simulated time, from the begin of the simulation on, warm-up included.
///
/// What happened in the windows is a list for each figure, with a value for each window, in order, without a gap: there may be
/// thousands of them, and a name for each value would be most of a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Windows {
    /// Length of a window; the last one is cut where the simulation ends.
    pub window_ns: f64,
    /// When measuring began. What was before it is warm-up.
    pub measured_from_ns: f64,
    /// Bytes that a whole line moves on the bus, with what lies beside it.
    pub line_bytes: u64,
    /// When each window begins.
    pub from_ns: Vec<f64>,
    /// Instructions that the cores dispatched. A long computation counts where it was dispatched.
    pub instructions: Vec<u64>,
    /// Transactions that ended.
    pub transactions: Vec<u64>,
    /// Lines of all kinds that banks began to read.
    pub reads: Vec<u64>,
    /// Lines of all kinds that banks began to write.
    pub writes: Vec<u64>,
    /// Counter blocks among the reads.
    pub counter_reads: Vec<u64>,
    /// Counter blocks among the writes.
    pub counter_writes: Vec<u64>,
    /// Reads and writes of each channel, a list for each.
    pub channel_lines: Vec<Vec<u64>>,
    /// Lookups that found their block in the counter cache.
    pub counter_hits: Vec<u64>,
    /// Lookups that did not find it, or found it being fetched.
    pub counter_misses: Vec<u64>,
    /// Mean number of entries of the write pending queue, over time.
    pub wpq_mean: Vec<f64>,
    /// Most entries that it had.
    pub wpq_most: Vec<u64>,
    /// Time that fences stalled commit, summed over all cores, where the stall ended.
    pub fence_stall_ns: Vec<f64>,
}
