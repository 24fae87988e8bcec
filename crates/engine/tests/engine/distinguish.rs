//! Two designs on the same small programs, against brute force over crash runs, pictures of crashes and runs, each by itself.

use super::common::judge::{count, crash, run, with};
use super::prove::{canonical, sequences};
use counterpoint_engine::api::{self, Error};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn distinguish(request: &Value) -> Value {
    let report = api::distinguish(&request.to_string(), &|_, _| {}, &Arc::default());
    let report = report.unwrap_or_else(|error| panic!("{request}: {error}"));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["internal_errors"], json!([]), "{request}");
    report
}

fn refusal(request: &Value) -> String {
    match api::distinguish(&request.to_string(), &|_, _| {}, &Arc::default()) {
        Err(Error::Config(error)) => error.0,
        other => panic!("{request} was not refused: {other:?}"),
    }
}

/// The difference of this kind.
fn row<'a>(report: &'a Value, differs: &str) -> Option<&'a Value> {
    report["differences"].as_array().unwrap().iter().find(|row| row["differs"] == differs)
}

/// What a line holds, in words that were there before or that one of the first eight operations stores; all others are one.
fn words(place: u8, contents: &str) -> Vec<String> {
    let bytes: Vec<u8> = (0..64).map(|at| u8::from_str_radix(&contents[2 * at..2 * at + 2], 16).unwrap()).collect();
    let before = |at: usize| place.wrapping_mul(29) ^ (at as u8).wrapping_mul(7) ^ 0x5b;
    let word = |at: usize| {
        let word = &bytes[8 * at..8 * at + 8];
        let known = (0..8).any(|byte| word[byte] != before(8 * at + byte)).then(|| {
            (0..8_u64).find(|number| word == (0xc0de_0001 + number).to_le_bytes()).map_or("?".to_owned(), |number| {
                assert_eq!(number as usize, at);
                number.to_string()
            })
        });
        known.unwrap_or_else(|| "-".to_owned())
    };
    (0..8).map(word).collect()
}

/// What boots show of the lines A and B after a power failure after each event, read off the picture of the crash.
fn states(request: &Value) -> BTreeSet<Vec<Vec<String>>> {
    let scene = api::scene(&request.to_string(), &|_, _| {}, &Arc::default()).unwrap_or_else(|why| panic!("{why}"));
    let scene: Value = serde_json::from_str(&scene).unwrap();
    assert_eq!(scene["internal_errors"], json!([]));
    assert!(count(&scene, "last") < 500, "the picture has the whole run");
    let mut now: Vec<Vec<String>> = vec![vec!["-".to_owned(); 8]; 2];
    let mut all = BTreeSet::from([now.clone()]);
    for point in scene["points"].as_array().unwrap() {
        for change in point["lines"].as_array().into_iter().flatten() {
            let place = match scene["lines"][change[0].as_u64().unwrap() as usize]["address"].as_u64() {
                Some(0) => 0,
                Some(0x40) => 1,
                _ => continue,
            };
            let contents = scene["contents"][change[7].as_u64().unwrap() as usize].as_str().unwrap();
            now[place] = words(place as u8, contents);
        }
        all.insert(now.clone());
    }
    all
}

/// The lines of each kind that a run writes.
fn written(request: &Value) -> Vec<u64> {
    let report = run(request);
    let nvm = &report["nvm"];
    assert!(nvm.is_object(), "{report}");
    let kinds = ["data_writes", "log_writes", "counter_writes", "mac_writes", "tree_writes", "table_writes"];
    kinds.iter().map(|kind| count(nvm, kind)).collect()
}

#[test]
fn differences_are_those_of_crash_runs_pictures_and_runs_by_brute_force() {
    let operations = ["store A", "store B", "clwb A", "clwb B", "sfence"];
    let programs = (1..=3).flat_map(|length| sequences(&operations, length));
    let programs: Vec<Vec<String>> =
        programs.filter(|program| !program.is_empty() && canonical(program) == *program).collect();
    let stores = |program: &&Vec<String>| program.iter().any(|step| step.starts_with("store"));
    let programs: Vec<&Vec<String>> = programs.iter().filter(stores).collect();
    for (design, other) in
        [("write-back", "secpm"), ("write-through", "fca"), ("unencrypted", "eadr"), ("secpm", "secpm-workshop")]
    {
        let asked = |design: &str, program: &[String]| json!({"design": design, "variant": "published", "machine": "small", "workload": program.join("; ")});
        let differs = |program: &&Vec<String>| {
            let [one, two] = [design, other].map(|design| {
                let request = asked(design, program);
                (count(&crash(&request), "violation_count") > 0, states(&request), written(&request))
            });
            [one.0 && !two.0, two.0 && !one.0, one.1 != two.1, one.2 != two.2]
        };
        let found: Vec<[bool; 4]> = programs.par_iter().map(differs).collect();
        let bounds = json!({"operations": 3, "places": ["A", "AB"], "steps": ["store", "clwb", "sfence"], "timings": ["machine"]});
        let both = json!({"design": design, "other": other, "variant": "published"});
        let report = distinguish(&with(&both, bounds));
        assert_eq!(count(&report, "programs"), programs.len() as u64);
        for (place, kind) in ["first-fails", "second-fails", "states", "writes"].into_iter().enumerate() {
            let on: Vec<usize> = (0..programs.len()).filter(|number| found[*number][place]).collect();
            let row = row(&report, kind);
            assert_eq!(row.map_or(0, |row| count(row, "programs")), on.len() as u64, "{design} {other} {kind}");
            let least = on.iter().map(|number| programs[*number].len() as u64).min();
            assert_eq!(row.map(|row| count(row, "operations")), least, "{design} {other} {kind}");
            if let Some(row) = row {
                let program = row["program"].as_str().unwrap();
                assert!(
                    on.iter().any(|number| programs[*number].join("; ") == program),
                    "{design} {other} {kind}: {program}"
                );
            }
        }
        assert_eq!(report["differ"], json!(found.iter().flatten().any(|differ| *differ)));
    }
}

