//! Programs of a few lines with the mistakes that are to be found, judged by a command.

use super::*;
use crate::api;
use crate::kernel::Failure;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::NamedTempFile;

/// What is valid needs the data.
const ORDERED: &str = "! grep -q valid {pool} || grep -q data {pool}";

fn file(program: Program) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&program.trace()).unwrap();
    file.flush().unwrap();
    file
}

pub(super) fn outcome(program: Program, request: Value) -> Result<Value, Failure> {
    let file = file(program);
    let mut whole = json!({"design": "unencrypted", "explore": "legal", "recover": ORDERED, "recover_jobs": 2});
    whole["workload"] = json!(file.path());
    whole.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
    let report = api::crash(&whole.to_string(), &|_, _| {}, &Arc::default())?;
    let mut report: Value = serde_json::from_str(&report).unwrap();
    report.as_object_mut().unwrap().remove("host");
    report.as_object_mut().unwrap().remove("workload");
    for request in ["request", "reproduce"] {
        report[request].as_object_mut().unwrap().remove("workload");
    }
    Ok(report)
}

fn explored(program: Program) -> Value {
    outcome(program, json!({})).unwrap()
}

fn assert_holds(program: Program) {
    let report = explored(program);
    assert_eq!((&report["violation_count"], &report["causes"]), (&json!(0), &json!([])), "{report}");
    assert_eq!(report["recovered"], report["crash_points"]);
    assert!(report["coverage"].as_str().unwrap().contains("Exhaustive: no legal state is left out."), "{report}");
}

