//! Replays of traces of memory lines, which have no program: from a request to a report of controller and device.

use super::{Request, TIMING, integer, unless_interrupted};
use crate::config::{ConfigError, RunConfig};
use crate::parts::Design;
use crate::run::{Failure, run_line_trace, workers};
use crate::workload;
use crate::workload::trace::lines::LineTrace;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Megahertz of the clock of a trace's cycles where the request does not say: a cycle is a nanosecond.
const TRACE_CLOCK_MHZ: u64 = 1000;
/// The fastest clock: a cycle of a picosecond.
const TRACE_CLOCK_MHZ_MAX: u64 = 1_000_000;

struct Prepared {
    config: RunConfig,
    design: Design,
    trace: LineTrace,
    clock_mhz: u64,
}

/// The answer to a batch whose workloads are traces of memory lines; `None` if they are none.
pub(super) fn replay(runs: &[Request], workers: usize, cancel: &Arc<AtomicBool>) -> Option<Result<String, Failure>> {
    let first = runs.first().and_then(|run| open(&run.workload, cancel).transpose())?;
    Some(first.map_err(Failure::from).and_then(|_| run_all(runs, workers, cancel)))
}

/// `lines` if `path` is a trace of memory lines, `program` for everything else that could be replayed, also if it is not
/// there.
///
/// # Errors
/// The file cannot be read, or is no trace.
pub fn trace_kind(path: &str) -> Result<&'static str, ConfigError> {
    Ok(if open(path, &Arc::default())?.is_some() { "lines" } else { "program" })
}

/// The trace of lines at `path`, if it is one.
fn open(path: &str, cancel: &Arc<AtomicBool>) -> Result<Option<LineTrace>, ConfigError> {
    if workload::find(path).is_some() || !Path::new(path).is_file() {
        return Ok(None);
    }
    LineTrace::open(Path::new(path), cancel)
}

fn prepare(request: &Request, cancel: &Arc<AtomicBool>) -> Result<Prepared, ConfigError> {
    let path = &request.workload;
    let trace = open(path, cancel)?
        .ok_or_else(|| ConfigError(format!("{path}: traces of memory lines and programs are replayed apart")))?;
    let (config, design) = request.resolve(&TIMING)?;
    if request.timeline.is_some() {
        return Err(ConfigError("timeline: a trace of memory lines has none".to_owned()));
    }
    if request.by_line {
        return Err(ConfigError("by_line: a trace of memory lines has no program".to_owned()));
    }
    let clock_mhz = integer("trace_clock_mhz", request.trace_clock_mhz.as_ref())?.unwrap_or(TRACE_CLOCK_MHZ);
    if !(1..=TRACE_CLOCK_MHZ_MAX).contains(&clock_mhz) {
        let what = format!("trace_clock_mhz: {clock_mhz} is not from 1 to {TRACE_CLOCK_MHZ_MAX}");
        return Err(ConfigError(what));
    }
    Ok(Prepared { config, design, trace, clock_mhz })
}

fn run_all(runs: &[Request], workers: usize, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let prepared = runs.iter().map(|run| prepare(run, cancel)).collect::<Result<Vec<_>, _>>()?;
    let pool = workers::pool(workers::workers(workers).min(prepared.len()))?;
    let results: Vec<Result<Value, Failure>> = pool.install(|| {
        let run = |run: &Prepared| {
            let report = run_line_trace(&run.config, &run.design, &run.trace, run.clock_mhz, cancel);
            let report = unless_interrupted(cancel, report)?;
            Ok(serde_json::to_value(report).expect("a report serialises"))
        };
        prepared.par_iter().map(run).collect()
    });
    let values = results.into_iter().map(|result| match result {
        Err(Failure::Cancelled) => Ok(super::interrupted()),
        other => other,
    });
    Ok(json!({"results": values.collect::<Result<Vec<_>, _>>()?}).to_string())
}
