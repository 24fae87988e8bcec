//! AES-XTS without counters: what it costs, to the picosecond, that no crash loses anything, and what it gives away.

use super::common::judge::{assert_holds, crash, refusal, with};
use super::common::{LATE, Times, line, run, system, times};
use counterpoint_engine::config::{self, AesReads, Machine};
use counterpoint_engine::message::NoObserver;
use serde_json::json;

/// Consecutive pages in different banks, and a queue whose writes leave whenever a bank is free.
fn secpm() -> Machine {
    let sets = [
        "program.core_region=packed",
        "device.mapping=page-interleaved",
        "controller.aes_units=2",
        "controller.wpq_issue_when_idle=true",
    ];
    config::load_machine("secpm", &sets.map(str::to_owned)).unwrap()
}

#[test]
fn read_is_decrypted_when_its_line_has_come() {
    for (aes_latency_ns, reads) in [(40.0, AesReads::Own), (40.0, AesReads::Shared), (500.0, AesReads::Own)] {
        let mut machine = secpm();
        machine.controller.aes_latency_ns = aes_latency_ns;
        machine.controller.aes_reads = reads;
        let t = Times::of(&machine);
        let mut system = system(&machine, "xts", NoObserver);
        system.read(0, line(0, 0), 0);
        system.read(LATE, line(0, 1), 1);
        // The tweak is made during the access, and is later than the line where AES takes longer than the access.
        let first = t.read().max(t.aes) + t.aes;
        assert_eq!(times(&mut system), [first, LATE + t.read_hit().max(t.aes) + t.aes]);
    }
}

#[test]
fn write_is_queued_after_its_tweak_and_its_line() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "xts", NoObserver);
    for token in 0..3 {
        system.write(LATE, line(0, token as usize), &[1; 64], token);
    }
    while system.now() < LATE + 2 * t.aes {
        let answers = system.advance().expect("the writes are under way").len();
        assert!(answers == 0 || system.now() == LATE + 2 * t.aes, "at {}", system.now());
    }
    // The third one waits for a circuit.
    assert_eq!(run(&mut system).last(), Some(&(2, LATE + 4 * t.aes)));
    assert_eq!(system.device.stats().counter_writes, 0);
    assert_eq!(system.device.stats().counter_reads, 0);
}

#[test]
fn read_of_a_queued_line_is_decrypted_and_one_of_a_line_never_written_is_not() {
    let mut machine = secpm();
    machine.controller.wpq_issue_when_idle = false;
    let t = Times::of(&machine);
    let mut system = system(&machine, "xts", NoObserver);
    system.write(0, line(0, 0), &[1; 64], 0);
    system.read(LATE, line(0, 0), 1);
    assert_eq!(times(&mut system), [2 * t.aes, LATE + 2 * t.aes], "the tweak, and the line");
}

#[test]
fn no_crash_loses_anything_and_equal_lines_are_seen() {
    let base = json!({"design": "xts", "machine": "small", "transactions": 8, "nested": true, "attack": ["all"]});
    for workload in ["array", "btree", "queue"] {
        let request = with(&base, json!({"workload": workload}));
        let report = crash(&request);
        let found = report["violations"].as_array().unwrap();
        assert!(
            found.iter().all(|found| found["rule"] == "integrity"),
            "only what an attacker has changed is accepted"
        );
        let rows = report["attacks"]["rows"].as_array().unwrap();
        let accepted = |attack: &str| -> u64 {
            rows.iter().filter(|row| row["attack"] == attack).map(|row| row["accepted"].as_u64().unwrap()).sum()
        };
        assert!(["spoof", "splice", "replay", "rollback"].map(accepted).iter().all(|&number| number > 0), "{workload}");
        assert!(rows.iter().all(|row| row["detected"] == 0 && row["attack"] != "replay-with-counter"), "{workload}");
        let watched = &report["attacks"]["watched"];
        assert!(watched["repeated"].as_u64().unwrap() > 0, "{watched}");
        assert!(watched["example"]["told"].as_str().unwrap().contains("with the bytes that it had in event"));
        let counted = crash(&with(&request, json!({"design": "secpm"})));
        assert_eq!(counted["attacks"]["watched"]["repeated"], 0, "a counter changes every block");
    }
}

#[test]
fn a_tweak_that_all_lines_share_is_found() {
    let request =
        json!({"design": "xts", "workload": "array", "fault": "tweak", "transactions": 8, "machine": "small"});
    let report = crash(&request);
    let found = report["violations"].as_array().unwrap();
    assert!(!found.is_empty() && found.iter().all(|found| found["rule"] == "tweak_reuse"), "{found:?}");
    assert!(found[0]["explanation"].as_str().unwrap().contains("knows that their plaintexts are the same"));
}

