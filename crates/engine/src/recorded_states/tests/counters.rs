//! Designs whose counters can be apart from their data: programs with the mistakes that are to be found, and the images that
//! the simulated hardware leaves, which are all legal.

use super::Program;
use super::causes::outcome;
use crate::kernel::Random;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn explored(program: Program, design: &str) -> Value {
    outcome(program, json!({"design": design})).unwrap()
}

fn assert_holds(program: Program, design: &str) {
    let report = explored(program, design);
    assert_eq!((&report["violation_count"], &report["causes"]), (&json!(0), &json!([])), "{design}: {report}");
    assert!(report["coverage"].as_str().unwrap().contains("Exhaustive: no legal state is left out."), "{report}");
}

/// Kind of the only cause, and the places of the store that is lost and of the one that needed it.
fn cause(program: Program, design: &str) -> (String, Value, Value) {
    let report = explored(program, design);
    let causes = report["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{design}: {report}");
    let lost = &causes[0]["lost"][0];
    let kind = causes[0]["kind"].as_str().unwrap().to_owned();
    (kind, lost["stored"]["place"].clone(), lost["needed_before"]["place"].clone())
}

fn expected_cause(kind: &str, stored: &str, needed: &str) -> (String, Value, Value) {
    (kind.to_owned(), json!(stored), json!(needed))
}

/// Data on one page, then a flag on another, each made durable; `annotated` by this.
fn publishes(annotate: impl Fn(Program) -> Program) -> Program {
    let data = Program::new().counter_atomic(9, 64).store(1, 0, "data").clwb(2, 0);
    annotate(data).sfence(3).store(4, 64, "valid").clwb(5, 64).sfence(6)
}

#[test]
fn counter_that_is_not_written_back_is_found_with_the_store_that_needed_it() {
    assert_holds(publishes(|program| program.write_back(7, 0)), "sca");
    let wrong = publishes(|program| program);
    assert_eq!(cause(wrong.clone(), "sca"), expected_cause("counter-not-durable", "0x1", "0x4"));
    let report = explored(wrong.clone(), "sca");
    assert_eq!(report["blame"]["who"], "annotations", "{report}");
    assert_eq!(
        report["causes"][0]["sentence"],
        "The store at 0x1 is durable while the later store at 0x4 is kept, and the counter that it was encrypted with is not, \
         so that its line does not decrypt: no write-back of the counter completes before the store at 0x4."
    );
    // Where every write takes its counter along, nothing has to be written back.
    for design in ["secpm", "fca"] {
        assert_holds(wrong.clone(), design);
    }
    // The write-back of another page does not help, and one of the same page does.
    assert_eq!(
        cause(publishes(|program| program.write_back(7, 128)), "sca"),
        expected_cause("counter-not-durable", "0x1", "0x4")
    );
    assert_holds(publishes(|program| program.write_back(7, 5)), "sca");
}

#[test]
fn annotation_that_is_left_out_is_missed() {
    let program = publishes(|program| program.write_back(7, 0));
    let without =
        |numbers: Value| outcome(program.clone(), json!({"design": "sca", "omit_annotations": numbers})).unwrap();
    assert_eq!(without(json!([1]))["causes"][0]["kind"], "counter-not-durable");
    assert_eq!(without(json!([]))["causes"], json!([]));
}

