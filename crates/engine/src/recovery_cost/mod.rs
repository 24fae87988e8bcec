//! What recovery costs: lines read and written, MACs and hashes, time, and the bytes on the chip that it relies on, as a
//! function of the size of memory and of the metadata caches.
//!
//! ```text
//! design, machine -> model: sweeps of each step -> time: on the device and the circuits
//!                 -> small: a memory that is really recovered, and what its boot did
//!                 -> battery: what drains the caches does
//!                 -> on_chip: what survives on the chip
//! ```

mod battery;
mod model;
mod on_chip;
mod refill;
mod ring;
mod small;
#[cfg(test)]
mod tests;
mod time;

pub use on_chip::{OnChip, on_chip};

use crate::config::{ByteSize, Machine};
use crate::kernel::{ConfigError, Failure};
use crate::message::LINE_BYTES;
use crate::parts::{Choice, Design, RecoveryStep, StepName};
use crate::recovery::Work;
use model::{Left, Memory, Sweep};
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use time::Clock;

/// Time to fetch a line and compute what it takes, in ns, in the arithmetic of the papers on recovery, one line after another
/// (Osiris, MICRO 2018; Triad-NVM and Anubis, ISCA 2019). A request may state another.
pub const PAPERS_NS_PER_LINE: f64 = 100.0;

/// Data pages of the small memory, and sets of its caches of metadata.
const SMALL: (u64, u64) = (256, 2);

/// What the recovery of a design costs, by size: `recovery --json`.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "RecoveryCost")]
pub struct CostReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The design's name.
    pub design: String,
    /// The reading of the design's paper.
    pub variant: &'static str,
    /// The machine's name.
    pub machine: String,
    /// The values of the machine that come from the design, as in `integrity.stop_loss = 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_by_design: Option<String>,
    /// Number of cores.
    pub cores: u16,
    /// Why no recovery is promised; null if one is.
    pub why_not: Option<String>,
    /// Time per line read in the papers' arithmetic.
    pub papers_ns_per_line: f64,
    /// A small memory that was really recovered; null if none was.
    pub small: Option<Small>,
    /// For each size of memory, and for each of the caches.
    pub costs: Vec<Cost>,
}

/// What a step of a boot costs.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct StepCost {
    /// The step's name in design files; `registers` for what comes before the first.
    pub step: &'static str,
    /// What it does.
    pub work: Work,
    /// Time on the machine's device and circuits, in ns.
    pub time_ns: f64,
    /// Time by the papers' arithmetic, in ns.
    pub papers_ns: f64,
}

/// What the boot of a memory costs.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "MemoryCost")]
pub struct Cost {
    /// Bytes of the device.
    pub memory_bytes: u64,
    /// Bytes of data in it.
    pub data_bytes: u64,
    /// Capacity of the counter cache.
    pub counter_cache_bytes: u64,
    /// Capacity of the cache of MACs and nodes.
    pub metadata_cache_bytes: u64,
    /// The boot; null for a design that promises nothing after a power failure.
    pub recovery: Option<Recovery>,
    /// What the battery does at the worst power failure; null for a design without caches that it drains.
    pub battery: Option<Work>,
    /// What survives on the chip.
    pub on_chip: Vec<OnChip>,
    /// Bytes of all of that.
    pub on_chip_bytes: u64,
}

/// What a boot does after the worst power failure at which no page is being re-encrypted.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Boot")]
pub struct Recovery {
    /// Its steps.
    pub steps: Vec<StepCost>,
    /// What all of them do.
    pub work: Work,
    /// Time of all of them, in ns.
    pub time_ns: f64,
    /// Time of all of them by the papers' arithmetic, in ns.
    pub papers_ns: f64,
    /// What is added if power has failed at the beginning of a page re-encryption; null if the boot resumes none.
    pub interrupted_page: Option<StepCost>,
}

/// A small memory: what its boot really did, and what the model says of it.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "SmallBoot")]
pub struct Small {
    /// Bytes of the device.
    pub memory_bytes: u64,
    /// Capacity of the counter cache, and of that of MACs and nodes.
    pub cache_bytes: [u64; 2],
    /// What the power failure had left.
    pub left: Left,
    /// What the boot did.
    pub counted: Work,
    /// What the model says.
    pub model: Work,
    /// The check that stopped the boot, if one did.
    pub alarm: Option<String>,
}

/// `machine` with a device of `capacity` bytes, and with caches of metadata of `cache` bytes each; `None` leaves them.
pub fn sized(machine: &Machine, capacity: Option<u64>, cache: Option<u64>) -> Machine {
    let mut sized = machine.clone();
    if let Some(bytes) = capacity {
        sized.device.capacity = ByteSize(bytes);
    }
    if let Some(bytes) = cache {
        sized.controller.counter_cache_size = ByteSize(bytes);
        sized.integrity.metadata_cache_size = ByteSize(bytes);
    }
    sized
}

