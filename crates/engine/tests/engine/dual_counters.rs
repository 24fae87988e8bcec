//! DEUCE: what two pads and the comparison with memory cost, to the picosecond, which bits change, that no crash loses a word,
//! and what a watcher of the bus learns.

use super::common::judge::{self, assert_holds, crash, refusal, with};
use super::common::{LATE, Times, line, system, times};
use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{self, Machine};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::NoObserver;
use serde_json::json;

/// Consecutive pages in different banks and all counters in bank 0, writes that leave whenever a bank is free, and epochs of eight writes.
fn secpm(aes_latency_ns: f64, more: &[&str]) -> Machine {
    let sets = [
        "program.core_region=packed",
        "device.mapping=page-interleaved",
        "controller.counter_placement=single-bank",
        "controller.aes_units=2",
        "controller.wpq_issue_when_idle=true",
        "counters.epoch_writes=8",
    ];
    let mut machine =
        config::load_machine("secpm", &sets.iter().chain(more).map(|set| (*set).to_owned()).collect::<Vec<_>>())
            .unwrap();
    machine.controller.aes_latency_ns = aes_latency_ns;
    machine
}

/// Handles all events; returns the time of the last answer.
fn last(system: &mut LineSystem<NoObserver>) -> Ps {
    *times(system).last().unwrap()
}

#[test]
fn read_needs_two_pads_unless_its_epoch_has_just_begun() {
    for aes_latency_ns in [5.0, 40.0, 500.0] {
        let machine = secpm(aes_latency_ns, &[]);
        let t = Times::of(&machine);
        let mut system = system(&machine, "deuce", NoObserver);
        system.read(0, line(1, 0), 0);
        last(&mut system);
        system.read(LATE, line(1, 1), 1);
        assert_eq!(last(&mut system), LATE + t.read_hit().max(t.counter_cache + 2 * t.aes));
        // Its counter is 1 before the run; the seventh write is the first of an epoch.
        for number in 1..=7 {
            system.write((1 + number) * LATE, line(1, 2), &[number as u8; 64], 2);
            last(&mut system);
        }
        system.read(20 * LATE, line(1, 2), 3);
        assert_eq!(last(&mut system), 20 * LATE + t.read_hit().max(t.counter_cache + t.aes));
    }
}

#[test]
fn write_waits_for_two_pads_and_for_the_line_that_it_is_compared_with() {
    for aes_latency_ns in [5.0, 40.0, 500.0] {
        let machine = secpm(aes_latency_ns, &[]);
        let t = Times::of(&machine);
        let mut system = system(&machine, "deuce", NoObserver);
        system.read(0, line(1, 0), 0);
        last(&mut system);
        let reads = system.device.stats().data_reads;
        system.write(LATE, line(1, 1), &[1; 64], 1);
        assert_eq!(last(&mut system), LATE + t.counter_cache + t.read_hit().max(2 * t.aes));
        assert_eq!(system.device.stats().data_reads, reads + 1);
    }
}

#[test]
fn first_write_of_an_epoch_needs_one_pad_and_nothing_that_is_in_memory() {
    let machine = secpm(40.0, &[]);
    let t = Times::of(&machine);
    let mut system = system(&machine, "deuce", NoObserver);
    system.read(0, line(1, 0), 0);
    last(&mut system);
    for number in 1..=16 {
        let (at, reads) = (number * LATE, system.device.stats().data_reads);
        system.write(at, line(1, 1), &[number as u8; 64], 1);
        let (queued, asked) = (last(&mut system), system.device.stats().data_reads - reads);
        if (number + 1) % 8 == 0 {
            assert_eq!((queued, asked), (at + t.counter_cache + t.aes, 0), "write {number}");
        } else {
            assert!(queued >= at + t.counter_cache + 2 * t.aes && asked == 1, "write {number}: {queued}, {asked}");
        }
    }
}

/// A line that is still queued is compared there.
#[test]
fn queued_line_is_not_read() {
    let machine = secpm(40.0, &["controller.wpq_issue_when_idle=false"]);
    let t = Times::of(&machine);
    let mut system = system(&machine, "deuce", NoObserver);
    system.read(0, line(1, 0), 0);
    last(&mut system);
    system.write(LATE, line(1, 1), &[1; 64], 1);
    let reads = system.device.stats().data_reads;
    system.write(LATE + LATE / 2, line(1, 1), &[2; 64], 2);
    let answers = times(&mut system);
    assert_eq!(answers.last(), Some(&(LATE + LATE / 2 + t.counter_cache + 2 * t.aes)));
    assert_eq!(system.device.stats().data_reads, reads + 1, "only the first write has read memory");
}

