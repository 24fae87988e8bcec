//! What the front calls: requests in, reports out, both JSON. Everything here validates first; nothing starts that
//! is not completely described.

mod crash;
mod lines;

use crate::assembly::{encryption, memory_map};
use crate::attribution::{Places, SiteWatch, by_line};
use crate::config::{self, ByteSize, ConfigError, Machine, RunConfig, Variant, unknown_name};
use crate::design::{self, faults::Fault};
use crate::message::Omission;
use crate::parts::Design;
use crate::run::host_memory::{self, Needs, Purpose};
use crate::run::{Bases, ENGINE_BUILD, ENGINE_VERSION, Failure, Source, simulate, simulate_observed, workers};
use crate::timeline::Timeline;
use crate::workload;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub use crate::run::Failure as Error;
pub use crate::run::Session;
pub use crate::run::workers::processors;
pub use crate::workload::trace::{TraceWritten, write_trace};
pub use crash::{crash, scene};
pub use lines::trace_kind;

/// Told how much is done, of how much, in transactions.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// One simulation or crash run, as the user asked for it; what is absent takes its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Design name.
    pub design: String,
    /// Workload name or trace path.
    pub workload: String,
    /// `published` or `hardened`.
    pub variant: Option<String>,
    /// Preset name or TOML file.
    pub machine: Option<String>,
    /// Overrides, `path.to.key=value`.
    pub set: Vec<String>,
    /// Bytes of user data per transaction.
    pub tx_size: Option<Value>,
    /// Measured transactions per core.
    pub transactions: Option<Value>,
    /// Warm-up transactions per core.
    pub warmup: Option<Value>,
    /// Cores.
    pub cores: Option<Value>,
    /// Populated bytes, all cores.
    pub footprint: Option<Value>,
    /// Seed.
    pub seed: Option<Value>,
    /// Accept a trace that is cut off.
    pub allow_truncated: bool,
    /// An annotation, or a step of its protocol, that the program leaves out.
    pub leave_out: Option<String>,
    /// File for a timeline that Perfetto reads.
    pub timeline: Option<String>,
    /// Say what each source line of a recorded program costs.
    pub by_line: bool,
    /// Crash points: "all" or a number.
    pub points: Option<Value>,
    /// One crash point, by event number.
    pub at_event: Option<Value>,
    /// Power fails again during recovery.
    pub nested: bool,
    /// What is explored: "schedule" (the simulated one, or another), "schedules" (several) or "legal" (every legal state at
    /// every fence).
    pub explore: Option<String>,
    /// How many schedules.
    pub schedules: Option<Value>,
    /// Which one.
    pub schedule: Option<Value>,
    /// Classes of legal states judged at one fence before the rest is bounded and sampled.
    pub states: Option<Value>,
    /// How many times in a row, 1 to 4.
    pub nested_depth: Option<Value>,
    /// A mechanism of the design that is switched off.
    pub fault: Option<String>,
    /// Look for smaller runs that break the same rules; by default where every event is a crash point.
    pub shrink: Option<bool>,
    /// Tally crash points by the stage of the transaction in flight.
    pub stages: bool,
    /// A command that is the recorded program's own recovery, and judges the memory that a boot finds.
    pub recover: Option<String>,
    /// Seconds that a run of it may take.
    pub recover_timeout: Option<Value>,
    /// How many of them run at a time.
    pub recover_jobs: Option<Value>,
    /// The folder in which memory is written for it.
    pub recover_folder: Option<String>,
    /// The folder in which memory is kept on which it fails first.
    pub recover_keep: Option<String>,
    /// Find out who is to blame; the default.
    pub blame: Option<bool>,
    /// Megahertz of the clock of the cycles in a trace of memory lines.
    pub trace_clock_mhz: Option<Value>,
}

/// The most power failures in a row during recovery: the work grows with the power of their number.
const MAX_DEPTH: u64 = 4;

/// What a crash run takes where a timing run takes more.
struct Defaults {
    tx_size: u64,
    transactions: u64,
    /// One warm-up transaction for so many measured ones; 0 for none.
    warmup_share: u64,
    footprint_max: u64,
}

/// Timing: enough transactions for steady figures.
const TIMING: Defaults = Defaults { tx_size: 1024, transactions: 2_000, warmup_share: 10, footprint_max: u64::MAX };
/// Crash: every event of a short run over a structure small enough to check completely.
const CRASH: Defaults = Defaults { tx_size: 256, transactions: 200, warmup_share: 0, footprint_max: 256 << 10 };

impl Request {
    fn parse(text: &str) -> Result<Self, ConfigError> {
        serde_json::from_str(text).map_err(|error| ConfigError(format!("request: {error}")))
    }

