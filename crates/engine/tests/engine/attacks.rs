//! An attacker who writes to the memory module, through the public entry point: a change is never accepted by a
//! design with MACs and a tree, at a crash point or while the machine runs; without them, what passes is shown.

use super::common::expected::with_integrity;
use super::common::judge::{assert_holds, assert_reproduces, count, crash, everywhere, request_of, with};
use super::integrity::all;
use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::workload::WORKLOADS;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn rows(report: &Value) -> impl Iterator<Item = &Value> {
    report["attacks"]["rows"].as_array().unwrap().iter()
}

/// The attacks with this outcome, of one class, of all moments or one.
fn outcomes(report: &Value, attack: &str, when: Option<&str>, outcome: &str) -> u64 {
    let of_class = rows(report).filter(|row| row["attack"] == attack);
    of_class.filter(|row| when.is_none_or(|when| row["when"] == when)).map(|row| count(row, outcome)).sum()
}

/// All attacks with this outcome.
fn sum(report: &Value, outcome: &str) -> u64 {
    rows(report).map(|row| count(row, outcome)).sum()
}

#[test]
fn no_attack_on_a_hardened_design_is_accepted() {
    let base = json!({"machine": "small", "transactions": 8, "attack": ["all"], "attack_every": 8});
    // Every fourth workload of each design, each workload with a quarter of the designs.
    let requests = all(&base).into_iter().enumerate();
    let requests = requests.filter(|(place, _)| (place + place / WORKLOADS.len()).is_multiple_of(4));
    let mut running = 0;
    let mut detected: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for (request, report) in everywhere(requests.map(|(_, request)| request).collect()) {
        assert_eq!((sum(&report, "accepted"), sum(&report, "late")), (0, 0), "{request}");
        for attack in ["spoof", "splice", "replay-with-mac", "replay-with-counter", "replay-page", "rollback"] {
            let design = request["design"].as_str().unwrap().to_owned();
            *detected.entry((design, attack)).or_default() += outcomes(&report, attack, None, "detected");
        }
        assert!(outcomes(&report, "spoof", Some("running"), "attacked") > 0, "{request}");
        running += outcomes(&report, "spoof", Some("running"), "detected");
    }
    assert_eq!(detected.len(), 6 * with_integrity().len());
    assert!(detected.values().all(|&number| number > 0), "{detected:?}");
    assert!(running > 150, "{running}");
}

#[test]
fn no_attack_is_accepted_on_the_machine_of_the_paper() {
    let base = json!({"workload": "btree", "transactions": 4, "attack": ["all"], "attack_every": 10});
    let requests = with_integrity().into_iter().map(|design| with(&base, json!({"design": design})));
    for (request, report) in everywhere(requests.collect()) {
        assert_eq!((sum(&report, "accepted"), sum(&report, "late")), (0, 0), "{request}");
        assert!(outcomes(&report, "spoof", Some("running"), "attacked") > 0, "{request}");
        assert!(sum(&report, "detected") > 100, "{request}");
    }
}

/// A node was in the write pending queue when it was asked for, and on the media when it arrived: the attacker put back the old
/// one, with all that it vouches for, in between.
#[test]
fn what_was_queued_when_it_was_asked_for_is_not_taken_from_changed_media() {
    let request = json!({
        "design": "supermem-tree", "workload": "chain-queue", "machine": "small", "transactions": 20,
        "attack": ["replay-subtree"], "attack_every": 10
    });
    let report = assert_holds(&request);
    assert_eq!((sum(&report, "accepted"), sum(&report, "late")), (0, 0));
    assert!(outcomes(&report, "replay-subtree", Some("running"), "detected") > 20, "{report}");
}

#[test]
fn without_macs_every_attack_passes_and_no_promise_is_broken() {
    let request = json!({"design": "secpm", "workload": "btree", "machine": "small", "transactions": 20, "attack": ["all"], "attack_every": 2});
    let report = assert_holds(&request);
    for row in rows(&report) {
        assert!(count(row, "accepted") > 0, "{row}");
        assert_eq!(row["verdict"], "accepted");
        assert!(row["example"]["told"].as_str().unwrap().contains("no check fails"), "{row}");
    }
    for when in ["power-off", "running"] {
        for attack in ["spoof", "splice", "replay", "replay-with-counter", "replay-page", "rollback", "erase"] {
            assert!(outcomes(&report, attack, Some(when), "accepted") > 0, "{attack} {when}");
        }
    }
    assert_eq!(sum(&report, "detected") + sum(&report, "denied") + sum(&report, "late"), 0);
}

/// What is done to the shadow cache passes without a tree over it, and does not with one; what the power failure before had left
/// there does not, either.
#[test]
fn shadow_cache_is_protected_by_its_tree_alone() {
    let base =
        json!({"workload": "hash", "machine": "small", "transactions": 10, "attack": ["all"], "attack_every": 3});
    let shadow = |report: &Value, key: &str, attack: &str, when: &str| -> u64 {
        let of = rows(report).filter(|row| row["target"] == "shadow" && row["attack"] == attack && row["when"] == when);
        of.map(|row| count(row, key)).sum()
    };
    let kinds = [
        ("spoof", "power-off"),
        ("splice", "power-off"),
        ("erase", "power-off"),
        ("erase", "after-cut-boot"),
        ("spoof", "after-restart"),
        ("replay", "after-restart"),
        ("rollback", "after-restart"),
    ];
    ["bbe", "sepencr", "bbe-tree", "sepencr-tree"].par_iter().for_each(|design| {
        let report = assert_holds(&with(&base, json!({"design": design})));
        let protected = design.ends_with("-tree");
        for (attack, when) in kinds {
            let [accepted, detected] = ["accepted", "detected"].map(|key| shadow(&report, key, attack, when));
            assert_eq!((accepted > 0, detected > 0), (!protected, protected), "{design}: {attack} {when}");
        }
        // A first power failure has no older shadow cache.
        assert_eq!(shadow(&report, "attacked", "replay", "power-off"), 0);
        assert_eq!(rows(&report).filter(|row| row["target"] == "shadow" && row["when"] == "running").count(), 0);
    });
}

