//! What the controller counts. Durations in picoseconds.

use crate::kernel::Ps;

/// Counts of one measurement period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerStats {
    /// Data lines, without the log, that reached the device.
    pub data_writes: u64,
    /// Log lines that reached the device.
    pub log_writes: u64,
    /// Counter blocks that reached the device.
    pub counter_writes: u64,
    /// Entries admitted to the write pending queue.
    pub admitted: u64,
    /// Counter entries removed from it because a newer one took their place.
    pub counter_writes_coalesced: u64,
    /// Counter writes asked for: written, coalesced, or still queued.
    pub counter_writes_asked: u64,
    /// Time during which at least one write waited for a slot.
    pub full_stall_ps: Ps,
    /// Times that a write found the queue too full.
    pub full_events: u64,
    /// Integral of occupancy over time, in entries times picoseconds.
    pub occupancy_ps: u128,
    /// Data lines read from the device.
    pub data_reads: u64,
    /// Counter blocks read from the device.
    pub counter_reads: u64,
    /// Reads answered from the write pending queue or from a write on its way into it.
    pub forwarded_reads: u64,
    /// Counter cache hits.
    pub counter_hits: u64,
    /// Counter cache misses.
    pub counter_misses: u64,
    /// Counter blocks evicted.
    pub counter_evictions: u64,
    /// Pads made.
    pub pads: u64,
    /// Time that AES circuits spent making them.
    pub aes_busy_ps: Ps,
    /// Page re-encryptions begun.
    pub reencryptions: u64,
}
