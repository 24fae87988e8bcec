//! Proofs over all small programs: from a request to the verdict.

use super::Progress;
use super::named::{attacks, seeded_fault};
use super::request::{self, Prove};
use super::small::{LINES, OPERATIONS, Small, threads};
use crate::assembly::host_memory::{self, Needs, Purpose};
use crate::crash::{CrashPlan, Exploration, check_crashable};
use crate::kernel::{ConfigError, Failure, workers};
use crate::prove::{Case, ProofReport, Proving, Space, SpaceNames, Timing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Judges every small program and reports whether it holds: `prove --json`, except that `reproduce` contains values where the
/// front end prints a command.
///
/// # Errors
/// A sentence about the request, or the interruption before any program was judged.
pub fn prove(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request: Prove = request::parse(request)?;
    let timings = Timing::named(&request.timings)?;
    let small = request.small();
    let (config, design) = small.resolve(&[])?;
    check_crashable(&config, &design)?;
    let (operations, lines) = (request.operations.unwrap_or(OPERATIONS), request.lines.unwrap_or(LINES));
    let cores = request.cores.unwrap_or(1);
    let names = SpaceNames {
        kinds: &request.steps,
        groups: &request.places,
        forms: &request.forms,
        beginning: request.beginning.as_deref().unwrap_or_default(),
    };
    let space = Space::new(&[&design], (operations, lines, cores), names)?;
    let cases = cases(&small, &timings, !request.timings.is_empty())?;
    let exploration = Exploration {
        nested: u32::from(request.nested),
        fault: seeded_fault(request.fault.as_deref())?,
        attack: attacks(&request.attack, None)?,
        ..Exploration::of(CrashPlan::All)
    };
    let threads = threads(request.workers);
    let needs = (0..threads).map(|_| Needs::of(&config, &design, Purpose::Crash));
    host_memory::check(needs, threads)?;
    let total = space.count()?;
    let done = AtomicU64::new(0);
    let tell = |more: u64| progress(done.fetch_add(more, Ordering::Relaxed) + more, total);
    let (shared, lists) = (threads > 1, request.all_failing);
    let proving = Proving { space: &space, cases: &cases, exploration, shared, lists, progress: &tell, cancel };
    let mut report = workers::in_pool(threads, || proving.prove())??;
    report.request = request::stated(&Prove {
        setting: small.crash(&[]).common.setting,
        seed: Some(config.seed),
        operations: Some(operations),
        lines: Some(lines),
        cores: Some(cores),
        workers: None,
        ..request.clone()
    });
    request.tell_how_to_reproduce(&mut report);
    Ok(serde_json::to_string(&report).expect("a report serialises"))
}

impl Prove {
    fn small(&self) -> Small<'_> {
        Small {
            design: &self.design,
            setting: &self.setting,
            seed: self.seed,
            cores: self.cores,
            fault: self.fault.as_deref(),
        }
    }

    /// Says of each counterexample which crash run shows it.
    fn tell_how_to_reproduce(&self, report: &mut ProofReport) {
        for found in &mut report.counterexamples {
            let sets =
                report.timings.iter().find(|timing| timing.name == found.timing).map_or(&[][..], |timing| &timing.set);
            let mut crash = self.small().crash(sets);
            crash.common.workload.clone_from(&found.program);
            // The program says it.
            crash.common.cores = None;
            crash.at_event = Some(found.crash_event);
            crash.attack.clone_from(&self.attack);
            crash.nested_depth = found.nested_event.map(|_| 1);
            found.reproduce = request::stated(&crash);
        }
    }
}

/// The machine and design of each timing that makes a difference. `named`: the timings were, so that each must.
fn cases(small: &Small<'_>, timings: &[Timing], named: bool) -> Result<Vec<Case>, ConfigError> {
    let (config, design) = small.resolve(&[])?;
    let mut cases = Vec::new();
    for timing in timings {
        match timing.void(&design, &config.machine) {
            Some(why) if named => {
                return Err(ConfigError(format!("timings: '{}' would change nothing, because {why}", timing.name)));
            }
            Some(_) => {}
            None => cases.push(small.case(*timing, &timing.sets(&design))?),
        }
    }
    Ok(cases)
}
