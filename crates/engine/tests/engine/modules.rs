//! Modules with a buffer: every design that holds elsewhere holds on them, and none does on modules whose buffer loses its lines
//! with the power.

use super::common::expected::all_that_hold;
use super::common::judge::{assert_holds, count, crash, run, with};
use counterpoint_engine::config;
use counterpoint_engine::config::Variant;
use counterpoint_engine::design::find;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Caches and buffers that a short run fills, on the machine as it is otherwise.
const SMALL: [&str; 8] = [
    "l1.size=512B",
    "l2.size=2KiB",
    "l2.ways=8",
    "l3.size=4KiB",
    "controller.counter_cache_size=512B",
    "controller.wpq_entries=8",
    "controller.wpq_high_watermark=6",
    "controller.wpq_low_watermark=2",
];

/// Three modules, each with a buffer of two media lines, so that most of what is written must leave for the media.
const MODULES: [&str; 4] = ["device.capacity=48MiB", "device.channels=3", "log.buckets=16", "module.buffer=512B"];

/// Modules that schedule themselves, and modules that are told of reads.
const MACHINES: [&str; 2] = ["optane", "gem5-o3"];

/// The designs that hold, each on one of the machines: which of them is `first` for the first.
fn spread(first: usize) -> impl ParallelIterator<Item = (&'static str, &'static str, &'static str)> {
    holding()
        .into_par_iter()
        .enumerate()
        .map(move |(place, (design, workload))| (MACHINES[(place + first) % 2], design, workload))
}

/// A short crash run on `machine`, which has modules.
pub fn on(machine: &str, design: &str, workload: &str, more: &[&str]) -> Value {
    let sets: Vec<&str> = SMALL.iter().chain(&MODULES).chain(more).copied().collect();
    json!({
        "design": design, "workload": workload, "machine": machine, "set": sets, "tx_size": 128, "footprint": "16KiB",
        "transactions": 6,
    })
}

/// The designs that hold, each with a workload.
pub fn holding() -> Vec<(&'static str, &'static str)> {
    let workloads = ["array", "queue", "hash", "btree", "rbtree", "chain-queue"];
    all_that_hold().into_iter().zip(workloads.into_iter().cycle()).collect()
}

#[test]
fn every_design_that_holds_holds_on_modules() {
    spread(0).chain(spread(1)).for_each(|(machine, design, workload)| {
        let report = assert_holds(&on(machine, design, workload, &[]));
        assert!(count(&report, "crash_points") > 100, "{design}");
    });
}

#[test]
fn no_design_holds_if_the_buffer_loses_its_lines() {
    spread(0).for_each(|(machine, design, workload)| {
        let request = on(machine, design, workload, &["module.buffer_durable=false", "module.buffer=16KiB"]);
        // Where caches persist, only what they evict is in the buffer.
        let evicting = json!({"workload": "array", "transactions": 60, "tx_size": 256, "footprint": "32KiB"});
        let persistent = find(design, Variant::Hardened).is_some_and(|design| design.stores_persist());
        let request = if persistent { with(&request, evicting) } else { request };
        let report = crash(&request);
        assert_eq!(report["internal_errors"], json!([]), "{request}");
        assert!(count(&report, "violation_count") > 0, "{request} holds");
    });
}

#[test]
fn figures_of_modules_add_up_and_only_modules_have_them() {
    let probe = json!({
        "design": "unencrypted", "workload": "ntstore-sequential", "machine": "optane", "set": [], "tx_size": 256,
        "footprint": "1MiB", "transactions": 2000,
    });
    let report = run(&probe);
    let modules = &report["nvm"]["modules"];
    assert_eq!(modules["read_modify_writes"].as_u64(), Some(0), "{modules}");
    let (writes, media) = (report["nvm"]["writes"].as_u64().unwrap(), modules["media_writes"].as_u64().unwrap());
    assert!(writes == 8000 && media.abs_diff(2000) < 8, "{writes} {media}");
    let amplification = modules["write_amplification"].as_f64().unwrap();
    assert!((amplification - 1.0).abs() < 0.01, "{amplification}");
    for key in ["lifetime_years", "even_lifetime_years", "endured_runs"] {
        assert!(report["nvm"][key].is_null(), "{key}");
    }
    assert!(run(&with(&probe, json!({"machine": "secpm"})))["nvm"]["modules"].is_null());
}

#[test]
fn what_a_module_does_itself_is_refused_in_a_sentence() {
    for (set, told) in [
        ("wear.leveling=start-gap", "wear.leveling = none, because modules move lines themselves"),
        ("device.write_interruption=pause", "device.write_interruption = none"),
        ("controller.write_acknowledged=written", "controller.write_acknowledged = queued"),
        ("controller.counter_write=counter", "controller.counter_write = line"),
        ("controller.policy=gem5", "controller.policy = continuous"),
    ] {
        let sentence = config::load_machine("optane", &[set.to_owned()]).unwrap_err().0;
        assert!(sentence.contains("module.kind = buffered needs") && sentence.contains(told), "{sentence}");
        config::load_machine("optane", &[set.to_owned(), "module.kind=none".to_owned()]).unwrap();
    }
    for (set, told) in [
        ("controller.policy=continuous", "controller.policy = gem5, because the other policies do not wait"),
        ("device.write_interruption=cancel", "device.write_interruption = none"),
    ] {
        let sentence = config::load_machine("gem5-o3", &[set.to_owned()]).unwrap_err().0;
        assert!(sentence.contains("module.kind = transactional needs") && sentence.contains(told), "{sentence}");
    }
    let refused = |set: &str| config::load_machine("optane", &[set.to_owned()]).unwrap_err().0;
    assert!(refused("module.media_line=192B").contains("must be a power of two"));
    assert!(refused("module.buffer=320B").contains("must be a multiple of module.media_line = 256B"));
}
