//! Throughput of the first-level hit path, which every simulated load and store uses.

use counterpoint_engine::cache::{CacheParts, Hierarchy};
use counterpoint_engine::config::Machine;
use counterpoint_engine::message::{Access, CachePort, Line, MemoryRequest};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

/// Number of lines accessed: they fit into the 64 KiB first level.
const LINES: u64 = 512;
const ACCESSES: u64 = 100_000;

fn main() {
    divan::main();
}

/// Caches whose first level holds every line of the benchmark, writable.
fn warm(cores: u16) -> Hierarchy {
    let machine: Machine = toml::from_str(include_str!("../src/config/presets/secpm.toml")).expect("the preset parses");
    let mut caches = Hierarchy::new(&machine, cores, CacheParts::PLAIN).expect("the preset can be built");
    for line in (0..LINES).map(Line) {
        caches.own(0, 0, line, false);
        let reads: Vec<_> = caches.requests().collect();
        for request in reads {
            if let MemoryRequest::Read { token, .. } = request {
                caches.read_done(0, token, &[0; 64]);
            }
        }
        caches.take_wakes(&mut Vec::new());
    }
    caches
}

/// Line numbers in an order that the host cannot predict.
fn line(n: u64) -> Line {
    Line((n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % LINES)
}

#[divan::bench(args = [1, 4])]
fn load_hits(bencher: Bencher, cores: u16) {
    let mut caches = warm(cores);
    bencher.counter(ItemsCount::new(ACCESSES)).bench_local(|| {
        for n in 0..ACCESSES {
            black_box(caches.load(n, 0, line(n), 0));
        }
    });
}

#[divan::bench(args = [1, 4])]
fn store_hits(bencher: Bencher, cores: u16) {
    let mut caches = warm(cores);
    bencher.counter(ItemsCount::new(ACCESSES)).bench_local(|| {
        for n in 0..ACCESSES {
            let line = line(n);
            if let Access::At(at) = caches.own(n, 0, line, false) {
                caches.write(at, 0, line, 8, black_box(&[1; 16]));
            }
        }
    });
}
