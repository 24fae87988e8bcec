//! What the front end may request, with one type for each kind of request. A request is a JSON object whose keys are
//! the fields. An absent key or null takes its default, and an unknown key is refused.

use super::named::{attacks, checked_event, find_omission, seeded_fault};
use super::recovery::Recovery;
use crate::assembly::{encryption, memory_map};
use crate::config::{self, ByteSize, ConfigError, RunConfig, Variant, unknown_name};
use crate::crash::{CrashPlan, Exploration, Region};
use crate::design::{self, faults::Fault};
use crate::parts::Design;
use crate::run::workers;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A request as received.
pub(super) type Given = Map<String, Value>;

/// Most power failures in a row during recovery: the work grows exponentially with their number.
const MAX_DEPTH: u64 = 4;

/// A kind of request.
pub(super) trait RequestKind: Default + Serialize + DeserializeOwned {
    /// The name of this kind of request in error sentences.
    const KIND: &'static str;
}

/// The fields of every kind of request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Common {
    /// The design: a name, or the path of a design file.
    pub design: String,
    /// Workload name or trace path.
    pub workload: String,
    /// The reading of the design's paper.
    #[serde(deserialize_with = "variant")]
    pub variant: Option<Variant>,
    /// The machine: a preset name or a TOML file.
    pub machine: Option<String>,
    /// Overrides, `path.to.key=value`.
    pub set: Vec<String>,
    /// Bytes of user data per transaction.
    #[serde(deserialize_with = "size")]
    pub tx_size: Option<u64>,
    /// Measured transactions per core.
    #[serde(deserialize_with = "whole")]
    pub transactions: Option<u64>,
    /// Warm-up transactions per core.
    #[serde(deserialize_with = "whole")]
    pub warmup: Option<u64>,
    /// Number of cores.
    #[serde(deserialize_with = "whole")]
    pub cores: Option<u64>,
    /// Bytes of the populated structures, in total over all cores.
    #[serde(deserialize_with = "size")]
    pub footprint: Option<u64>,
    /// Seed of every random stream.
    #[serde(deserialize_with = "whole")]
    pub seed: Option<u64>,
    /// Whether to accept a trace that is cut off.
    pub allow_truncated: bool,
}

/// One simulation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Run {
    #[serde(flatten)]
    pub common: Common,
    /// An annotation, or a step of the protocol, that the program leaves out.
    pub leave_out: Option<String>,
    /// The file for a timeline that Perfetto can read.
    pub timeline: Option<String>,
    /// Whether to report what each source line of a recorded program costs.
    pub by_line: bool,
}

/// One replay of a trace of memory lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Lines {
    #[serde(flatten)]
    pub common: Common,
    /// Clock of the trace's cycles in MHz.
    #[serde(deserialize_with = "whole")]
    pub trace_clock_mhz: Option<u64>,
}

/// An exploration of the crashes of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Crash {
    #[serde(flatten)]
    pub common: Common,
    /// An annotation, or a step of the protocol, that the program leaves out.
    pub leave_out: Option<String>,
    /// A mechanism of the design that is switched off.
    pub fault: Option<String>,
    /// Crash points: "all" or a number.
    pub points: Option<Points>,
    /// One crash point, by event number.
    #[serde(deserialize_with = "whole")]
    pub at_event: Option<u64>,
    /// The texts of marks of the recorded program between which power fails.
    pub from_mark: Option<String>,
    pub to_mark: Option<String>,
    /// Whether power fails again during recovery.
    pub nested: bool,
    /// How many times in a row power fails during recovery, 1 to 4.
    #[serde(deserialize_with = "whole")]
    pub nested_depth: Option<u64>,
    /// What is explored.
    pub explore: Option<Explore>,
    /// Number of schedules to explore.
    #[serde(deserialize_with = "whole")]
    pub schedules: Option<u64>,
    /// The number of the schedule to explore.
    #[serde(deserialize_with = "whole")]
    pub schedule: Option<u64>,
    /// Classes of legal states judged at one fence before the rest is bounded and sampled.
    #[serde(deserialize_with = "whole")]
    pub states: Option<u64>,
    /// What an attacker does to the media in durable states: names of attacks, or "all".
    pub attack: Vec<String>,
    /// He attacks one of so many distinct states; each by default.
    #[serde(deserialize_with = "whole")]
    pub attack_every: Option<u64>,
    /// Whether to count crash points by the stage of the transaction in flight.
    pub stages: bool,
    /// Whether to search for smaller runs that break the same rules; by default if every event is a crash point.
    pub shrink: Option<bool>,
    /// Whether to find out who is to blame; true by default.
    pub blame: Option<bool>,
    /// Numbers of annotations that the recorded program leaves out, from 0.
    pub omit_annotations: Vec<u64>,
    /// Further functions that only flush or fence.
    pub wrappers: Vec<String>,
    /// A command that is the recorded program's own recovery, and judges the memory that a boot finds.
    pub recover: Option<String>,
    /// Whether the command does not run first where no power has failed.
    pub no_preflight: bool,
    /// Seconds that a run of the command may take.
    #[serde(deserialize_with = "whole")]
    pub recover_timeout: Option<u64>,
    /// How many commands run at a time.
    #[serde(deserialize_with = "whole")]
    pub recover_jobs: Option<u64>,
    /// The command line of what notes the reads of the command; legal states that agree on what it reads are decided by one
    /// run.
    pub watch_reads: Vec<String>,
    /// How many images on which the command fails end the exploration.
    #[serde(deserialize_with = "whole")]
    pub stop_after: Option<u64>,
    /// Seconds after which the exploration ends.
    #[serde(deserialize_with = "whole")]
    pub time_budget: Option<u64>,
    /// How many threads judge at a time; 0, the default, means one per processor.
    #[serde(deserialize_with = "whole")]
    pub workers: Option<u64>,
    /// The folder in which memory is written for the command.
    pub recover_folder: Option<String>,
    /// The folder in which the memory of the command's first failure is kept.
    pub recover_keep: Option<String>,
}

