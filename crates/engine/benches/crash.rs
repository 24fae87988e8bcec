//! Crash points and durable states per second: B-tree transactions over a small structure, on one core.

use counterpoint_engine::api::crash;
use divan::Bencher;
use divan::counter::ItemsCount;
use std::sync::Arc;

fn main() {
    divan::main();
}

/// Number of `what` that an exploration judged.
fn explore(what: &str, design: &str, options: &str) -> u64 {
    let request = format!(
        r#"{{"design":"{design}","workload":"btree","footprint":"64KiB","shrink":false,"blame":false,{options}}}"#
    );
    let report = crash(&request, &|_, _| {}, &Arc::default()).expect("the request is complete");
    let report: serde_json::Value = serde_json::from_str(&report).expect("a report is JSON");
    let found = what.split('.').fold(&report, |at, key| &at[key]);
    found.as_u64().expect("a report counts")
}

fn bench(bencher: Bencher<'_, '_>, what: &str, design: &str, options: &str) {
    bencher.counter(ItemsCount::new(explore(what, design, options))).bench(|| explore(what, design, options));
}

/// Measures crash points.
#[divan::bench(args = ["secpm-no-cwr", "secpm", "sca"], sample_count = 5, sample_size = 1)]
fn every_event(bencher: Bencher<'_, '_>, design: &str) {
    bench(bencher, "crash_points", design, r#""tx_size":64,"transactions":2000"#);
}

/// Measures crash points of designs with a tree: each new state is booted and verified.
#[divan::bench(args = ["secpm-tree", "strict", "osiris", "anubis-asit", "star", "scue"], sample_count = 3, sample_size = 1)]
fn every_event_with_a_tree(bencher: Bencher<'_, '_>, design: &str) {
    bench(bencher, "crash_points", design, r#""tx_size":64,"transactions":50,"machine":"small""#);
}

/// Measures attacked states: each has its own boot, and every line that the attack concerns is read.
#[divan::bench(args = ["secpm-tree", "strict", "osiris", "anubis-asit", "star", "scue"], sample_count = 3, sample_size = 1)]
fn every_attack(bencher: Bencher<'_, '_>, design: &str) {
    let options = r#""tx_size":64,"transactions":10,"machine":"small","attack":["all"]"#;
    bench(bencher, "attacks.attacked", design, options);
}

/// Measures classes of states, each with its own recovery.
#[divan::bench(args = ["unencrypted", "secpm", "write-through", "sca"], sample_count = 5, sample_size = 1)]
fn every_legal_state(bencher: Bencher<'_, '_>, design: &str) {
    bench(bencher, "distinct_states", design, r#""tx_size":128,"transactions":30,"explore":"legal""#);
}

/// Measures crash points at which dirty lines leave the caches on battery: each is a drain, and each new state a
/// judgement.
#[divan::bench(args = ["eadr", "bbe", "sepencr"], sample_count = 5, sample_size = 1)]
fn images_of_full_caches(bencher: Bencher<'_, '_>, design: &str) {
    bench(bencher, "crash_points", design, r#""tx_size":64,"transactions":20,"machine":"small""#);
}

/// Measures second power failures, each with its own boot and recovery.
#[divan::bench(args = ["secpm", "bbe"], sample_count = 5, sample_size = 1)]
fn power_that_fails_again(bencher: Bencher<'_, '_>, design: &str) {
    bench(bencher, "nested_points", design, r#""tx_size":64,"transactions":2,"machine":"small","nested":true"#);
}
