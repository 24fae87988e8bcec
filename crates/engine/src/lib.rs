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
//!
//! ```
//! use counterpoint_engine::config::{RunConfig, Variant, preset};
//! use counterpoint_engine::crash::{CrashPlan, Exploration};
//! use counterpoint_engine::device::Device;
//! use counterpoint_engine::{Bases, CrashCase, Failure, Source, design, simulate};
//! use std::sync::{Arc, atomic::AtomicBool};
//!
//! /// How many lines the run writes, and whether every power failure is survived.
//! fn judge(name: &str) -> Result<(u64, bool), Failure> {
//!     let design = design::find(name, Variant::Hardened).expect("a built-in design");
//!     let machine = preset("small").expect("a preset");
//!     let capacity = Device::program_capacity_of(&machine);
//!     let config = RunConfig { transactions: 20, ..RunConfig::new(name, "queue", machine) };
//!     let never = Arc::new(AtomicBool::new(false));
//!     let source = Source::open(&config, design.form, capacity, &never)?;
//!     let (progress, cancel) = (&|_| {}, &*never);
//!     let run = simulate(&config, &design, &source, &Bases::default(), progress, cancel)?;
//!     let case = CrashCase { config: &config, design: &design, source: &source, wrappers: &[], progress, cancel };
//!     let report = case.explore(&Exploration::of(CrashPlan::All))?;
//!     Ok((run.stats.nvm.writes, report.holds()))
//! }
//!
//! let (writes, survives) = judge("secpm")?;
//! assert!(writes > 0 && survives);
//! // Its counters stay in their cache, and are lost.
//! assert!(!judge("write-back")?.1);
//! # Ok::<(), Failure>(())
//! ```

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
