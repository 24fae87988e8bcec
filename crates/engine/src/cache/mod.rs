//! The cache hierarchy: loads and stores flow in from the cores, missing lines and write-backs flow out to the
//! memory controller (model.md section 3).
//!
//! ```text
//! core --CachePort--> L1 (private) -> L2 -> L3 --requests--> controller
//!      <---wakes----                           <--read_done, write_acked---
//! ```
//!
//! Hits change the caches at once and are answered with the time at which the line is there. Only what has to wait
//! for memory (or for a way whose old line has not been acknowledged yet) takes a miss register.

mod access;
mod coherence;
mod counter_bump;
mod directory;
mod fill;
mod flush;
mod hierarchy;
mod level;
mod log_trigger;
mod mshr;
mod on_chip;
mod parts;
mod stats;
#[cfg(test)]
mod tests;
mod writes;

pub use hierarchy::Hierarchy;
pub use parts::{CacheParts, check, data_slots, host_bytes};
pub use stats::{CacheCounts, CacheStats};
