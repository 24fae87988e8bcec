//! Pages with and without counters: what is lost, what is written, and what a watcher sees.

use super::common::judge::{assert_holds, count, refusal, run, with};
use serde_json::{Value, json};

const DESIGN: &str = "hot-xts";

fn request(design: &str, workload: &str, sets: &[&str]) -> Value {
    json!({"design": design, "machine": "small", "workload": workload, "set": sets, "tx_size": 128, "footprint": "16KiB"})
}

/// Pages change all the time, also while power fails, and fails again during the boot.
#[test]
fn nothing_is_lost_while_pages_change() {
    for (workload, lines) in [("array", 16), ("btree", 64), ("queue", 128)] {
        let sets = ["counters.minor_bits=1", &format!("counters.block_lines={lines}")];
        let report =
            assert_holds(&with(&request(DESIGN, workload, &sets), json!({"transactions": 10, "nested": true})));
        assert!(count(&report["exercised"], "reencryptions") > 0, "{workload}");
    }
    let longer = assert_holds(&with(&request(DESIGN, "btree", &[]), json!({"transactions": 60})));
    assert!(count(&longer["exercised"], "reencryptions") > 0);
}

fn timed(design: &str, sets: &[&str]) -> Value {
    run(&with(&request(design, "array", sets), json!({"transactions": 200, "warmup": 0})))
}

#[test]
fn a_page_without_counters_writes_none() {
    let [ours, secpm] = [DESIGN, "secpm"].map(|design| timed(design, &["counters.minor_bits=2"]));
    let counters = |report: &Value| count(&report["nvm"], "counter_writes");
    assert!(2 * counters(&ours) < counters(&secpm), "{} and {}", counters(&ours), counters(&secpm));
    let again = |report: &Value| count(report, "reencryptions");
    assert!(2 * again(&ours) < again(&secpm), "{} and {}", again(&ours), again(&secpm));
}

#[test]
fn pages_that_do_not_overflow_are_those_of_secpm() {
    let [ours, secpm] =
        [DESIGN, "secpm"].map(|design| timed(design, &["counters.minor_bits=7", "counters.block_lines=64"]));
    assert_eq!((count(&secpm, "reencryptions"), count(&ours, "reencryptions")), (0, 0));
    assert_eq!(ours["event_digest"], secpm["event_digest"]);
}

/// Equal blocks are seen in pages without counters, and in no others.
#[test]
fn a_watcher_sees_equal_blocks_once_a_page_has_changed() {
    let watched = |minor_bits: &str| {
        let attack = json!({"transactions": 30, "attack": ["replay"], "attack_every": 200});
        let report = assert_holds(&with(&request(DESIGN, "array", &[minor_bits]), attack));
        (count(&report["attacks"]["watched"], "repeated"), count(&report["exercised"], "reencryptions"))
    };
    let ((repeated, changed), (seen, none)) = (watched("counters.minor_bits=1"), watched("counters.minor_bits=7"));
    assert!(repeated > 0 && changed > 0);
    assert_eq!((seen, none), (0, 0));
}

#[test]
fn what_needs_counters_for_all_lines_is_refused() {
    for (sets, told) in [
        (&["design.integrity=macs"][..], "integrity = \"none\""),
        (&["design.write_path=ready-pairs", "design.write_queues=data-and-counter"], "without ready bits"),
        (&["design.counters=of-machine"], "counters = \"split\""),
    ] {
        let error = refusal(&request(DESIGN, "array", sets));
        assert!(error.contains("page_modes = \"by-heat\" needs") && error.contains(told), "{error}");
    }
}
