//! Figures of a run over time.

use serde::Serialize;

/// The figures of a run in windows of simulated time, from the begin of the simulation on, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Windows {
    /// Length of a window; the last one is cut where the simulation ends.
    pub window_ns: f64,
    /// When measuring began. What was before it is warm-up.
    pub measured_from_ns: f64,
    /// Bytes that a whole line moves on the bus, with what lies beside it.
    pub line_bytes: u64,
    /// The windows, in order, without a gap.
    pub rows: Vec<Window>,
}

/// What happened in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Window {
    /// When it begins.
    pub from_ns: f64,
    /// Instructions that the cores dispatched. A long computation counts where it was dispatched.
    pub instructions: u64,
    /// Transactions that ended.
    pub transactions: u64,
    /// Lines of all kinds that banks began to read.
    pub reads: u64,
    /// Lines of all kinds that banks began to write.
    pub writes: u64,
    /// Counter blocks among the reads.
    pub counter_reads: u64,
    /// Counter blocks among the writes.
    pub counter_writes: u64,
    /// Reads and writes by channel.
    pub channel_lines: Vec<u64>,
    /// Lookups that found their block in the counter cache.
    pub counter_hits: u64,
    /// Lookups that did not find it, or found it being fetched.
    pub counter_misses: u64,
    /// Mean number of entries of the write pending queue, over time.
    pub wpq_mean: f64,
    /// Most entries that it had.
    pub wpq_most: u64,
    /// Time that fences stalled commit, summed over all cores, where the stall ended.
    pub fence_stall_ns: f64,
}