fn flips(design: &str, workload: &str, sets: &[&str]) -> f64 {
    let sets = [&["counters.minor_bits=7"], sets].concat();
    let request = json!({
        "design": design, "workload": workload, "machine": "small", "transactions": 200, "warmup": 0, "set": sets,
    });
    judge::run(&request)["nvm"]["data_flip_share"].as_f64().unwrap()
}

#[test]
fn words_that_stay_change_no_bits() {
    for workload in ["queue", "rbtree"] {
        let [plain, deuce, whole] = ["unencrypted", "deuce", "secpm"].map(|design| flips(design, workload, &[]));
        assert!(plain < deuce && deuce < 0.9 * whole, "{workload}: {plain} {deuce} {whole}");
    }
    // Coarser words hold on to less, where items keep some of theirs: a tree's nodes do.
    let [deuce, coarse] = ["2", "8"].map(|bytes| flips("deuce", "rbtree", &[&format!("counters.word_bytes={bytes}")]));
    assert!(deuce < coarse && coarse < flips("secpm", "rbtree", &[]), "{deuce} {coarse}");
}

#[test]
fn no_crash_loses_a_word() {
    let base = json!({"design": "deuce", "machine": "small", "transactions": 8, "nested": true});
    for workload in ["array", "btree", "queue"] {
        for set in [
            vec![],
            vec!["counters.minor_bits=4", "counters.epoch_writes=8"],
            vec!["counters.organisation=per-line", "design.counters=per-line"],
        ] {
            assert_holds(&with(&base, json!({"workload": workload, "set": set})));
        }
    }
}

#[test]
fn bits_that_are_lost_and_pads_that_return_are_found() {
    let request = |fault: &str| {
        json!({
            "design": "deuce", "workload": "array", "machine": "small", "transactions": 20, "fault": fault,
            "set": ["counters.minor_bits=7"],
        })
    };
    let found = |fault: &str| crash(&request(fault))["violations"].as_array().unwrap().clone();
    let lost = found("modified-bits");
    assert!(!lost.is_empty() && lost.iter().all(|found| found["rule"] != "pad_reuse"), "{lost:?}");
    let reused = found("leading-counter");
    assert!(!reused.is_empty() && reused.iter().all(|found| found["rule"] == "pad_reuse"), "{reused:?}");
    // It is there before the program has stored anything, and shown there, too.
    let again = crash(&with(&request("leading-counter"), json!({"at_event": 1})));
    assert_eq!(reused[0]["crash_event"], 1);
    assert_eq!(again["violations"][0]["explanation"], reused[0]["explanation"], "{again}");
}

/// Blocks that have not changed since their epoch began cross the bus again as they were.
#[test]
fn watcher_of_the_bus_sees_what_has_not_changed() {
    let request = json!({
        "design": "deuce", "workload": "queue", "machine": "small", "transactions": 8, "attack": ["all"],
        "set": ["counters.minor_bits=7"],
    });
    let report = crash(&request);
    let watched = &report["attacks"]["watched"];
    assert!(watched["repeated"].as_u64().unwrap() > 0, "{watched}");
    let counted = crash(&with(&request, json!({"design": "secpm"})));
    assert_eq!(counted["attacks"]["watched"]["repeated"], 0, "a counter changes every block");
}

#[test]
fn parts_that_leave_no_room_or_nothing_to_compare_are_refused_in_a_sentence() {
    let request = json!({"design": "deuce", "workload": "array", "machine": "small", "transactions": 2});
    for (set, sentence) in [
        (json!(["design.integrity=macs"]), "a MAC does not cover the bits of words"),
        (json!(["design.domain=eadr"]), "a battery does not read the lines"),
        (json!(["design.counters=global", "design.write_path=deferred"]), "an epoch counts the writes of a line"),
        (
            json!(["design.counters=of-machine", "counters.organisation=global", "design.write_path=deferred"]),
            "an epoch counts the writes of a line",
        ),
    ] {
        let refused = refusal(&with(&request, json!({"set": set})));
        assert!(refused.contains("reencrypted_words = \"modified\"") && refused.contains(sentence), "{refused}");
    }
}
