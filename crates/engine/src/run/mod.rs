//! Runs, from a configuration to a report.
//!
//! ```text
//! configuration -> Source (a workload's programs over populated memory, or a trace) -> Job -> System -> report
//!                    Session keeps populated memory        Watch: progress, Ctrl-C
//! ```

mod line_trace;
pub(crate) mod power_cost;
mod progress;
mod response;
mod session;
mod simulate;
mod source;

pub use line_trace::{LineHost, LineReport, run_line_trace};
pub(crate) use power_cost::answered;
pub(crate) use progress::Watch;
pub use response::ResponseTimes;
pub use session::Session;
pub use simulate::{simulate, simulate_observed};
pub use source::{Annotated, Bases, Source};
