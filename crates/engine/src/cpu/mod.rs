//! The cores: out-of-order timing over a stream of operations.
//!
//! ```text
//! program -> dispatch (width, ROB, load and store queues) -> loads to the cache, overlapping
//!                                                        -> in-order commit -> store buffer -> cache
//! ```
//!
//! Event-driven: a core costs one event per cycle in which it dispatches, and none while it waits. Completion times
//! that are known (cache hits, computation) are computed, not simulated; commit order is kept by arithmetic. x86
//! persistency: stores enter the cache in order; clwb and clflushopt are ordered after older stores to the same line
//! and by fences; a fence completes when the store buffer is empty and every earlier flush is acknowledged.

mod clock;
mod core;
mod loads;
mod operations;
mod queueing;
mod reports;
mod retire;
mod stats;
mod store_buffer;
mod store_queue;
#[cfg(test)]
mod tests;

pub use self::core::{Core, CoreContext};
pub use stats::CoreStats;
