//! All small programs instead of some large ones: every program of so many operations over so many lines, except for those
//! that differ from another only by names, is run under stated timings; power fails after each event of each run, and the
//! auditors judge what is left.
//!
//! ```text
//! Space (operations, lines) -> programs, the shortest first -> each x Timing -> CrashCase -> Tally
//!   -> Proof: it holds for all of them, or the smallest program of each rule that is broken
//!   -> Distinction: the smallest programs on which two designs differ
//! ```

mod contract;
mod difference;
mod distinguish;
mod proof;
mod report;
mod space;
mod states;
mod timing;
mod together;
mod walk;

pub use difference::{Differs, DistinctionReport};
pub use distinguish::{Distinguishing, Pair};
pub use proof::{Case, Proving};
pub use report::ProofReport;
pub use space::{Space, SpaceNames};
pub use timing::Timing;
