//! What the front end may request, with one type for each kind of request. A request is a JSON object whose keys are
//! the fields. An absent key or null takes its default, and an unknown key is refused.
//!
//! ```text
//! options (every field, with what is said of it) <- kinds (of values), explore (what is explored)
//!   -> schema (for the front end), read (a request as received)
//! ```
//!
//! Here is what a request that has been read asks for.

mod explore;
mod kinds;
mod options;
mod read;
mod schema;

use super::named::{attacks, checked_event, find_omission, seeded_fault};
use crate::assembly;
use crate::config::RunConfig;
use crate::crash::{CrashPlan, Exploration, Region};
use crate::design::{self, OnMachine, faults::Fault};
use crate::kernel::{ConfigError, workers};
use crate::parts::Design;
use explore::Points;

pub(super) use explore::Explore;
pub(super) use kinds::named;
pub(super) use options::{
    Broken, Check, Common, Crash, Distinguish, Lines, Omitted, Prove, Recovery, Run, Setting, Window,
};
pub(super) use read::{Given, parse, parse_batch, parse_object, read, read_all, stated};
pub use schema::schemas;

/// Most power failures in a row during recovery: the work grows exponentially with their number.
const MAX_DEPTH: u64 = 4;

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

impl Common {
    /// The requested run, completely described, and its design. `fault` is a mechanism of the design that is switched
    /// off, `omitted` what its programs leave out.
    pub(super) fn resolve(
        &self,
        defaults: &Defaults,
        omitted: &Omitted,
        fault: Option<Fault>,
    ) -> Result<(RunConfig, Design), ConfigError> {
        let Setting { variant, machine, set } = &self.setting;
        let variant = variant.unwrap_or_default();
        let OnMachine { design, mut machine, set_by_design, .. } =
            design::load_on(&self.design, variant, machine.as_deref(), set)?;
        // A design that does not allow crashes is refused later, for that reason.
        let design = match fault {
            Some(fault) if design.promise.crash_consistent.is_ok() => fault.apply_on(design, &mut machine)?,
            _ => design,
        };
        let transactions = self.transactions.unwrap_or(defaults.transactions);
        let default_warmup = transactions.checked_div(defaults.warmup_share).unwrap_or(0);
        let cores = self.cores.unwrap_or(1);
        let config = RunConfig {
            design: design.name.clone(),
            parts: design.parts.clone(),
            set_by_design,
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
            serial: self.serial,
            leave_out: omitted
                .leave_out
                .as_deref()
                .map(|name| find_omission(name, &self.workload, &design))
                .transpose()?,
            machine,
        };
        assembly::validate(&config, &design)?;
        Ok((config, design))
    }

    /// A request for the run of `config` again, with every default value stated.
    pub(super) fn again(&self, config: &RunConfig, is_workload: bool) -> Self {
        let of_workload = |value: u64| Some(value).filter(|_| is_workload);
        Self {
            design: self.design.clone(),
            workload: self.workload.clone(),
            setting: Setting { variant: Some(config.variant), ..self.setting.clone() },
            tx_size: of_workload(config.tx_size),
            transactions: of_workload(config.transactions),
            warmup: of_workload(config.warmup),
            // A recorded program has those of its threads, as many times as was asked for.
            cores: of_workload(u64::from(config.cores)).or(self.cores),
            footprint: of_workload(config.footprint),
            seed: Some(config.seed),
            allow_truncated: config.allow_truncated,
            serial: self.serial,
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
            return Err(ConfigError("attack: legal states cannot be attacked, only schedules".to_owned()));
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
            fault: seeded_fault(self.broken.fault.as_deref())?,
            stop_at: None,
            stop_after: self.stop_after,
            attack: attacks(&self.attack, self.attack_every)?,
            stages: self.stages,
            shared: self.threads() > 1,
        })
    }
}