/// What the boot of `design` on `machine` costs, and what it relies on. In the papers' arithmetic a line takes `line_ns`.
///
/// # Errors
/// The memory cannot be laid out.
pub fn cost(design: &Design, machine: &Machine, cores: u16, line_ns: f64) -> Result<Cost, ConfigError> {
    let memory = Memory::of(design, machine);
    let recovers = design.promise.crash_consistent.is_ok();
    let on_chip = on_chip(design, machine, cores);
    Ok(Cost {
        memory_bytes: machine.device.capacity.0,
        data_bytes: memory.lines * LINE_BYTES,
        counter_cache_bytes: machine.controller.counter_cache_size.0,
        metadata_cache_bytes: machine.integrity.metadata_cache_size.0,
        recovery: recovers.then(|| recovery(design, machine, &memory, line_ns)).transpose()?,
        battery: battery::work(design, &memory.on_cores(design, machine, cores)),
        on_chip_bytes: on_chip.iter().map(|item| item.bytes).sum(),
        on_chip,
    })
}

fn recovery(design: &Design, machine: &Machine, memory: &Memory, line_ns: f64) -> Result<Recovery, ConfigError> {
    let left = Left::worst(memory);
    let clock = Clock::new(machine, design.media_layout(machine), memory);
    let step_cost = |step: &'static str, sweeps: &[Sweep]| step_cost(step, sweeps, &clock, line_ns);
    let mut steps = vec![step_cost("registers", &model::registers(memory))?];
    for step in &design.recovery {
        steps.push(step_cost(name(step), &model::sweeps(step, memory, &left))?);
    }
    steps.retain(|step| step.work != Work::default());
    let resumed = RecoveryStep::ResumeReencryption;
    let page = Left { page_lines: memory.coverage.lines() as u64, ..Left::default() };
    let interrupted_page =
        design.recovery.contains(&resumed).then(|| step_cost(name(&resumed), &model::sweeps(&resumed, memory, &page)));
    Ok(Recovery {
        work: steps.iter().map(|step| step.work).sum(),
        time_ns: steps.iter().fold(0.0, |sum, step| sum + step.time_ns),
        papers_ns: steps.iter().fold(0.0, |sum, step| sum + step.papers_ns),
        steps,
        interrupted_page: interrupted_page.transpose()?,
    })
}

fn step_cost(step: &'static str, sweeps: &[Sweep], clock: &Clock<'_>, line_ns: f64) -> Result<StepCost, ConfigError> {
    let mut time = 0.0;
    for sweep in sweeps {
        time += clock.time(sweep)?;
    }
    let work: Work = sweeps.iter().map(|sweep| sweep.work).sum();
    Ok(StepCost { step, work, time_ns: time / 1e3, papers_ns: work.reads.total() as f64 * line_ns })
}

/// The name of `step` in design files.
fn name(step: &RecoveryStep) -> &'static str {
    let name = match step {
        RecoveryStep::ResumeReencryption => StepName::ResumeReencryption,
        RecoveryStep::UndoHardwareLog => StepName::UndoHardwareLog,
        RecoveryStep::EncryptPlain => StepName::EncryptPlain,
        RecoveryStep::AdvanceBootCounter => StepName::AdvanceBootCounter,
        RecoveryStep::RestoreShadow { .. } => StepName::RestoreShadow,
        RecoveryStep::RenewCachePads => StepName::RenewCachePads,
        RecoveryStep::RecoverCounters => StepName::RecoverCounters,
        RecoveryStep::RebuildTree => StepName::RebuildTree,
        RecoveryStep::RestoreNodes => StepName::RestoreNodes,
        RecoveryStep::RestoreContents => StepName::RestoreContents,
        RecoveryStep::RestoreStale => StepName::RestoreStale,
        RecoveryStep::ApplyUpdates => StepName::ApplyUpdates,
    };
    name.name()
}

/// The boot of a small memory of `design` on a machine like `machine`, really done and counted, beside the model. `None` for a
/// design whose boot depends on what a program leaves in the caches or in a log, and for one that promises nothing.
///
/// # Errors
/// The design does not run on such a machine, or the user interrupts.
pub fn small(design: &Design, machine: &Machine, cancel: &AtomicBool) -> Result<Option<Small>, Failure> {
    if design.drain().is_some() || design.log.is_some() || design.promise.crash_consistent.is_err() {
        return Ok(None);
    }
    let machine = small::small_machine(machine, SMALL.0, SMALL.1);
    let counted = small::counted(design, &machine, cancel)?;
    let memory = Memory::of(design, &machine);
    let model = modelled(design, &memory, &counted.left);
    Ok(Some(Small {
        memory_bytes: machine.device.capacity.0,
        cache_bytes: [machine.controller.counter_cache_size.0, machine.integrity.metadata_cache_size.0],
        left: counted.left,
        counted: counted.work,
        model,
        alarm: counted.alarm,
    }))
}

/// What a boot of `design` does on `memory` after a power failure that has left `left`.
fn modelled(design: &Design, memory: &Memory, left: &Left) -> Work {
    let sweeps = design.recovery.iter().flat_map(|step| model::sweeps(step, memory, left));
    model::registers(memory).into_iter().chain(sweeps).map(|sweep| sweep.work).sum()
}