/// A picture of the crash of a run: a window of its events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Window {
    #[serde(flatten)]
    pub common: Common,
    /// An annotation, or a step of the protocol, that the program leaves out.
    pub leave_out: Option<String>,
    /// A mechanism of the design that is switched off.
    pub fault: Option<String>,
    /// The event to show; without it, the beginning of the run.
    #[serde(deserialize_with = "whole")]
    pub at_event: Option<u64>,
    /// The number of the schedule to show.
    #[serde(deserialize_with = "whole")]
    pub schedule: Option<u64>,
}

/// A check of a recorded program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Check {
    /// The path of the trace.
    pub trace: String,
    /// The design on which the cost of useless operations is measured: a name, or the path of a design file.
    pub design: Option<String>,
    /// The reading of the design's paper.
    #[serde(deserialize_with = "variant")]
    pub variant: Option<Variant>,
    /// The machine: a preset name or a TOML file.
    pub machine: Option<String>,
    /// Overrides, `path.to.key=value`.
    pub set: Vec<String>,
    /// Seed of every random stream.
    #[serde(deserialize_with = "whole")]
    pub seed: Option<u64>,
    /// Whether to accept a trace that is cut off.
    pub allow_truncated: bool,
    /// The text of marks at which every store must be durable.
    pub mark: Option<String>,
    /// Functions that only flush or fence, besides those that are known.
    pub wrappers: Vec<String>,
    /// How many findings get a cost of their own.
    #[serde(deserialize_with = "whole")]
    pub top: Option<u64>,
}

impl RequestKind for Run {
    const KIND: &'static str = "a run";
}

impl RequestKind for Lines {
    const KIND: &'static str = "a replay of memory lines";
}

impl RequestKind for Crash {
    const KIND: &'static str = "a crash exploration";
}

impl RequestKind for Window {
    const KIND: &'static str = "a picture of a crash";
}

impl RequestKind for Check {
    const KIND: &'static str = "a check of a trace";
}

/// What is explored of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub(super) enum Explore {
    /// One schedule: the simulated one, or another.
    #[default]
    Schedule,
    /// Several schedules.
    Schedules,
    /// Every legal state at every fence.
    Legal,
}

impl TryFrom<String> for Explore {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "schedule" => Ok(Explore::Schedule),
            "schedules" => Ok(Explore::Schedules),
            "legal" => Ok(Explore::Legal),
            _ => Err(format!("'{name}' does not exist: schedule, schedules or legal")),
        }
    }
}

/// Crash points: "all", or their number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub(super) struct Points(CrashPlan);

impl TryFrom<Value> for Points {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => text.parse().map(Points),
            other => other.to_string().parse().map(Points),
        }
    }
}

impl From<Points> for Value {
    fn from(points: Points) -> Self {
        match points.0 {
            CrashPlan::Sample(number) => number.get().into(),
            _ => "all".into(),
        }
    }
}

/// The defaults that differ between crash runs and timing runs.
pub(super) struct Defaults {
    tx_size: u64,
    transactions: u64,
    /// One warm-up transaction for this many measured ones; 0 for none.
    warmup_share: u64,
    footprint_max: u64,
}

