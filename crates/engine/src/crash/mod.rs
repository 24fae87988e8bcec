//! Crash exploration: fails power after any event of a run and lets the auditors judge what is left.
//!
//! The run itself is never disturbed. [`Explorer`] is part of the observer stream. At each event that the [`CrashPlan`]
//! names, the auditors judge their durable view. At some of those points the run loop is asked for the true survivors,
//! and a real boot from them is compared with that view:
//!
//! ```text
//! loop { event happens; explorer.event_over(now)
//!        if explorer.wants_survivors() { explorer.judge(&survivors)? } }
//! explorer.judge_end(&survivors)?   // once more, when the run has ended
//! explorer.report(...)
//! ```

mod analysis;
mod attack;
mod audited;
mod disturbance;
mod explore;
mod explorer;
mod plan;
mod region;
mod report;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use analysis::blame::{Asked, ExploreOn, Reach, blame};
pub use analysis::by_line::LineLosses;
pub use analysis::cause::{Cause, CauseKind, CauseOutcome, KeptLine, LostLine};
pub(crate) use analysis::shrink::shrink;
pub use attack::{Attack, AttackExample, AttackPlan, AttackReport, AttackRow, Moment, Target, Verdict, Watched};
pub(crate) use audited::{Audited, audited, keep_ledgers};
pub(crate) use disturbance::Disturbance;
pub use explore::{CrashCase, Kept, Written};
pub(crate) use explore::{check_crashable, exercised};
pub use explorer::{Explorer, Judgement, KnownStates, ShownLines};
pub use plan::{CrashPlan, Exploration};
pub use region::Region;
pub(crate) use report::Findings;
pub(crate) use report::names::Names;
pub use report::reproduction::{Reproduction, Shape};
pub use report::{
    Blame, Blamed, CrashReport, CrashRun, Exercised, HostFigures, LeftOut, LineAt, NestedRecoveries, Recoveries,
    RecoveryCause, ReportedViolation, Shrunk,
};
