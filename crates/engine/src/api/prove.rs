//! Proofs over all small programs: from a request to the verdict.

use super::Progress;
use super::named::{attacks, seeded_fault};
use super::request::{self, CRASH, Common, Crash, Omitted, Prove, Setting};
use crate::assembly::host_memory::{self, Needs, Purpose};
use crate::config::RunConfig;
use crate::crash::{CrashPlan, Exploration, check_crashable};
use crate::kernel::{ConfigError, Failure, workers};
use crate::parts::Design;
use crate::prove::{Case, ProofReport, Proving, Space, SpaceNames, Timing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Operations and lines of programs if the request does not state them.
const OPERATIONS: u64 = 3;
const LINES: u64 = 2;
/// The machine if the request does not state one: one that a few operations fill.
const MACHINE: &str = "small";

/// Judges every small program and reports whether it holds: `prove --json`, except that `reproduce` contains values where the
/// front end prints a command.
///
/// # Errors
/// A sentence about the request, or the interruption before any program was judged.
pub fn prove(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request: Prove = request::parse(request)?;
    let timings = Timing::named(&request.timings)?;
    let (config, design) = request.resolve(&[])?;
    check_crashable(&config, &design)?;
    let names = SpaceNames { kinds: &request.steps, groups: &request.places };
    let (operations, lines) = (request.operations.unwrap_or(OPERATIONS), request.lines.unwrap_or(LINES));
    let space = Space::new(&design, operations, lines, names)?;
    let cases = request.cases(&timings, &config, &design)?;
    let exploration = Exploration {
        nested: u32::from(request.nested),
        fault: seeded_fault(request.fault.as_deref())?,
        attack: attacks(&request.attack, None)?,
        ..Exploration::of(CrashPlan::All)
    };
    let threads = request.threads();
    let needs = (0..threads).map(|_| Needs::of(&config, &design, Purpose::Crash));
    host_memory::check(needs, threads)?;
    let total = space.count()?.iter().sum();
    let done = AtomicU64::new(0);
    let tell = |more: u64| progress(done.fetch_add(more, Ordering::Relaxed) + more, total);
    let proving = Proving { space: &space, cases: &cases, exploration, shared: threads > 1, progress: &tell, cancel };
    let mut report = workers::in_pool(threads, || proving.prove())??;
    report.request = request::stated(&Prove {
        setting: request.crash(&[]).common.setting,
        seed: Some(config.seed),
        operations: Some(operations),
        lines: Some(lines),
        workers: None,
        ..request.clone()
    });
    request.tell_how_to_reproduce(&mut report);
    Ok(serde_json::to_string(&report).expect("a report serialises"))
}

impl Prove {
    fn threads(&self) -> usize {
        workers::workers(self.workers.map_or(0, |workers| usize::try_from(workers).unwrap_or(usize::MAX)))
    }

    /// The request of a crash run on the machine that `sets` changes.
    fn crash(&self, sets: &[String]) -> Crash {
        let Setting { variant, machine, set } = &self.setting;
        let set = set.iter().cloned().chain(sets.iter().cloned()).collect();
        let machine = Some(machine.clone().unwrap_or_else(|| MACHINE.to_owned()));
        Crash {
            common: Common {
                design: self.design.clone(),
                setting: Setting { variant: Some(variant.unwrap_or_default()), machine, set },
                seed: self.seed,
                ..Common::default()
            },
            ..Crash::default()
        }
    }

    /// The run, without a program, on the machine that `sets` changes.
    fn resolve(&self, sets: &[String]) -> Result<(RunConfig, Design), ConfigError> {
        let fault = seeded_fault(self.fault.as_deref())?;
        self.crash(sets).common.resolve(&CRASH, &Omitted::default(), fault)
    }

    /// The machine and design of each timing that makes a difference.
    fn cases(&self, timings: &[Timing], config: &RunConfig, design: &Design) -> Result<Vec<Case>, ConfigError> {
        let named = !self.timings.is_empty();
        let mut cases = Vec::new();
        for timing in timings {
            if let Some(why) = timing.void(design, &config.machine) {
                if named {
                    return Err(ConfigError(format!("timings: '{}' would change nothing, because {why}", timing.name)));
                }
                continue;
            }
            let (config, design) = self.resolve(&timing.sets(design))?;
            cases.push(Case { timing: *timing, config, design });
        }
        Ok(cases)
    }

    /// Says of each counterexample which crash run shows it.
    fn tell_how_to_reproduce(&self, report: &mut ProofReport) {
        for found in &mut report.counterexamples {
            let sets =
                report.timings.iter().find(|timing| timing.name == found.timing).map_or(&[][..], |timing| &timing.set);
            let mut crash = self.crash(sets);
            crash.common.workload.clone_from(&found.program);
            crash.at_event = Some(found.crash_event);
            crash.broken.fault.clone_from(&self.fault);
            crash.attack.clone_from(&self.attack);
            crash.nested_depth = found.nested_event.map(|_| 1);
            found.reproduce = request::stated(&crash);
        }
    }
}
