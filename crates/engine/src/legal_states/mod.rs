//! From one schedule to all legal ones: at each fence of a program, all durable states that the persistency model and
//! the rules of the design's hardware allow, whatever the caches, queues and circuits of one simulated run did.
//!
//! ```text
//! program -> History          contents between fences, golden states
//! design's parts -> Hardware  how far a counter on the media may be from its data
//! both -> Space               legal states in factors; Encoder: with real pads
//! Space -> Search             recovery, once for every way in which what it reads can differ
//!       -> judge              verdict over all that recovery did not read
//! one state in a thousand, and every broken one -> StateImage -> Boot: the same verdict from a real boot
//! ```
//!
//! The state just before a fence completes has the most legal states of its epoch: what was legal after any earlier
//! store of the epoch is legal there, too. So power fails only at fences here.

mod explain;
mod explore;
mod explorer;
mod hardware;
mod history;
mod image;
mod judge;
mod search;
mod space;
mod tally;
#[cfg(test)]
mod tests;

pub use explore::explore_legal;
pub(crate) use explore::wide_minors;
pub(crate) use hardware::Hardware;
pub(crate) use history::History;
pub(crate) use image::Encoder;
pub(crate) use space::{Reading, Space};

use crate::config::RunConfig;
use crate::parts::Design;
use crate::run::Source;

/// Whether the legal states of this run follow from its program and the rules of its hardware. This needs one core, a
/// recovery that can be run on any state, and caches and a software log that power loss leaves as they are.
pub(crate) fn explains(config: &RunConfig, design: &Design, source: &Source) -> bool {
    loses_caches(design) && config.cores == 1 && source.is_workload()
}

/// Whether power loss leaves neither caches nor a log of the hardware.
pub(crate) fn loses_caches(design: &Design) -> bool {
    !design.stores_persist() && design.log.is_none()
}
