//! Every legal state at every fence, through the public entry point: correct designs hold whatever the caches and
//! queues did, and what one schedule shows to be broken is broken here, too.

use super::common::judge::{assert_fails, assert_holds, assert_reproduces, count, crash, refusal, with};
use counterpoint_engine::workload::WORKLOADS;
use rayon::prelude::*;
use serde_json::{Value, json};

const SURVIVORS: [&str; 8] =
    ["unencrypted", "adr", "secpm", "secpm-no-cwr", "fca", "sca", "co-located", "co-located-cc"];

fn request(design: &str, variant: &str, workload: &str) -> Value {
    json!({
        "design": design, "variant": variant, "workload": workload, "machine": "small", "transactions": 3, "tx_size": 128,
        "explore": "legal",
    })
}

fn everywhere(designs: &[&str], variant: &str) -> Vec<Value> {
    let of_design = |design: &&str| -> Vec<Value> {
        WORKLOADS.iter().map(|workload| request(design, variant, workload.name)).collect()
    };
    designs.iter().flat_map(of_design).collect()
}

/// Checks that a design is broken. Few states at each fence are enough for that.
fn assert_broken(request: &Value) {
    let report = crash(&with(request, json!({"states": 100})));
    assert_eq!(report["internal_errors"], json!([]), "{request}");
    assert!(count(&report, "violation_count") > 0, "{request} holds");
    assert!(count(&report, "recovered") < count(&report, "crash_points"), "{request}");
}

#[test]
fn promises_hold_in_every_legal_state() {
    everywhere(&SURVIVORS, "hardened").par_iter().for_each(|request| {
        // Its log entries are so long that torn ones have more states than can be judged.
        let too_many = request["workload"] == "bplus-tree";
        let report = assert_holds(&with(request, json!({"states": if too_many { 2_000 } else { 50_000 }})));
        let coverage = report["coverage"].as_str().unwrap();
        let told = if too_many { " bounded 1: " } else { "Exhaustive: no legal state is left out." };
        assert!(coverage.contains(told), "{request}: {coverage}");
    });
}

#[test]
fn counters_that_stay_behind_break_every_workload() {
    let requests = ["hardened", "published"].map(|variant| everywhere(&["write-back"], variant));
    requests.concat().par_iter().for_each(assert_broken);
}

#[test]
fn published_readings_and_hazards_fall_where_hardened_ones_hold() {
    let mut requests: Vec<Value> = everywhere(&["fca", "sca"], "published");
    // Its lines in flight are not marked, and may be lost.
    requests.retain(|request| request["design"] != "sca" || request["workload"] != "linked-list");
    // Two hazards that no reading has.
    let by_circuit = json!({"set": ["controller.aes_units=2"], "fault": "append-order"});
    let at_once = json!({"fault": "writeback-order"});
    for (designs, fault) in [(&["secpm", "secpm-no-cwr"][..], by_circuit), (&["sca"], at_once)] {
        requests.extend(everywhere(designs, "hardened").iter().map(|request| with(request, fault.clone())));
    }
    requests.extend(["write-through", "secpm-workshop"].map(|design| request(design, "hardened", "linked-list")));
    requests.par_iter().for_each(assert_broken);
}

#[test]
fn what_a_schedule_shows_broken_is_broken_among_all_legal_states() {
    let designs = [
        "write-back",
        "write-through",
        "secpm-workshop",
        "secpm",
        "secpm-no-cwr",
        "fca",
        "sca",
        "co-located",
        "unencrypted",
    ];
    let requests = ["hardened", "published"].map(|variant| everywhere(&designs, variant)).concat();
    let shown = requests.par_iter().filter(|request| {
        let one = with(request, json!({"explore": "schedule", "transactions": 30}));
        let report = crash(&one);
        let seen = report["violations"]
            .as_array()
            .unwrap()
            .iter()
            .any(|violation| ["line", "atomicity", "durability"].contains(&violation["rule"].as_str().unwrap()));
        if seen {
            assert_broken(&with(request, json!({"transactions": 30})));
        }
        seen
    });
    assert!(shown.count() > 20, "schedules show little");
}

#[test]
fn same_request_gives_the_same_report() {
    for (design, variant) in [("secpm", "hardened"), ("sca", "published"), ("write-back", "hardened")] {
        let request = with(&request(design, variant, "btree"), json!({"states": 50}));
        let [first, second] = [(); 2].map(|()| {
            let mut report = crash(&request);
            report.as_object_mut().unwrap().remove("host");
            report
        });
        assert_eq!(first, second);
        assert!(!first["coverage"].as_str().unwrap().is_empty());
    }
}

