//! What a core counts. Durations in picoseconds.

use crate::kernel::Ps;

/// Counts of one measurement period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreStats {
    /// Instructions committed.
    pub instructions: u64,
    /// Loads, stores and flushes committed.
    pub memory_ops: u64,
    /// Time that commit stood still for a fence.
    pub fence_stall_ps: Ps,
    /// Loads and stores that the first level was asked for. What a store of the same core answered is none.
    pub l1_accesses: u64,
    /// Sum over them of the time from the first asking until the line was there: for a load its bytes, for a store the
    /// right to write, the wait for the log manager included.
    pub l1_latency_ps: Ps,
    /// Transactions ended.
    pub transactions: u64,
    /// Duration of each transaction, from the commit of its begin to the commit of its end.
    pub transaction_ps: Vec<Ps>,
    /// Loads whose bytes were compared with the program's.
    pub loads_checked: u64,
}