/// MACs alone: what changes, exchanges or ages a line is found, and an old line with its MAC and its counter is not.
#[test]
fn without_a_tree_an_old_line_with_its_mac_and_counter_is_accepted() {
    let set = json!(["design.integrity=macs", "controller.counter_cache_size=64B", "controller.counter_cache_ways=1"]);
    let request = json!({"design": "secpm", "workload": "btree", "machine": "small", "transactions": 20, "set": set, "attack": ["all"], "attack_every": 4});
    let report = crash(&request);
    assert_eq!(report["violations"][0]["rule"], "integrity", "{}", report["violations"]);
    for when in ["power-off", "after-cut-boot", "running"] {
        for attack in ["replay-with-counter", "replay-page", "rollback"] {
            assert!(outcomes(&report, attack, Some(when), "accepted") > 0, "{attack} {when}");
        }
    }
    for row in rows(&report).filter(|row| row["target"] == "data" || row["attack"] == "replay-with-mac") {
        assert_eq!(count(row, "accepted") + count(row, "late"), 0, "{row}");
    }
    let told = rows(&report).find(|row| row["attack"] == "replay-with-counter").unwrap()["example"]["told"].clone();
    for words in
        ["with its MAC and its counter block, as it was after event", "(version ", "the program reads the old value"]
    {
        assert!(told.as_str().unwrap().contains(words), "{told}");
    }
    assert_reproduces(&request, &report);
}

#[test]
fn what_is_used_before_it_is_verified_is_found_too_late() {
    let set = json!(["integrity.read_verification=speculative"]);
    let request = json!({"design": "strict", "workload": "array", "machine": "small", "transactions": 4, "set": set, "attack": ["all"]});
    let report = assert_holds(&request);
    for when in ["power-off", "running"] {
        assert!(outcomes(&report, "spoof", Some(when), "late") > 0, "{when}");
        assert!(outcomes(&report, "splice", Some(when), "late") > 0, "{when}");
    }
    assert_eq!(sum(&report, "accepted"), 0);
}

/// Each of these faults is found by attacks on the running machine, too, and what they show is shown again by the event.
#[test]
fn what_a_running_machine_does_not_check_is_accepted() {
    let faults = [
        ("mac-address", "strict", "btree", "splice", 8),
        ("mac-counter", "strict", "btree", "replay-with-mac", 8),
        // Eight transactions are too few to show it.
        ("counter-verification", "strict", "btree", "replay-with-counter", 20),
        ("counter-verification", "secpm-tree", "btree", "rollback", 20),
    ];
    let set = json!(["controller.counter_cache_size=64B", "controller.counter_cache_ways=1"]);
    faults.par_iter().for_each(|(fault, design, workload, attack, transactions)| {
        let base = json!({"machine": "small", "transactions": transactions, "set": set, "attack": [attack]});
        let request = with(&base, json!({"design": design, "workload": workload}));
        let whole = assert_holds(&request);
        assert!(outcomes(&whole, attack, Some("running"), "detected") > 0, "{request}");
        let report = crash(&with(&request, json!({"fault": fault})));
        assert!(outcomes(&report, attack, Some("running"), "accepted") > 0, "{fault} on {request}");
        let running = |found: &&Value| found["explanation"].as_str().unwrap().contains("while the machine runs");
        let violations = report["violations"].as_array().unwrap();
        let Some(found) = violations.iter().find(running) else { return };
        assert_eq!(found["rule"], "integrity");
        let again = crash(&request_of(&report, found));
        let same = |other: &Value| other["rule"] == "integrity" && other["line"] == found["line"];
        assert!(again["violations"].as_array().unwrap().iter().any(same), "{fault}: {found}");
    });
}

/// Copies of every design's machine read what the program has stored, if nobody tampers with them.
#[test]
fn copy_of_any_running_machine_is_that_machine() {
    let base =
        json!({"machine": "small", "workload": "btree", "transactions": 2, "attack": ["erase"], "attack_every": 3});
    let crashable = |name: &&str| design::find(name, Variant::Hardened).unwrap().promise.crash_consistent.is_ok();
    let designs: Vec<&str> = design::names().filter(crashable).collect();
    assert!(designs.len() > 20);
    let policies = ["continuous", "gem5", "nvmain-frfcfs-wqf"];
    designs.par_iter().zip(0..designs.len()).for_each(|(design, place)| {
        let policy = policies[place % policies.len()];
        let set = json!([format!("controller.policy={policy}")]);
        let report = crash(&with(&base, json!({"design": design, "set": set})));
        assert_eq!(report["internal_errors"], json!([]), "{design} {policy}");
    });
}

#[test]
fn same_request_is_attacked_in_the_same_ways() {
    let request = json!({"design": "rebuild", "workload": "rbtree", "machine": "small", "transactions": 6, "attack": ["all"], "attack_every": 3});
    assert_eq!(crash(&request)["attacks"], crash(&request)["attacks"]);
}
