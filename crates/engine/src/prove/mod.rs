//! All small programs instead of some large ones: every program of so many operations over so many lines, except for those
//! that differ from another only by names, is run under stated timings; power fails after each event of each run, and the
//! auditors judge what is left.
//!
//! ```text
//! Space (operations, lines) -> programs, the shortest first -> each x Timing -> CrashCase -> Tally
//!   -> Proof: it holds for all of them, or the smallest program of each rule that is broken
//! ```

mod contract;
mod proof;
mod report;
mod space;
mod timing;

pub use proof::{Case, Proving};
pub use report::ProofReport;
pub use space::{Space, SpaceNames};
pub use timing::Timing;
