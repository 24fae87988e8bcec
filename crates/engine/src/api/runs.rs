//! Simulations: batches of runs, and replays of traces.

use super::named::written_once;
use super::request::{self, Given, Run, TIMING};
use super::{Progress, Session, lines};
use crate::assembly::host_memory::{self, Needs, Purpose};
use crate::assembly::{self, memory_map};
use crate::attribution::{Places, SiteWatch, by_line};
use crate::config::RunConfig;
use crate::kernel::{ConfigError, Failure, workers};
use crate::parts::Design;
use crate::run::{Bases, Source, simulate, simulate_observed};
use crate::stats;
use crate::timeline::Timeline;
use crate::workload::BaseKey;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A run whose program or trace has been opened.
pub(super) struct Opened {
    pub config: RunConfig,
    pub design: Design,
    pub source: Source,
}

impl Opened {
    /// Opens the program of a run.
    pub fn new(config: RunConfig, design: Design, cancel: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let config = Source::on_its_cores(config)?;
        let capacity = memory_map::program_capacity(&config.machine, &design, config.cores);
        let source =
            unless_interrupted(cancel, Source::open(&config, design.form, capacity, cancel).map_err(Failure::from))?;
        let (source, config) = source.on_cores_of_threads(config)?;
        assembly::validate(&config, &design)?;
        source.fits(&config, memory_map::program_capacity(&config.machine, &design, config.cores))?;
        let config = if source.is_workload() { config } else { RunConfig { warmup: 0, ..config } };
        Ok(Self { config, design, source })
    }

    /// Opens the program of a run whose power fails, without what nobody needs after that.
    pub fn to_crash(config: RunConfig, design: Design, cancel: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let mut run = Self::new(config, design, cancel)?;
        run.source.leave_out_others();
        Ok(run)
    }

    /// Number of transactions over all cores.
    pub fn transactions(&self) -> u64 {
        let per_core = self.config.transactions + self.config.warmup;
        self.source.trace_transactions().unwrap_or(per_core * u64::from(self.config.cores))
    }

    fn base_key(&self) -> Option<&BaseKey> {
        match &self.source {
            Source::Workload(plan) => Some(plan.base_key()),
            Source::Trace(..) | Source::Litmus(..) | Source::Probe(_) => None,
        }
    }
}

/// Turns the error of an interrupted run into [`Failure::Cancelled`], because an interruption may cause other errors,
/// such as a trace that cannot be read further.
pub(super) fn unless_interrupted<T>(cancel: &AtomicBool, outcome: Result<T, Failure>) -> Result<T, Failure> {
    outcome.map_err(|why| if cancel.load(Ordering::Relaxed) { Failure::Cancelled } else { why })
}

/// The result of one run as text: a map of values for each window of a report takes longer than the windows take to count.
pub(super) type Written = Box<RawValue>;

/// Writes the report of a run.
pub(super) fn written(report: &impl Serialize) -> Written {
    to_raw_value(report).expect("a report serialises")
}

/// The results of a batch, in the order of its runs; for a run that the user interrupted (`None`) that it was.
pub(super) fn results(runs: impl IntoIterator<Item = Option<Written>>) -> String {
    #[derive(Serialize)]
    struct Interrupted {
        error: &'static str,
    }
    #[derive(Serialize)]
    struct Results {
        results: Vec<Written>,
    }
    let interrupted = || written(&Interrupted { error: "interrupted" });
    let results = runs.into_iter().map(|run| run.unwrap_or_else(interrupted)).collect();
    serde_json::to_string(&Results { results }).expect("reports serialise")
}

/// Validates the request of a run and returns the complete configuration as JSON.
pub fn resolve(request: &str) -> Result<String, ConfigError> {
    let given = request::parse_object(request)?;
    if is_of_lines(&given, &Arc::default()) {
        return Ok(lines::resolve(&request::read(given)?)?.to_string());
    }
    let Run { common, omitted, .. } = request::read(given)?;
    let (config, _) = common.resolve(&TIMING, &omitted, None)?;
    Ok(serde_json::to_string(&config).expect("a configuration serialises"))
}

/// Runs a batch, `workers` at a time (0: one per processor; never more than that). `request` is `{"runs": [...]}`; the
/// answer is `{"results": [...]}` in the same order. All requests are validated before the first run starts. Runs on
/// equal bases share them. A batch of traces of memory lines has their own kind of report ([`crate::run::LineReport`]).
pub fn run_many(
    request: &str,
    workers: usize,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    run_batch(request, workers, None, progress, cancel)
}

/// Runs a batch like [`run_many`], on the populated memory that `session` keeps.
pub fn run_many_in(
    session: &Session,
    request: &str,
    workers: usize,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    run_batch(request, workers, Some(session), progress, cancel)
}

/// Replays traces: a batch in which every workload is the path of a trace. Traces of memory lines have their own kind
/// of report ([`crate::run::LineReport`]).
pub fn replay(request: &str, workers: usize, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    run_batch(request, workers, None, progress, cancel)
}

/// Whether the workload of a request is a trace of memory lines. What is wrong with a file is said where it is run.
fn is_of_lines(given: &Given, cancel: &Arc<AtomicBool>) -> bool {
    let path = given.get("workload").and_then(Value::as_str);
    path.is_some_and(|path| matches!(lines::open(path, cancel), Ok(Some(_))))
}

fn run_batch(
    request: &str,
    workers: usize,
    session: Option<&Session>,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    let batch = request::parse_batch(request)?;
    if batch.first().is_some_and(|first| is_of_lines(first, cancel)) {
        return lines::replay(&request::read_all(batch)?, workers, progress, cancel);
    }
    run_all(&request::read_all(batch)?, workers, session, progress, cancel)
}