#[test]
fn persistent_caches_are_encrypted_on_their_way_out() {
    let set = ["design.program=flush-free", "design.domain=eadr", "design.drain=through-write-path"];
    let request =
        json!({"design": "xts", "workload": "hash", "machine": "small", "transactions": 6, "nested": true, "set": set});
    assert_holds(&request);
    let in_place = refusal(&with(&request, json!({"set": ["design.domain=eadr"]})));
    assert!(in_place.contains("does not encrypt lines on their way to their own addresses"), "{in_place}");
}

/// Counters as versions: only the check of the MAC waits for one.
#[test]
fn versioned_line_is_decrypted_while_its_mac_is_checked() {
    for (aes_latency_ns, mac_latency_ns) in [(40.0, 20.0), (40.0, 90.0)] {
        let mut machine = secpm();
        machine.controller.aes_latency_ns = aes_latency_ns;
        machine.integrity.mac_latency_ns = mac_latency_ns;
        assert_eq!(machine.integrity.read_verification, config::ReadVerification::BeforeUse);
        assert_ne!(machine.integrity.mac_placement, config::MacPlacement::Region, "a MAC comes with its line");
        let t = Times::of(&machine);
        let mut system = system(&machine, "xts-tree", NoObserver);
        for (token, at) in [(0, 0), (1, LATE)] {
            system.read(at, line(0, token as usize), token);
        }
        let mac = counterpoint_engine::kernel::ns_to_ps(mac_latency_ns);
        // The second line finds its counter in the cache, and a node of the tree in the row buffer.
        assert_eq!(times(&mut system)[1], LATE + t.t_rp + t.read() + t.aes.max(mac));
    }
}

#[test]
fn versioned_line_is_queued_a_tweak_later_than_one_in_counter_mode() {
    let machine = secpm();
    let queued = |design: &str| {
        let mut system = system(&machine, design, NoObserver);
        system.write(LATE, line(0, 0), &[1; 64], 0);
        times(&mut system)[0]
    };
    assert_eq!(queued("xts-tree"), queued("secpm-tree") + Times::of(&machine).aes);
}

#[test]
fn with_macs_and_a_tree_old_lines_are_found_out_and_equal_ones_are_still_seen() {
    let request = json!({"design": "xts-tree", "machine": "small", "transactions": 8, "attack": ["all"]});
    // The boots of one of them are cut short, too.
    for (workload, nested) in [("array", true), ("btree", false)] {
        let request = with(&request, json!({"nested": nested}));
        let report = crash(&with(&request, json!({"workload": workload})));
        assert_eq!(report["violations"], json!([]), "{workload}");
        let rows = report["attacks"]["rows"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["accepted"] == 0 && row["late"] == 0), "{rows:?}");
        let detected = |attack: &str| rows.iter().any(|row| row["attack"] == attack && row["detected"] != 0);
        assert!(["spoof", "splice", "replay", "replay-with-counter", "rollback"].into_iter().all(detected), "{rows:?}");
        assert!(report["attacks"]["watched"]["repeated"].as_u64().unwrap() > 0, "{report}");
        // Without the tree old versions are taken with their lines.
        let set = json!(["design.integrity=macs", "design.recovery=[\"resume-reencryption\"]"]);
        let macs = crash(&with(
            &request,
            json!({"workload": workload, "set": set, "attack": ["spoof", "replay-with-counter"]}),
        ));
        let rows = macs["attacks"]["rows"].as_array().unwrap();
        for row in rows {
            // A counter block that nothing protects may say that a line was never written.
            let passes = row["attack"] == "replay-with-counter" || row["target"] == "counter";
            assert!(passes || row["accepted"] == 0, "{row}");
        }
        let old = rows.iter().find(|row| row["attack"] == "replay-with-counter" && row["when"] == "power-off").unwrap();
        assert_eq!(old["verdict"], "accepted", "{rows:?}");
    }
}

#[test]
fn versions_need_macs_and_nothing_that_makes_pads() {
    let request = json!({"design": "xts-tree", "workload": "array", "machine": "small", "transactions": 2});
    for (set, sentence) in [
        (
            json!(["design.integrity=none", "design.recovery=[\"resume-reencryption\"]"]),
            "because only MACs use its counters",
        ),
        (json!(["design.domain=eadr"]), "because lines leave persistent caches under pads"),
        (
            json!(["design.counters=global", "design.counter_store=inline-cached", "design.write_path=co-located"]),
            "because a line is decrypted without its counter",
        ),
    ] {
        let refused = refusal(&with(&request, json!({"set": set})));
        assert!(refused.contains("versioned-xts") && refused.contains(sentence), "{refused}");
    }
    let found = crash(&with(&request, json!({"fault": "tweak", "transactions": 8})));
    let found = found["violations"].as_array().unwrap();
    assert!(!found.is_empty() && found.iter().all(|found| found["rule"] == "tweak_reuse"), "{found:?}");
}
