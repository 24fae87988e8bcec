//! Runs, from a configuration to a report.
//!
//! ```text
//! configuration -> Source (a workload's programs over populated memory, or a trace) -> Job -> System -> report
//!                    Session keeps populated memory        Watch: progress, Ctrl-C
//! ```

mod figures;
pub(crate) mod host_memory;
mod line_trace;
pub(crate) mod power_cost;
mod progress;
mod response;
mod session;
mod simulate;
mod source;

pub(crate) use figures::Figures;
pub use line_trace::{LineHost, LineReport, run_line_trace};
pub(crate) use power_cost::answered;
pub(crate) use progress::Watch;
pub use response::ResponseTimes;
pub use session::Session;
pub use simulate::{ENGINE_BUILD, ENGINE_VERSION, simulate, simulate_observed};
pub use source::{Annotated, Bases, Source};
