//! Crash points per second: every event of B-tree transactions of 64 bytes over a small structure.

use counterpoint_engine::api::crash;
use divan::Bencher;
use divan::counter::ItemsCount;
use std::sync::atomic::AtomicBool;

fn main() {
    divan::main();
}

/// Points checked.
fn explore(design: &str) -> u64 {
    let request =
        format!(r#"{{"design":"{design}","workload":"btree","tx_size":64,"transactions":50,"footprint":"64KiB"}}"#);
    let report = crash(&request, &|_, _| {}, &AtomicBool::new(false)).expect("the request is complete");
    let report: serde_json::Value = serde_json::from_str(&report).expect("a report is JSON");
    report["crash_points"].as_u64().expect("a report counts its points")
}

#[divan::bench(args = ["secpm-no-cwr", "secpm", "sca"], sample_count = 5, sample_size = 1)]
fn every_event(bencher: Bencher<'_, '_>, design: &str) {
    bencher.counter(ItemsCount::new(explore(design))).bench(|| explore(design));
}
