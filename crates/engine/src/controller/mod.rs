//! The memory controller: lines arrive unencrypted from the caches and leave encrypted for the media.
//!
//! ```text
//! write: arrive -> counter (cache, or fetched) -> AES circuit: increment, pad -> slots in the WPQ -> ack -> bank
//! read:  arrive -> forward from a write on its way or from the WPQ, or media read || pad -> answer
//! ```
//!
//! A design decides at marked points: when counter and data are admitted ([`crate::parts::WritePath`]), in which order,
//! whether counter entries coalesce, and what an overflow does. Every state change that a power failure can separate
//! from another is a separate event; what hardware does at once is one event.
//!
//! [`Controller::handle`] decides once whether the machine encrypts: `plain.rs` is the controller without encryption,
//! `encrypted.rs` the one with it, and both work on the queues of `queues/memory.rs`. The handler of an event marks
//! the consequences, and `settle`, in both files, performs them in an order that is visible there. A bank is served where
//! something begins to wait for it: that issues a command and schedules its events, and has no other consequences.

mod encrypted;
mod encryption;
mod in_flight;
mod integrity;
mod interface;
mod log;
mod meter;
mod plain;
mod policy;
mod queues;
mod state;

pub use encryption::counters::{counter_cache_host_bytes, metadata_shape};
pub use integrity::persisted_levels;
pub use interface::{
    AcceptedParts, Context, ControllerSnapshot, EncryptionParts, IntegrityParts, LogParts, Response, RsrSnapshot,
    TreeParts,
};
pub use meter::ControllerStats;
pub use state::Controller;
