//! Checks of recorded programs: from a request to the findings, and their cost on a design.

use super::Progress;
use super::named::only_with;
use super::request::{self, Check, Common, Omitted, TIMING};
use super::runs::{Opened, unless_interrupted};
use crate::assembly::host_memory::{self, Needs, Purpose};
use crate::check::{CheckSettings, CostCase};
use crate::config::RunConfig;
use crate::kernel::{ConfigError, Failure, workers};
use crate::parts::Design;
use crate::run::Source;
use crate::trace::Steps;
use crate::workload;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

impl Check {
    /// The replay on which costs are measured; `None` if the request names no design.
    fn replay(&self) -> Result<Option<Common>, ConfigError> {
        let Some(design) = &self.design else {
            only_with(
                "a design; name one with 'design'",
                &[
                    ("variant", self.setting.variant.is_some()),
                    ("machine", self.setting.machine.is_some()),
                    ("set", !self.setting.set.is_empty()),
                    ("seed", self.seed.is_some()),
                ],
            )?;
            return Ok(None);
        };
        Ok(Some(Common {
            design: design.clone(),
            workload: self.trace.clone(),
            setting: self.setting.clone(),
            seed: self.seed,
            allow_truncated: self.allow_truncated,
            // Operations are left out by their numbers in that order.
            serial: true,
            ..Common::default()
        }))
    }
}

/// How many findings get a cost of their own, if the request does not state it.
const TOP: u64 = 15;
/// A replay in the unit of [`CostCase::measure`]'s progress.
const WHOLE: u64 = 1000;

/// Checks a recorded program: `check --json`. `progress` receives bytes of the trace; a replay counts as much as the trace.
///
/// # Errors
/// A sentence about the request or the trace, or the interruption.
pub fn check(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request: Check = request::parse(request)?;
    // Bad options are refused before the trace is read.
    let replay = request.replay()?.map(|common| common.resolve(&TIMING, &Omitted::default(), None)).transpose()?;
    let settings = CheckSettings {
        allow_truncated: request.allow_truncated,
        mark: request.mark.clone(),
        wrappers: request.wrappers.clone(),
        costs: replay.is_some(),
    };
    let steps = unless_interrupted(cancel, open(&request.trace, cancel).map_err(Failure::from))?;
    let bytes = steps.bytes();
    let done = AtomicU64::new(0);
    let tell = |read: u64| progress(done.fetch_add(read, Ordering::Relaxed) + read, bytes);
    let checked = crate::check::check(&request.trace, steps, &settings, &tell);
    let mut report = unless_interrupted(cancel, checked.map_err(Failure::from))?;
    if let Some((config, design)) = replay {
        let run = opened(config, design, cancel)?;
        let Source::Trace(trace, form) = &run.source else {
            return Err(ConfigError(format!("{}: the trace is gone", request.trace)).into());
        };
        let most = usize::try_from(request.top.unwrap_or(TOP)).unwrap_or(usize::MAX);
        let case = CostCase { config: &run.config, design: &run.design, trace, form: *form, most };
        let replays = case.replays(&report.findings);
        let total = bytes.saturating_mul(1 + replays);
        let shares = AtomicU64::new(0);
        let tell = |share: u64| {
            let shares = shares.fetch_add(share, Ordering::Relaxed) + share;
            progress(bytes + (bytes as u128 * u128::from(shares) / u128::from(WHOLE)) as u64, total);
        };
        report.cost = Some(unless_interrupted(cancel, case.measure(&mut report.findings, &tell, cancel))?);
    }
    Ok(serde_json::to_string(&report).expect("a report serialises"))
}

/// The annotations of a recorded program, by source line: `{"annotations": [...]}`.
///
/// # Errors
/// A sentence about the trace, or the interruption.
pub fn annotations(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request: Check = request::parse(request)?;
    let steps = unless_interrupted(cancel, open(&request.trace, cancel).map_err(Failure::from))?;
    let (bytes, done) = (steps.bytes(), AtomicU64::new(0));
    let tell = |read: u64| progress(done.fetch_add(read, Ordering::Relaxed) + read, bytes);
    let found = crate::check::annotations(steps, request.allow_truncated, &tell);
    let found = unless_interrupted(cancel, found.map_err(Failure::from))?;
    Ok(json!({"annotations": found}).to_string())
}

/// The trace at `path`.
fn open(path: &str, cancel: &Arc<AtomicBool>) -> Result<Steps, ConfigError> {
    if workload::find(path).is_some() && !Path::new(path).exists() {
        return Err(ConfigError(format!(
            "check: '{path}' is a workload; only the trace of a recorded program is checked"
        )));
    }
    Steps::open(Path::new(path), cancel)
}

fn opened(config: RunConfig, design: Design, cancel: &Arc<AtomicBool>) -> Result<Opened, Failure> {
    let run = Opened::new(config, design, cancel)?;
    let needs = || Needs::of(&run.config, &run.design, Purpose::Simulate);
    let at_a_time = workers::workers(0);
    host_memory::check((0..at_a_time).map(|_| needs()), at_a_time)?;
    Ok(run)
}
