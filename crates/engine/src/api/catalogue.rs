//! What there is: designs, workloads, machines, mechanisms that can be switched off, and the parts of designs.

use crate::config::{self, Machine, Variant};
use crate::design::{self, faults::Fault};
use crate::message::ProgramForm;
use crate::parts::Design;
use crate::stats::{ENGINE_BUILD, ENGINE_VERSION};
use crate::workload::{PROBES, ProbeInfo, WORKLOADS, WorkloadInfo};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What there is.
#[derive(Serialize, JsonSchema)]
pub(super) struct Catalogue {
    /// The version of the engine.
    engine_version: &'static str,
    /// A digest of the engine's sources: what computes the same has the same.
    engine_build: &'static str,
    /// The built-in designs.
    designs: Vec<DesignEntry>,
    /// The workloads.
    workloads: Vec<Workload>,
    /// The probes, which measure memory and keep nothing.
    probes: Vec<Probe>,
    /// The machine presets.
    machines: Vec<Preset>,
    /// The mechanisms that `crash` can switch off.
    faults: Vec<FaultEntry>,
    /// The parts that a design file can name.
    parts: Vec<design::Part>,
}

/// A design that exists.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Design")]
pub(super) struct DesignEntry {
    /// Its name.
    name: String,
    /// What it is, in a line.
    summary: String,
    /// The paper and section that it comes from.
    paper: String,
    /// The preset used when none is named.
    machine: String,
    /// The form of the program that it runs.
    form: ProgramForm,
    /// Readings that are built.
    variants: Vec<Variant>,
    /// `crash` accepts it.
    crash_consistent: bool,
    /// It encrypts at all.
    encrypted: bool,
}

impl DesignEntry {
    pub(super) fn of(design: &Design) -> Self {
        Self {
            name: design.name.clone(),
            summary: design.summary.clone(),
            paper: design.paper.clone(),
            machine: design.machine.clone(),
            form: design.form,
            variants: Variant::ALL.to_vec(),
            crash_consistent: design.promise.crash_consistent.is_ok(),
            encrypted: design.encrypts(),
        }
    }
}

/// A workload that exists.
#[derive(Serialize, JsonSchema)]
struct Workload {
    /// Its name.
    name: &'static str,
    /// What it does, in a line.
    summary: &'static str,
    /// Whether it writes an undo log.
    has_log: bool,
}

/// A probe that exists.
#[derive(Serialize, JsonSchema)]
struct Probe {
    /// Its name.
    name: &'static str,
    /// What it does, in a line.
    summary: &'static str,
}

/// A machine preset.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Machine")]
struct Preset {
    /// Its name.
    name: String,
    /// The paper and table that it comes from.
    source: String,
    /// Every value.
    #[schemars(with = "Map<String, Value>")]
    values: Machine,
}

/// A mechanism that `crash` can switch off.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Fault")]
struct FaultEntry {
    /// Its name.
    name: &'static str,
    /// What is switched off, in a sentence.
    summary: &'static str,
    /// The designs that have the mechanism, in one reading at least.
    designs: Vec<&'static str>,
}

/// All designs, all workloads, all machines with their values, and what a design file can say, as JSON.
pub fn describe() -> String {
    let catalogue = Catalogue {
        engine_version: ENGINE_VERSION,
        engine_build: ENGINE_BUILD,
        designs: design::all(Variant::Hardened).map(|design| DesignEntry::of(&design)).collect(),
        workloads: WORKLOADS
            .iter()
            .map(|&WorkloadInfo { name, summary, has_log, .. }| Workload { name, summary, has_log })
            .collect(),
        probes: PROBES.iter().map(|&ProbeInfo { name, summary, .. }| Probe { name, summary }).collect(),
        machines: config::preset_names().into_iter().filter_map(|name| config::preset(name).ok()).map(preset).collect(),
        faults: faults(),
        parts: design::parts(),
    };
    serde_json::to_string(&catalogue).expect("what there is serialises")
}

fn preset(machine: Machine) -> Preset {
    Preset { name: machine.name.clone(), source: machine.source.clone(), values: machine }
}

fn faults() -> Vec<FaultEntry> {
    let consistent = |name| {
        let readings = Variant::ALL.map(|variant| design::find(name, variant));
        readings.into_iter().flatten().filter(|design| design.promise.crash_consistent.is_ok()).collect()
    };
    let tested: Vec<(&str, Vec<Design>)> = design::names().map(|name| (name, consistent(name))).collect();
    let entry = |&fault: &Fault| {
        let has = |readings: &[Design]| readings.iter().any(|design| fault.of_machine() || fault.apply(design).is_ok());
        let designs = tested.iter().filter(|(_, readings)| has(readings)).map(|(name, _)| *name).collect();
        FaultEntry { name: fault.name(), summary: fault.summary(), designs }
    };
    Fault::ALL.iter().map(entry).collect()
}