    /// The mechanism that is switched off.
    fn seeded_fault(&self) -> Result<Option<Fault>, ConfigError> {
        self.fault.as_deref().map(Fault::find).transpose()
    }

    /// A design that no crash is allowed for is refused later, for that reason.
    fn without_mechanism(&self, design: Design) -> Result<Design, ConfigError> {
        match self.seeded_fault()? {
            Some(fault) if design.promise.crash_consistent.is_ok() => fault.apply(&design),
            _ => Ok(design),
        }
    }

    /// How many times in a row power fails again during recovery.
    fn depth(&self) -> Result<u32, ConfigError> {
        match integer("nested_depth", self.nested_depth.as_ref())? {
            None => Ok(u32::from(self.nested)),
            Some(depth @ 1..=MAX_DEPTH) => Ok(depth as u32),
            Some(depth) => Err(ConfigError(format!("nested_depth: {depth} is not from 1 to {MAX_DEPTH}"))),
        }
    }

    fn resolve(&self, defaults: &Defaults) -> Result<(RunConfig, Design), ConfigError> {
        let variant = match self.variant.as_deref() {
            None => Variant::Hardened,
            Some(name) => Variant::from_name(name)
                .ok_or_else(|| ConfigError(format!("variant '{name}' does not exist: published or hardened")))?,
        };
        let (of_design, of_machine) = design::sets(&self.set);
        let design = self.without_mechanism(design::load(&self.design, variant, &of_design)?)?;
        let machine = config::load_machine(self.machine.as_deref().unwrap_or(&design.machine), &of_machine)?;
        let number = |name, value: &Option<Value>, default| integer(name, value.as_ref()).map(|n| n.unwrap_or(default));
        let transactions = number("transactions", &self.transactions, defaults.transactions)?;
        let default_warmup = transactions.checked_div(defaults.warmup_share).unwrap_or(0);
        let cores = number("cores", &self.cores, 1)?;
        let config = RunConfig {
            design: design.name.clone(),
            parts: design.parts.clone(),
            variant,
            workload: self.workload.clone(),
            tx_size: size("tx_size", self.tx_size.as_ref())?.unwrap_or(defaults.tx_size),
            transactions,
            warmup: number("warmup", &self.warmup, default_warmup)?,
            cores: u16::try_from(cores).map_err(|_| ConfigError(format!("cores: {cores} is not from 1 to 64")))?,
            footprint: size("footprint", self.footprint.as_ref())?
                .unwrap_or(machine.program.total_footprint(cores).min(defaults.footprint_max)),
            seed: number("seed", &self.seed, 1)?,
            allow_truncated: self.allow_truncated,
            leave_out: self
                .leave_out
                .as_deref()
                .map(|name| find_omission(name, &self.workload, &design))
                .transpose()?,
            machine,
        };
        config::validate_run(&config)?;
        memory_map::validate(&config, &design)?;
        encryption::check(&config.machine, &design)?;
        Ok((config, design))
    }
}

/// What is called `name` in the programs that `design` runs.
fn find_omission(name: &str, workload: &str, design: &Design) -> Result<Omission, ConfigError> {
    let known: Vec<&str> = Omission::all().map(Omission::name).collect();
    let omission = Omission::all().find(|omission| omission.name() == name);
    let omission = omission.ok_or_else(|| unknown_name("leave_out", name, &known))?;
    if !omission.is_in(design.form) {
        let of_design: Vec<&str> =
            Omission::all().filter(|omission| omission.is_in(design.form)).map(Omission::name).collect();
        return Err(ConfigError(format!(
            "leave_out {name}: the programs that design '{}' runs do not have it (they have: {})",
            design.name,
            of_design.join(", ")
        )));
    }
    let keeps_no_log = workload::find(workload).is_some_and(|workload| !workload.has_log);
    match omission {
        Omission::Step(step) if step.needs_log() && keeps_no_log => {
            Err(ConfigError(format!("leave_out {name}: workload '{workload}' writes no log and does not have it")))
        }
        _ => Ok(omission),
    }
}

fn integer(name: &str, value: Option<&Value>) -> Result<Option<u64>, ConfigError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .map(Some)
            .ok_or_else(|| ConfigError(format!("{name}: {value} is not a whole number from 0 to {}", u64::MAX))),
    }
}

fn size(name: &str, value: Option<&Value>) -> Result<Option<u64>, ConfigError> {
    match value {
        Some(Value::String(text)) => {
            text.parse::<ByteSize>().map(|size| Some(size.0)).map_err(|error| ConfigError(format!("{name}: {error}")))
        }
        other => integer(name, other),
    }
}

