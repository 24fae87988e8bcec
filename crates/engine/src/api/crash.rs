//! Crashes: from a request to the exploration, the analysis of its findings, and the picture.

use super::budget::Budget;
use super::named::{checked_event, only_with, seeded_fault};
use super::request::{self, Broken, CRASH, Common, Crash, Explore, Given, Window};
use super::runs::{Opened, unless_interrupted};
use super::{Progress, processors};
use crate::assembly;
use crate::assembly::host_memory::{self, Needs, Purpose};
use crate::config::RunConfig;
use crate::crash::{
    Asked, Blame, CrashCase, CrashPlan, CrashReport, Exploration, ExploreOn, Reach, Region, blame, check_crashable,
    shrink,
};
use crate::crash_view;
use crate::kernel::{ConfigError, Failure, workers};
use crate::legal_states::{self, explore_legal};
use crate::parts::Design;
use crate::recorded_states::{self, RecordedLegal, explore_recorded};
use crate::run::{Annotated, Source};
use crate::user_recovery::{OwnRecovery, Preflight, RecoverySettings, TIMEOUT_SECONDS};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of explored schedules if the request does not state it.
const SCHEDULES: u64 = 16;

/// Legal states of a recorded program that are tried at a crash point to find out who is to blame: those in which one line
/// differs, of some points more. With as many as an exploration of them tries, this would take a hundred times as long as
/// what it explains.
const STATES_TO_BLAME: u64 = 16;

/// A report, and the request of its run without crash points. The changes that a violation adds to it
/// ([`crate::crash::Reproduction`]) make the request that shows the violation again.
#[derive(Serialize)]
struct Answer<'a, T> {
    #[serde(flatten)]
    report: &'a T,
    reproduce: Given,
}

fn answer<T: Serialize>(report: &T, reproduce: &Crash) -> String {
    let answer = Answer { report, reproduce: request::stated(reproduce) };
    serde_json::to_string(&answer).expect("a report serialises")
}

/// Explores power failures and reports what the auditors find: `crash --json`, except that `reproduce` contains values
/// where the front end prints a command.
///
/// # Errors
/// A sentence about the request, or the interruption before any crash point was judged.
pub fn crash(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request: Crash = request::parse(request)?;
    let budget = Budget::start(request.time_budget, cancel)?;
    let explored = workers::in_pool(request.threads(), || explored_and_analysed(&request, progress, &budget))?;
    budget.explained(explored)
}

/// [`crash`] as far as `budget` allows.
fn explored_and_analysed(request: &Crash, progress: Progress, budget: &Budget<'_>) -> Result<String, Failure> {
    let cancel = budget.end();
    let mut run = open(&request.common, &request.broken, request.recover.is_some(), cancel)?;
    // Not every format has places.
    let _ = run.source.watch_sites();
    let region = unless_interrupted(cancel, request.region(&run).map_err(Failure::from))?;
    let exploration = Exploration { region, ..request.exploration()? };
    let recovery = unless_interrupted(cancel, own_recovery(request, &run, &exploration).map_err(Failure::from))?;
    let mut call = Call { request, recovery, done: 0, progress, cancel };
    if !request.no_preflight {
        // What cannot be explored is refused first.
        request.explored(&run.config, &run.design, &run.source)?;
        preflight(call.recovery.as_mut(), &run, exploration.region, cancel)?;
    }
    let (asked, again) = (request::stated(&request.answered(&run)), request.again(&run));
    let mut report = call.explore(&run, &exploration, Reach::AsAsked)?;
    report.request = asked;
    report.holds = report.verdict();
    report.coverage += &request.describe_region();
    report.assumed = run.source.assumed();
    report.trace_lacks = run.source.lacks().to_vec();
    if report.interrupted {
        report.coverage += &budget.describe(report.crash_points);
        (report.out_of_time, report.interrupted) = (budget.out_of_time(), !budget.out_of_time());
        return Ok(answer(&report, &again));
    }
    if let Some(why) = report.unjudged.take() {
        return Err(ConfigError(why).into());
    }
    if let Some(recovery) = &mut call.recovery {
        recovery.keep_nothing();
    }
    if request.shrink.unwrap_or(exploration.plan == CrashPlan::All) && run.source.is_workload() {
        let mut of_design = |config: &RunConfig, exploration: &Exploration| {
            call.explore_on(config, &run.design, exploration, Reach::AsAsked)
        };
        report.shrunk = shrink(&run.config, &exploration, &report, &mut of_design);
    }
    if request.blame.unwrap_or(true) {
        let mut on = |config: &RunConfig, design: &Design, exploration: &Exploration, reach: Reach| {
            call.explore_on(config, design, exploration, reach)
        };
        report.blame = who_is_to_blame(&run, &exploration, &report, &mut on);
    }
    report.out_of_time = budget.out_of_time();
    report.interrupted = cancel.load(Ordering::Relaxed) && !report.out_of_time;
    Ok(answer(&report, &again))
}

