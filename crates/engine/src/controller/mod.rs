//! The memory controller: lines arrive from the caches in the clear, leave for the media encrypted.
//!
//! ```text
//! write: arrive -> counter (cache, or fetched) -> AES circuit: bump, pad -> slots in the WPQ -> ack -> bank
//! read:  arrive -> forward from a write on its way or from the WPQ, or media read || pad -> answer
//! ```
//!
//! A design decides at the marked points: when counter and data are admitted ([`crate::parts::WritePath`]),
//! in which order, whether counter entries coalesce, and what an overflow does. Every state change that a power
//! failure can separate from another is an event of its own; what hardware does at once is one event.
//!
//! [`Controller::handle`] decides once whether the machine encrypts: `plain.rs` is the controller of one that does not,
//! `encrypted.rs` that of one that does, and both work on the queues of `memory.rs`. The handler of an event marks what
//! follows from it, and `settle`, in both files, does that in an order that can be read there. A bank is served where
//! something begins to wait for it: that issues a command and schedules its events, and nothing else follows.

mod admission;
mod aes_units;
mod counter_cache;
mod counter_fetch;
mod counters;
mod encrypted;
mod feedback;
mod interface;
mod log_manager;
mod log_set;
mod memory;
mod meter;
mod pairs;
mod plain;
mod read_path;
mod reads;
mod reencrypt;
mod request;
mod resident;
mod schedule;
mod state;
mod view;
mod wpq;
mod write_path;
mod writeback;
mod writes;

pub use counters::counter_cache_host_bytes;
pub use interface::{Context, ControllerSnapshot, EncryptionParts, LogParts, Response, RsrSnapshot};
pub use meter::ControllerStats;
pub use state::Controller;