#[test]
fn exchange_of_the_designs_exchanges_what_is_said_of_them() {
    let swapped = BTreeMap::from([("first-fails", "second-fails"), ("second-fails", "first-fails")]);
    for (design, other) in
        [("write-back", "secpm"), ("sca", "fca"), ("hw-log", "easy-pm"), ("eadr-cme", "write-through")]
    {
        let asked = json!({"variant": "published", "operations": 3, "lines": 1});
        let one = distinguish(&with(&asked, json!({"design": design, "other": other})));
        let two = distinguish(&with(&asked, json!({"design": other, "other": design})));
        assert_eq!((&one["design"], &one["other"]), (&two["other"], &two["design"]));
        assert_eq!((&one["programs"], &one["differ"]), (&two["programs"], &two["differ"]));
        let rows = one["differences"].as_array().unwrap();
        assert_eq!(rows.len(), two["differences"].as_array().unwrap().len());
        assert!(!rows.is_empty(), "{design} {other}");
        for here in rows {
            let kind = here["differs"].as_str().unwrap();
            let there = row(&two, swapped.get(kind).unwrap_or(&kind)).unwrap();
            for key in ["programs", "program", "operations", "timing"] {
                assert_eq!(here[key], there[key], "{design} {other} {kind} {key}");
            }
            assert_eq!(
                (&here["first"], &here["second"]),
                (&there["second"], &there["first"]),
                "{design} {other} {kind}"
            );
        }
    }
}

#[test]
fn design_does_not_differ_from_itself_and_threads_change_nothing() {
    let asked = json!({"design": "secpm", "other": "secpm", "operations": 2, "lines": 2});
    let same = distinguish(&asked);
    assert_eq!((&same["differ"], &same["differences"]), (&json!(false), &json!([])));
    let strip = |mut report: Value| {
        report.as_object_mut().unwrap().remove("host");
        report
    };
    let readings = with(&asked, json!({"other_variant": "published", "workers": 1}));
    let one = strip(distinguish(&readings));
    assert_eq!(one["differ"], json!(true));
    assert_eq!(one, strip(distinguish(&with(&readings, json!({"workers": 2})))));
}

#[test]
fn what_a_row_says_is_shown_by_the_runs_that_it_names() {
    let report = distinguish(&json!({"design": "write-back", "other": "unencrypted", "operations": 3, "lines": 1}));
    let row = row(&report, "first-fails").unwrap();
    let (fails, holds) = (crash(&row["first"]["reproduce"]), crash(&row["second"]["reproduce"]));
    assert_eq!(fails["violations"][0]["rule"], row["first"]["rule"]);
    assert_eq!(count(&fails["violations"][0], "crash_event"), count(&row["first"], "crash_event"));
    assert_eq!((&holds["violation_count"], &row["second"]["holds"]), (&json!(0), &json!(true)));
}

#[test]
fn memory_that_is_refused_is_a_state() {
    let asked = json!({"design": "sca-tree", "other": "sca-tree", "variant": "published", "other_variant": "hardened",
        "operations": 1, "lines": 1, "timings": ["machine"]});
    let report = distinguish(&asked);
    let row = row(&report, "states").unwrap();
    let only = row["first"]["only"].as_array().unwrap();
    assert!(only.iter().any(|one| one["state"] == "refused"), "{row}");
    assert_eq!(row["first"]["rule"], "false_alarm");
}

#[test]
fn designs_of_different_forms_are_compared_on_what_stands_for_what() {
    let report = distinguish(
        &json!({"design": "secpm", "other": "hw-log", "operations": 4, "lines": 1, "timings": ["machine"]}),
    );
    assert!(!report["steps"].as_array().unwrap().contains(&json!("sfence")));
    let stand_ins = report["design"]["stand_ins"].as_array().unwrap();
    assert!(stand_ins.contains(&json!({"operation": "flush-data", "becomes": "clwb"})));
    assert!(stand_ins.contains(&json!({"operation": "tx-begin", "becomes": null})));
    assert_eq!(report["other"]["stand_ins"], json!([]));
    assert!(report["coverage"].as_str().unwrap().contains("Verdicts are about what each design promises"));
    // An annotated program ends a transaction only when the counters are written back, too.
    let asked = json!({"design": "sca", "other": "hw-log", "operations": 5, "lines": 1, "timings": ["machine"]});
    let report = distinguish(&asked);
    assert!(report["steps"].as_array().unwrap().contains(&json!("counter-writeback")));
    assert!(row(&report, "first-fails").is_none(), "{}", report["differences"]);
}

#[test]
fn what_cannot_be_compared_is_refused_in_a_sentence() {
    for (more, told) in [
        (json!({"other": "ideal"}), "design 'ideal' cannot be crash-tested"),
        (json!({"other": "sepcm"}), "did you mean 'secpm'?"),
        (
            json!({"other": "hw-log", "steps": ["sfence"]}),
            "is in no program that designs 'secpm' and 'hw-log' both run",
        ),
        (json!({"operations": 0}), "operations: 0 is not from 1 to 12"),
        (json!({"design": "xts", "other": "unencrypted", "timings": ["small-counters"]}), "would change nothing"),
        (json!({"fault": "ready-bit"}), "fault: a comparison over small programs does not take it"),
    ] {
        let request = with(&json!({"design": "secpm", "other": "write-back"}), more);
        let refused = refusal(&request);
        assert!(refused.contains(told), "{request}: {refused}");
    }
}
