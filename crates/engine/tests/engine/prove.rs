//! Proofs over all small programs, against an enumeration that knows neither symmetry nor pruning, and against what is known
//! of designs and of their faults.

use super::common::judge::{count, crash, suited, with};
use counterpoint_engine::api::{self, Error};
use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn prove(request: &Value) -> Value {
    let suited = suited(with(&json!({"machine": "small"}), request.clone()));
    let report = api::prove(&suited.to_string(), &|_, _| {}, &Arc::default());
    let report = report.unwrap_or_else(|error| panic!("{request}: {error}"));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["internal_errors"], json!([]), "{request}");
    report
}

pub(super) fn refusal(request: &Value) -> String {
    match api::prove(&request.to_string(), &|_, _| {}, &Arc::default()) {
        Err(Error::Config(error)) => error.0,
        other => panic!("{request} was not refused: {other:?}"),
    }
}

/// Every sequence of exactly so many of these operations.
pub(super) fn sequences(operations: &[&str], length: usize) -> Vec<Vec<String>> {
    (0..length).fold(vec![Vec::new()], |shorter, _| {
        let longer = |before: &Vec<String>| {
            operations.iter().map(|next| [&before[..], &[(*next).to_owned()]].concat()).collect::<Vec<_>>()
        };
        shorter.iter().flat_map(longer).collect()
    })
}

/// The program of a group that are one in a proof: nothing before the first store, one fence at a time, line A before line B.
pub(super) fn canonical(program: &[String]) -> Vec<String> {
    let mut steps: Vec<String> = program.iter().skip_while(|step| !step.starts_with("store")).cloned().collect();
    steps.dedup_by(|next, last| next == "sfence" && last == "sfence");
    let swapped = steps.iter().find_map(|step| step.split_once(' ')).is_some_and(|(_, line)| line == "B");
    let rename = |step: String| match step.split_once(' ') {
        Some((name, "A")) if swapped => format!("{name} B"),
        Some((name, "B")) if swapped => format!("{name} A"),
        _ => step,
    };
    steps.into_iter().map(rename).collect()
}

#[test]
fn proof_finds_the_programs_that_fail_without_symmetry_and_pruning() {
    let operations = ["store A", "store B", "clwb A", "clwb B", "sfence"];
    for (design, fault) in [("write-back", None), ("secpm", Some("staging-register")), ("secpm", None)] {
        let asked = json!({"design": design, "machine": "small", "fault": fault});
        let programs: Vec<Vec<String>> = (1..=4).flat_map(|length| sequences(&operations, length)).collect();
        // Without a store there is no verdict.
        let stores = |program: &Vec<String>| program.iter().any(|step| step.starts_with("store"));
        let fails = |program: &Vec<String>| {
            stores(program)
                && count(&crash(&with(&asked, json!({"workload": program.join("; ")}))), "violation_count") > 0
        };
        let verdicts: BTreeMap<&Vec<String>, bool> =
            programs.par_iter().map(|program| (program, fails(program))).collect();
        let mut failing: BTreeMap<usize, BTreeSet<Vec<String>>> = BTreeMap::new();
        for (program, fails) in &verdicts {
            let one = canonical(program);
            assert_eq!(one.is_empty() || !verdicts[&one], !fails, "{design} {fault:?}: {program:?} and {one:?}");
            if *fails {
                failing.entry(one.len()).or_default().insert(one);
            }
        }
        let bounds = json!({"operations": 4, "places": ["A", "AB"], "steps": ["store", "clwb", "sfence"]});
        let report = prove(&with(&with(&asked, bounds), json!({"timings": ["machine"]})));
        let found: Vec<u64> =
            report["lengths"].as_array().unwrap().iter().map(|length| count(length, "failing")).collect();
        let expected: Vec<u64> =
            (1..=4).map(|length| failing.get(&length).map_or(0, |programs| programs.len() as u64)).collect();
        assert_eq!(found, expected, "{design} {fault:?}");
        assert_eq!(report["holds"], json!(expected.iter().sum::<u64>() == 0));
        assert_eq!(expected.iter().sum::<u64>() > 0, design == "write-back" || fault.is_some(), "{expected:?}");
    }
}

/// What verdicts.toml says of a reading.
fn verdict(name: &str, variant: Variant) -> String {
    let table: toml::Table = toml::from_str(include_str!("../verdicts.toml")).unwrap();
    table[name][variant.name()].as_str().unwrap().to_owned()
}

#[test]
fn readings_that_hold_do_so_for_every_program_of_two_operations() {
    let readings =
        design::names().flat_map(|name| [Variant::Published, Variant::Hardened].map(|variant| (name, variant)));
    let held: Vec<_> = readings.filter(|(name, variant)| verdict(name, *variant) == "holds").collect();
    assert!(held.len() > 40);
    held.into_par_iter().for_each(|(name, variant)| {
        let asked = json!({"design": name, "variant": variant.name(), "workers": 1, "operations": 2, "lines": 1});
        let report = prove(&asked);
        assert_eq!(report["holds"], json!(true), "{name} {}: {}", variant.name(), report["counterexamples"]);
    });
}

