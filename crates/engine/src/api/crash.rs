//! Crashes: from a request to the exploration that it asks for, what follows from its findings, and the picture.

use super::processors;
use super::{CRASH, Prepared, Progress, Request, integer, open, prepare, transactions_of};
use crate::assembly::memory_map;
use crate::config::{self, ConfigError, RunConfig};
use crate::crash::{Blame, CrashCase, CrashPlan, CrashReport, Exploration, ExploreOn, blame, check_crashable, shrink};
use crate::crash_view;
use crate::legal_states;
use crate::legal_states::explore_legal;
use crate::parts::Design;
use crate::run::host_memory::{self, Needs, Purpose};
use crate::run::{Failure, Source};
use crate::user_recovery::{OwnRecovery, RecoverySettings, TIMEOUT_SECONDS, shell_quoted};
use crate::workload;
use serde_json::Value;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Schedules explored where their number is not given.
const SCHEDULES: u64 = 16;

/// Lets power fail and gives `crash --json`.
pub fn crash(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request = crash_request(request)?;
    let run = prepare_crash(&request, cancel)?;
    let exploration = Exploration {
        plan: crash_plan(&request)?,
        nested: request.depth()?,
        schedule: integer("schedule", request.schedule.as_ref())?.unwrap_or(0),
        fault: request.seeded_fault()?,
        stop_at: None,
        stages: request.stages,
    };
    let everywhere = exploration.plan == CrashPlan::All;
    if request.stages && !(everywhere && request.explore.as_deref().is_none_or(|explore| explore == "schedule")) {
        let what = "stages: only an exploration of every event of one schedule tallies the stages of transactions";
        return Err(ConfigError(what.to_owned()).into());
    }
    if request.shrink == Some(true) && !everywhere {
        return Err(ConfigError("shrink: only an exploration of every event shrinks what it finds".to_owned()).into());
    }
    let recovery = RefCell::new(own_recovery(&request, &run, &exploration)?);
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let tell = |ended: u64| {
        progress(done.fetch_add(ended, Ordering::Relaxed) + ended, total.load(Ordering::Relaxed));
    };
    let look = |run: &Prepared, exploration: &Exploration| {
        // A run that ended early did what there was to do.
        let begun_at = done.load(Ordering::Relaxed);
        total.store(begun_at + transactions_of(run), Ordering::Relaxed);
        let command = command_line(&request, run);
        let mut recovery = recovery.borrow_mut();
        let report = explore_as_asked(&request, run, exploration, recovery.as_mut(), command, &tell, cancel);
        done.store(total.load(Ordering::Relaxed), Ordering::Relaxed);
        report
    };
    let mut look_at = |config: &RunConfig, design: &Design, exploration: &Exploration| {
        config::validate_run(config)?;
        memory_map::validate(config, design)?;
        let report = look(&open(config.clone(), design.clone(), None, cancel)?, exploration)?;
        // What follows from a verdict takes none that is not whole.
        if report.interrupted { Err(Failure::Cancelled) } else { Ok(report) }
    };
    let mut report = look(&run, &exploration)?;
    if report.interrupted {
        return Ok(answer(&report));
    }
    if let Some(why) = report.unjudged.take() {
        return Err(ConfigError(why).into());
    }
    if let Some(recovery) = &mut *recovery.borrow_mut() {
        recovery.keep_nothing();
    }
    if request.shrink.unwrap_or(everywhere) && !run.source.is_trace() {
        let mut of_design = |config: &RunConfig, exploration: &Exploration| look_at(config, &run.design, exploration);
        report.shrunk = shrink(&run.config, &exploration, &report, &mut of_design);
    }
    if request.blame.unwrap_or(true) {
        report.blame = who_is_to_blame(&run, &exploration, &report, &mut look_at);
    }
    report.interrupted = cancel.load(Ordering::Relaxed);
    Ok(answer(&report))
}

fn answer(report: &CrashReport) -> String {
    serde_json::to_string(report).expect("a report serialises")
}