/// Everything that exists, as JSON: designs, workloads, machines with their values.
pub fn describe() -> String {
    let designs: Vec<Value> = design::names()
        .filter_map(|name| design::find(name, Variant::Hardened))
        .map(|design| {
            json!({
                "name": design.name, "summary": design.summary, "paper": design.paper, "machine": design.machine,
                "variants": ["published", "hardened"], "encrypted": design.encryption.is_some(),
                "crash_consistent": design.promise.crash_consistent.is_ok(),
                "form": design.form, "file": design::text(&design.name),
                "parts": {
                    "published": design::parts_of(&design.name, Variant::Published),
                    "hardened": design::parts_of(&design.name, Variant::Hardened),
                },
            })
        })
        .collect();
    let workloads: Vec<Value> = workload::WORKLOADS
        .iter()
        .map(|workload| json!({"name": workload.name, "summary": workload.summary, "has_log": workload.has_log}))
        .collect();
    let machines: Vec<Value> = config::preset_names()
        .into_iter()
        .filter_map(|name| config::preset(name).ok())
        .map(|machine: Machine| json!({"name": machine.name, "source": machine.source, "values": machine}))
        .collect();
    let has = |fault: Fault, name| {
        let readings = [Variant::Published, Variant::Hardened].map(|variant| design::find(name, variant));
        let mut tested = readings.into_iter().flatten().filter(|design| design.promise.crash_consistent.is_ok());
        tested.any(|design| fault.apply(&design).is_ok())
    };
    let faults: Vec<Value> = Fault::ALL
        .iter()
        .map(|&fault| {
            let designs: Vec<&str> = design::names().filter(|name| has(fault, name)).collect();
            json!({"name": fault.name(), "summary": fault.summary(), "designs": designs})
        })
        .collect();
    json!({
        "engine_version": ENGINE_VERSION, "engine_build": ENGINE_BUILD, "designs": designs, "workloads": workloads,
        "machines": machines, "faults": faults, "parts": design::parts(),
    })
    .to_string()
}

/// Validates a request and gives the complete configuration.
pub fn resolve(request: &str) -> Result<String, ConfigError> {
    let (config, _) = Request::parse(request)?.resolve(&TIMING)?;
    Ok(serde_json::to_string(&config).expect("a configuration serialises"))
}

/// One prepared run of a batch.
struct Prepared {
    config: RunConfig,
    design: Design,
    source: Source,
    timeline: Option<String>,
    by_line: bool,
}

fn prepare(request: &Request, defaults: &Defaults, cancel: &Arc<AtomicBool>) -> Result<Prepared, Failure> {
    let (config, design) = request.resolve(defaults)?;
    let mut prepared = open(config, design, request.timeline.clone(), cancel)?;
    if request.by_line {
        if request.timeline.is_some() {
            return Err(ConfigError("by_line: not together with timeline".to_owned()).into());
        }
        prepared.source.watch_sites()?;
        prepared.by_line = true;
    }
    Ok(prepared)
}

fn open(
    config: RunConfig,
    design: Design,
    timeline: Option<String>,
    cancel: &Arc<AtomicBool>,
) -> Result<Prepared, Failure> {
    let capacity = memory_map::program_capacity(&config.machine, &design, config.cores);
    let source =
        unless_interrupted(cancel, Source::open(&config, design.form, capacity, cancel).map_err(Failure::from))?;
    if source.is_trace() && config.cores != 1 {
        return Err(ConfigError(format!("cores: {} cores cannot run a trace, which has one", config.cores)).into());
    }
    let config = if source.is_trace() { RunConfig { warmup: 0, ..config } } else { config };
    Ok(Prepared { config, design, source, timeline, by_line: false })
}

/// What the user interrupts fails in its own way, such as a trace that cannot be read any further: it was interrupted.
fn unless_interrupted<T>(cancel: &AtomicBool, outcome: Result<T, Failure>) -> Result<T, Failure> {
    outcome.map_err(|why| if cancel.load(Ordering::Relaxed) { Failure::Cancelled } else { why })
}

/// Several runs at once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    runs: Vec<Request>,
}

impl Batch {
    fn parse(text: &str) -> Result<Self, ConfigError> {
        serde_json::from_str(text).map_err(|error| ConfigError(format!("request: {error}")))
    }
}

/// Runs a batch, `workers` at a time (0: one per processor, and never more than that). `request` is `{"runs": [...]}`; the answer is `{"results": [...]}` in the same
/// order. Every request is validated before the first one starts. Runs over equal bases share them.
pub fn run_many(
    request: &str,
    workers: usize,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    run_batch(request, workers, None, progress, cancel)
}

/// The same over the populated memory that `session` keeps.
pub fn run_many_in(
    session: &Session,
    request: &str,
    workers: usize,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    run_batch(request, workers, Some(session), progress, cancel)
}

