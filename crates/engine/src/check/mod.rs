//! Checks a recorded program without its recovery: which stores are never made durable, and which flushes and fences are
//! useless. The trace alone decides (docs/check.md).
//!
//! ```text
//! steps of the trace -> state (line: what is pending; order: what is overtaken) -> found (by kind and place)
//! places (what the object files say, without wrappers) -> report (by source line) -> cost (replays without them)
//!                                                      -> annotated (the program's annotations by source line)
//! ```

mod annotated;
mod cost;
mod found;
mod kind;
mod line;
mod order;
mod program_state;
mod report;

#[cfg(test)]
mod tests;

use crate::attribution::{shown, wrappers_and};
use crate::kernel::ConfigError;
use crate::trace::Steps;
use program_state::ProgramState;
use std::ops::ControlFlow;

pub use annotated::annotations;
pub use cost::CostCase;
pub use report::CheckReport;

/// What the user asks of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckSettings {
    /// Whether to accept a trace that is cut off.
    pub allow_truncated: bool,
    /// The text of marks at which every store must be durable.
    pub mark: Option<String>,
    /// Further functions that only flush or fence.
    pub wrappers: Vec<String>,
    /// Whether the cost of findings is measured afterwards.
    pub costs: bool,
}

/// Checks the program that `steps` reads from the trace called `name`. `progress` is called with the number of bytes
/// read since the last call.
///
/// # Errors
/// The trace is malformed or cut off; or it has no mark with the given text.
pub fn check(
    name: &str,
    steps: Steps,
    settings: &CheckSettings,
    progress: &dyn Fn(u64),
) -> Result<CheckReport, ConfigError> {
    let mut state = ProgramState::new(settings.mark.as_deref(), settings.costs);
    let read = steps.each(settings.allow_truncated, progress, &mut |step| {
        state.take(step);
        ControlFlow::Continue(())
    })?;
    let (findings, counts) = state.finish(read.not_durable.as_deref());
    if let Some(mark) = settings.mark.as_ref().filter(|_| counts.marks == 0) {
        return Err(ConfigError(format!("{name}: mark: the program sets no mark '{mark}'")));
    }
    let findings = report::merged(findings, &shown(&read.sites, &wrappers_and(&settings.wrappers)), &read);
    let holds = findings.iter().all(|finding| finding.class != kind::Class::Correctness);
    Ok(CheckReport {
        schema: 1,
        trace: name.to_owned(),
        holds,
        checked: report::checked(counts, holds, &read),
        not_checked: report::not_checked(&read),
        lacks: read.lacks,
        records: read.records,
        counts,
        cut_off: read.cut_off,
        findings,
        cost: None,
    })
}
