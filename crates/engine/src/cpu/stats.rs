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
    /// Transactions ended.
    pub transactions: u64,
    /// Duration of each transaction, from the commit of its begin to the commit of its end.
    pub transaction_ps: Vec<Ps>,
    /// Loads whose bytes were compared with the program's.
    pub loads_checked: u64,
}
