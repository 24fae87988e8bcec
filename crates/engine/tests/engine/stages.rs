//! Tables 1 and 2 of secpm, from real designs: recoverability by the stage of the transaction in flight.

use counterpoint_engine::api;
use serde_json::{Value, json};
use std::sync::Arc;

fn crash(design: &str, workload: &str, more: &Value) -> Result<Value, api::Error> {
    let mut request = json!({
        "design": design, "workload": workload, "machine": "small", "footprint": "64KiB", "transactions": 1,
        "stages": true, "shrink": false, "blame": false,
    });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = api::crash(&request.to_string(), &|_, _| {}, &Arc::default())?;
    Ok(serde_json::from_str(&answer).unwrap())
}

/// A row of the table: correct, wrong (while it is being written) or unknown; and whether the program recovers from
/// every crash.
fn row(stage: &Value) -> [&'static str; 5] {
    let cell = |part: &Value, key: &str| match (&part["pending"], part[key].as_u64().unwrap()) {
        (pending, _) if pending.as_u64() > Some(0) => "wrong",
        (_, 0) => "correct",
        _ => "unknown",
    };
    let (log, data) = (&stage["log"], &stage["data"]);
    assert!(stage["crash_points"].as_u64() > Some(0), "{stage}");
    [
        cell(log, "content_lost"),
        cell(log, "counter_lost"),
        cell(data, "content_lost"),
        cell(data, "counter_lost"),
        if stage["unrecoverable"] == 0 { "yes" } else { "no" },
    ]
}

fn table(report: &Value) -> Vec<[&'static str; 5]> {
    let stages = report["stages"].as_array().unwrap();
    assert_eq!(
        stages.iter().map(|stage| stage["stage"].as_str().unwrap()).collect::<Vec<_>>(),
        ["prepare", "mutate", "commit"]
    );
    stages.iter().map(row).collect()
}

#[test]
fn tables_of_secpm_come_out() {
    let expected = |mutate, commit| {
        [
            ["wrong", "wrong", "correct", "correct", "yes"],
            ["correct", mutate, "wrong", "wrong", if mutate == "correct" { "yes" } else { "no" }],
            ["correct", commit, "correct", commit, if commit == "correct" { "yes" } else { "no" }],
        ]
    };
    // The first insert of this seed splits no leaf. A split is larger than the counter cache, and evicts what is lost.
    let whole_lines = json!({"set": ["program.log_granularity=line"], "seed": 2});
    for workload in ["btree", "array"] {
        let table_1 = crash("write-back", workload, &whole_lines).unwrap();
        assert_eq!(table(&table_1), expected("unknown", "unknown"), "{}", table_1["stages"]);
        let table_2 = crash("secpm", workload, &whole_lines).unwrap();
        assert_eq!(table(&table_2), expected("correct", "correct"), "{}", table_2["stages"]);
    }
}

#[test]
fn every_crash_point_within_a_transaction_is_in_one_stage() {
    let report = crash("write-back", "hash", &json!({"transactions": 5})).unwrap();
    let sum =
        |key: &str| -> u64 { report["stages"].as_array().unwrap().iter().map(|s| s[key].as_u64().unwrap()).sum() };
    let (points, recovered) = (report["crash_points"].as_u64().unwrap(), report["recovered"].as_u64().unwrap());
    assert!(sum("crash_points") <= points && sum("crash_points") > points / 2, "{report}");
    assert!(sum("failed") > 0 && sum("failed") <= points - recovered, "{report}");
}

#[test]
fn what_is_asked_for_changes_nothing_else() {
    let (with, without) = (json!({"transactions": 3}), json!({"transactions": 3, "stages": false}));
    let mut reports = [with, without].map(|more| crash("write-back", "queue", &more).unwrap());
    assert_eq!(reports[1]["stages"], json!([]));
    for report in &mut reports {
        report.as_object_mut().unwrap().retain(|key, _| !["stages", "request", "host"].contains(&key.as_str()));
    }
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn memory_without_counters_has_none_to_lose_and_lines_in_persistent_caches_are_not_looked_at() {
    let plain = crash("unencrypted", "array", &json!({})).unwrap();
    for stage in plain["stages"].as_array().unwrap() {
        assert_eq!((&stage["failed"], &stage["log"]["counter_lost"]), (&json!(0), &Value::Null));
        assert_eq!((&stage["log"]["content_lost"], &stage["data"]["content_lost"]), (&json!(0), &json!(0)));
        assert!(stage["log"]["lines"].as_u64() > Some(0) && stage["data"]["lines"].as_u64() > Some(0));
    }
    let persistent = crash("sepencr", "array", &json!({})).unwrap();
    let stages = persistent["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| stage["log"].is_null() && stage["failed"] == 0), "{stages:?}");
    assert!(stages.iter().any(|stage| stage["crash_points"].as_u64() > Some(0)));
}

#[test]
fn programs_without_a_log_of_their_own_have_no_stages() {
    for (design, workload) in [("secpm", "linked-list"), ("easy-pm", "array")] {
        assert_eq!(crash(design, workload, &json!({})).unwrap()["stages"], json!([]), "{design} {workload}");
    }
}

#[test]
fn sample_or_other_explorations_are_refused() {
    for more in
        [json!({"points": 10}), json!({"at_event": 3}), json!({"explore": "legal"}), json!({"explore": "schedules"})]
    {
        let error = crash("secpm", "array", &more).unwrap_err().to_string();
        assert!(error.starts_with("stages: only an exploration of every event"), "{error}");
    }
}
