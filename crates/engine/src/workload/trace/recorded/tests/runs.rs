//! A recorded program on machines: every design runs it, and a crash of it can be explored.

use super::build::{BASE, SIZE};
use super::*;
use crate::{api, design};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// Transactions over a file that had something in it, with every kind of access.
fn program() -> Vec<u8> {
    let mut stream = Stream::with_file().image(0, 0x800, &[0x5a; 256]).load(100, 0, BASE + 0x810, 8);
    for n in 0..12u64 {
        let at = BASE + n * 4160 % (SIZE - 4096);
        stream = stream
            .thread(n % 2)
            .begin()
            .load(7, 1, at, 32)
            .store(0x11, 3, 2, at + 40, &[n as u8; 48])
            .flush(0x14 + (n % 3) as u8, 0, 3, at + 40)
            .flush(0x14, 0, 3, at + 87)
            .store(0x12, 0, 4, at + 128, &[n as u8 + 1; 64])
            .fence(0x17, 0, 5)
            .load(0, 6, at + 128, 64)
            .store(0x13, 9, 7, BASE + 8, &n.to_le_bytes())
            .flush(0x14, 0, 8, BASE + 8)
            .fence(0x18, 0, 9)
            .commit();
    }
    stream.store(0x19, 50, 0, BASE + 0x840, &[9; 700]).end(0)
}

fn at_path(name: &str, use_it: impl FnOnce(&str)) {
    let path = std::env::temp_dir().join(format!("counterpoint-{}-{name}.cptrace", std::process::id()));
    std::fs::write(&path, program()).unwrap();
    use_it(path.to_str().unwrap());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn every_design_replays_it_and_always_alike() {
    at_path("designs", |path| {
        let runs: Vec<Value> = design::names().map(|name| json!({"design": name, "workload": path})).collect();
        let request = json!({"runs": runs}).to_string();
        let replay = || api::replay(&request, 1, &|_, _| {}, &AtomicBool::new(false)).unwrap();
        let results: Value = serde_json::from_str(&replay()).unwrap();
        let again: Value = serde_json::from_str(&replay()).unwrap();
        for (run, again) in results["results"].as_array().unwrap().iter().zip(again["results"].as_array().unwrap()) {
            assert_eq!(run["transactions"], 12, "{run}");
            assert_eq!(run["event_digest"], again["event_digest"]);
            assert!(run["nvm"]["data_reads"].as_u64().unwrap() > 0 && run["instructions"].as_u64().unwrap() > 300);
        }
    });
}

#[test]
fn a_crash_of_it_finds_nothing_wrong_with_a_design_that_is_right() {
    at_path("crash", |path| {
        for name in ["unencrypted", "secpm", "sca"] {
            let request = json!({"design": name, "workload": path, "blame": false}).to_string();
            let report = api::crash(&request, &|_, _| {}, &AtomicBool::new(false)).unwrap();
            let report: Value = serde_json::from_str(&report).unwrap();
            assert!(report["crash_points"].as_u64().unwrap_or_default() > 100, "{report}");
            assert_eq!(
                (&report["violation_count"], &report["internal_errors"]),
                (&json!(0), &json!([])),
                "{name}: {report}"
            );
        }
    });
}
