//! What follows a violation: the smallest run that shows it, who is to blame, and programs that are wrong on every
//! design.

use super::common::judge::{count, crash, refusal, request_of, with};
use serde_json::{Value, json};

/// The example on the first page of the reference.
#[path = "../../examples/judge.rs"]
mod example;

#[test]
fn example_of_the_crate_ends_as_it_says() {
    example::main().unwrap();
}

fn explained(request: &Value) -> Value {
    crash(&with(request, json!({"shrink": true, "blame": true})))
}

/// Explores the smallest run of each shrunk rule again; it must reproduce the violation.
fn assert_shrunk_reproduces(report: &Value) {
    for shrunk in report["shrunk"].as_array().unwrap() {
        let again = request_of(report, shrunk);
        for key in ["transactions", "tx_size", "footprint", "cores"] {
            assert_eq!(again[key], shrunk[key], "{again}");
        }
        assert_eq!(again["at_event"], shrunk["crash_event"], "{again}");
        let repeated = crash(&again);
        assert_eq!(count(&repeated, "crash_points"), 1, "{again}");
        let same = |found: &Value| ["rule", "crash_event", "nested_event"].iter().all(|key| found[key] == shrunk[key]);
        assert!(repeated["violations"].as_array().unwrap().iter().any(same), "{again} does not show {shrunk}");
    }
}

fn rules(report: &Value) -> Vec<&str> {
    report["shrunk"].as_array().unwrap().iter().map(|shrunk| shrunk["rule"].as_str().unwrap()).collect()
}

#[test]
fn fault_of_every_transaction_shrinks_to_the_smallest_run_there_is() {
    let request = json!({"design": "write-back", "workload": "btree", "machine": "small", "cores": 2, "warmup": 3,
        "transactions": 20});
    let report = explained(&request);
    assert_eq!(report["shrunk"].as_array().unwrap().len(), 3);
    for shrunk in report["shrunk"].as_array().unwrap() {
        let shape = ["transactions", "tx_size", "footprint", "cores", "tried"].map(|key| count(shrunk, key));
        assert_eq!(shape, [1, 64, 4096, 1, 1], "{shrunk}");
        assert_eq!(shrunk["minimal"], true);
    }
    assert_shrunk_reproduces(&report);
}

/// A log without end tags is wrong from the second lap on, when old records are under new ones.
#[test]
fn fault_that_needs_several_transactions_keeps_no_more_than_it_needs() {
    let request = json!({"design": "unencrypted", "workload": "hash", "machine": "small", "leave_out": "log-end-tag"});
    let report = explained(&request);
    assert!(rules(&report).contains(&"atomicity"), "{:?}", rules(&report));
    assert_shrunk_reproduces(&report);
    let first = &report["shrunk"][0];
    let needed = count(first, "transactions");
    assert!(needed > 1 && needed < 200 && first["minimal"] == json!(true), "{first}");
    let mut fewer = with(&request_of(&report, first), json!({"transactions": needed - 1}));
    fewer.as_object_mut().unwrap().remove("at_event");
    let breaks = |report: &Value| {
        report["violations"].as_array().unwrap().iter().any(|violation| violation["rule"] == first["rule"])
    };
    assert!(!breaks(&crash(&fewer)), "one transaction less breaks the same rule: {fewer}");
}

#[test]
fn second_power_failures_shrink_too() {
    let request = json!({"design": "sepencr", "workload": "array", "machine": "small", "variant": "published",
        "transactions": 4, "nested": true});
    let report = explained(&request);
    assert!(!report["shrunk"].as_array().unwrap().is_empty(), "{report}");
    assert!(report["shrunk"].as_array().unwrap().iter().any(|shrunk| shrunk["nested_event"].is_u64()), "{report}");
    assert_shrunk_reproduces(&report);
}

#[test]
fn only_an_exploration_of_every_event_shrinks() {
    let request = json!({"design": "write-back", "workload": "btree", "machine": "small", "transactions": 5});
    for some in [json!({"points": 40}), json!({"at_event": 600})] {
        let request = with(&request, some);
        let report = crash(&with(&request, json!({"shrink": null})));
        assert!(count(&report, "violation_count") > 0 && report["shrunk"] == json!([]));
        assert!(refusal(&with(&request, json!({"shrink": true}))).contains("every event"));
    }
    let holds = explained(&with(&request, json!({"design": "secpm"})));
    assert_eq!((&holds["shrunk"], &holds["blame"]), (&json!([]), &Value::Null));
}