/// The only cause: kind, and the lines of the lost store, of its flush, and of the store that needed it.
fn cause(program: Program) -> (String, Value, Value, Value) {
    let report = explored(program);
    let causes = report["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 1, "{report}");
    let one = &causes[0];
    assert_eq!(report["violations"].as_array().unwrap().len(), 1);
    assert_eq!(report["blame"]["who"], "program");
    let lost = &one["lost"][0];
    let place = |of: &Value| of["place"].clone();
    let kind = one["kind"].as_str().unwrap().to_owned();
    (kind, place(&lost["stored"]), place(&lost["flushed"]), place(&lost["needed_before"]))
}

/// The only cause, with nothing lost: kind, and the stores from which and until which the program does not recover.
fn stretch(program: Program) -> (String, Value, Value) {
    let report = explored(program);
    let causes = report["causes"].as_array().unwrap();
    assert_eq!((causes.len(), &causes[0]["lost"]), (1, &json!([])), "{report}");
    let one = &causes[0];
    (one["kind"].as_str().unwrap().to_owned(), one["begins_at"]["place"].clone(), one["ends_at"]["place"].clone())
}

fn expected_cause(kind: &str, stored: &str, flushed: Value, needed: &str) -> (String, Value, Value, Value) {
    (kind.to_owned(), json!(stored), flushed, json!(needed))
}

#[test]
fn missing_fence() {
    let begun = Program::new().store(1, 0, "data").clwb(2, 0);
    let wrong = begun.clone().store(3, 1, "valid").clwb(4, 1).sfence(5);
    assert_eq!(cause(wrong.clone()), expected_cause("missing-fence", "0x1", json!("0x2"), "0x3"));
    assert_holds(begun.sfence(9).store(3, 1, "valid").clwb(4, 1).sfence(5));
    let report = explored(wrong);
    let first = &report["violations"][0];
    // SYNC, FILE and MAP come first; power fails before the fence.
    assert_eq!((&first["crash_event"], &first["line"], &first["schedule"]), (&json!(8), &json!(0), &Value::Null));
    assert_eq!(first["reproduce"], json!({"explore": "legal", "at_event": 8}));
    let sentence = report["causes"][0]["sentence"].as_str().unwrap();
    assert_eq!(
        sentence,
        "The store at 0x1 is lost while the later store at 0x3 is kept: its line is flushed at 0x2, and no fence completes \
         that flush before the store at 0x3."
    );
    assert!(first["explanation"].as_str().unwrap().contains(sentence));
    assert_eq!(report["causes"][0]["before"]["place"], "0x5");
    let counts = ["crash_points", "recovered", "distinct_states", "violation_count"].map(|key| report[key].clone());
    assert_eq!(counts, [json!(1), json!(0), json!(4), json!(1)]);
}

/// The fence that is missing had to follow the flush: a store before the flush needs nothing.
#[test]
fn what_needs_a_fence_comes_after_the_flush() {
    let wrong = Program::new().store(1, 0, "data").store(2, 1, "valid").clwb(3, 0).clwb(4, 1);
    let cause_of = |program: Program| cause(program.sfence(9));
    assert_eq!(cause_of(wrong.clone()), expected_cause("order-between-lines", "0x1", json!("0x3"), "0x2"));
    assert_eq!(
        cause_of(wrong.store(5, 2, "more").clwb(6, 2)),
        expected_cause("missing-fence", "0x1", json!("0x3"), "0x5")
    );
}

#[test]
fn missing_flush() {
    let begun = Program::new().store(1, 0, "data");
    let wrong = begun.clone().sfence(2).store(3, 1, "valid").clwb(4, 1).sfence(5);
    assert_eq!(cause(wrong), expected_cause("missing-flush", "0x1", Value::Null, "0x3"));
    assert_holds(begun.clflush(2, 0).store(3, 1, "valid").clwb(4, 1).sfence(5));
}

#[test]
fn store_after_the_flush() {
    let begun = Program::new().store(1, 0, "dat").clwb(2, 0).store(3, 0, "data");
    let wrong = begun.clone().store(5, 1, "valid").clwb(6, 1).sfence(7);
    assert_eq!(cause(wrong), expected_cause("stored-after-flush", "0x3", json!("0x2"), "0x5"));
    assert_holds(begun.clwb(4, 0).sfence(4).store(5, 1, "valid").clwb(6, 1).sfence(7));
}

#[test]
fn stores_in_the_wrong_order() {
    let store = |program: Program, at, line, text| program.store(at, line, text).clwb(at + 1, line).sfence(at + 2);
    let wrong = store(store(Program::new(), 1, 1, "valid"), 4, 0, "data");
    assert_eq!(stretch(wrong), ("order-between-lines".to_owned(), json!("0x1"), json!("0x4")));
    assert_holds(store(store(Program::new(), 1, 0, "data"), 4, 1, "valid"));
}

#[test]
fn store_past_the_caches_without_a_fence() {
    let begun = Program::new().past_caches(1, 0, "data");
    let wrong = begun.clone().clwb(2, 0).store(3, 1, "valid").clwb(4, 1).sfence(5);
    assert_eq!(cause(wrong), expected_cause("non-temporal-not-fenced", "0x1", Value::Null, "0x3"));
    assert_holds(begun.sfence(2).store(3, 1, "valid").clwb(4, 1).sfence(5));
}

#[test]
fn flush_of_another_thread() {
    let begun = Program::new().store(1, 0, "data").thread(1).clwb(2, 0).thread(0);
    let wrong = begun.clone().sfence(3).store(4, 1, "valid").clwb(5, 1).sfence(6);
    assert_eq!(cause(wrong), expected_cause("missing-fence", "0x1", json!("0x2"), "0x4"));
    assert_holds(begun.thread(1).sfence(3).thread(0).store(4, 1, "valid").clwb(5, 1).sfence(6));
}

#[test]
fn half_of_a_store() {
    let wrong = Program::new().bytes(0x11, 1, 0, b"data\0\0\0\0valid\0\0\0").clwb(2, 0).sfence(3);
    let report = explored(wrong);
    assert_eq!((&report["violation_count"], &report["causes"][0]["kind"]), (&json!(1), &json!("torn-store")));
    // In one line, the order of the stores is enough.
    let fixed = Program::new().store(1, 0, "data").bytes(0x11, 2, 8, b"valid\0\0\0").clwb(3, 0).sfence(4);
    assert_holds(fixed);
}

/// A mistake that is made often is one finding, and two mistakes are two.
#[test]
fn failing_images_are_counted_by_their_cause() {
    let mut program = Program::new();
    for line in 0..6 {
        let text = format!("data{line}");
        program = program.store(1, 2 * line, &text).clwb(2, 2 * line);
        program = program.store(3, 2 * line + 1, &format!("valid{line}")).clwb(4, 2 * line + 1).sfence(5);
    }
    let last = program.store(7, 20, "data6").store(8, 21, "valid6").clwb(9, 21).sfence(10);
    let command = "for n in 0 1 2 3 4 5 6; do ! grep -q valid$n {pool} || grep -q data$n {pool} || exit 1; done";
    let report = outcome(last.clone(), json!({"recover": command})).unwrap();
    let causes = report["causes"].as_array().unwrap();
    let told: Vec<_> =
        causes.iter().map(|cause| (cause["kind"].as_str().unwrap(), cause["count"].as_u64().unwrap())).collect();
    assert_eq!(told, [("missing-fence", 6), ("missing-flush", 1)], "{report}");
    assert_eq!((&report["violation_count"], &report["recoveries"]["failed"]), (&json!(7), &json!(7)));
    assert_eq!((&report["crash_points"], &report["recovered"]), (&json!(7), &json!(0)));
    // One command at a time gives the same report, and so does the end after some failures.
    assert_eq!(outcome(last.clone(), json!({"recover": command, "recover_jobs": 1})).unwrap(), report);
    for most in [1, 2, 5] {
        let ended = |jobs| {
            outcome(last.clone(), json!({"recover": command, "recover_jobs": jobs, "stop_after": most})).unwrap()
        };
        let report = ended(2);
        assert_eq!(report["violation_count"], json!(most), "{report}");
        assert!(report["coverage"].as_str().unwrap().contains("It ended there"), "{report}");
        assert_eq!(ended(1), report);
    }
    // What is found is found again alone.
    let first = report["violations"][0]["reproduce"].clone();
    let again = outcome(last, json!({"recover": command, "at_event": first["at_event"]})).unwrap();
    assert_eq!((&again["crash_points"], &again["causes"][0]["kind"]), (&json!(1), &json!("missing-fence")));
}

#[test]
fn interruption_keeps_what_was_judged() {
    let mut program = Program::new();
    for line in 0..500 {
        program = program.store(1, line, "data").clwb(2, line).sfence(3);
    }
    let (file, begun) = (file(program), NamedTempFile::new().unwrap());
    let command = format!("echo >> {}; sleep 0.02; test -e {{pool}}", begun.path().display());
    let request = json!({"design": "unencrypted", "explore": "legal", "workload": file.path(), "recover_jobs": 2,
        "recover": command});
    let cancel = Arc::new(AtomicBool::new(false));
    let later = {
        let cancel = Arc::clone(&cancel);
        std::thread::spawn(move || {
            // No more than four verdicts are outstanding.
            while begun.path().metadata().unwrap().len() < 8 {
                std::thread::sleep(Duration::from_millis(5));
            }
            cancel.store(true, Ordering::Relaxed);
        })
    };
    let report = api::crash(&request.to_string(), &|_, _| {}, &cancel).unwrap();
    later.join().unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["interrupted"], &report["violation_count"]), (&json!(true), &json!(0)), "{report}");
    let images = report["distinct_states"].as_u64().unwrap();
    assert!((1..500).contains(&images) && report["recoveries"]["runs"] == json!(images), "{report}");
    assert!(report["crash_points"].as_u64().unwrap() <= images + 1);
    assert!(report["coverage"].as_str().unwrap().contains("The user interrupted the exploration there."));
}