#[test]
fn what_cannot_be_explored_is_refused_in_one_sentence() {
    let base = request("secpm", "hardened", "array");
    let cases = [
        (json!({"design": "sepencr", "states": 5}), "explored by schedules"),
        (json!({"cores": 2, "states": 5}), "explored by schedules"),
        (json!({"schedules": 5}), "only explore 'schedules'"),
        (json!({"schedule": 5}), "only explore 'schedule'"),
        (json!({"explore": "schedules", "schedules": 0}), "schedules: 0"),
        (json!({"nested": true}), "explore 'schedules' with nested"),
        (json!({"points": 5}), "every fence is a point"),
        (json!({"states": 0}), "states: 0"),
        (json!({"explore": "lawful"}), "schedule, schedules or legal"),
        (json!({"explore": "schedule", "states": 5}), "only explore 'legal'"),
    ];
    for (change, told) in cases {
        let sentence = refusal(&with(&base, change.clone()));
        assert!(sentence.contains(told), "{change}: {sentence}");
        assert!(!sentence.contains('\n'), "{change}: {sentence}");
    }
}

#[test]
fn where_fences_do_not_tell_all_schedules_are_explored() {
    let base = request("bbe", "hardened", "queue");
    for change in [json!({}), json!({"design": "easy-pm"}), json!({"design": "secpm", "cores": 2})] {
        let report = assert_holds(&with(&base, change.clone()));
        let coverage = report["coverage"].as_str().unwrap();
        assert!(coverage.starts_with("Sampled: 16 schedules"), "{change}: {coverage}");
    }
}

#[test]
fn other_schedules_reach_other_states_and_one_of_them_is_shown_again() {
    let base = json!({
        "design": "bbe", "variant": "published", "workload": "btree", "machine": "small", "tx_size": 128, "transactions": 8,
        "shrink": false, "blame": false,
    });
    let one = crash(&base);
    let several = crash(&with(&base, json!({"explore": "schedules", "schedules": 4})));
    assert!(count(&several, "distinct_states") > count(&one, "distinct_states") + 100);
    assert_eq!(several["violations"][0], one["violations"][0], "the first schedule is the machine's own");
    let third = with(&base, json!({"schedule": 3}));
    let report = crash(&third);
    let first = &report["violations"][0];
    assert_eq!(first["schedule"], 3);
    assert_eq!(first["reproduce"]["schedule"], 3);
    assert_eq!(report["crash_points"], crash(&third)["crash_points"], "the same disturbances every time");
    assert_ne!(report["crash_points"], one["crash_points"]);
}

#[test]
fn disturbed_run_is_as_long_as_its_program_and_not_as_its_computation() {
    let crashes = |schedule: u64, think: u64| {
        let request = json!({
            "design": "secpm", "workload": "btree", "transactions": 2, "footprint": 65536, "schedule": schedule,
            "set": [format!("program.think_instructions={think}")], "shrink": false, "blame": false,
        });
        count(&crash(&request), "crash_points")
    };
    let undisturbed = crashes(0, 1000);
    for schedule in [1, 5] {
        let disturbed = crashes(schedule, 1000);
        assert!(2 * disturbed > 3 * undisturbed, "schedule {schedule}: {disturbed} of {undisturbed}");
        assert!(disturbed < 40 * undisturbed, "schedule {schedule}: {disturbed} of {undisturbed}");
        assert!(crashes(schedule, 100_000) < 40 * undisturbed, "schedule {schedule}");
    }
}

#[test]
fn every_step_that_a_program_leaves_out_is_missed() {
    let complete = with(&request("unencrypted", "hardened", "btree"), json!({"transactions": 6}));
    assert_holds(&complete);
    let steps = [
        "prepare-flush",
        "prepare-fence",
        "log-end-tag",
        "mutate-flush",
        "mutate-fence",
        "commit-flush",
        "commit-fence",
    ];
    for step in steps {
        let report = crash(&with(&complete, json!({"leave_out": step, "blame": true})));
        assert!(count(&report, "violation_count") > 0, "{step}");
        assert_eq!(report["blame"]["who"], "program", "{step}");
    }
}

#[test]
fn what_schedules_show_instead_of_legal_states_is_shown_again_by_its_schedule() {
    let request = with(&request("hw-log", "published", "array"), json!({"transactions": 30}));
    let report = assert_fails(&request, &["pad_reuse"]);
    assert!(report["violations"][0]["reproduce"]["explore"].is_null() && report["reproduce"]["explore"].is_null());
    assert_reproduces(&request, &report);
}