/// Starts the timeline at a path, if one is asked for.
pub(super) fn timeline(
    config: &RunConfig,
    design: &Design,
    path: Option<&str>,
) -> Result<Option<Timeline>, ConfigError> {
    let layout = design.media_layout(&config.machine);
    path.map(|path| Timeline::create(Path::new(path), layout)).transpose()
}

/// Completes the timeline of a run, which has ended, with its windows.
pub(super) fn finish_timeline(timeline: Option<Timeline>, windows: Option<&stats::Windows>) -> Result<(), ConfigError> {
    let Some(mut timeline) = timeline else { return Ok(()) };
    windows.into_iter().for_each(|windows| timeline.windows(windows));
    timeline.finish()
}

/// One run of a batch.
struct Prepared {
    run: Opened,
    timeline: Option<String>,
    by_line: bool,
    /// Length of the windows in picoseconds.
    window: Option<u64>,
}

impl Prepared {
    fn new(request: &Run, cancel: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let Run { common, omitted, timeline, by_line, window } = request;
        let (config, design) = common.resolve(&TIMING, omitted, None)?;
        let mut run = Opened::new(config, design, cancel)?;
        if *by_line {
            if timeline.is_some() {
                return Err(ConfigError("by_line: not together with timeline".to_owned()).into());
            }
            run.source.watch_sites()?;
        }
        Ok(Self { run, timeline: timeline.clone(), by_line: *by_line, window: *window })
    }

    fn simulate(
        &self,
        bases: &Bases,
        places: &Places,
        progress: &(dyn Fn(u64) + Sync),
        cancel: &Arc<AtomicBool>,
    ) -> Result<Written, Failure> {
        let Opened { config, design, source } = &self.run;
        if self.timeline.is_none() && !self.by_line && self.window.is_none() {
            let report = simulate(config, design, source, bases, progress, cancel)?;
            return Ok(written(&report));
        }
        let watch = self.by_line.then(SiteWatch::default);
        let observers = (watch, timeline(config, design, self.timeline.as_deref())?);
        let (mut report, (watch, timeline)) =
            simulate_observed(config, design, source, bases, (observers, self.window), progress, cancel)?;
        if let Some(watch) = watch {
            report.sites = source.sites().map(|sites| by_line(&watch, &places.of(sites)));
        }
        finish_timeline(timeline, report.windows.as_ref())?;
        Ok(written(&report))
    }
}

fn run_all(
    runs: &[Run],
    workers: usize,
    session: Option<&Session>,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    let prepared = runs.iter().map(|run| Prepared::new(run, cancel)).collect::<Result<Vec<_>, _>>()?;
    written_once("timeline", "runs", prepared.iter().filter_map(|run| run.timeline.as_ref()))?;
    let workers = workers::workers(workers);
    let needs = prepared.iter().map(|Prepared { run, .. }| Needs::of(&run.config, &run.design, Purpose::Simulate));
    host_memory::check(needs, workers)?;
    let total = prepared.iter().map(|run| run.run.transactions()).sum();
    let done = AtomicU64::new(0);
    let bases = Bases::kept_by(session);
    let places = Places::default();
    let simulate = |run: &Prepared| {
        let report = |ended: u64| progress(done.fetch_add(ended, Ordering::Relaxed) + ended, total);
        unless_interrupted(cancel, run.simulate(&bases, &places, &report, cancel))
    };
    answer(at_a_time(&prepared, workers.min(prepared.len()), &bases, &simulate))
}

/// The result of `simulate` for each run; `None` if the run did not start because another failed or was interrupted.
/// Runs on one base follow one another, so that few bases exist at once.
fn at_a_time(
    runs: &[Prepared],
    workers: usize,
    bases: &Bases,
    simulate: &(dyn Fn(&Prepared) -> Result<Written, Failure> + Sync),
) -> Vec<Option<Result<Written, Failure>>> {
    let base_key = |index: usize| runs[index].run.base_key();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&index| {
        let key = base_key(index);
        key.and_then(|key| runs.iter().position(|run| run.run.base_key() == Some(key))).unwrap_or(index)
    });
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Written, Failure>>>> = Mutex::new(runs.iter().map(|_| None).collect());
    let stopped = AtomicBool::new(false);
    let work = || {
        while !stopped.load(Ordering::Relaxed) {
            let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let result = simulate(&runs[index]);
            stopped.fetch_or(result.is_err(), Ordering::Relaxed);
            let mut results = results.lock().expect("no run panics while it holds the lock");
            results[index] = Some(result);
            let mut same = (0..runs.len()).filter(|&other| base_key(other) == base_key(index));
            if same.all(|other| results[other].is_some())
                && let Some(key) = base_key(index)
            {
                bases.forget(key);
            }
        }
    };
    workers::side_by_side(workers, work);
    results.into_inner().expect("a run that panics ends the call")
}

/// The reports; if there are errors, the first one in the order of the requests.
fn answer(runs: Vec<Option<Result<Written, Failure>>>) -> Result<String, Failure> {
    let mut reports = Vec::with_capacity(runs.len());
    let mut error = None;
    for run in runs {
        match run {
            Some(Ok(report)) => reports.push(Some(report)),
            Some(Err(Failure::Config(what))) => error = error.or(Some(what)),
            Some(Err(Failure::Cancelled)) | None => reports.push(None),
        }
    }
    error.map_or_else(|| Ok(results(reports)), |error| Err(error.into()))
}
