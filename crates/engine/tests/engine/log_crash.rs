//! Power failures after every event with designs whose hardware keeps the log: what must hold does, whatever the size
//! of a transaction, and what the paper leaves open is reported as it is.

use super::common::judge::{assert_fails, assert_holds, assert_reproduces, count, crash, everywhere, refusal, with};
use counterpoint_engine::workload::WORKLOADS;
use rayon::prelude::*;
use serde_json::json;

const HOLDING: [&str; 2] = ["hw-log", "easy-pm"];
/// The seven workloads with transactions that other designs undo-log.
const LOGGED: [&str; 7] = ["array", "queue", "hash", "btree", "rbtree", "chain-queue", "bplus-tree"];

#[test]
fn transactions_of_one_to_two_hundred_lines_survive_every_event() {
    let mut requests = Vec::new();
    for design in HOLDING {
        for workload in LOGGED {
            for (machine, lines, transactions) in
                [("small", 1, 30), ("small", 7, 12), ("small", 40, 4), ("small", 200, 1), ("easy-pm", 200, 1)]
            {
                requests.push(json!({
                    "design": design, "workload": workload, "machine": machine, "tx_size": 64 * lines,
                    "transactions": transactions, "footprint": "256KiB",
                }));
            }
        }
    }
    everywhere(requests);
}

#[test]
fn full_buckets_interleaved_transactions_and_scarce_registers_survive_every_event() {
    let mut requests = Vec::new();
    for design in HOLDING {
        let base = json!({
            "design": design, "workload": "btree", "machine": "small", "tx_size": 512, "transactions": 8, "cores": 4,
            "footprint": "256KiB",
        });
        for sets in [
            &[][..],
            &["log.bucket_records=1"],
            &["log.transactions=1"],
            &["log.transactions=2", "log.pending_entries=1"],
            &["log.pending_entries=16", "log.cfb_latency=paper"],
            &["counters.organisation=per-line", "controller.aes_units=1"],
            &["device.mapping=line-interleaved", "controller.counter_placement=interleaved", "counters.minor_bits=1"],
        ] {
            requests.push(with(&base, json!({"set": sets})));
        }
        requests.push(with(&base, json!({"workload": "linked-list"})));
    }
    everywhere(requests);
}

#[test]
fn asynchronous_log_counters_are_lost() {
    let rules = ["durability", "atomicity", "structure", "pad_reuse", "line"];
    LOGGED.par_iter().for_each(|workload| {
        for machine in ["small", "easy-pm"] {
            let request = json!({"design": "alc", "workload": workload, "machine": machine});
            let report = assert_fails(&request, &rules);
            let broken =
                |rule: &str| report["violations"].as_array().unwrap().iter().any(|found| found["rule"] == rule);
            assert!(broken("atomicity") || broken("durability"), "{request}: an unfinished transaction is not undone");
            assert_reproduces(&request, &report);
        }
    });
}

#[test]
fn published_readings_recover_and_repeat_pads_where_a_line_is_evicted() {
    for design in HOLDING {
        let request = json!({
            "design": design, "workload": "array", "machine": "small", "variant": "published",
            "set": ["counters.organisation=per-line"],
        });
        let report = crash(&request);
        assert_eq!(report["internal_errors"], json!([]));
        let violations = report["violations"].as_array().unwrap();
        assert!(!violations.is_empty() && violations.iter().all(|violation| violation["rule"] == "pad_reuse"));
        assert_reproduces(&request, &report);
        assert_holds(&with(&request, json!({"variant": "hardened"})));
        // With split counters, a block that is written back while its page is re-encrypted carries the new minor
        // counter of a line whose data is still in flight; the hardened reading writes no block alone.
        let request = with(&request, json!({"workload": "btree", "set": [], "transactions": 400}));
        let report = assert_fails(&request, &["pad_reuse", "line", "durability", "atomicity", "structure"]);
        assert!(
            report["violations"].as_array().unwrap().iter().any(|violation| violation["rule"] == "line"),
            "{design}"
        );
        assert_holds(&with(&request, json!({"variant": "hardened"})));
    }
}

#[test]
fn initial_vectors_that_a_bucket_keeps_repeat_pads() {
    let request = json!({
        "design": "easy-pm", "workload": "array", "machine": "small", "set": ["log.iv=per-bucket", "log.buckets=16"],
    });
    let report = crash(&request);
    assert_eq!(report["internal_errors"], json!([]));
    let violations = report["violations"].as_array().unwrap();
    assert!(!violations.is_empty() && violations.iter().all(|violation| violation["rule"] == "pad_reuse"));
    assert_holds(&with(&request, json!({"set": ["log.buckets=16"]})));
}

#[test]
fn log_that_is_too_small_is_one_sentence() {
    for design in ["hw-log", "alc", "easy-pm"] {
        let sentence = refusal(&json!({
            "design": design, "workload": "btree", "machine": "small", "tx_size": 4096, "transactions": 3,
            "footprint": "256KiB", "set": ["log.buckets=2"],
        }));
        assert!(sentence.starts_with("log.buckets = 2 is too few for 1 concurrent transactions"), "{sentence}");
    }
}

#[test]
fn data_that_is_not_flushed_is_lost() {
    for design in HOLDING {
        for workload in WORKLOADS {
            let request = json!({"design": design, "workload": workload.name, "leave_out": "flush-data"});
            let report = assert_fails(&request, &["durability", "atomicity", "structure", "line"]);
            assert!(count(&report, "violation_count") > 0);
            assert_reproduces(&request, &report);
        }
    }
}