fn run_batch(
    request: &str,
    workers: usize,
    session: Option<&Session>,
    progress: Progress,
    cancel: &Arc<AtomicBool>,
) -> Result<String, Failure> {
    let batch = Batch::parse(request)?;
    if let Some(fault) = batch.runs.iter().find_map(|run| run.fault.as_ref()) {
        return Err(ConfigError(format!("fault {fault}: only a crash exploration switches a mechanism off")).into());
    }
    let prepared = batch.runs.iter().map(|run| prepare(run, &TIMING, cancel)).collect::<Result<Vec<_>, _>>()?;
    let mut timelines = HashSet::new();
    if let Some(path) = prepared.iter().filter_map(|run| run.timeline.as_ref()).find(|path| !timelines.insert(*path)) {
        return Err(ConfigError(format!("timeline {path}: two runs cannot write the same file")).into());
    }
    let total = prepared.iter().map(transactions_of).sum();
    let done = AtomicU64::new(0);
    let report = |ended: u64| progress(done.fetch_add(ended, Ordering::Relaxed) + ended, total);
    let workers = workers::workers(workers);
    host_memory::check(prepared.iter().map(|run| Needs::of(&run.config, &run.design, Purpose::Simulate)), workers)?;
    let bases = Bases::populated_by(workers::pool(workers)?).kept_by(session);
    // Runs over one base go one after the other, so that few bases are alive at once.
    let mut order: Vec<usize> = (0..prepared.len()).collect();
    order.sort_by_key(|&index| {
        let key = base_key(&prepared[index]);
        key.and_then(|key| prepared.iter().position(|run| base_key(run) == Some(key))).unwrap_or(index)
    });
    let places = Places::default();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Value, Failure>>>> = Mutex::new(prepared.iter().map(|_| None).collect());
    let failed = AtomicBool::new(false);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let result = unless_interrupted(cancel, run_one(&prepared[index], &bases, &places, &report, cancel));
            failed.fetch_or(matches!(result, Err(Failure::Config(_))), Ordering::Relaxed);
            let mut results = results.lock().expect("no run panics while it holds the lock");
            results[index] = Some(result);
            let same = |other: &usize| base_key(&prepared[*other]) == base_key(&prepared[index]);
            if (0..prepared.len()).filter(same).all(|other| results[other].is_some())
                && let Some(key) = base_key(&prepared[index])
            {
                bases.forget(key);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.min(prepared.len())).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let results = results.into_inner().expect("a run that panics ends the call");
    let mut values = Vec::with_capacity(results.len());
    // Of several errors the first in the order of the requests.
    let mut error = None;
    for result in results {
        match result {
            Some(Ok(report)) => values.push(report),
            Some(Err(Failure::Config(what))) => error = error.or(Some(what)),
            Some(Err(Failure::Cancelled)) | None => values.push(interrupted()),
        }
    }
    error.map_or(Ok(json!({"results": values}).to_string()), |error| Err(error.into()))
}

/// What stands in the place of a run that the user interrupted.
fn interrupted() -> Value {
    json!({"error": "interrupted"})
}

/// Replays traces: like [`run_many`], where every workload is the path of a trace. Traces of memory lines have reports of
/// their own ([`crate::run::LineReport`]).
pub fn replay(request: &str, workers: usize, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let batch = Batch::parse(request)?;
    match lines::replay(&batch.runs, workers, cancel) {
        Some(answer) => answer,
        None => run_batch(request, workers, None, progress, cancel),
    }
}

fn run_one(
    run: &Prepared,
    bases: &Bases,
    places: &Places,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &Arc<AtomicBool>,
) -> Result<Value, Failure> {
    let Prepared { config, design, source, timeline, .. } = run;
    let report = match timeline {
        None if run.by_line => {
            let watch = SiteWatch::default();
            let (mut report, watch) = simulate_observed(config, design, source, bases, watch, progress, cancel)?;
            report.sites = source.sites().map(|sites| by_line(&watch, &places.of(sites)));
            report
        }
        None => simulate(config, design, source, bases, progress, cancel)?,
        Some(path) => {
            let timeline = Timeline::create(Path::new(path), design.media_layout(&config.machine.counters))?;
            let (report, timeline) = simulate_observed(config, design, source, bases, timeline, progress, cancel)?;
            timeline.finish()?;
            report
        }
    };
    Ok(serde_json::to_value(report).expect("a report serialises"))
}

fn base_key(run: &Prepared) -> Option<&workload::BaseKey> {
    match &run.source {
        Source::Workload(plan) => Some(plan.base_key()),
        Source::Trace(..) => None,
    }
}

fn transactions_of(run: &Prepared) -> u64 {
    let per_core = run.config.transactions + run.config.warmup;
    run.source.trace_transactions().unwrap_or(per_core * u64::from(run.config.cores))
}