#[test]
fn designs_whose_lines_keep_their_counters_leave_what_plaintext_leaves() {
    let wrong = Program::new().store(1, 0, "data").clwb(2, 0).store(3, 1, "valid").clwb(4, 1).sfence(5);
    let report = outcome(wrong.clone(), json!({"design": "secpm"})).unwrap();
    assert_eq!((&report["causes"][0]["kind"], &report["violation_count"]), (&json!("missing-fence"), &json!(1)));
    assert_eq!(report["blame"]["who"], "program");
    for design in ["bbe", "hw-log"] {
        let told = outcome(wrong.clone(), json!({"design": design})).unwrap_err().to_string();
        assert!(told.starts_with(&format!("explore legal: which states design '{design}' may leave")), "{told}");
    }
}

#[test]
fn what_has_no_meaning_is_refused_in_one_sentence() {
    let program = Program::new().store(1, 0, "data").clwb(2, 0).sfence(3);
    for (request, told) in [
        (json!({"recover": null, "recover_jobs": null}), "explore legal: only the program's own recovery can judge"),
        (json!({"points": 5}), "explore legal: every fence is a point"),
        (json!({"nested": true}), "recover: a command judges the memory of the first boot"),
        (json!({"schedules": 5}), "schedules: only explore 'schedules' takes it"),
        (json!({"states": 0}), "states: 0 is not at least 1"),
        (json!({"stop_after": 0}), "stop_after: 0 is not at least 1"),
        (
            json!({"recover": null, "recover_jobs": null, "stop_after": 1}),
            "stop_after: it has no effect without a command",
        ),
        (json!({"at_event": 4}), "explore legal: record 4 of the trace is no fence or flush"),
    ] {
        let sentence = outcome(program.clone(), request.clone()).unwrap_err().to_string();
        assert!(sentence.starts_with(told) && !sentence.contains('\n'), "{request}: {sentence}");
    }
    let nothing = outcome(Program::new().sfence(1), json!({})).unwrap_err().to_string();
    assert!(nothing.contains("the program stores nothing"), "{nothing}");
}

