use counterpoint_engine::config::{RunConfig, Variant, preset};
use counterpoint_engine::crash::{CrashPlan, Exploration};
use counterpoint_engine::device::Device;
use counterpoint_engine::{Bases, CrashCase, Failure, Source, design, simulate};
use std::sync::{Arc, atomic::AtomicBool};

/// How many lines the run writes, and whether every power failure is survived.
fn judge(name: &str) -> Result<(u64, bool), Failure> {
    let design = design::find(name, Variant::Hardened).expect("a built-in design");
    let machine = preset("small").expect("a preset");
    let capacity = Device::program_capacity_of(&machine);
    let config = RunConfig { transactions: 20, ..RunConfig::new(name, "queue", machine) };
    let never = Arc::new(AtomicBool::new(false));
    let source = Source::open(&config, design.form, capacity, &never)?;
    let (progress, cancel) = (&|_| {}, &*never);
    let run = simulate(&config, &design, &source, &Bases::default(), progress, cancel)?;
    let case = CrashCase { config: &config, design: &design, source: &source, wrappers: &[], progress, cancel };
    let report = case.explore(&Exploration::of(CrashPlan::All))?;
    Ok((run.stats.nvm.writes, report.holds()))
}

pub fn main() -> Result<(), Failure> {
    let (writes, survives) = judge("secpm")?;
    assert!(writes > 0 && survives);
    // Its counters stay in their cache, and are lost.
    assert!(!judge("write-back")?.1);
    Ok(())
}
