//! What recovery costs: from a design, a machine and sizes to a report.

use super::Progress;
use super::request::{self, Recovery, Setting};
use super::runs::unless_interrupted;
use crate::assembly;
use crate::config::{CORES_MAX, Machine};
use crate::design::{self, OnMachine};
use crate::kernel::{ConfigError, Failure};
use crate::recovery_cost::{CostReport, PAPERS_NS_PER_LINE, cost, sized, small};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What the recovery of a design costs, for every size of memory and of the caches: `recovery --json`. `progress` receives
/// costs that are known, of all.
///
/// # Errors
/// A sentence about the request, or the interruption.
pub fn recovery(request: &str, progress: Progress, cancel: &Arc<AtomicBool>) -> Result<String, Failure> {
    let Recovery { design, setting, cores, memory, cache, line_ns, measure } = request::parse(request)?;
    let Setting { variant, machine, set } = setting;
    let line_ns = line_ns.map_or(PAPERS_NS_PER_LINE, |ns| ns as f64);
    let variant = variant.unwrap_or_default();
    let OnMachine { design, machine, set_by_design, .. } = design::load_on(&design, variant, machine.as_deref(), &set)?;
    let cores = cores.unwrap_or(1);
    let within = u16::try_from(cores).ok().filter(|cores| (1..=CORES_MAX).contains(cores));
    let cores = within.ok_or_else(|| ConfigError(format!("cores: {cores} is not from 1 to {CORES_MAX}")))?;
    let or_own = |sizes: Vec<u64>| if sizes.is_empty() { vec![None] } else { sizes.into_iter().map(Some).collect() };
    let (memory, cache) = (or_own(memory), or_own(cache));
    let pairs = memory.iter().flat_map(|&bytes| cache.iter().map(move |&cache| (bytes, cache)));
    // All sizes are checked before anything is computed.
    let machines: Vec<Machine> = pairs.map(|(bytes, cache)| sized(&machine, bytes, cache)).collect();
    machines.iter().try_for_each(|machine| assembly::validate_machine(machine, &design))?;
    let total = machines.len() as u64 + u64::from(measure);
    let small = if measure { unless_interrupted(cancel, small(&design, &machine, cancel))? } else { None };
    let mut costs = Vec::with_capacity(machines.len());
    for machine in &machines {
        progress(costs.len() as u64 + u64::from(measure), total);
        if cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        costs.push(cost(&design, machine, cores, line_ns)?);
    }
    progress(total, total);
    let report = CostReport {
        schema: 1,
        why_not: design.promise.crash_consistent.err(),
        design: design.name,
        variant: variant.name(),
        machine: machine.name,
        set_by_design,
        cores,
        papers_ns_per_line: line_ns,
        small,
        costs,
    };
    Ok(serde_json::to_string(&report).expect("a report serialises"))
}
