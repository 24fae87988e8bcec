//! The whole pipe on one thread: B-tree transactions of 1 KiB through core, caches, controller and device, without
//! populating.

use counterpoint_engine::config::{RunConfig, Variant, load_machine};
use counterpoint_engine::cpu::Core;
use counterpoint_engine::design;
use counterpoint_engine::message::NoObserver;
use counterpoint_engine::parts::Design;
use counterpoint_engine::{Bases, Source, System};
use divan::Bencher;
use divan::counter::ItemsCount;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const TRANSACTIONS: u64 = 2_000;

fn main() {
    divan::main();
}

/// Runs with the memory that they start from.
struct Runs {
    config: RunConfig,
    design: Design,
    source: Source,
    bases: Bases<'static>,
}

/// What a run did: transactions, memory operations, instructions.
type Work = (u64, u64, u64);

impl Runs {
    fn new(design: &str, think: bool) -> Self {
        let set: &[String] = if think { &[] } else { &["program.think_instructions=0".to_owned()] };
        let machine = load_machine("secpm", set).expect("the preset loads");
        let config = RunConfig {
            design: design.to_owned(),
            parts: None,
            variant: Variant::Hardened,
            workload: "btree".to_owned(),
            tx_size: 1024,
            transactions: TRANSACTIONS,
            warmup: 0,
            cores: 1,
            footprint: 64 << 20,
            seed: 1,
            allow_truncated: false,
            leave_out: None,
            machine,
        };
        let capacity = counterpoint_engine::device::Device::program_capacity_of(&config.machine);
        let design = design::find(design, Variant::Hardened).expect("the design exists");
        let source = Source::open(&config, design.form, capacity, &Arc::default()).expect("the workload exists");
        Self { config, design, source, bases: Bases::default() }
    }

    fn system(&self) -> System<NoObserver> {
        let job = self.source.job(&self.bases, &AtomicBool::new(false)).expect("the base fits into memory");
        System::new(&self.config, &self.design, job, NoObserver).expect("the machine is valid")
    }
}

fn run(mut system: System<NoObserver>) -> Work {
    system.run(|_| ControlFlow::Continue(()));
    assert!(system.cores.iter().all(Core::finished));
    let stats = system.cores[0].stats();
    (stats.transactions, stats.memory_ops, stats.instructions)
}

fn measure(bencher: Bencher<'_, '_>, design: &str, think: bool, of: fn(Work) -> u64) {
    let runs = Runs::new(design, think);
    let items = of(run(runs.system()));
    bencher.counter(ItemsCount::new(items)).with_inputs(|| runs.system()).bench_local_values(run);
}

#[divan::bench(args = ["unencrypted", "secpm", "secpm-tree", "sca", "easy-pm"], sample_count = 5, sample_size = 1)]
fn transactions(bencher: Bencher<'_, '_>, design: &str) {
    measure(bencher, design, false, |(transactions, _, _)| transactions);
}

#[divan::bench(args = ["unencrypted", "secpm", "sca", "easy-pm"], sample_count = 5, sample_size = 1)]
fn memory_operations(bencher: Bencher<'_, '_>, design: &str) {
    measure(bencher, design, false, |(_, operations, _)| operations);
}

/// With the preset's computation between transactions.
#[divan::bench(args = ["unencrypted", "secpm", "sca", "easy-pm"], sample_count = 5, sample_size = 1)]
fn instructions(bencher: Bencher<'_, '_>, design: &str) {
    measure(bencher, design, true, |(_, _, instructions)| instructions);
}
