//! Simulated time, the event queue, seeded random streams, this computer's memory, threads and
//! clock, and why there is no result.
//!
//! Time is integer picoseconds. Events are ordered by (time, sequence number): two events at the same instant
//! happen in the order in which they were scheduled, on every machine. One event is one indivisible hardware
//! step; a power failure falls between two events.

#[cfg_attr(not(feature = "host"), path = "clock_without_host.rs")]
mod clock;
mod digest;
mod event_queue;
mod failure;
mod histogram;
mod host;
mod index;
mod lists;
mod prefetch;
mod random;
mod shuffle;
mod slab;
#[cfg_attr(not(feature = "host"), path = "workers_without_host.rs")]
pub(crate) mod workers;

pub(crate) use clock::{Alarm, Stopwatch};
pub use digest::keyed_digest;
pub use event_queue::{EventCode, Queue};
pub use failure::{ConfigError, Failure};
pub use histogram::{CLASSES, Histogram};
pub use host::HostMemory;
pub use index::Index;
pub use lists::Lists;
pub use prefetch::prefetch;
pub use random::Random;
pub use shuffle::Shuffle;
pub use slab::Slab;

/// A point in simulated time or a duration, in picoseconds.
pub type Ps = u64;

/// Picoseconds in a nanosecond.
pub const PS_PER_NS: u64 = 1_000;

/// Converts nanoseconds (as written in a paper's table) to picoseconds, rounded to the nearest.
pub fn ns_to_ps(ns: f64) -> Ps {
    (ns * PS_PER_NS as f64).round() as Ps
}

/// Converts picoseconds to nanoseconds, for reports only.
pub fn ps_to_ns(ps: Ps) -> f64 {
    ps as f64 / PS_PER_NS as f64
}
