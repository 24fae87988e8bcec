//! A command that is told what the program had marked done, or the number of the crash point.

use super::Program;
use super::causes::outcome;
use serde_json::{Value, json};

/// What is marked as done must be there.
const PROMISED: &str = "! grep -qx done {marks} || grep -q data {pool}";

fn judged(program: Program, command: &str) -> Value {
    outcome(program, json!({"recover": command})).unwrap()
}

#[test]
fn mark_before_what_it_promises_is_durable_is_found() {
    let stored = || Program::new().store(1, 0, "data");
    // Another line is fenced, and nothing is stored after the mark: only the mark makes a difference at the end.
    let early = stored().store(2, 1, "other").clwb(3, 1).sfence(4).mark("done");
    let report = judged(early.clone(), PROMISED);
    assert_eq!(report["causes"][0]["kind"], "missing-flush", "{report}");
    assert_eq!((&report["violation_count"], &report["crash_points"]), (&json!(1), &json!(2)), "{report}");
    let told = report["violations"][0]["explanation"].as_str().unwrap();
    assert!(
        told.contains("at the end of the trace, outside any transaction and after the first mark, 'done'"),
        "{told}"
    );
    assert_eq!(report["violations"][0]["crash_event"], json!(9));
    let report = judged(early, "grep -q data {pool} || true");
    assert_eq!(
        (&report["violation_count"], &report["crash_points"]),
        (&json!(0), &json!(1)),
        "nothing is told of marks"
    );
    let report = judged(stored().clwb(2, 0).sfence(3).mark("done").store(4, 1, "more"), PROMISED);
    assert_eq!((&report["violation_count"], &report["crash_points"]), (&json!(0), &json!(2)), "{report}");
    assert!(report["coverage"].as_str().unwrap().contains("before a mark, or at the end"), "{report}");
}

#[test]
fn equal_memory_with_other_marks_is_another_case() {
    let program = || Program::new().store(1, 0, "data").clwb(2, 0).sfence(3).mark("one").mark("two");
    // Before the fence: lost and kept. Then, with one line after the other, kept for certain.
    let cases = |command: &str| {
        let report = judged(program(), command);
        (report["crash_points"].as_u64().unwrap(), report["distinct_states"].as_u64().unwrap())
    };
    assert_eq!(cases("test -e {pool}"), (1, 2));
    assert_eq!(cases("test -e {pool} && test $(wc -l < {marks}) -le 2"), (3, 4));
    assert_eq!(cases("test -e {pool} -a {event} -ge 0"), (1, 2));
    let failing = outcome(program(), json!({"recover": "test -e {pool} -a $(wc -l < {marks}) != 1"})).unwrap();
    assert_eq!((&failing["crash_points"], &failing["recovered"]), (&json!(3), &json!(2)));
    assert_eq!(failing["violations"][0]["crash_event"], json!(8), "before the second mark, which is this record");
}

#[test]
fn with_the_number_of_the_crash_point_every_point_is_a_case() {
    let program = || Program::new().store(1, 0, "data").clwb(2, 0).sfence(3).store(4, 0, "data").clwb(5, 0).sfence(6);
    let report = judged(program(), "test -e {pool}");
    assert_eq!((&report["crash_points"], &report["distinct_states"]), (&json!(2), &json!(2)));
    let report = judged(program(), "test -e {pool} -a {event} != 9");
    assert_eq!((&report["crash_points"], &report["distinct_states"]), (&json!(2), &json!(3)), "{report}");
    assert_eq!((&report["recovered"], &report["violations"][0]["crash_event"]), (&json!(1), &json!(9)));
}
