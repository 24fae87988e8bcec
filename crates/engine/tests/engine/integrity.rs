//! MACs and integrity trees through the public entry point: what is not tampered with is never refused, whatever is lost; no
//! check of a run fails.

use super::common::expected::with_integrity;
use super::common::judge::{assert_holds, count, everywhere, run, with};
use super::common::memory_client::{memory, pattern};
use counterpoint_engine::config::Variant;
use counterpoint_engine::workload::WORKLOADS;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Whether `design` runs with the values of `set`: nodes of eight whole counters have no other arity, and MACs with bits of
/// their counters have 64 bits.
fn fits(design: &str, set: &Value) -> bool {
    let set = set.to_string();
    match design {
        "star" => !set.contains("tree_arity") && !set.contains("mac_bits"),
        "anubis-asit" | "phoenix" | "scue" => !set.contains("tree_arity"),
        _ => true,
    }
}

/// Requests for each design on each workload, with these options.
pub fn all(options: &Value) -> Vec<Value> {
    let of = |design: &str| {
        let request = |workload: &str| with(options, json!({"design": design, "workload": workload}));
        WORKLOADS.iter().map(|workload| request(workload.name)).collect::<Vec<_>>()
    };
    with_integrity().into_iter().flat_map(of).collect()
}

#[test]
fn protected_memory_survives_every_event_on_the_small_machine() {
    // Each workload with a third of the designs.
    let requests = all(&json!({"machine": "small", "transactions": 20})).into_iter().enumerate();
    let requests = requests.filter(|(place, _)| (place + place / WORKLOADS.len()).is_multiple_of(3));
    for (request, report) in everywhere(requests.map(|(_, request)| request).collect()) {
        assert!(count(&report, "distinct_states") > 100, "{request}: {}", report["distinct_states"]);
    }
}

#[test]
fn protected_memory_survives_with_other_macs_trees_and_caches() {
    let sets = [
        json!(["integrity.mac_placement=beside", "integrity.mac_bits=128"]),
        json!(["integrity.mac_placement=ecc", "integrity.mac_bits=56", "integrity.tree_arity=16"]),
        json!(["integrity.mac_bits=128", "integrity.metadata_cache=shared", "integrity.tree_arity=32"]),
        json!([
            "integrity.metadata_cache=shared",
            "controller.counter_cache_size=64B",
            "controller.counter_cache_ways=1"
        ]),
        json!(["integrity.metadata_cache_size=64B", "integrity.metadata_cache_ways=1", "integrity.mac_units=1"]),
        json!(["integrity.persisted_levels=3", "integrity.stop_loss=2", "controller.policy=gem5"]),
        json!(["integrity.mac_latency_ns=0", "integrity.hash_latency_ns=900", "counters.minor_bits=1"]),
    ];
    let requests = sets.iter().flat_map(|set| {
        let base = json!({"machine": "small", "transactions": 12, "set": set});
        let designs = with_integrity().into_iter().filter(move |design| fits(design, set));
        designs.map(move |design| with(&base, json!({"design": design, "workload": "hash"})))
    });
    everywhere(requests.collect());
}

#[test]
fn protected_memory_survives_power_that_fails_again_and_on_the_machine_of_the_paper() {
    let again = json!({"machine": "small", "transactions": 2, "nested": true});
    let of = |design: &str, work: &str| with(&again, json!({"design": design, "workload": work}));
    // The recovery of the queue and of the tree writes so much that a page is re-encrypted. That of the tree, which splits a
    // node, takes longer than all others together: of them there are two, one that finds counters and one that restores nodes.
    let split = ["osiris", "star"].map(|design| of(design, "btree"));
    let designs = with_integrity();
    // Each of the others with two of three workloads.
    let requests = designs.iter().enumerate().flat_map(|(place, design)| {
        let works = ["array", "linked-list", "queue"].into_iter().enumerate();
        works.filter(move |(work, _)| (work + place) % 3 != 0).map(|(_, work)| of(design, work))
    });
    split.into_iter().chain(requests).collect::<Vec<_>>().par_iter().for_each(|request| drop(assert_holds(request)));
    let request = |design: &&str| json!({"design": design, "workload": "btree", "transactions": 8});
    everywhere(designs.iter().map(request).collect());
}

