//! Crash runs through the public entry point, and assertions about their reports.

use counterpoint_engine::api::{self, Error};
use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs a crash exploration without shrinking and blame, and on one thread, because others run beside it, unless the request
/// asks for them.
pub fn crash(request: &Value) -> Value {
    let request = &suited(with(&json!({"shrink": false, "blame": false, "workers": 1}), request.clone()));
    let report = api::crash(&request.to_string(), &|_, _| {}, &Arc::default());
    let report = report.unwrap_or_else(|error| panic!("{request}: {error}"));
    serde_json::from_str(&report).unwrap()
}

/// The report of a run.
pub fn run(request: &Value) -> Value {
    let batch = json!({"runs": [suited(request.clone())]}).to_string();
    let answer =
        api::run_many(&batch, 1, &|_, _| {}, &Arc::default()).unwrap_or_else(|error| panic!("{request}: {error}"));
    serde_json::from_str::<Value>(&answer).unwrap()["results"][0].clone()
}

/// Whether the design called `name` needs modules, which only some machines have.
pub fn needs_modules(name: &str) -> bool {
    design::find(name, Variant::Hardened).is_some_and(|design| design.modules.is_some())
}

/// `request` with what its design needs, without values that do not go with modules. Without a machine it has that of the design.
pub fn suited(mut request: Value) -> Value {
    let machine = request["machine"].as_str().unwrap_or("optane").to_owned();
    if !request["design"].as_str().is_some_and(needs_modules) || ["optane", "cxl-pm"].contains(&machine.as_str()) {
        return request;
    }
    let of_banks = ["controller.policy=", "controller.counter_write=", "device.write_interruption=", "wear.", "dram."];
    let goes = |set: &Value| !of_banks.iter().any(|banks| set.as_str().is_some_and(|set| set.starts_with(banks)));
    let mut sets = request["set"].as_array().cloned().unwrap_or_default();
    sets.retain(goes);
    sets.extend(["controller.policy=continuous", "module.kind=buffered"].map(Value::from));
    request["set"] = sets.into();
    request
}

pub fn refusal(request: &Value) -> String {
    match api::crash(&request.to_string(), &|_, _| {}, &Arc::default()) {
        Err(Error::Config(error)) => error.0,
        other => panic!("{request} was not refused: {other:?}"),
    }
}

/// `under` with the values of `over`.
pub fn with(under: &Value, over: Value) -> Value {
    let mut request = under.clone();
    request.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
    request
}

pub fn count(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_else(|| panic!("{key} is {}", report[key]))
}

pub fn assert_holds(request: &Value) -> Value {
    let report = crash(request);
    assert_eq!(report["internal_errors"], json!([]), "{request}");
    assert_eq!(report["violations"], json!([]), "{request}");
    assert_eq!(count(&report, "violation_count"), 0, "{request}");
    assert!(count(&report, "crash_points") > 0, "{request}");
    assert_eq!(report["recovered"], report["crash_points"], "{request}");
    report
}

pub fn assert_fails(request: &Value, rules: &[&str]) -> Value {
    let report = crash(request);
    assert_eq!(report["internal_errors"], json!([]), "{request}");
    assert!(count(&report, "violation_count") > 0, "{request} holds");
    assert!(count(&report, "recovered") < count(&report, "crash_points"), "{request}");
    for violation in report["violations"].as_array().unwrap() {
        let rule = violation["rule"].as_str().unwrap();
        assert!(rules.contains(&rule), "{request}: {violation}");
        assert!(violation["explanation"].as_str().unwrap().len() > 40, "{request}: {violation}");
        assert!(violation["nested_event"].is_null());
    }
    report
}

/// The request that reproduces a violation, or the smallest run of one.
pub fn request_of(report: &Value, found: &Value) -> Value {
    with(&report["reproduce"], found["reproduce"].clone())
}

/// Requests the first violation again; it must occur.
pub fn assert_reproduces(request: &Value, report: &Value) {
    let first = &report["violations"][0];
    let again = request_of(report, first);
    assert_eq!(again["design"], request["design"], "{again}");
    assert_eq!(again["at_event"], first["crash_event"], "{again}");
    let repeated = crash(&again);
    assert_eq!(count(&repeated, "crash_points"), 1, "{again}");
    let same = |other: &Value| other["rule"] == first["rule"] && other["line"] == first["line"];
    assert!(repeated["violations"].as_array().unwrap().iter().any(same), "{again} shows no such violation");
}

pub fn everywhere(requests: Vec<Value>) -> Vec<(Value, Value)> {
    requests.into_par_iter().map(|request| (request.clone(), assert_holds(&request))).collect()
}

/// The readings of the built-in design `name` that differ: one if both have the same parts.
pub fn readings(name: &str) -> Vec<Variant> {
    let (_, readings) = design::with_parts(name).unwrap();
    let [(first, some), (second, others)] = readings;
    if some == others { vec![second] } else { vec![first, second] }
}

/// What sets a scheduling policy on `small`, with the memory that it schedules.
pub fn scheduled(policy: &str) -> Vec<String> {
    let of_dram = ["module.kind=dram", "dram.bank_groups=2"].iter().filter(|_| policy == "ramulator2");
    std::iter::once(format!("controller.policy={policy}")).chain(of_dram.map(ToString::to_string)).collect()
}
