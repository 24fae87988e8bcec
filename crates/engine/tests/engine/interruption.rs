//! Explorations that the user interrupts, and explorations that have nothing to judge.

use counterpoint_engine::api;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn request(design: &str, more: &Value) -> String {
    let mut request = json!({
        "design": design, "workload": "btree", "machine": "small", "footprint": "64KiB", "transactions": 40,
        "tx_size": 64,
    });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request.to_string()
}

/// The answer if the user interrupts after `transactions` transactions have ended.
fn interrupted_after(transactions: u64, request: &str) -> Result<Value, api::Error> {
    let cancel = Arc::new(AtomicBool::new(transactions == 0));
    let answer = api::crash(
        request,
        &|done, _| {
            if done >= transactions {
                cancel.store(true, Ordering::Relaxed);
            }
        },
        &cancel,
    )?;
    Ok(serde_json::from_str(&answer).unwrap())
}

fn whole(request: &str) -> Value {
    serde_json::from_str(&api::crash(request, &|_, _| {}, &Arc::default()).unwrap()).unwrap()
}

/// Every way to explore, with a design that it suits.
fn explorations() -> [(&'static str, Value); 6] {
    [
        ("secpm", json!({})),
        ("write-back", json!({})),
        ("secpm", json!({"points": 500, "transactions": 400})),
        ("secpm", json!({"explore": "schedules", "schedules": 3})),
        ("secpm", json!({"explore": "legal"})),
        ("bbe", json!({"nested": true, "transactions": 6})),
    ]
}

#[test]
fn what_was_judged_before_an_interruption_is_kept() {
    for (design, more) in explorations() {
        let request = request(design, &more);
        let (part, all) = (interrupted_after(1, &request).unwrap(), whole(&request));
        let points = |report: &Value| report["crash_points"].as_u64().unwrap();
        assert_eq!((&part["interrupted"], &all["interrupted"]), (&json!(true), &json!(false)), "{design} {more}");
        assert!(points(&part) > 0 && points(&part) < points(&all), "{design} {more}: {part}");
        assert!(part["recovered"].as_u64() <= part["crash_points"].as_u64(), "{design} {more}");
        assert!(part["coverage"].as_str().unwrap().contains("interrupted"), "{design} {more}: {}", part["coverage"]);
        assert_eq!(part["internal_errors"], json!([]), "{design} {more}");
        assert_eq!(part["violations"] == json!([]), design != "write-back", "{design} {more}");
        assert_eq!(part["shrunk"], json!([]), "what follows from a verdict is not begun");
    }
}

#[test]
fn what_is_interrupted_in_a_later_schedule_keeps_the_earlier_ones() {
    let request = request("secpm", &json!({"explore": "schedules", "schedules": 50, "transactions": 5}));
    let one = whole(&self::request("secpm", &json!({"transactions": 5})));
    // The progress bar shows the transactions of the first schedule, so the last of them is its end.
    let part = interrupted_after(5, &request).unwrap();
    assert!(part["interrupted"] == true && part["crash_points"].as_u64() >= one["crash_points"].as_u64(), "{part}");
    assert_eq!((&part["holds"], &one["holds"]), (&json!(true), &json!(true)));
}

#[test]
fn search_for_the_smallest_run_keeps_the_verdict_when_it_is_interrupted() {
    let request = request("write-back", &json!({}));
    // More transactions than the exploration itself has.
    let part = interrupted_after(41, &request).unwrap();
    let all = whole(&request);
    assert_eq!(part["interrupted"], true);
    for key in ["holds", "crash_points", "recovered", "violations", "coverage"] {
        assert_eq!(part[key], all[key], "{key}");
    }
    assert_eq!(all["holds"], false);
    assert_eq!((&part["blame"], &all["blame"]["who"]), (&Value::Null, &json!("design")));
}

#[test]
fn nothing_is_left_of_what_is_interrupted_before_the_first_crash() {
    for (design, more) in explorations() {
        let outcome = interrupted_after(0, &request(design, &more));
        assert!(matches!(outcome, Err(api::Error::Cancelled)), "{design} {more}: {outcome:?}");
    }
}

fn refused(design: &str, more: &Value) -> String {
    api::crash(&request(design, more), &|_, _| {}, &Arc::default()).unwrap_err().to_string()
}

#[test]
fn run_without_a_crash_point_has_no_verdict() {
    let events = whole(&request("secpm", &json!({"transactions": 2})))["crash_points"].as_u64().unwrap();
    for design in ["secpm", "write-back", "unencrypted", "bbe"] {
        let sentence = refused(design, &json!({"transactions": 2, "at_event": 999_999_999}));
        assert!(sentence.starts_with("at_event: 999999999 is not from 1 to "), "{sentence}");
    }
    let sentence = refused("secpm", &json!({"transactions": 2, "at_event": events + 1}));
    assert_eq!(
        sentence,
        format!("at_event: {} is not from 1 to {events}, which is the last event of this run", events + 1)
    );
    let last = whole(&request("secpm", &json!({"transactions": 2, "at_event": events})));
    assert_eq!((&last["crash_points"], &last["recovered"]), (&json!(1), &json!(1)));
    // Also with a few schedules.
    let several = json!({"transactions": 2, "at_event": 999_999_999, "explore": "schedules", "schedules": 2});
    assert!(refused("secpm", &several).starts_with("at_event: 999999999 is not from 1 to "));
}

#[test]
fn crash_before_the_first_store_judges_nothing() {
    let sentence = refused("secpm", &json!({"transactions": 2, "at_event": 1}));
    assert!(sentence.starts_with("at_event: 1 comes before the program stores anything"), "{sentence}");
    let first: u64 =
        sentence.split("first store is at event ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(refused("secpm", &json!({"transactions": 2, "at_event": first - 1})).contains("comes before"));
    assert_eq!(whole(&request("secpm", &json!({"transactions": 2, "at_event": first})))["crash_points"], 1);
}

#[test]
fn legal_state_needs_a_fence() {
    let legal = |event: u64| json!({"transactions": 2, "explore": "legal", "at_event": event});
    let sentence = refused("secpm", &legal(999_999_999));
    let last: u64 = sentence.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(
        sentence,
        format!(
            "explore legal: event 999999999 is not at a fence that follows a store; the last fence is at event {last}"
        )
    );
    assert_eq!(whole(&request("secpm", &legal(last)))["crash_points"], 1);
    assert!(refused("secpm", &legal(last - 1)).contains("the nearest fences are at events "));
}

#[test]
fn verdict_says_whether_secrets_were_looked_for() {
    for (design, secret) in [("secpm", true), ("unencrypted", false), ("eadr", false), ("bbe", true)] {
        assert_eq!(whole(&request(design, &json!({"transactions": 1})))["secret"], secret, "{design}");
    }
}
