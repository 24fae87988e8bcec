//! Recorded programs whose stack and heap are in the recording: they take time and room in caches, and nobody needs them after
//! a power failure.

use super::common::judge::{assert_holds, count, crash, run};
use super::common::streams::{number, signed};
use serde_json::{Value, json};
use std::path::PathBuf;

const ROUNDS: u64 = 12;
/// Lines of the heap that each round stores to: more than a cache of machine `small` keeps beside those of other rounds.
const HEAP_LINES: u64 = 24;
const HEAP: u64 = 0x5555_0000;
const STACK: u64 = 0x7fff_0000;

/// A stream of version 8 with a file of one page: each round stores to a line of it, flushes and fences, and in between uses
/// its heap and its stack, or executes as many instructions without them.
fn stream(others: bool) -> Vec<u8> {
    let (mut bytes, mut records, mut last) = (b"CPTRACE\x08".to_vec(), 0u64, 0u64);
    let mut record = |fields: &[u8]| {
        bytes.extend(fields);
        records += 1;
    };
    let mut other = |tag: u8, line: u64, record: &mut dyn FnMut(&[u8])| {
        record(&[&[tag, 2, 0], &signed(line.wrapping_sub(last) as i64)[..]].concat());
        last = line;
    };
    record(&[0x01, 0, 0, 0]);
    record(&[0x02, 0, 1, b'p']);
    record(&[0x03, 0x80, 0x40, 0x80, 0x20, 0, 0]);
    for round in 0..ROUNDS {
        if others {
            for line in 0..HEAP_LINES {
                let number = HEAP + round * HEAP_LINES + line;
                other(0x26 + (line % 2) as u8, number, &mut record);
                other(0x27, STACK + line % 3, &mut record);
                record(&[0x28, 5, 3]);
            }
        }
        // The file begins at address 8192; each access is in the next line of it.
        let before = number(if others { 9 } else { 9 + HEAP_LINES * 6 });
        let to = if round == 0 { signed(8192) } else { signed(64) };
        record(&[&[0x11], &before[..], &[0], &to, &[8], &[round as u8 + 1; 8]].concat());
        record(&[0x14, 0, 0, 0]);
        record(&[0x17, 0, 0]);
    }
    let records = number(records);
    bytes.extend([&[0x7f][..], &records, &number(1 << 20), &[0]].concat());
    bytes
}

/// The recording, in a file that is removed.
struct OnDisk(PathBuf);

impl OnDisk {
    fn new(name: &str, others: bool) -> Self {
        let path = std::env::temp_dir().join(format!("counterpoint-others-{name}-{}.cptrace", std::process::id()));
        std::fs::write(&path, stream(others)).unwrap();
        Self(path)
    }

    fn on(&self, design: &str) -> Value {
        json!({"design": design, "workload": self.0, "machine": "small"})
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn it_takes_time_and_room_in_the_caches_and_is_written_when_it_is_evicted() {
    let (with, without) = (OnDisk::new("with", true), OnDisk::new("without", false));
    let [with, again, without] = [&with, &with, &without].map(|trace| run(&trace.on("secpm")));
    assert_eq!(with["event_digest"], again["event_digest"]);
    let time = |report: &Value| report["simulated_ns"].as_f64().unwrap();
    assert!(time(&with) > time(&without));
    let writes = |report: &Value| count(&report["nvm"], "writes");
    assert!(writes(&with) > writes(&without), "{} {}", writes(&with), writes(&without));
    let of_a_line = 2 + 5 + 3;
    assert_eq!(count(&with["recorded"], "other_accesses"), of_a_line * ROUNDS * HEAP_LINES);
    assert_eq!(count(&without["recorded"], "other_accesses"), 0);
}

#[test]
fn power_failures_are_of_what_is_persistent_alone() {
    let (with, without) = (OnDisk::new("crash-with", true), OnDisk::new("crash-without", false));
    let [with, without] = [&with, &without].map(|trace| assert_holds(&trace.on("secpm")));
    let said =
        "Its accesses of memory that is not persistent are left out; instructions that access nothing stand for them.";
    assert_eq!((&with["assumed"], &without["assumed"]), (&json!(said), &json!(null)));
    for same in ["crash_points", "distinct_states"] {
        assert_eq!(with[same], without[same]);
    }
}

#[test]
fn whom_to_blame_is_asked_without_it() {
    let traces = [OnDisk::new("blame-with", true), OnDisk::new("blame-without", false)];
    let blamed = traces.each_ref().map(|trace| {
        let mut request = trace.on("write-back");
        request["blame"] = json!(true);
        let report = crash(&request);
        (report["violation_count"].clone(), report["blame"].clone())
    });
    assert!(blamed[0].0.as_u64().unwrap() > 0);
    assert!(!blamed[0].1.is_null());
    assert_eq!(blamed[0], blamed[1]);
}
