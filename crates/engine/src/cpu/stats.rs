//! The counts of a core. Durations are in picoseconds.

use crate::kernel::{Histogram, Ps};

/// Counts of one measurement period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreStats {
    /// Instructions committed.
    pub instructions: u64,
    /// Loads, stores and flushes committed.
    pub memory_ops: u64,
    /// Time that commit was stalled by fences.
    pub fence_stall_ps: Ps,
    /// Accesses of loads and stores to the first level. Loads that a store of the same core answers are not counted.
    pub l1_accesses: u64,
    /// Sum, over these accesses, of the time from the first request until the line was there: for a load its bytes, for
    /// a store the right to write, including the wait for the log manager.
    pub l1_latency_ps: Ps,
    /// The same times in classes.
    pub l1_latencies: Histogram,
    /// Transactions ended.
    pub transactions: u64,
    /// Duration of each transaction, from the commit of its begin to the commit of its end.
    pub transaction_ps: Vec<Ps>,
    /// Loads whose bytes were compared with the program's.
    pub loads_checked: u64,
}