/// The explorations of one call: that of the run itself, and those of the analysis of its findings.
struct Call<'a> {
    request: &'a Crash,
    recovery: Option<OwnRecovery>,
    /// Transactions of the finished explorations; of those of a trace's legal states, bytes that were read.
    done: u64,
    progress: Progress<'a>,
    cancel: &'a Arc<AtomicBool>,
}

impl Call<'_> {
    /// Explores a run as the request says, or its legal states.
    fn explore(&mut self, run: &Opened, exploration: &Exploration, reach: Reach) -> Result<CrashReport, Failure> {
        let legal = reach == Reach::LegalStates || self.request.explore == Some(Explore::Legal);
        let total = self.done
            + match &run.source {
                Source::Trace(trace, _) if legal => recorded_states::amount(trace, exploration, self.cancel)?,
                _ => run.transactions(),
            };
        let (done, progress) = (AtomicU64::new(self.done), self.progress);
        let tell = |ended: u64| progress(done.fetch_add(ended, Ordering::Relaxed) + ended, total);
        // A run that ended early has done everything that was needed.
        self.done = total;
        explore_as_asked(self.request, run, exploration, reach, self.recovery.as_mut(), &tell, self.cancel)
    }

    /// Explores another run completely.
    fn explore_on(
        &mut self,
        config: &RunConfig,
        design: &Design,
        exploration: &Exploration,
        reach: Reach,
    ) -> Result<CrashReport, Failure> {
        assembly::validate(config, design)?;
        let run = Opened::to_crash(config.clone(), design.clone(), self.cancel)?;
        let report = self.explore(&run, exploration, reach)?;
        // The analysis of a verdict needs complete explorations.
        if report.interrupted { Err(Failure::Cancelled) } else { Ok(report) }
    }
}

/// The user's own recovery, if it is requested.
fn own_recovery(request: &Crash, run: &Opened, exploration: &Exploration) -> Result<Option<OwnRecovery>, ConfigError> {
    let Some(command) = &request.recover else {
        only_with(
            "a command; give one with 'recover'",
            &[
                ("recover_prints", request.recover_prints.is_some()),
                ("recover_timeout", request.recover_timeout.is_some()),
                ("recover_jobs", request.recover_jobs.is_some()),
                ("recover_folder", request.recover_folder.is_some()),
                ("stop_after", request.stop_after.is_some()),
                ("no_preflight", request.no_preflight),
                ("watch_reads", !request.watch_reads.is_empty()),
                ("recorder", !request.recorder.is_empty()),
            ],
        )?;
        return Ok(None);
    };
    run.source.of_one_instance("recover")?;
    let Source::Trace(trace, _) = &run.source else {
        return Err(ConfigError(format!(
            "recover: workload '{}' recovers by itself; a command judges recorded programs",
            run.config.workload
        )));
    };
    if exploration.nested > 0 && request.explore != Some(Explore::Legal) {
        let what = "nested: power fails again in a recording of the command, whose legal states are explored: with \
                    'recover' it needs explore 'legal'";
        return Err(ConfigError(what.to_owned()));
    }
    if exploration.nested > 0 && request.recorder.is_empty() {
        let what = "nested: power fails again in a recording of the command: give the words that start the recorder as \
                    'recorder'";
        return Err(ConfigError(what.to_owned()));
    }
    let settings = RecoverySettings {
        command: command.clone(),
        prints: request.recover_prints.clone(),
        timeout_seconds: request.recover_timeout.unwrap_or(TIMEOUT_SECONDS),
        folder: request.recover_folder.as_ref().map(PathBuf::from),
        keep: request.recover_keep.as_ref().map(PathBuf::from),
        jobs: request.recover_jobs.map_or_else(processors, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX)),
        watcher: Some(request.watch_reads.clone()).filter(|words| !words.is_empty()),
        recorder: Some(request.recorder.clone()).filter(|_| exploration.nested > 0),
    };
    check_crashable(&run.config, &run.design)?;
    let named = exploration.region != Region::WHOLE;
    OwnRecovery::new(settings, &format!("trace {}", run.config.workload), trace, named).map(Some)
}

