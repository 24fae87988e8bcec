//! Whatever mechanism is switched off and however small the machine, a real boot and the auditors' own view agree. A
//! design may fail; this program may not.

use super::common::judge::{count, crash, readings};
use super::common::queue_of;
use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::design::faults::Fault;
use counterpoint_engine::workload::WORKLOADS;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rayon::prelude::*;
use serde_json::{Value, json};

/// A run in which counter write reduction removes an entry of a block that has a newer queued entry. Runs in which the
/// counter block of a page under re-encryption is lost while its status register survives: the counter block of a
/// finished line is then an old one, and the boot continues with the page.
fn that_disagreed() -> Vec<Value> {
    let base = json!({"machine": "small", "footprint": "16KiB", "transactions": 200});
    let over = [
        json!({"design": "secpm-workshop", "variant": "published", "fault": "cwr-address-check", "workload": "queue",
            "tx_size": 256, "seed": 5102}),
        json!({"design": "secpm", "fault": "cwr-address-check", "workload": "rbtree", "tx_size": 128}),
        json!({"design": "secpm", "fault": "counter-write-through", "workload": "rbtree", "tx_size": 64, "cores": 2,
            "seed": 1237}),
        json!({"design": "secpm-workshop", "fault": "counter-write-through", "workload": "queue", "tx_size": 256,
            "seed": 1447}),
        json!({"design": "hw-log", "fault": "undo-hardware-log", "variant": "published", "workload": "chain-queue",
            "tx_size": 128, "seed": 1195, "set": ["controller.wpq_entries=8", "controller.wpq_high_watermark=2",
            "controller.wpq_low_watermark=0", "log.buckets=64", "log.bucket_records=64", "log.transactions=2",
            "controller.aes_units=3", "controller.aes_read_units=4", "controller.counter_cache_size=128B",
            "controller.counter_cache_ways=1", "controller.counter_placement=single-bank", "counters.minor_bits=1",
            "device.mapping=page-xor", "device.write_recovery=row-close", "l3.size=256B"]}),
        json!({"design": "eadr-all-operation", "fault": "counter-drain", "workload": "btree", "tx_size": 128, "cores": 2,
            "seed": 1014, "set": ["controller.wpq_entries=2", "controller.wpq_high_watermark=2",
            "controller.wpq_low_watermark=1", "controller.counter_cache_size=4096B", "controller.counter_cache_ways=1",
            "controller.counter_placement=cross-bank", "controller.read_queue_entries=2", "counters.minor_bits=3",
            "device.mapping=bank-contiguous", "device.write_recovery=row-close", "l2.shared=true", "l3.size=256B"]}),
    ];
    over.into_iter().map(|over| super::common::judge::with(&base, over)).collect()
}

/// Every fault of every design, each on a small machine.
fn every_fault() -> Vec<Value> {
    let mut runner = TestRunner::deterministic();
    let of = |sizes: &'static [u32]| prop::sample::select(sizes);
    let machines =
        (of(&[2, 4, 8]), of(&[1, 4]), of(&[1, 2, 4]), of(&[64, 128, 256]), of(&[1, 2, 3]), of(&[300, 3_000])).prop_map(
            |(entries, counter_entries, units, counter_cache, minor_bits, t_wr)| {
                let set = vec![
                    format!("controller.wpq_high_watermark={entries}"),
                    format!("controller.counter_wpq_entries={counter_entries}"),
                    format!("controller.counter_wpq_high_watermark={counter_entries}"),
                    format!("controller.aes_units={units}"),
                    format!("controller.counter_cache_size={counter_cache}B"),
                    "controller.counter_cache_ways=1".to_owned(),
                    format!("counters.minor_bits={minor_bits}"),
                    format!("device.t_wr_ns={t_wr}"),
                ];
                (entries, set)
            },
        );
    let runs = (machines, 0..WORKLOADS.len(), of(&[64, 128, 256]), 1..3u32);
    let mut requests = Vec::new();
    for of in design::all(Variant::Hardened).filter(|of| of.promise.crash_consistent.is_ok()) {
        for variant in readings(&of.name) {
            for fault in Fault::of(&design::find(&of.name, variant).unwrap()) {
                let ((entries, mut set), workload, tx_size, cores) = runs.new_tree(&mut runner).unwrap().current();
                if of.shreds_pages() {
                    set.push("counters.minor_bits=2".to_owned());
                }
                set.push(format!("controller.wpq_entries={}", queue_of(&of, entries)));
                requests.push(json!({
                    "design": of.name, "variant": variant.name(), "fault": fault.name(), "set": set, "cores": cores,
                    "workload": WORKLOADS[workload].name, "tx_size": tx_size, "machine": "small", "footprint": "16KiB",
                    "transactions": 5, "seed": requests.len(),
                }));
            }
        }
    }
    requests
}

#[test]
fn boots_and_auditors_agree_with_every_fault() {
    let (known, random) = (that_disagreed(), every_fault());
    assert!(random.len() > 100, "{}", random.len());
    let wrong: Vec<String> = [known, random]
        .concat()
        .into_par_iter()
        .filter_map(|request| {
            let report = crash(&request);
            assert!(count(&report, "crash_points") > 0, "{request}");
            (report["internal_errors"] != json!([])).then(|| format!("{request}: {}", report["internal_errors"][0]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