#[test]
fn locked_instruction_for_another_purpose_completes_no_flush() {
    // Nothing follows that makes anything durable, so that only the end shows it.
    let flushed = Program::new().store(1, 0, "valid").store(2, 1, "data").clwb(3, 0).clwb(4, 1);
    let report = explored(flushed.clone().locked(5));
    let lost = &report["causes"][0]["lost"][0];
    assert_eq!((&report["causes"][0]["kind"], &lost["stored"]["place"]), (&json!("missing-fence"), &json!("0x2")));
    assert_eq!(lost["fenced_by"]["place"], "0x5");
    let sentence = report["causes"][0]["sentence"].as_str().unwrap();
    let ending = " It is fenced only by the locked instruction at 0x5, which is executed for another purpose.";
    assert!(sentence.ends_with(ending), "{sentence}");
    assert_eq!(explored(flushed)["causes"][0]["lost"][0]["fenced_by"], Value::Null);
}

#[test]
fn where_caches_persist_stores_past_them_are_lost_and_no_others() {
    let on_eadr = |program: Program| outcome(program, json!({"design": "eadr"})).unwrap();
    let past = Program::new().past_caches(1, 0, "data");
    let report = on_eadr(past.clone().store(3, 1, "valid"));
    let one = &report["causes"][0];
    assert_eq!((&one["kind"], &one["lost"][0]["stored"]["place"]), (&json!("non-temporal-not-fenced"), &json!("0x1")));
    assert_eq!(one["lost"][0]["needed_before"]["place"], "0x3");
    assert_eq!((report["causes"].as_array().unwrap().len(), &report["blame"]["who"]), (1, &json!("program")));
    assert!(report["assumed"].as_str().unwrap().contains("flushes are left out"), "{report}");
    // A flush of its line is no fence, on such memory either.
    assert_eq!(on_eadr(past.clone().clflush(2, 0).store(3, 1, "valid"))["causes"][0]["kind"], one["kind"]);
    let held = on_eadr(past.sfence(2).store(3, 1, "valid"));
    assert_eq!((&held["violation_count"], &held["causes"]), (&json!(0), &json!([])), "{held}");
    let coverage = held["coverage"].as_str().unwrap();
    assert!(
        coverage.contains("just before a store, or a fence that makes something durable, or at the end"),
        "{coverage}"
    );
    assert!(coverage.contains("Exhaustive"), "{coverage}");
    // Cached stores need no flush, and are durable in their order.
    assert_eq!(on_eadr(Program::new().store(1, 0, "data").store(3, 1, "valid"))["violation_count"], 0);
    let overtaken = on_eadr(Program::new().store(1, 1, "valid").store(3, 0, "data"));
    let one = &overtaken["causes"][0];
    assert_eq!((&one["kind"], &one["begins_at"]["place"]), (&json!("order-between-lines"), &json!("0x1")));
    assert_eq!((&one["before"]["place"], &overtaken["crash_points"]), (&json!("0x3"), &json!(2)));
    let encrypted = outcome(Program::new().store(1, 0, "data"), json!({"design": "bbe"}));
    assert!(encrypted.unwrap_err().to_string().contains("explore it on 'unencrypted' or 'eadr'"));
}