#[test]
fn of_a_program_without_annotations_write_backs_are_assumed_before_fences() {
    let begun = || Program::new().store(1, 0, "data");
    let publish = |program: Program| program.store(4, 64, "valid").clwb(5, 64).sfence(6);
    let report = explored(publish(begun().clwb(2, 0).sfence(3)), "sca");
    assert_eq!(report["causes"], json!([]), "{report}");
    assert!(report["assumed"].as_str().unwrap().starts_with("The recorded program has no annotations"));
    // A clflush needs no fence, and the counter does.
    assert_eq!(cause(publish(begun().clflush(2, 0)), "sca"), expected_cause("counter-not-durable", "0x1", "0x4"));
    assert_holds(publish(begun().clflush(2, 0).sfence(3)), "sca");
    assert_holds(publish(Program::new().past_caches(1, 0, "data").sfence(3)), "sca");
    // A missing fence stays one.
    let report = explored(publish(begun().clwb(2, 0)), "sca");
    let kinds: Vec<&str> =
        report["causes"].as_array().unwrap().iter().map(|cause| cause["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"missing-fence"), "{report}");
    assert_eq!(report["blame"]["who"], "program");
}

/// The write-back of a counter that a `clflush` of the data leaves to the next fence makes that fence a crash point.
#[test]
fn fence_that_completes_only_a_write_back_loses_states() {
    let flushed = Program::new().store(1, 0, "data").clflush(2, 0);
    let wrong = flushed.clone().store(4, 64, "valid").sfence(3).clwb(5, 64).sfence(6);
    assert_eq!(cause(wrong, "sca"), expected_cause("counter-not-durable", "0x1", "0x4"));
    assert_holds(flushed.sfence(3).store(4, 64, "valid").clwb(5, 64).sfence(6), "sca");
}

/// The store to blame for a counter that is ahead is the one whose data is missing, not the one that no longer decrypts.
#[test]
fn counter_ahead_is_that_of_the_store_that_is_lost() {
    let program = publishes(|program| program).store(8, 0, "data2").clwb(9, 0).sfence(10);
    let ahead = ("counter-ahead".to_owned(), json!("0x8"), Value::Null);
    assert_eq!(cause(program, "write-through"), ahead);
}

#[test]
fn fence_of_another_thread_completes_no_write_back() {
    let other = |thread: u64| {
        let begun = Program::new().counter_atomic(9, 64).store(1, 0, "data").clwb(2, 0).sfence(3).write_back(7, 0);
        begun.thread(thread).sfence(8).store(4, 64, "valid").clwb(5, 64).sfence(6)
    };
    assert_holds(other(0), "sca");
    assert_eq!(cause(other(1), "sca"), expected_cause("counter-not-durable", "0x1", "0x4"));
}

/// The images that a command is given while a program is explored.
fn images(program: &Program, design: &str, more: &Value) -> (BTreeSet<String>, String) {
    let seen = tempfile::NamedTempFile::new().unwrap();
    let mut request = json!({"design": design, "blame": false, "recover_jobs": 1, "no_preflight": true,
        "recover": format!("md5sum < {{pool}} >> {}", seen.path().display())});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let report = outcome(program.clone(), request).unwrap();
    let text = std::fs::read_to_string(seen.path()).unwrap();
    (text.lines().map(str::to_owned).collect(), report["coverage"].as_str().unwrap().to_owned())
}

/// A program of a few stores to lines of two pages, with flushes, write-backs and fences anywhere.
fn any_program(random: &mut Random) -> Program {
    const LINES: [u64; 3] = [0, 1, 64];
    let mut program = Program::new();
    if random.below(2) == 0 {
        program = program.counter_atomic(1, LINES[random.below(3) as usize]);
    }
    for number in 0..6 {
        let line = LINES[random.below(3) as usize];
        program = match random.below(6) {
            0..=1 => program.store(2, line, &format!("n{number}")),
            2 => program.clwb(3, line),
            3 => program.write_back(4, line),
            4 => program.clflush(5, line),
            _ => program.sfence(6),
        };
    }
    program.store(7, 0, "last").clwb(8, 0).sfence(9)
}

#[test]
fn what_simulated_hardware_leaves_is_legal() {
    let mut random = Random::stream(7, "test.recorded");
    let mut apart = 0;
    for round in 0..10 {
        let design = if round % 3 == 2 { "write-through" } else { "sca" };
        let program = any_program(&mut random);
        let (legal, coverage) = images(&program, design, &json!({"states": 10_000}));
        assert!(coverage.contains("Exhaustive: no legal state is left out."), "{coverage}");
        let (plain, _) = images(&program, "unencrypted", &json!({}));
        let (left, _) = images(&program, design, &json!({"explore": "schedules", "schedules": 4}));
        let illegal: Vec<&String> = left.difference(&legal).collect();
        assert!(illegal.is_empty(), "{design}: {illegal:?} of {}", left.len());
        apart += left.difference(&plain).count();
    }
    assert!(apart > 0, "hardware leaves lines that do not decrypt");
}
