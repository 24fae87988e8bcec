//! The cache hierarchy: loads and stores come in from the cores; requests for missing lines and write-backs go out to
//! the memory controller (model.md section 3).
//!
//! ```text
//! core --CachePort--> L1 (private) -> L2 -> L3 --requests--> controller
//!      <---wakes----                           <--read_done, write_acked---
//! ```
//!
//! Hits change the caches at once and are answered with the time at which the line is there. Only accesses that must
//! wait for memory, or for a way whose old line is not acknowledged yet, take a miss register.

mod access;
mod coherence;
mod counter_increment;
mod directory;
mod fill;
mod flush;
mod hierarchy;
mod level;
mod log_trigger;
mod mshr;
mod on_chip;
mod parts;
mod persist_buffer;
mod stats;
#[cfg(test)]
mod tests;
mod warm;
mod writes;

pub use hierarchy::Hierarchy;
pub use parts::{CacheParts, check, data_slots, host_bytes};
pub use persist_buffer::BufferParts;
pub use stats::{CacheCounts, CacheStats};
pub use warm::Warming;
