//! The counts of the caches.

use crate::kernel::Ps;

/// Counts of one level, summed over its caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Accesses that this level served. A copy from another core's private caches counts as served by the third level.
    pub hits: u64,
    /// Accesses that went on to the next level. An access that joins an outstanding miss is a miss of the first level
    /// only.
    pub misses: u64,
    /// Sum, over the hits, of the time from the access to its answer, in picoseconds.
    pub latency_ps: Ps,
}

/// Counts of the whole hierarchy. Accesses that found no miss register are counted when they are repeated, prefetches
/// only if they miss the first level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// First level.
    pub l1: CacheStats,
    /// Second level.
    pub l2: CacheStats,
    /// Third level.
    pub l3: CacheStats,
    /// Accesses that waited in a miss register for their line.
    pub waits: u64,
    /// Sum of the times that those accesses waited, in picoseconds.
    pub wait_ps: Ps,
    /// Dirty lines that were evicted to memory.
    pub dirty_evictions: u64,
    /// Lines that were written to memory because of a flush.
    pub flush_writes: u64,
}