/// The user's own recovery, if it is asked for.
fn own_recovery(
    request: &Request,
    run: &Prepared,
    exploration: &Exploration,
) -> Result<Option<OwnRecovery>, ConfigError> {
    let timeout_seconds = integer("recover_timeout", request.recover_timeout.as_ref())?;
    let jobs = integer("recover_jobs", request.recover_jobs.as_ref())?;
    let Some(command) = &request.recover else {
        let others = [
            ("recover_timeout", timeout_seconds.is_some()),
            ("recover_jobs", jobs.is_some()),
            ("recover_folder", request.recover_folder.is_some()),
        ];
        return match others.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(ConfigError(format!("{name}: there is no command 'recover' that it could be for"))),
            None => Ok(None),
        };
    };
    let Source::Trace(trace, _) = &run.source else {
        return Err(ConfigError(format!(
            "recover: workload '{}' recovers by itself; a command judges recorded programs",
            run.config.workload
        )));
    };
    if exploration.nested > 0 {
        let what = "recover: a command judges the memory of the first boot; power does not fail again with it (nested)";
        return Err(ConfigError(what.to_owned()));
    }
    let settings = RecoverySettings {
        command: command.clone(),
        timeout_seconds: timeout_seconds.unwrap_or(TIMEOUT_SECONDS),
        folder: request.recover_folder.as_ref().map(PathBuf::from),
        keep: request.recover_keep.as_ref().map(PathBuf::from),
        jobs: jobs.map_or_else(processors, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX)),
    };
    check_crashable(&run.config, &run.design)?;
    OwnRecovery::new(settings, &format!("trace {}", run.config.workload), trace.files(), &trace.base()).map(Some)
}

/// Interrupted, it leaves the question open: what was found stands.
fn who_is_to_blame(
    run: &Prepared,
    exploration: &Exploration,
    report: &CrashReport,
    look_at: &mut ExploreOn<'_>,
) -> Option<Blame> {
    let is_trace = run.source.is_trace();
    blame(&run.config, &run.design, is_trace, exploration, report, look_at).unwrap_or_default()
}

/// The simulated schedule, several, or every legal state.
fn explore_as_asked(
    request: &Request,
    run: &Prepared,
    exploration: &Exploration,
    recovery: Option<&mut OwnRecovery>,
    command: String,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<CrashReport, Failure> {
    let Prepared { config, design, source, .. } = run;
    let case = CrashCase { config, design, source, command: &command, progress, cancel };
    let count = |name: &'static str, value: &Option<Value>| match integer(name, value.as_ref())? {
        Some(0) => Err(ConfigError(format!("{name}: 0 is not at least 1"))),
        count => Ok(count),
    };
    let refuse = |name: &str, only: &str| Err(ConfigError(format!("{name}: only explore '{only}' takes it")).into());
    let (states, schedules) = (count("states", &request.states)?, count("schedules", &request.schedules)?);
    match (request.explore.as_deref().unwrap_or("schedule"), states, schedules) {
        ("schedule", None, None) => case.explore_recovered(exploration, recovery),
        ("schedules", ..) if exploration.schedule > 0 => refuse("schedule", "schedule"),
        ("schedules", None, schedules) => {
            let schedules = schedules.unwrap_or(SCHEDULES);
            case.explore_schedules(exploration, schedules, recovery)
        }
        ("legal", ..) if exploration.schedule > 0 => refuse("schedule", "schedule"),
        ("legal", states, None) if legal_states::explains(config, design, source) => {
            explore_legal(&case, exploration, states)
        }
        // What is legal there is known of no more than its schedules.
        ("legal", None, schedules) if !legal_states::explains(config, design, source) => {
            let schedules = schedules.unwrap_or(SCHEDULES);
            case.explore_schedules(exploration, schedules, recovery)
        }
        ("schedule" | "schedules", Some(_), _) => refuse("states", "legal"),
        ("schedule", _, Some(_)) => refuse("schedules", "schedules"),
        ("legal", Some(_), _) => {
            let what = "states: what leaves caches that persist, a log that hardware writes, several cores and recorded \
                        programs are explored by schedules";
            Err(ConfigError(what.to_owned()).into())
        }
        ("legal", None, Some(_)) => refuse("schedules", "schedules"),
        (other, ..) => {
            Err(ConfigError(format!("explore '{other}' does not exist: schedule, schedules or legal")).into())
        }
    }
}

