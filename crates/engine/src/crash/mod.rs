//! Crash exploration: lets power fail after any event of a run and has the auditors judge what is left.
//!
//! The run itself is never disturbed. [`Explorer`] sits on the observer stream; at each event that the [`CrashPlan`]
//! names, the auditors judge the durable view they keep. At some of those points the run loop is asked for the true
//! survivors, and a real boot from them is compared with that view:
//!
//! ```text
//! loop { event happens; explorer.event_over(now)
//!        if explorer.wants_power_loss() { explorer.power_lost(&drained) }         // caches that persist
//!        if explorer.wants_full_check() { explorer.full_check(&snapshot, &media, codec, steps) }
//!        if explorer.wants_own_recovery() { explorer.own_recovery(&mut recovery, ...)? } // the user's command
//!        if explorer.wants_nested() { explorer.nested_check(&drained, &media, &loss, steps) } }
//! explorer.full_check(...)   // once more, when the run has ended
//! explorer.report(...)
//! ```

mod blame;
mod disturbance;
mod explore;
mod explorer;
mod met;
mod nested;
#[cfg(test)]
mod nested_tests;
mod next_writes;
mod own;
mod path;
mod plan;
mod power;
#[cfg(test)]
mod power_tests;
mod report;
mod shrink;
#[cfg(test)]
mod tests;

pub(crate) use blame::{ExploreOn, blame};
pub(crate) use disturbance::Disturbance;
pub use explore::explore;
pub(crate) use explore::{
    Audited, ImageMedia, audited, check_crashable, exercised, explore_recovered, explore_schedules, held, keep_ledgers,
    struck,
};
pub use explorer::{Explorer, KnownStates};
pub use plan::{CrashPlan, Exploration};
pub use power::{Drained, GlobalCounterSurvives, PowerLoss, Survival};
pub use report::{
    Blame, Blamed, CrashReport, CrashRun, Exercised, HostFigures, Recoveries, ReportedViolation, Reproduction, Shape,
    Shrunk,
};
pub(crate) use report::{Findings, Found};
pub(crate) use shrink::shrink;