#[test]
fn no_check_of_a_run_fails_and_bytes_change_no_time() {
    let mut designs = with_integrity();
    designs.push("write-back-tree");
    designs.par_iter().for_each(|design| {
        for (machine, transactions) in [("small", 60), ("secpm", 30)] {
            let request = json!({
                "design": design, "workload": "btree", "machine": machine, "footprint": 1 << 20, "transactions": transactions,
            });
            let report = run(&request);
            let integrity = &report["integrity"];
            assert_eq!(count(integrity, "alarms"), 0, "{request}");
            assert!(count(integrity, "macs") > 100 && count(integrity, "hashes") > 100, "{request}: {integrity}");
            let timed = run(&with(&request, json!({"set": ["engine.bytes=false"]})));
            assert_eq!(timed["event_digest"], report["event_digest"], "{request}");
        }
    });
}

/// A minor counter of 12 bits overflows in the nodes that count every write: all children get new MACs, and no later check
/// fails, neither in the run nor at a boot after its last event.
#[test]
fn nodes_whose_minor_counters_overflow_vouch_for_all_their_children() {
    for cache in ["apart", "shared"] {
        let set = json!(["integrity.tree_arity=32", format!("integrity.metadata_cache={cache}")]);
        let request = json!({"design": "strict-counter-tree", "workload": "hash", "machine": "small", "transactions": 700, "set": set});
        let report = run(&request);
        assert_eq!(count(&report["integrity"], "alarms"), 0, "{request}: {}", report["integrity"]);
        let writes = count(&report["nvm"], "data_writes");
        assert!(writes > 4_096, "{request}: {writes} data writes");
    }
}

/// So does a boot, whose writes count. Each of these writes the page below one node and a line below the node beside it, which
/// it verifies before.
#[test]
fn boot_that_overflows_a_minor_counter_vouches_for_all_children_of_the_node() {
    let mut memory = memory("strict-counter-tree", Variant::Hardened, &["integrity.tree_arity=32"]);
    memory.step(0, &mut Vec::new()).unwrap();
    for boot in 1..67 {
        for line in (0..64).chain([256]) {
            memory.store(line * 64, &pattern(line, boot)).unwrap();
        }
        let failure = memory.power_fails().unwrap();
        assert_eq!((&failure.refused, failure.damaged_lines), (&None, 0), "boot {boot}");
    }
}

/// The chip has room for 16 lines of the bits of `star`. In a structure that needs more, some leave.
#[test]
fn lines_of_bits_that_have_left_the_chip_survive() {
    let set = json!(["controller.counter_cache_size=16KiB", "integrity.metadata_cache_size=16KiB"]);
    let request = json!({"design": "star", "workload": "array", "machine": "small", "footprint": 16 << 20, "transactions": 60, "set": set});
    let left = count(&run(&request)["nvm"], "table_writes");
    assert!(left > 0, "{request}: no line of bits has left the chip");
    assert_holds(&with(&request, json!({"points": 20})));
}

/// A write waits for the hashes of a tree over what the metadata caches can hold, whatever they hold: the figures of
/// docs/integrity.md.
#[test]
fn larger_counter_cache_makes_each_write_wait_for_more_hashes() {
    for (design, size, hashes) in
        [("star", "1MiB", 5), ("star", "64MiB", 7), ("anubis-asit", "1MiB", 6), ("anubis-asit", "64MiB", 8)]
    {
        let [short, long] = [40, 80].map(|latency| {
            let latency = format!("integrity.hash_latency_ns={latency}");
            let set = json!([latency, format!("controller.counter_cache_size={size}")]);
            run(&json!({"design": design, "workload": "array", "machine": "secpm", "footprint": 1 << 20, "transactions": 20,
                "set": set}))
        });
        let waited = |report: &Value| report["core"]["fence_stall_ns"].as_f64().unwrap();
        let writes = count(&short["nvm"], "data_writes") + count(&short["nvm"], "log_writes");
        // Some blocks that are fetched are hashed besides.
        let of_each = (waited(&long) - waited(&short)) / (40.0 * writes as f64);
        assert_eq!(of_each.round() as u64, hashes, "{design}, {size}: {of_each}");
    }
}