/// Runs the user's own recovery, if there is one, where no power has failed.
fn preflight(
    recovery: Option<&mut OwnRecovery>,
    run: &Opened,
    region: Region,
    cancel: &Arc<AtomicBool>,
) -> Result<(), Failure> {
    let (Some(recovery), Source::Trace(trace, _)) = (recovery, &run.source) else { return Ok(()) };
    let (Region { after, until }, allow_truncated) = (region, run.config.allow_truncated);
    unless_interrupted(cancel, recovery.preflight(&Preflight { trace, allow_truncated, after, until, cancel }))
}

/// Finds out who is to blame. After an interruption this stays open, and the findings stay valid.
fn who_is_to_blame(
    run: &Opened,
    exploration: &Exploration,
    report: &CrashReport,
    explore_on: &mut ExploreOn<'_>,
) -> Option<Blame> {
    let program = match &run.source {
        source if source.annotated() == Annotated::ByAssumption => Asked::AssumedOf,
        source if !source.is_workload() => Asked::Recorded,
        _ => Asked::Generated,
    };
    // What fails without a second power failure is explained without one.
    let again = report.violations.first().is_some_and(|first| first.nested_event().is_some());
    let nested = if again || report.recoveries.is_none() { exploration.nested } else { 0 };
    let exploration = Exploration { nested, ..*exploration };
    blame(&run.config, &run.design, program, &exploration, report, explore_on).unwrap_or_default()
}

