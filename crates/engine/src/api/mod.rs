//! The interface to the front end: requests come in and reports go out, both as JSON. Every function validates first;
//! nothing starts that is not completely described.
//!
//! ```text
//! request (what may be asked, by kind) -> runs | lines | crash | check | recovery -> report
//! ```

mod budget;
mod check;
mod crash;
mod lines;
mod marks;
mod named;
mod recovery;
mod reports;
mod request;
mod runs;
#[cfg(test)]
mod tests;

use crate::config::{self, Machine, Variant};
use crate::design::{self, faults::Fault};
use crate::kernel::ConfigError;
use crate::parts::Design;
use crate::run::{ENGINE_BUILD, ENGINE_VERSION};
use crate::workload;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub use crate::design::{check_set, text as design_file};
pub use crate::kernel::Failure as Error;
pub use crate::kernel::workers::processors;
pub use crate::run::Session;
pub use crate::trace::{TraceWritten, write_trace};
pub use check::{annotations, check};
pub use crash::{crash, scene};
pub use lines::trace_kind;
pub use recovery::recovery;
pub use reports::report_schemas;
pub use request::schemas;
pub use runs::{replay, resolve, run_many, run_many_in};

/// Called with how much is done, and of how much: transactions, or bytes of traces of memory lines.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// The design `name_or_path`, a built-in design or a file, as JSON: the same entry that [`describe`] has for each.
pub fn describe_design(name_or_path: &str) -> Result<String, ConfigError> {
    let (design, parts) = design::with_parts(name_or_path)?;
    let mut document = described(&design);
    document["parts"] = json!(BTreeMap::from(parts.map(|(variant, parts)| (variant.name(), parts))));
    Ok(document.to_string())
}

/// The parts of the design `name_or_path` in a reading with each of `stated` (`key=value`) in place of its own, as JSON, without
/// those that then have no effect.
pub fn effective_parts(name_or_path: &str, variant: &str, stated: &[&str]) -> Result<String, ConfigError> {
    let variant = request::named_variant(variant).map_err(|what| ConfigError(format!("variant {what}")))?;
    Ok(json!(design::effective_parts(name_or_path, variant, stated)?).to_string())
}

fn described(design: &Design) -> Value {
    json!({
        "name": design.name, "summary": design.summary, "paper": design.paper, "machine": design.machine,
        "variants": Variant::ALL.map(Variant::name), "encrypted": design.encryption.is_some(),
        "crash_consistent": design.promise.crash_consistent.is_ok(), "form": design.form,
    })
}

/// All designs, all workloads and all machines with their values, as JSON.
pub fn describe() -> String {
    let designs: Vec<Value> = design::all(Variant::Hardened).map(|design| described(&design)).collect();
    let workloads: Vec<Value> = workload::WORKLOADS
        .iter()
        .map(|workload| json!({"name": workload.name, "summary": workload.summary, "has_log": workload.has_log}))
        .collect();
    let machines: Vec<Value> = config::preset_names()
        .into_iter()
        .filter_map(|name| config::preset(name).ok())
        .map(|machine: Machine| json!({"name": machine.name, "source": machine.source, "values": machine}))
        .collect();
    let consistent = |name| {
        let readings = [Variant::Published, Variant::Hardened].map(|variant| design::find(name, variant));
        readings.into_iter().flatten().filter(|design| design.promise.crash_consistent.is_ok()).collect()
    };
    let tested: Vec<(&str, Vec<Design>)> = design::names().map(|name| (name, consistent(name))).collect();
    let faults: Vec<Value> = Fault::ALL
        .iter()
        .map(|&fault| {
            let has = |readings: &[Design]| readings.iter().any(|design| fault.apply(design).is_ok());
            let designs: Vec<&str> =
                tested.iter().filter(|(_, readings)| has(readings)).map(|(name, _)| *name).collect();
            json!({"name": fault.name(), "summary": fault.summary(), "designs": designs})
        })
        .collect();
    json!({
        "engine_version": ENGINE_VERSION, "engine_build": ENGINE_BUILD, "designs": designs, "workloads": workloads,
        "machines": machines, "faults": faults, "parts": design::parts(),
    })
    .to_string()
}
