//! Two designs on the same small programs: from a request to what they do differently.

use super::Progress;
use super::named::attacks;
use super::request::{self, Distinguish, Setting};
use super::small::{LINES, OPERATIONS, Small, threads};
use crate::assembly::host_memory::{self, Needs, Purpose};
use crate::crash::{CrashPlan, Exploration, check_crashable};
use crate::kernel::{ConfigError, Failure, workers};
use crate::prove::{Differs, DistinctionReport, Distinguishing, Pair, Space, SpaceNames, Timing};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs every small program that two designs have in common, and reports the smallest on which they differ: `distinguish
/// --json`, except that `reproduce` contains values where the front end prints a command.
///
/// # Errors
/// A sentence about the request, or the interruption before any program was judged.
pub fn distinguish(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request: Distinguish = request::parse(request)?;
    let timings = Timing::named(&request.timings)?;
    let settings = request.settings();
    let both = request.both(&settings);
    let [first, second] = both.map(|small| small.resolve(&[]));
    let [(config, design), (other_config, other)] = [first?, second?];
    check_crashable(&config, &design)?;
    check_crashable(&other_config, &other)?;
    let (operations, lines) = (request.operations.unwrap_or(OPERATIONS), request.lines.unwrap_or(LINES));
    let names = SpaceNames { kinds: &request.steps, groups: &request.places, ..SpaceNames::default() };
    let space = Space::new(&[&design, &other], (operations, lines, 1), names)?;
    let pairs = pairs(&both, &timings, !request.timings.is_empty())?;
    let exploration = Exploration {
        nested: u32::from(request.nested),
        attack: attacks(&request.attack, None)?,
        ..Exploration::of(CrashPlan::All)
    };
    let threads = threads(request.workers);
    let needs =
        [(&config, &design), (&other_config, &other)].map(|(config, design)| Needs::of(config, design, Purpose::Crash));
    host_memory::check((0..threads).flat_map(|_| needs), threads)?;
    let total = space.count()?;
    let done = AtomicU64::new(0);
    let tell = |more: u64| progress(done.fetch_add(more, Ordering::Relaxed) + more, total);
    let distinguishing =
        Distinguishing { space: &space, pairs: &pairs, exploration, shared: threads > 1, progress: &tell, cancel };
    let mut report = workers::in_pool(threads, || distinguishing.distinguish())??;
    report.request = request::stated(&Distinguish {
        setting: both[0].crash(&[]).common.setting,
        other_variant: Some(other_config.variant),
        seed: Some(config.seed),
        operations: Some(operations),
        lines: Some(lines),
        workers: None,
        ..request.clone()
    });
    request.tell_how_to_reproduce(&mut report, &both);
    Ok(serde_json::to_string(&report).expect("a report serialises"))
}

impl Distinguish {
    /// The settings of both designs.
    fn settings(&self) -> [Setting; 2] {
        let variant = self.other_variant.or(self.setting.variant);
        [self.setting.clone(), Setting { variant, ..self.setting.clone() }]
    }

    fn both<'a>(&'a self, [first, second]: &'a [Setting; 2]) -> [Small<'a>; 2] {
        let small = |design: &'a str, setting: &'a Setting| Small {
            design,
            setting,
            seed: self.seed,
            cores: None,
            fault: None,
        };
        [small(&self.design, first), small(&self.other, second)]
    }

    /// Says of each difference which runs show it.
    fn tell_how_to_reproduce(&self, report: &mut DistinctionReport, both: &[Small<'_>; 2]) {
        for found in &mut report.differences {
            let timing = |name: &str| report.timings.iter().find(|timing| timing.name == name).expect("it was run");
            let outcomes = [&mut found.first, &mut found.second];
            for (number, (outcome, small)) in outcomes.into_iter().zip(both).enumerate() {
                // A state is shown where it is left first, which may be under another timing.
                let only = outcome.only.first();
                let under = timing(only.map_or(found.timing, |only| only.timing));
                let mut crash = small.crash(if number == 0 { &under.first } else { &under.second });
                crash.common.workload = only.map_or(&found.program, |only| &only.program).clone();
                if found.differs != Differs::Writes {
                    crash.at_event = only.map(|only| only.crash_event).or(outcome.crash_event);
                    crash.attack.clone_from(&self.attack);
                    crash.nested_depth = outcome.nested_event.map(|_| 1);
                }
                outcome.reproduce = request::stated(&crash);
            }
        }
    }
}

/// Both designs under each timing that makes a difference to one of them. `named`: the timings were, so that each must.
fn pairs(both: &[Small<'_>; 2], timings: &[Timing], named: bool) -> Result<Vec<Pair>, ConfigError> {
    let mut pairs = Vec::new();
    let [(config, first), (other_config, second)] = [both[0].resolve(&[])?, both[1].resolve(&[])?];
    for timing in timings {
        let why = [timing.void(&first, &config.machine), timing.void(&second, &other_config.machine)];
        if let [Some(one), Some(two)] = why {
            if named {
                let name = timing.name;
                return Err(ConfigError(format!("timings: '{name}' would change nothing, because {one}, and {two}")));
            }
            continue;
        }
        let sets = |void: Option<_>, design| if void.is_some() { Vec::new() } else { timing.sets(design) };
        pairs.push(Pair {
            cases: [both[0].case(*timing, &sets(why[0], &first))?, both[1].case(*timing, &sets(why[1], &second))?],
            void: why.map(|why| why.is_some()),
        });
    }
    Ok(pairs)
}