/// Defaults of timing runs: enough transactions for stable figures.
pub(super) const TIMING: Defaults =
    Defaults { tx_size: 1024, transactions: 2_000, warmup_share: 10, footprint_max: u64::MAX };
/// Defaults of crash runs: every event of a short run on a structure that is small enough to check completely.
pub(super) const CRASH: Defaults =
    Defaults { tx_size: 256, transactions: 200, warmup_share: 0, footprint_max: 256 << 10 };

/// Parses the request `text`.
pub(super) fn parse<R: RequestKind>(text: &str) -> Result<R, ConfigError> {
    read(json(text)?)
}

/// The requests of `{"runs": [...]}`, not parsed yet; they are all of one kind.
pub(super) fn parse_batch(text: &str) -> Result<Vec<Given>, ConfigError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Batch {
        runs: Vec<Given>,
    }
    json(text).map(|batch: Batch| batch.runs)
}

/// Parses the requests of a batch, which must be of this kind.
pub(super) fn read_all<R: RequestKind>(batch: Vec<Given>) -> Result<Vec<R>, ConfigError> {
    batch.into_iter().map(read).collect()
}

fn read<R: RequestKind>(mut given: Given) -> Result<R, ConfigError> {
    given.retain(|_, value| !value.is_null());
    let known = keys::<R>();
    for (key, value) in &given {
        if !known.contains(key) {
            return Err(refused::<R>(key, &known));
        }
        // Parsed separately, so that an error names it.
        let alone = Given::from_iter([(key.clone(), value.clone())]);
        R::deserialize(Value::Object(alone)).map_err(|error| ConfigError(format!("{key}: {error}")))?;
    }
    R::deserialize(Value::Object(given)).map_err(|error| ConfigError(format!("request: {error}")))
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, ConfigError> {
    serde_json::from_str(text).map_err(|error| ConfigError(format!("request: {error}")))
}

/// The keys that a request states, without those that have their default.
pub(super) fn said<R: RequestKind>(request: &R) -> Given {
    let empty = |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || value == &Value::Array(Vec::new());
    all_keys(request).into_iter().filter(|(_, value)| !empty(value)).collect()
}

fn all_keys<R: RequestKind>(request: &R) -> Given {
    match serde_json::to_value(request) {
        Ok(Value::Object(keys)) => keys,
        other => unreachable!("a request is an object, and not {other:?}"),
    }
}

fn keys<R: RequestKind>() -> Vec<String> {
    all_keys(&R::default()).into_iter().map(|(key, _)| key).collect()
}

fn refused<R: RequestKind>(key: &str, known: &[String]) -> ConfigError {
    fn kind<R: RequestKind>() -> (&'static str, Vec<String>) {
        (R::KIND, keys::<R>())
    }
    let kinds =
        [kind::<Run>(), kind::<Lines>(), kind::<Crash>(), kind::<Window>(), kind::<Check>(), kind::<Recovery>()];
    let others: Vec<&str> =
        kinds.iter().filter(|(_, keys)| keys.iter().any(|known| known == key)).map(|(kind, _)| *kind).collect();
    match &others[..] {
        [] => unknown_name("option", key, &known.iter().map(String::as_str).collect::<Vec<_>>()),
        [other] => ConfigError(format!("{key}: {} does not take it, only {other} does", R::KIND)),
        several => ConfigError(format!("{key}: {} does not take it, only {} do", R::KIND, several.join(" and "))),
    }
}

pub(super) fn variant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Variant>, D::Error> {
    named_variant(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

pub(super) fn named_variant(name: &str) -> Result<Variant, String> {
    Variant::from_name(name).ok_or_else(|| format!("'{name}' does not exist: published or hardened"))
}

pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    whole_number(&Value::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    bytes(&Value::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

pub(super) fn sizes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    Vec::<Value>::deserialize(deserializer)?.iter().map(|value| bytes(value).map_err(D::Error::custom)).collect()
}

fn bytes(value: &Value) -> Result<u64, String> {
    match value {
        Value::String(text) => text.parse().map(|ByteSize(bytes)| bytes),
        other => whole_number(other),
    }
}

fn whole_number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is not a whole number from 0 to {}", u64::MAX))
}

impl Common {
    /// The requested run, completely described, and its design. `fault` is a mechanism of the design that is switched
    /// off, `leave_out` what its programs leave out.
    pub(super) fn resolve(
        &self,
        defaults: &Defaults,
        leave_out: Option<&str>,
        fault: Option<Fault>,
    ) -> Result<(RunConfig, Design), ConfigError> {
        let variant = self.variant.unwrap_or_default();
        let (of_design, of_machine) = design::sets(&self.set);
        let design = design::load(&self.design, variant, &of_design)?;
        // A design that does not allow crashes is refused later, for that reason.
        let design = match fault {
            Some(fault) if design.promise.crash_consistent.is_ok() => fault.apply(&design)?,
            _ => design,
        };
        let machine = config::load_machine(self.machine.as_deref().unwrap_or(&design.machine), &of_machine)?;
        let transactions = self.transactions.unwrap_or(defaults.transactions);
        let default_warmup = transactions.checked_div(defaults.warmup_share).unwrap_or(0);
        let cores = self.cores.unwrap_or(1);
        let config = RunConfig {
            design: design.name.clone(),
            parts: design.parts.clone(),
            variant,
            workload: self.workload.clone(),
            tx_size: self.tx_size.unwrap_or(defaults.tx_size),
            transactions,
            warmup: self.warmup.unwrap_or(default_warmup),
            cores: u16::try_from(cores).map_err(|_| ConfigError(format!("cores: {cores} is not from 1 to 64")))?,
            footprint: self
                .footprint
                .unwrap_or_else(|| machine.program.total_footprint(cores).min(defaults.footprint_max)),
            seed: self.seed.unwrap_or(1),
            allow_truncated: self.allow_truncated,
            leave_out: leave_out.map(|name| find_omission(name, &self.workload, &design)).transpose()?,
            machine,
        };
        config::validate_run(&config)?;
        memory_map::validate(&config, &design)?;
        encryption::check(&config.machine, &design)?;
        Ok((config, design))
    }

    /// A request for the run of `config` again, with every default value stated.
    pub(super) fn again(&self, config: &RunConfig, is_trace: bool) -> Self {
        let of_workload = |value: u64| Some(value).filter(|_| !is_trace);
        Self {
            design: self.design.clone(),
            workload: self.workload.clone(),
            variant: Some(config.variant),
            machine: self.machine.clone(),
            set: self.set.clone(),
            tx_size: of_workload(config.tx_size),
            transactions: of_workload(config.transactions),
            warmup: of_workload(config.warmup),
            cores: of_workload(u64::from(config.cores)),
            footprint: of_workload(config.footprint),
            seed: Some(config.seed),
            allow_truncated: config.allow_truncated,
        }
    }
}

impl Crash {
    /// The number of threads that judge.
    pub(super) fn threads(&self) -> usize {
        workers::workers(self.workers.map_or(0, |workers| usize::try_from(workers).unwrap_or(usize::MAX)))
    }

    /// The exploration of one run that the request describes.
    pub(super) fn exploration(&self) -> Result<Exploration, ConfigError> {
        let plan = match (self.points, self.at_event) {
            (Some(_), Some(_)) => return Err(ConfigError("points and at_event exclude each other".to_owned())),
            (Some(Points(plan)), None) => plan,
            (None, at_event) => checked_event(at_event)?.map_or(CrashPlan::All, CrashPlan::At),
        };
        let nested = match self.nested_depth {
            None => u32::from(self.nested),
            Some(depth @ 1..=MAX_DEPTH) => depth as u32,
            Some(depth) => return Err(ConfigError(format!("nested_depth: {depth} is not from 1 to {MAX_DEPTH}"))),
        };
        let everywhere = plan == CrashPlan::All;
        if self.stages && !(everywhere && self.explore.unwrap_or_default() == Explore::Schedule) {
            let what = "stages: only an exploration of every event of one schedule tallies the stages of transactions";
            return Err(ConfigError(what.to_owned()));
        }
        if !self.attack.is_empty() && self.explore == Some(Explore::Legal) {
            return Err(ConfigError("attack: only schedules are attacked, and no legal states".to_owned()));
        }
        if self.stop_after == Some(0) {
            return Err(ConfigError("stop_after: 0 is not at least 1".to_owned()));
        }
        if self.shrink == Some(true) && !everywhere {
            return Err(ConfigError("shrink: only an exploration of every event shrinks what it finds".to_owned()));
        }
        Ok(Exploration {
            plan,
            region: Region::WHOLE,
            nested,
            schedule: self.schedule.unwrap_or(0),
            fault: seeded_fault(self.fault.as_deref())?,
            stop_at: None,
            stop_after: self.stop_after,
            attack: attacks(&self.attack, self.attack_every)?,
            stages: self.stages,
            shared: self.threads() > 1,
        })
    }
}
