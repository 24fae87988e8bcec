//! What the caches count.

use crate::kernel::Ps;

/// Counts of one level, summed over its caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Accesses that this level served. A copy taken from another core's private caches is served by the third level.
    pub hits: u64,
    /// Accesses that went on to the next level. An access that joins an outstanding miss is a miss of the first level
    /// only.
    pub misses: u64,
    /// Sum, over the hits, of the time from the access to its answer, in picoseconds.
    pub latency_ps: Ps,
}

/// Counts of the whole hierarchy. Accesses that found no miss register are counted when they are repeated, prefetches
/// only when they miss the first level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// First level.
    pub l1: CacheStats,
    /// Second level.
    pub l2: CacheStats,
    /// Third level.
    pub l3: CacheStats,
    /// Accesses that waited in a miss register until their line came.
    pub waits: u64,
    /// Sum of the time those accesses waited, in picoseconds.
    pub wait_ps: Ps,
    /// Dirty lines that left for memory without being asked to.
    pub dirty_evictions: u64,
    /// Lines written to memory because a core flushed them.
    pub flush_writes: u64,
}
