//! Controller and device alone, on traces of half reads and half writes with 32 requests outstanding.

use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{Variant, load_machine};
use counterpoint_engine::design;
use counterpoint_engine::kernel::Random;
use counterpoint_engine::message::{Line, NoObserver};
use counterpoint_engine::workload::trace::EmptyBase;
use std::sync::Arc;

const REQUESTS: u64 = 1_000_000;
const OUTSTANDING: u64 = 32;

fn main() {
    divan::main();
}

/// Sends requests until `REQUESTS` are answered, to lines of `footprint` bytes: to a random one, or to the next.
fn trace(design: &str, bytes: bool, footprint: u64, sequential: bool) -> u64 {
    let machine = load_machine("secpm", &[format!("engine.bytes={bytes}")]).expect("the preset loads");
    let design = design::find(design, Variant::Hardened).expect("the design exists");
    let base = Arc::new(EmptyBase { end: footprint });
    let mut system = LineSystem::new(&machine, &design, base, 1, NoObserver).expect("the machine is valid");
    let mut random = Random::stream(1, "bench");
    let (mut sent, mut answered) = (0, 0);
    let data = [0x5a; 64];
    while answered < REQUESTS {
        while sent < REQUESTS && sent - answered < OUTSTANDING {
            let draw = random.next_u64();
            let line = Line(if sequential { sent } else { draw >> 1 } % (footprint / 64));
            if draw & 1 == 0 {
                system.read(system.now(), line, sent as u32);
            } else {
                system.write(system.now(), line, &data, sent as u32);
            }
            sent += 1;
        }
        answered += system.advance().expect("requests are outstanding").len() as u64;
    }
    system.digest()
}

#[divan::bench(args = ["unencrypted", "secpm-no-cwr", "secpm", "fca", "sca", "co-located"], sample_count = 5)]
fn timing_only(bencher: divan::Bencher, design: &str) {
    bencher.counter(divan::counter::ItemsCount::new(REQUESTS)).bench(|| trace(design, false, 64 << 20, false));
}

#[divan::bench(args = ["unencrypted", "secpm-no-cwr", "secpm", "fca", "sca", "co-located"], sample_count = 5)]
fn real_bytes(bencher: divan::Bencher, design: &str) {
    bencher.counter(divan::counter::ItemsCount::new(REQUESTS)).bench(|| trace(design, true, 64 << 20, false));
}

#[divan::bench(args = ["secpm"], sample_count = 5)]
fn real_bytes_over_1_gib(bencher: divan::Bencher, design: &str) {
    bencher.counter(divan::counter::ItemsCount::new(REQUESTS)).bench(|| trace(design, true, 1 << 30, false));
}

#[divan::bench(args = ["unencrypted", "secpm"], sample_count = 5)]
fn sequential_timing_only(bencher: divan::Bencher, design: &str) {
    bencher.counter(divan::counter::ItemsCount::new(REQUESTS)).bench(|| trace(design, false, 64 << 20, true));
}