#[test]
fn smallest_program_that_fails_is_shown_again_by_the_crash_run_that_it_names() {
    for (design, fault) in [("write-back", None), ("sca", Some("ready-bit")), ("hw-log", Some("undo-hardware-log"))] {
        let report = prove(&json!({"design": design, "fault": fault, "operations": 4, "lines": 1}));
        let found = report["counterexamples"].as_array().unwrap();
        assert!(!found.is_empty(), "{design} {fault:?}");
        for one in found {
            let again = crash(&one["reproduce"]);
            let same = |other: &Value| other["rule"] == one["rule"] && other["crash_event"] == one["crash_event"];
            assert!(again["violations"].as_array().unwrap().iter().any(same), "{one}");
        }
    }
}

#[test]
fn programs_by_their_beginning_are_all_programs_once() {
    let asked = json!({"design": "secpm", "variant": "published", "lines": 1, "steps": ["store", "nt-store", "clwb", "sfence"],
        "timings": ["small-counters"], "all_failing": true});
    let programs = |report: &Value| {
        let listed = report["failures"].as_array().unwrap().iter();
        listed.map(|one| one["program"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let whole = prove(&with(&asked, json!({"operations": 4})));
    assert_eq!(programs(&whole).len() as u64, count(&whole, "failing"));
    let mut failing = programs(&prove(&with(&asked, json!({"operations": 1}))));
    let mut tried = count(&prove(&with(&asked, json!({"operations": 1}))), "programs");
    for beginning in sequences(&["store A", "nt-store A", "clwb A", "sfence"], 2) {
        let part = with(&asked, json!({"operations": 4, "beginning": beginning.join("; ")}));
        if ["store A", "nt-store A"].contains(&beginning[0].as_str()) {
            let report = prove(&part);
            failing.extend(programs(&report));
            tried += count(&report, "programs");
        } else {
            assert!(refusal(&part).contains("none of these programs begins with"), "{part}");
        }
    }
    assert_eq!(tried, count(&whole, "programs"));
    let sorted = |mut programs: Vec<String>| {
        programs.sort();
        programs
    };
    assert_eq!(sorted(failing), sorted(programs(&whole)));
}

#[test]
fn programs_for_designs_of_another_form_keep_to_its_contract() {
    let asked = json!({"design": "unencrypted", "operations": 3, "lines": 1, "forms": ["annotated"], "timings": ["machine"],
        "steps": ["store", "clwb", "sfence", "counter-writeback"]});
    let report = prove(&asked);
    assert_eq!(report["forms"], json!(["plain", "annotated"]));
    let annotated = prove(&with(&asked, json!({"design": "sca", "forms": []})));
    assert_eq!(report["lengths"][2]["programs"], annotated["lengths"][2]["programs"]);
    let plain = prove(&with(&asked, json!({"forms": [], "steps": ["store", "clwb", "sfence"]})));
    assert!(count(&plain["lengths"][2], "programs") < count(&report["lengths"][2], "programs"));
}

#[test]
fn number_of_threads_changes_nothing() {
    let asked = json!({"design": "write-back", "operations": 3, "lines": 1, "workers": 1});
    let strip = |mut report: Value| {
        report.as_object_mut().unwrap().remove("host");
        report
    };
    assert_eq!(strip(prove(&asked)), strip(prove(&with(&asked, json!({"workers": 2})))));
}

#[test]
fn what_cannot_be_proven_is_refused_in_a_sentence() {
    for (more, told) in [
        (json!({"design": "ideal"}), "cannot be crash-tested"),
        (json!({"operations": 0}), "operations: 0 is not from 1 to 12"),
        (json!({"operations": 12}), "there are more than 100000000 programs"),
        (json!({"lines": 9}), "lines: 9 is not from 1 to 4"),
        (json!({"steps": ["stroe"]}), "did you mean 'store'?"),
        (json!({"steps": ["tx-begin"]}), "is in no program that design 'secpm' runs"),
        (json!({"places": ["AX"]}), "names a line that is none"),
        (json!({"places": ["AA"]}), "names a line twice"),
        (json!({"places": [""]}), "names no line"),
        (json!({"timings": ["slow"]}), "timings 'slow' does not exist"),
        (json!({"design": "xts", "timings": ["small-counters"]}), "would change nothing"),
        (json!({"fault": "ready-bit"}), "does not have that mechanism"),
        (json!({"forms": ["plian"]}), "did you mean 'plain'?"),
        (json!({"forms": ["hardware-logged"], "steps": ["sfence"]}), "run (they have: "),
        (json!({"beginning": "queue"}), "beginning: 'queue' is no program of one core"),
        (json!({"beginning": "store A; store A; store A; store A"}), "programs have at most 3"),
        (json!({"beginning": "wait"}), "these programs do not have 'wait'"),
        (json!({"beginning": "store B"}), "none of these programs begins with 'store B'"),
        (json!({"design": "hw-log", "operations": 1}), "no program of up to 1 of these operations"),
        (json!({"points": 5}), "points: a proof over small programs does not take it"),
    ] {
        let request = with(&json!({"design": "secpm"}), more);
        let refused = refusal(&request);
        assert!(refused.contains(told), "{request}: {refused}");
    }
    for (program, told) in [
        ("store", "store is about a line"),
        ("store A; sfence A", "sfence is about no line"),
        ("store G", "'G' is no line"),
        ("store A B", "is too much"),
        ("store A; strore B", "did you mean 'store'?"),
    ] {
        let request = json!({"design": "secpm", "workload": program, "machine": "small"});
        let refused = super::common::judge::refusal(&request);
        assert!(refused.contains(told), "{program}: {refused}");
    }
}
