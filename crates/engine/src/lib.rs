//! Counterpoint's engine: an event-driven simulator of encrypted persistent memory with real bytes and real AES.
//!
//! Bytes flow in one direction:
//!
//! ```text
//! workload / trace -> cpu -> cache -> controller -> device
//!                       (a Design decides at the marked points; stages own time, queues and bytes)
//! ```
//!
//! The other modules build this pipe, or watch it and act between its events. ARCHITECTURE.md says what each of them is.
//!
//! A design on a machine runs a workload; then power fails after each event of the same run, and the auditors judge what is
//! left:
#![cfg_attr(doc, doc = concat!("\n```\n", include_str!("../examples/judge.rs"), "\n```"))]
// Without a host, parts of some rooms have no caller.
#![cfg_attr(not(feature = "host"), allow(dead_code, unused_imports))]

pub mod api;
pub mod assembly;
mod attribution;
pub mod audit;
pub mod cache;
mod check;
pub mod cipher;
pub mod config;
pub mod controller;
pub mod cpu;
pub mod crash;
mod crash_view;
pub mod design;
pub mod device;
pub mod embed;
pub mod kernel;
pub mod layout;
mod legal_states;
pub mod mechanism;
pub mod message;
#[cfg_attr(not(feature = "host"), path = "output/without_host.rs")]
mod output;
pub mod parts;
pub mod power;
mod prove;
#[cfg_attr(not(feature = "host"), path = "recorded_states/without_host.rs")]
mod recorded_states;
pub mod recovery;
mod recovery_cost;
mod run;
pub mod stats;
mod timeline;
pub mod trace;
#[cfg_attr(not(feature = "host"), path = "user_recovery/without_host.rs")]
mod user_recovery;
pub mod workload;

#[cfg(test)]
extern crate self as counterpoint_engine;
#[cfg(test)]
#[path = "../tests/lib.rs"]
mod tests;

pub use assembly::{Job, LineSystem, System};
pub use crash::CrashCase;
pub use kernel::Failure;
pub use legal_states::explore_legal;
pub use run::{
    Bases, LineHost, LineReport, ResponseTimes, Session, Source, run_line_trace, simulate, simulate_observed,
};
