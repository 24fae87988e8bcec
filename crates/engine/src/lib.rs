//! Counterpoint's engine: an event-driven simulator of encrypted persistent memory with real bytes and real AES.
//!
//! Bytes flow one way, and the modules lie in the order of the flow:
//!
//! ```text
//! workload / trace -> cpu -> cache -> controller -> device
//!                       (a Design decides at the marked points; stages own time, queues and bytes)
//! side rooms that only watch or act between events: crash, legal, scene, recovery, audit, stats, timeline, scene
//! ```

pub mod api;
mod attribution;
pub mod audit;
mod blame;
pub mod cache;
pub mod cipher;
pub mod config;
pub mod controller;
pub mod cpu;
pub mod crash;
pub mod design;
pub mod device;
mod disturbance;
pub mod eadr;
pub mod embed;
mod explore;
mod explore_legal;
mod figures;
mod host_memory;
mod job;
pub mod kernel;
mod legal;
mod line_system;
mod line_trace;
pub mod mechanism;
pub mod message;
mod output;
mod own_recovery;
mod power_cost;
pub mod recovery;
mod scene;
mod session;
mod shrink;
mod simulate;
pub mod stats;
mod system;
mod timeline;
mod workers;
pub mod workload;

pub use explore::explore;
pub use explore_legal::explore_legal;
pub use job::{Bases, Source};
pub use line_system::LineSystem;
pub use line_trace::{LineHost, LineReport, run_line_trace};
pub use session::Session;
pub use simulate::{Failure, simulate, simulate_observed};
pub use system::{Job, System};
