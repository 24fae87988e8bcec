//! Modules behind a link of CXL: who holds depends on where the persistence domain begins, and on how far the flush goes that the
//! host begins when power fails.

use super::common::judge::{assert_holds, count, crash, with};
use super::modules::{holding, on};
use counterpoint_engine::config;
use rayon::prelude::*;
use serde_json::json;

#[test]
fn every_design_that_holds_holds_behind_a_link_whose_flush_completes() {
    holding().into_par_iter().for_each(|(design, workload)| {
        let report = assert_holds(&on("cxl-pm", design, workload, &[]));
        assert!(count(&report, "crash_points") > 100, "{design}");
    });
}

/// Some of each kind: without counters, with pairs, with trials, with a log in hardware, accepted before they are encrypted, with
/// caches that persist, with trees.
const KINDS: [&str; 10] =
    ["unencrypted", "xts", "sca", "secpm", "osiris", "hw-log", "dolos", "eadr", "bbe-tree", "secpm-tree"];

/// Whether `design` holds with these values, in a run that is long enough for lines to be lost.
fn holds(design: &str, sets: &[&str]) -> bool {
    let longer = json!({"transactions": 40, "tx_size": 256, "footprint": "32KiB"});
    let request = with(&on("cxl-pm", design, "array", sets), longer);
    let report = crash(&request);
    assert_eq!(report["internal_errors"], json!([]), "{request}");
    count(&report, "violation_count") == 0
}

#[test]
fn no_design_holds_if_a_phase_of_the_flush_fails() {
    for sets in [&["link.power_flush=phase-1-fails"][..], &["link.power_flush=phase-2-fails", "module.buffer=16KiB"]] {
        let held: Vec<&str> = KINDS.into_par_iter().filter(|design| holds(design, sets)).collect();
        assert!(held.is_empty(), "{sets:?}: {held:?}");
    }
}

#[test]
fn designs_that_need_no_pair_hold_where_the_domain_begins_at_the_device() {
    let sets = ["link.domain=device", "controller.write_acknowledged=written"];
    let held: Vec<&str> = KINDS.into_par_iter().filter(|design| holds(design, &sets)).collect();
    assert_eq!(held, ["unencrypted", "xts"]);
}

#[test]
fn what_does_not_go_with_a_link_is_refused_in_a_sentence() {
    for (set, told) in [
        ("module.kind=none", "link.kind = cxl needs module.kind = buffered, because the controller cannot schedule"),
        ("link.domain=device", "link.domain = device needs controller.write_acknowledged = written, because"),
    ] {
        let sentence = config::load_machine("cxl-pm", &[set.to_owned()]).unwrap_err().0;
        assert!(sentence.contains(told), "{sentence}");
    }
    let both = ["link.domain=device", "controller.write_acknowledged=written"].map(str::to_owned);
    config::load_machine("cxl-pm", &both).unwrap();
}
