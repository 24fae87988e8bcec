//! Silent Shredder: what a page of zeros costs, to the picosecond, that no crash shows half of it, what the faults lose, and for
//! every program of a few operations.

use super::common::judge::{assert_fails, assert_holds, count, refusal, run, with};
use super::common::{LATE, Times, line, system, times};
use super::prove::{prove, refusal as unproved};
use counterpoint_engine::config;
use counterpoint_engine::message::NoObserver;
use serde_json::{Value, json};

/// A page is zeros when its counter block is queued: a lookup if the block is on the chip. A line of it is then read from the
/// counter cache alone, and a line that has been written since from memory.
#[test]
fn a_shredded_line_is_read_from_the_counter_cache() {
    let sets = ["controller.counter_placement=single-bank", "controller.wpq_issue_when_idle=true"];
    let machine = config::load_machine("secpm", &sets.map(str::to_owned)).unwrap();
    let t = Times::of(&machine);
    let mut system = system(&machine, "silent-shredder", NoObserver);
    system.read(0, line(1, 0), 0);
    times(&mut system);
    let before = system.device.stats();
    system.zero_page(LATE, line(1, 0), 1);
    assert_eq!(times(&mut system), [LATE], "the block is on the chip");
    let zeroed = system.device.stats();
    assert_eq!((zeroed.data_writes, zeroed.counter_writes), (before.data_writes, before.counter_writes + 1));
    system.read(2 * LATE, line(1, 7), 2);
    assert_eq!(times(&mut system), [2 * LATE + t.counter_cache]);
    assert_eq!(system.device.stats().data_reads, zeroed.data_reads, "memory is not asked");
    system.write(3 * LATE, line(1, 7), &[7; 64], 3);
    times(&mut system);
    system.read(4 * LATE, line(1, 7), 4);
    assert!(times(&mut system)[0] > 4 * LATE + t.counter_cache);
    assert_eq!(system.device.stats().data_reads, zeroed.data_reads + 1);
}

/// What a page costs: one counter block, instead of 64 lines with theirs.
#[test]
fn a_page_is_one_write() {
    let report = |design: &str| {
        run(&json!({
            "design": design, "workload": "zero-pages", "tx_size": 4096, "footprint": 1 << 20, "transactions": 100, "warmup": 0,
        }))
    };
    let [stores, shredded] = ["secpm", "silent-shredder"].map(report);
    assert_eq!(count(&stores["nvm"], "data_writes"), 6_400);
    assert_eq!((count(&shredded["nvm"], "data_writes"), count(&shredded["nvm"], "counter_writes")), (0, 100));
    assert!(shredded["simulated_ns"].as_f64().unwrap() < stores["simulated_ns"].as_f64().unwrap() / 4.0, "{shredded}");
}

const PROGRAMS: [&str; 5] = [
    "store A; clwb A; sfence; zero-page A; store B; clwb B; sfence; load A; load B",
    "zero-page A; zero-page A; store A; clwb A; zero-page B; load A",
    "store A; clwb A; zero-page A; store A; clwb A; sfence; store A; clwb A; sfence; store A; clwb A; sfence; load D",
    "store A; evict A; zero-page A; evict-counters A; load A; store D; clwb D; sfence; zero-page A",
    "nt-store A; zero-page A; nt-store B; sfence; evict-counters A; load A; load B",
];

#[test]
fn no_crash_shows_a_part_of_a_page() {
    for program in PROGRAMS {
        for bits in [2, 3, 7] {
            assert_holds(&json!({
                "design": "silent-shredder", "workload": program, "machine": "small", "nested": true,
                "set": [format!("counters.minor_bits={bits}")],
            }));
        }
        assert_holds(&json!({"design": "secpm", "workload": program, "machine": "small"}));
    }
}

#[test]
fn the_part_goes_with_a_tree_and_every_attack_is_seen() {
    for design in ["secpm-tree", "strict"] {
        for program in PROGRAMS {
            let request = json!({
                "design": design, "workload": program, "machine": "small", "attack": ["all"],
                "set": ["design.counters=split", "design.zeroing=counters"],
            });
            let report = assert_holds(&request);
            let rows = report["attacks"]["rows"].as_array().unwrap();
            assert!(
                !rows.is_empty() && rows.iter().all(|row| count(row, "accepted") == 0),
                "{design}: {program}: {rows:?}"
            );
        }
    }
}

#[test]
fn faults_are_found() {
    let of = |fault: &str, program: &str, bits: u32| {
        json!({
            "design": "silent-shredder", "workload": program, "machine": "small", "fault": fault,
            "set": [format!("counters.minor_bits={bits}")],
        })
    };
    assert_fails(&of("shredded-block", PROGRAMS[0], 7), &["line"]);
    let overflow = "nt-store A; sfence; nt-store A; sfence; nt-store A; sfence; load B";
    assert_fails(&of("zero-minor", overflow, 2), &["line"]);
}

#[test]
fn every_small_program_holds_and_the_smallest_that_notices_a_fault_is_found() {
    let asked = json!({"design": "silent-shredder", "operations": 3, "lines": 2});
    let report = prove(&asked);
    assert_eq!(report["holds"], json!(true), "{}", report["counterexamples"]);
    let smallest = |fault: &str| -> Value {
        let report = prove(&with(&asked, json!({"fault": fault, "timings": ["small-counters"]})));
        report["counterexamples"][0]["program"].clone()
    };
    assert_eq!(smallest("shredded-block"), "zero-page A");
    let program = smallest("zero-minor");
    assert!(program.as_str().unwrap().contains("store"), "{program}");
}

#[test]
fn what_cannot_be_shredded_is_refused_in_a_sentence() {
    let request = json!({"design": "silent-shredder", "workload": "array", "machine": "small", "transactions": 2});
    for (set, sentence) in [
        (json!(["design.counters=per-line"]), "whose minor counters are zero together"),
        (json!(["design.reencrypted_words=modified"]), "words that were not written are not zeros"),
        (json!(["counters.block_lines=32"]), "needs counters.block_lines = 64"),
        (json!(["counters.minor_bits=1"]), "needs counters.minor_bits from 2 on"),
        (json!(["design.domain=eadr", "design.drain=through-write-path"]), "drops lines from the caches"),
    ] {
        let refused = refusal(&with(&request, json!({"set": set})));
        assert!(refused.contains(sentence), "{refused}");
    }
    let refused = refusal(&with(&request, json!({"workload": "zero-page A || load A"})));
    assert!(refused.contains("uses it alone"), "{refused}");
    let refused = unproved(
        &json!({"design": "silent-shredder", "cores": 2, "operations": 2, "lines": 1, "steps": ["zero-page"]}),
    );
    assert!(refused.contains("uses it alone"), "{refused}");
}
