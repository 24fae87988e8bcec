//! Runs of traces of memory lines, which have no program: from a request to a report of controller and device.

use super::Progress;
use super::named::written_once;
use super::request::{Lines, Omitted, TIMING};
use super::runs::{finish_timeline, results, timeline, unless_interrupted, written};
use crate::config::RunConfig;
use crate::kernel::{ConfigError, Failure, workers};
use crate::message::NoObserver;
use crate::parts::Design;
use crate::run::{LineReport, run_line_trace};
use crate::trace::lines::LineTrace;
use crate::workload;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Clock of a trace's cycles in MHz, if the request does not state it: one cycle is one nanosecond.
const TRACE_CLOCK_MHZ: u64 = 1000;
/// The fastest clock in MHz: one cycle is one picosecond.
const TRACE_CLOCK_MHZ_MAX: u64 = 1_000_000;

struct Prepared {
    config: RunConfig,
    design: Design,
    trace: LineTrace,
    clock_mhz: u64,
    requests: Option<String>,
    timeline: Option<String>,
    window: Option<u64>,
}

/// `lines` if `path` is a trace of memory lines, `program` for every other trace, even if the file does not exist.
///
/// # Errors
/// It is there, but cannot be read, is no regular file or is not a trace.
pub fn trace_kind(path: &str) -> Result<&'static str, ConfigError> {
    Ok(if open(path, &Arc::default())?.is_some() { "lines" } else { "program" })
}

/// The trace of lines at `path`, if it is one.
pub(super) fn open(path: &str, cancel: &Arc<AtomicBool>) -> Result<Option<LineTrace>, ConfigError> {
    if workload::find(path).is_some() || !Path::new(path).exists() {
        return Ok(None);
    }
    LineTrace::open(Path::new(path), cancel)
}

impl Prepared {
    fn new(request: &Lines, cancel: &Arc<AtomicBool>) -> Result<Self, ConfigError> {
        let path = &request.common.workload;
        let trace = open(path, cancel)?.ok_or_else(|| {
            ConfigError(format!("{path}: programs and traces of memory lines cannot be simulated together"))
        })?;
        let (config, design, clock_mhz) = resolved(request)?;
        let Lines { requests, timeline, window, .. } = request.clone();
        Ok(Self { config, design, trace, clock_mhz, requests, timeline, window })
    }

    fn simulate(&self, progress: &(dyn Fn(u64) + Sync), cancel: &Arc<AtomicBool>) -> Result<LineReport, Failure> {
        let Self { config, design, trace, .. } = self;
        let asked = (self.clock_mhz, self.requests.as_deref().map(Path::new));
        if self.timeline.is_none() && self.window.is_none() {
            return run_line_trace(config, design, trace, asked, (NoObserver, None), progress, cancel)
                .map(|(report, _)| report);
        }
        let observed = (timeline(config, design, self.timeline.as_deref())?, self.window);
        let (report, timeline) = run_line_trace(config, design, trace, asked, observed, progress, cancel)?;
        finish_timeline(timeline, report.windows.as_ref())?;
        Ok(report)
    }
}

/// What a request asks for: the configuration, the design, and the clock of the trace in MHz.
fn resolved(request: &Lines) -> Result<(RunConfig, Design, u64), ConfigError> {
    let (config, design) = request.common.resolve(&TIMING, &Omitted::default(), None)?;
    let clock_mhz = request.trace_clock_mhz.unwrap_or(TRACE_CLOCK_MHZ);
    if !(1..=TRACE_CLOCK_MHZ_MAX).contains(&clock_mhz) {
        return Err(ConfigError(format!("trace_clock_mhz: {clock_mhz} is not from 1 to {TRACE_CLOCK_MHZ_MAX}")));
    }
    Ok((config, design, clock_mhz))
}

/// The complete configuration of a request whose workload is a trace of memory lines, with the clock of its cycles, as JSON.
pub(super) fn resolve(request: &Lines) -> Result<Value, ConfigError> {
    let (config, _, clock_mhz) = resolved(request)?;
    let mut configuration = json!(config);
    configuration["trace_clock_mhz"] = clock_mhz.into();
    Ok(configuration)
}

/// Replays a batch whose workloads are all traces of memory lines. `progress` receives bytes of their files.
pub(super) fn replay(
    runs: &[Lines],
    workers: usize,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    let prepared = runs.iter().map(|run| Prepared::new(run, cancel)).collect::<Result<Vec<_>, _>>()?;
    written_once("requests", "replays", prepared.iter().filter_map(|run| run.requests.as_ref()))?;
    written_once("timeline", "runs", prepared.iter().filter_map(|run| run.timeline.as_ref()))?;
    let threads = workers::workers(workers).min(prepared.len());
    let total = prepared.iter().map(|run| run.trace.bytes()).sum();
    let done = AtomicU64::new(0);
    let tell = |read: u64| progress(done.fetch_add(read, Ordering::Relaxed) + read, total);
    let run = |run: &Prepared| {
        let report = unless_interrupted(cancel, run.simulate(&tell, cancel))?;
        Ok(written(&report))
    };
    let reports = workers::in_pool(threads, || workers::map(threads > 1, &prepared, run))?;
    let reports = reports.into_iter().map(|report| match report {
        Err(Failure::Cancelled) => Ok(None),
        other => other.map(Some),
    });
    Ok(results(reports.collect::<Result<Vec<_>, _>>()?))
}
