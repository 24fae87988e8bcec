//! Controller and device alone, on traces of half reads and half writes with 32 requests outstanding.

#[path = "setup/requests.rs"]
mod requests;

use counterpoint_engine::config::load_machine;
use counterpoint_engine::kernel::Random;
use counterpoint_engine::message::Line;

const REQUESTS: u64 = 1_000_000;
const OUTSTANDING: u64 = 32;

fn main() {
    divan::main();
}

/// Sends requests until `REQUESTS` are answered, to lines of `footprint` bytes: to a random one, or to the next.
fn trace(design: &str, bytes: bool, footprint: u64, sequential: bool) -> u64 {
    trace_on("secpm", design, bytes, footprint, sequential)
}

fn trace_on(machine: &str, design: &str, bytes: bool, footprint: u64, sequential: bool) -> u64 {
    let machine = load_machine(machine, &[format!("engine.bytes={bytes}")]).expect("the preset loads");
    let mut system = requests::system(design, &machine, footprint);
    let mut random = Random::stream(1, "bench");
    requests::send(&mut system, REQUESTS, OUTSTANDING, |sent| {
        let draw = random.next_u64();
        (Line(if sequential { sent } else { draw >> 1 } % (footprint / 64)), draw & 1 == 1)
    });
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

#[divan::bench(args = ["optane", "cxl-pm"], sample_count = 5)]
fn secpm_on_modules(bencher: divan::Bencher, machine: &str) {
    bencher
        .counter(divan::counter::ItemsCount::new(REQUESTS))
        .bench(|| trace_on(machine, "secpm", false, 64 << 20, false));
}
