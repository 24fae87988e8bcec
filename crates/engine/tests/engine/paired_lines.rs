//! Which lines a write path that selects lines takes for counter-atomic.

use super::common::judge::{assert_holds, count, crash, refusal, run, with};
use serde_json::{Value, json};

fn sca(paired: &str) -> Value {
    json!({
        "design": "sca", "workload": "queue", "machine": "small", "transactions": 20,
        "set": [format!("design.paired_lines={paired}")],
    })
}

/// An annotated program marks one line of its log, the word that commits, and that holds with more lines, too. A line that is
/// paired brings its counter block with it.
#[test]
fn lines_of_the_log_are_pairs_if_the_design_says_so() {
    let [marked, log, others] = ["marked", "with-software-log", "outside-software-log"].map(sca);
    for request in [&marked, &log, &others] {
        assert!(count(&assert_holds(request), "crash_points") > 1000, "{request}");
        assert_holds(&with(request, json!({"explore": "legal", "transactions": 3})));
    }
    let counters = |request: &Value| run(request)["nvm"]["counter_writes"].as_u64().unwrap();
    let [marked, log, others] = [marked, log, others].map(|request| counters(&request));
    assert!(marked < others && others < log, "{marked}, {others}, {log}");
}

/// Without annotations nothing else writes counters back: the lines that are no pairs are lost.
#[test]
fn what_is_not_paired_is_lost_without_annotations() {
    for (paired, lost) in [("with-software-log", "heap"), ("outside-software-log", "log")] {
        let mut request = sca(paired);
        request["set"].as_array_mut().unwrap().push(json!("design.program=plain"));
        let report = crash(&request);
        assert_eq!(report["internal_errors"], json!([]), "{request}");
        let lines = report["violations"].as_array().unwrap().iter().filter(|one| one["rule"] == "line");
        let told: Vec<&str> = lines.filter_map(|one| one["explanation"].as_str()).collect();
        let log = told.iter().any(|told| told.contains("the log line at"));
        assert!(!told.is_empty() && log == (lost == "log"), "{paired}: {told:?}");
    }
}

#[test]
fn lines_of_a_log_that_nobody_names_are_refused() {
    let request = with(&sca("with-software-log"), json!({"workload": "store A; clwb A; sfence"}));
    let refused = refusal(&request);
    assert!(refused.contains("paired_lines = \"with-software-log\"") && refused.contains("undo log"), "{refused}");
    let request = with(&sca("with-software-log"), json!({"design": "secpm"}));
    let refused = refusal(&request);
    assert!(refused.contains("paired_lines") && refused.contains("selective-ready-pairs"), "{refused}");
}
