//! Runs of B-tree transactions of 1 KiB through the whole pipe.

use counterpoint_engine::config::{Machine, RunConfig, Variant};
use counterpoint_engine::design;
use counterpoint_engine::device::Device;
use counterpoint_engine::message::NoObserver;
use counterpoint_engine::parts::Design;
use counterpoint_engine::{Bases, Source, System};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Equal runs, with the memory that they start from.
pub struct Runs {
    config: RunConfig,
    design: Design,
    source: Source,
    bases: Bases<'static>,
}

impl Runs {
    /// Runs of so many transactions on each of `cores`, over `footprint` bytes.
    pub fn new(design: &str, machine: Machine, transactions: u64, cores: u16, footprint: u64) -> Self {
        let config =
            RunConfig { tx_size: 1024, transactions, cores, footprint, ..RunConfig::new(design, "btree", machine) };
        let capacity = Device::program_capacity_of(&config.machine);
        let design = design::find(design, Variant::Hardened).expect("the design exists");
        let source = Source::open(&config, design.form, capacity, &Arc::default()).expect("the workload exists");
        Self { config, design, source, bases: Bases::default() }
    }

    /// The machine before such a run.
    pub fn system(&self) -> System<NoObserver> {
        let job = self.source.job(&self.bases, &AtomicBool::new(false)).expect("the base fits into memory");
        System::new(&self.config, &self.design, job, NoObserver).expect("the machine is valid")
    }
}