/// The step that is left out, and whether the one simulated schedule shows it: without a fence between them, this
/// machine still happens to make the earlier lines durable first.
const STEPS: [(&str, bool); 7] = [
    ("prepare-flush", true),
    ("prepare-fence", false),
    ("log-end-tag", true),
    ("mutate-flush", true),
    ("mutate-fence", false),
    ("commit-flush", true),
    ("commit-fence", true),
];

#[test]
fn program_without_a_step_fails_without_any_encryption() {
    for (step, shown) in STEPS {
        let request = json!({"design": "unencrypted", "workload": "btree", "leave_out": step});
        let report = crash(&with(&request, json!({"blame": true})));
        assert_eq!(report["internal_errors"], json!([]), "{step}");
        assert_eq!(count(&report, "violation_count") > 0, shown, "{step}");
        let who = if shown { json!("program") } else { Value::Null };
        assert_eq!(report["blame"]["who"], who, "{step}");
    }
}

#[test]
fn machine_that_loses_what_it_called_durable_is_to_blame() {
    let lost = |machine: &str, design: &str, set: &[&str]| {
        let request = json!({
            "design": design, "workload": "queue", "machine": machine, "set": set, "transactions": 6, "blame": true,
        });
        let blame = crash(&request)["blame"].clone();
        (blame["who"].clone(), blame["why"].as_str().unwrap_or_default().to_owned())
    };
    for design in ["unencrypted", "secpm"] {
        for (machine, value) in [
            ("optane", "module.buffer_durable=false"),
            ("cxl-pm", "link.power_flush=phase-1-fails"),
            ("cxl-pm", "link.power_flush=phase-2-fails"),
        ] {
            let (who, why) = lost(machine, design, &[value]);
            assert_eq!(who, "machine", "{design} {value}");
            assert!(why.contains(&value.replace('=', " = ")), "{why}");
        }
    }
    // What is not acknowledged is not called durable: the design needs what the queue held.
    let device = ["link.domain=device", "controller.write_acknowledged=written"];
    assert_eq!(lost("cxl-pm", "secpm", &device).0, "design");
}

#[test]
fn step_that_a_program_does_not_have_cannot_be_left_out() {
    for (design, workload, step) in [
        ("unencrypted", "linked-list", "log-end-tag"),
        ("secpm", "linked-list", "mutate-fence"),
        ("easy-pm", "btree", "commit-fence"),
        ("eadr", "btree", "commit-flush"),
    ] {
        let sentence = refusal(&json!({"design": design, "workload": workload, "leave_out": step}));
        assert!(sentence.starts_with(&format!("leave_out {step}: ")), "{sentence}");
    }
}

#[test]
fn verdict_is_told_apart() {
    let cases = [
        // (request, who, what the sentence says)
        (json!({"design": "write-back", "workload": "queue"}), "design", "'unencrypted' recovered from"),
        (
            json!({"design": "write-back", "workload": "queue", "at_event": 127, "transactions": 1, "machine": "secpm"}),
            "design",
            "'unencrypted' recovered from",
        ),
        (
            json!({"design": "secpm", "workload": "queue", "leave_out": "mutate-flush"}),
            "program",
            "without mutate-flush",
        ),
        (
            json!({"design": "sca", "workload": "linked-list", "leave_out": "commit-counter-atomic"}),
            "annotations",
            "with commit-counter-atomic, holds on design 'sca'",
        ),
        (json!({"design": "sca", "workload": "linked-list", "fault": "writeback-order"}), "design", "recovered from"),
        (
            json!({"design": "hw-log", "workload": "array", "leave_out": "flush-data"}),
            "annotations",
            "was not tried without the design",
        ),
        (json!({"design": "eadr", "workload": "array", "leave_out": "log-end-tag"}), "program", "no encryption"),
    ];
    for (request, who, says) in cases {
        let request = with(&json!({"machine": "small", "transactions": 60, "blame": true}), request);
        let report = crash(&request);
        assert_eq!(report["blame"]["who"], who, "{request}: {}", report["blame"]);
        assert!(report["blame"]["why"].as_str().unwrap().contains(says), "{request}: {}", report["blame"]);
    }
}
