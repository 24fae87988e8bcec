//! The whole pipe on one thread: B-tree transactions of 1 KiB through core, caches, controller and device, without
//! populating.

#[path = "setup/runs.rs"]
mod runs;

use counterpoint_engine::System;
use counterpoint_engine::config::load_machine;
use counterpoint_engine::cpu::Core;
use counterpoint_engine::message::NoObserver;
use divan::Bencher;
use divan::counter::ItemsCount;
use runs::Runs;
use std::ops::ControlFlow;

const TRANSACTIONS: u64 = 2_000;

fn main() {
    divan::main();
}

/// What a run did: transactions, memory operations, instructions.
type Work = (u64, u64, u64);

fn run(mut system: System<NoObserver>) -> Work {
    system.run(|_| ControlFlow::Continue(()));
    assert!(system.cores.iter().all(Core::finished));
    let stats = system.cores[0].stats();
    (stats.transactions, stats.memory_ops, stats.instructions)
}

fn measure(bencher: Bencher<'_, '_>, design: &str, think: bool, of: fn(Work) -> u64) {
    let set: &[String] = if think { &[] } else { &["program.think_instructions=0".to_owned()] };
    let machine = load_machine("secpm", set).expect("the preset loads");
    let runs = Runs::new(design, machine, TRANSACTIONS, 1, 64 << 20);
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
