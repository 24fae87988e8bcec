//! Replays of traces of memory lines, which have no program: from a request to a report of controller and device.

use super::Progress;
use super::named::written_once;
use super::request::{Lines, Omitted, TIMING};
use super::runs::{interrupted, unless_interrupted};
use crate::config::RunConfig;
use crate::kernel::{ConfigError, Failure, workers};
use crate::parts::Design;
use crate::run::run_line_trace;
use crate::trace::lines::LineTrace;
use crate::workload;
use serde_json::json;
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
            ConfigError(format!("{path}: traces of memory lines and traces of programs cannot be replayed together"))
        })?;
        let (config, design) = request.common.resolve(&TIMING, &Omitted::default(), None)?;
        let clock_mhz = request.trace_clock_mhz.unwrap_or(TRACE_CLOCK_MHZ);
        if !(1..=TRACE_CLOCK_MHZ_MAX).contains(&clock_mhz) {
            let what = format!("trace_clock_mhz: {clock_mhz} is not from 1 to {TRACE_CLOCK_MHZ_MAX}");
            return Err(ConfigError(what));
        }
        Ok(Self { config, design, trace, clock_mhz, requests: request.requests.clone() })
    }
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
    let threads = workers::workers(workers).min(prepared.len());
    let total = prepared.iter().map(|run| run.trace.bytes()).sum();
    let done = AtomicU64::new(0);
    let tell = |read: u64| progress(done.fetch_add(read, Ordering::Relaxed) + read, total);
    let run = |run: &Prepared| {
        let requests = run.requests.as_deref().map(Path::new);
        let report = run_line_trace(&run.config, &run.design, &run.trace, run.clock_mhz, requests, &tell, cancel);
        let report = unless_interrupted(cancel, report)?;
        Ok(serde_json::to_value(report).expect("a report serialises"))
    };
    let results = workers::in_pool(threads, || workers::map(threads > 1, &prepared, run))?;
    let values = results.into_iter().map(|result| match result {
        Err(Failure::Cancelled) => Ok(interrupted()),
        other => other,
    });
    Ok(json!({"results": values.collect::<Result<Vec<_>, _>>()?}).to_string())
}