/// Explores the simulated schedule, several schedules, or every legal state, as `request` says; or the legal states.
fn explore_as_asked(
    request: &Crash,
    run: &Opened,
    exploration: &Exploration,
    reach: Reach,
    recovery: Option<&mut OwnRecovery>,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<CrashReport, Failure> {
    let Opened { config, design, source } = run;
    let case = CrashCase { config, design, source, wrappers: &request.wrappers, progress, cancel };
    let explored = match reach {
        Reach::AsAsked => request.explored(config, design, source)?,
        Reach::LegalStates => {
            let states = request.states.or(Some(STATES_TO_BLAME));
            let legal = Crash { explore: Some(Explore::Legal), states, ..Crash::default() };
            legal.explored(config, design, source)?
        }
    };
    match explored {
        Explored::OneSchedule => case.explore_recovered(exploration, recovery),
        Explored::Schedules(number) => case.explore_schedules(exploration, number, recovery),
        Explored::LegalStates { per_fence } => explore_legal(&case, exploration, per_fence),
        Explored::OfRecorded { per_point } => {
            let (states_per_point, sector) = (per_point, request.sector);
            explore_recorded(&case, RecordedLegal { exploration, states_per_point, sector, recovery, cancel })
        }
    }
}

/// What is explored of a run.
enum Explored {
    OneSchedule,
    /// This many schedules.
    Schedules(u64),
    LegalStates {
        /// Classes of states judged at a fence, if the request states it.
        per_fence: Option<u64>,
    },
    /// The legal states of a recorded program.
    OfRecorded {
        /// States tried at a crash point, if the request states it.
        per_point: Option<u64>,
    },
}

impl Crash {
    /// What is explored of a run.
    fn explored(&self, config: &RunConfig, design: &Design, source: &Source) -> Result<Explored, ConfigError> {
        let recorded = source.is_trace() && self.explore == Some(Explore::Legal);
        if recorded && !recorded_states::explains(design) {
            return Err(ConfigError(format!(
                "explore legal: which states design '{}' may leave of a recorded program is known only where caches are \
                 lost and hardware keeps no log, or where they persist and memory is not encrypted: explore it on \
                 'unencrypted' or 'eadr', or explore 'schedules'",
                design.name
            )));
        }
        if recorded {
            source.of_one_instance("explore legal")?;
        }
        let explained = recorded || legal_states::explains(config, design, source);
        let explore = self.explore.unwrap_or_default();
        let refused = |name: &str, why: &str| Err(ConfigError(format!("{name}: {why}")));
        if !source.is_trace() && !self.wrappers.is_empty() {
            return refused("wrappers", "only a recorded program has source lines");
        }
        for (name, number) in [("states", self.states), ("schedules", self.schedules)] {
            if number == Some(0) {
                return refused(name, "0 is not at least 1");
            }
        }
        if explore != Explore::Schedule && self.schedule.unwrap_or(0) > 0 {
            return refused("schedule", "only explore 'schedule' takes it");
        }
        if explore != Explore::Legal && self.states.is_some() {
            return refused("states", "only explore 'legal' takes it");
        }
        if explore != Explore::Legal && !self.watch_reads.is_empty() {
            return refused("watch_reads", "only explore 'legal' takes it");
        }
        if let Some(sector) = self.sector {
            if !recorded_states::SECTORS.contains(&sector) {
                return refused("sector", &format!("{sector} is not 512 or 4096 bytes"));
            }
            if !recorded {
                return refused("sector", "only explore 'legal' of a recorded program takes it");
            }
            if design.encryption.is_some() || design.drain().is_some() {
                return refused(
                    "sector",
                    "a disk has no encrypted memory and no persistent caches: design 'unencrypted' takes it",
                );
            }
        }
        let by_schedules = explore == Explore::Schedules || (explore == Explore::Legal && !explained);
        if by_schedules && self.states.is_some() {
            return refused(
                "states",
                "persistent caches, a hardware log and several cores are explored by schedules alone",
            );
        }
        if !by_schedules && self.schedules.is_some() {
            return refused("schedules", "only explore 'schedules' takes it");
        }
        Ok(match explore {
            // For other runs the legal states are not known, only their schedules.
            _ if by_schedules => Explored::Schedules(self.schedules.unwrap_or(SCHEDULES)),
            Explore::Legal if recorded => Explored::OfRecorded { per_point: self.states },
            Explore::Legal => Explored::LegalStates { per_fence: self.states },
            _ => Explored::OneSchedule,
        })
    }

    /// What the verdict answers: this request, with the defaults of its run stated, without where and how it is computed.
    fn answered(&self, run: &Opened) -> Self {
        Self {
            common: self.common.again(&run.config, run.source.is_workload()),
            workers: None,
            recover_jobs: None,
            recover_folder: None,
            recover_keep: None,
            recorder: Vec::new(),
            ..self.clone()
        }
    }

    /// A request for this run again, without crash points.
    fn again(&self, run: &Opened) -> Self {
        Self {
            common: self.common.again(&run.config, run.source.is_workload()),
            broken: self.broken.clone(),
            recover: self.recover.clone(),
            recover_prints: self.recover_prints.clone(),
            recover_timeout: self.recover_timeout,
            no_preflight: self.no_preflight,
            watch_reads: self.watch_reads.clone(),
            schedule: self.schedule,
            states: self.states,
            sector: self.sector,
            ..Self::default()
        }
    }
}

/// The run of a request, `in_order` if its program must be in the one order that was recorded.
fn open(common: &Common, broken: &Broken, in_order: bool, cancel: &Arc<AtomicBool>) -> Result<Opened, Failure> {
    let (config, design) = common.resolve(&CRASH, &broken.omitted, seeded_fault(broken.fault.as_deref())?)?;
    // The marks that the program had set when power failed are those of the recorded order.
    let config = RunConfig { serial: config.serial || in_order, ..config };
    let mut run = Opened::to_crash(config, design, cancel)?;
    run.source.omit_annotations(&broken.omit_annotations)?;
    host_memory::check([Needs::of(&run.config, &run.design, Purpose::Crash)].into_iter(), 1)?;
    Ok(run)
}

/// The picture of a crash: a window of events around `at_event`, and what a power failure after each would leave.
///
/// # Errors
/// A sentence about the request, or the interruption.
pub fn scene(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let Window { common, broken, at_event, schedule } = request::parse(request)?;
    let run = open(&common, &broken, false, cancel)?;
    let at_event = checked_event(at_event)?;
    let (done, total) = (AtomicU64::new(0), run.transactions());
    let tell = |ended: u64| progress(done.fetch_add(ended, Ordering::Relaxed) + ended, total);
    let Opened { config, design, source } = &run;
    let case = CrashCase { config, design, source, wrappers: &[], progress: &tell, cancel };
    let scene = crash_view::scene(&case, at_event, schedule.unwrap_or(0))?;
    let asked = Crash { common, broken, schedule, ..Crash::default() };
    Ok(answer(&scene, &asked.again(&run)))
}