fn prepare_crash(request: &Request, cancel: &Arc<AtomicBool>) -> Result<Prepared, Failure> {
    let run = prepare(request, &CRASH, cancel)?;
    host_memory::check([Needs::of(&run.config, &run.design, Purpose::Crash)].into_iter(), 1)?;
    Ok(run)
}

fn crash_request(text: &str) -> Result<Request, ConfigError> {
    let request = Request::parse(text)?;
    if request.timeline.is_some() {
        return Err(ConfigError("timeline: only a run writes one, a crash exploration does not".to_owned()));
    }
    Ok(request)
}

/// Gives the picture of a crash: a window of events around `at_event`, and what a power failure after each would leave.
pub fn scene(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let request = crash_request(request)?;
    let run = prepare_crash(&request, cancel)?;
    let at_event = match crash_plan(&request)? {
        CrashPlan::At(event) => Some(event),
        _ => None,
    };
    let total = transactions_of(&run);
    let done = AtomicU64::new(0);
    let report = |ended: u64| progress(done.fetch_add(ended, Ordering::Relaxed) + ended, total);
    let command = command_line(&request, &run);
    let schedule = integer("schedule", request.schedule.as_ref())?.unwrap_or(0);
    let Prepared { config, design, source, .. } = &run;
    let case = CrashCase { config, design, source, command: &command, progress: &report, cancel };
    crash_view::scene(&case, at_event, schedule)
}

fn crash_plan(request: &Request) -> Result<CrashPlan, ConfigError> {
    let points = request.points.as_ref().filter(|points| !points.is_null());
    match (points, integer("at_event", request.at_event.as_ref())?) {
        (Some(_), Some(_)) => Err(ConfigError("--points and --at-event exclude each other".to_owned())),
        (None, Some(event)) if event > 0 => Ok(CrashPlan::At(event)),
        (None, Some(event)) => Err(ConfigError(format!("at_event: {event} is not an event number; the first is 1"))),
        (None, None) => Ok(CrashPlan::All),
        (Some(Value::String(text)), None) => text.parse().map_err(ConfigError),
        (Some(other), None) => other.to_string().parse().map_err(ConfigError),
    }
}

/// The command line that starts the same run, without transactions and crash points.
fn command_line(request: &Request, run: &Prepared) -> String {
    let Prepared { config, design, source, .. } = run;
    let mut words = vec!["counterpoint crash".to_owned(), config.design.clone(), shell_quoted(&config.workload)];
    words.extend([format!("--variant {}", config.variant.name()), format!("--seed {}", config.seed)]);
    if let Some(machine) = &request.machine {
        words.push(format!("--machine {}", shell_quoted(machine)));
    }
    words.extend(request.set.iter().map(|set| format!("--set {}", shell_quoted(set))));
    if workload::find(&config.workload).is_some() {
        words.extend([format!("--tx-size {}", config.tx_size), format!("--cores {}", config.cores)]);
        words.extend([format!("--footprint {}", config.footprint), format!("--warmup {}", config.warmup)]);
    }
    if let Some(fault) = &request.fault {
        words.push(format!("--fault {fault}"));
    }
    if let Some(recover) = &request.recover {
        words.push(format!("--recover {}", shell_quoted(recover)));
    }
    if let Some(seconds) = request.recover_timeout.as_ref().filter(|seconds| !seconds.is_null()) {
        words.push(format!("--recover-timeout {seconds}"));
    }
    if let Some(omission) = config.leave_out {
        words.push(format!("--leave-out {}", omission.name()));
    }
    // Of several schedules one shows it again.
    if request.explore.as_deref() == Some("legal") && legal_states::explains(config, design, source) {
        words.push("--explore legal".to_owned());
    }
    if let Some(schedule) = &request.schedule {
        words.push(format!("--schedule {schedule}"));
    }
    if let Some(states) = &request.states {
        words.push(format!("--states {states}"));
    }
    if config.allow_truncated {
        words.push("--allow-truncated".to_owned());
    }
    words.join(" ")
}
