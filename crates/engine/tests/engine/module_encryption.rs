//! AES-XTS in the module: what is on the bus, what is stored, and what a power failure leaves.

use super::common::judge::{assert_holds, count, crash, refusal, run, with};
use super::modules::on;
use counterpoint_engine::audit::Rule;
use serde_json::{Value, json};

const DESIGN: &str = "optane-xts";

fn request(workload: &str, more: &[&str]) -> Value {
    on("optane", DESIGN, workload, more)
}

fn mean(report: &Value) -> f64 {
    report["transaction_latency_ns"]["mean"].as_f64().unwrap()
}

#[test]
fn nothing_is_lost_and_nothing_is_stored_in_the_clear() {
    for (machine, more) in [("optane", &[][..]), ("cxl-pm", &[]), ("optane", &["module.media_line=64B"])] {
        for workload in ["array", "btree", "queue"] {
            let report = assert_holds(&with(&on(machine, DESIGN, workload, more), json!({"nested": true})));
            assert_eq!((&report["secret"], &report["bus_in_the_clear"]), (&json!(true), &json!(true)), "{report}");
        }
    }
    let elsewhere = assert_holds(&on("optane", "xts", "array", &[]));
    assert_eq!(elsewhere["bus_in_the_clear"], false);
}

#[test]
fn a_buffer_that_is_saved_in_the_clear_is_found() {
    let report = crash(&with(&request("array", &[]), json!({"fault": "buffer-encryption"})));
    assert_eq!(report["internal_errors"], json!([]));
    let rules: Vec<&str> =
        report["violations"].as_array().unwrap().iter().map(|found| found["rule"].as_str().unwrap()).collect();
    assert!(!rules.is_empty() && rules.iter().all(|rule| *rule == Rule::Plaintext.name()), "{rules:?}");
}

#[test]
fn machines_without_modules_are_refused() {
    for machine in ["small", "secpm", "ddr5-4800"] {
        let error = refusal(&json!({"design": DESIGN, "workload": "array", "machine": machine}));
        assert!(error.contains("needs module.kind = buffered") && error.contains("--machine optane"), "{error}");
    }
}

/// The watcher, who sees what is stored, finds equal blocks, and old lines are accepted: as with XTS in the controller.
#[test]
fn equal_lines_are_equal_and_old_ones_are_taken() {
    let attacked = json!({"attack": ["all"], "attack_every": 20, "transactions": 12});
    let report = assert_holds(&with(&request("array", &[]), attacked.clone()));
    let beside = assert_holds(&with(&on("optane", "xts", "array", &[]), attacked));
    for report in [&report, &beside] {
        let watched = &report["attacks"]["watched"];
        assert!(count(watched, "repeated") > 0 && count(watched, "blocks") > count(watched, "repeated"), "{watched}");
        let accepted =
            report["attacks"]["rows"].as_array().unwrap().iter().map(|row| count(row, "accepted")).sum::<u64>();
        assert!(accepted > 0, "{}", report["attacks"]);
    }
    assert_eq!(report["attacks"]["watched"]["blocks"], beside["attacks"]["watched"]["blocks"]);
}

/// Times: none with the default, which the measured module has, and at the media alone with another.
#[test]
fn encryption_takes_time_at_the_media() {
    let timed = |design: &str, more: &[&str]| {
        let request = on("optane", design, "btree", more);
        run(&with(&request, json!({"transactions": 60, "warmup": 0, "footprint": "64KiB", "tx_size": 512})))
    };
    let (plain, ours) = (timed("unencrypted", &[]), timed(DESIGN, &[]));
    assert_eq!(mean(&plain), mean(&ours));
    assert_eq!(plain["events"], ours["events"]);
    let slow = timed(DESIGN, &["module.cipher_ns=400"]);
    assert!(mean(&slow) > mean(&ours), "{} is not above {}", mean(&slow), mean(&ours));
    assert_eq!(mean(&timed("unencrypted", &["module.cipher_ns=400"])), mean(&plain), "nothing encrypts there");
}
