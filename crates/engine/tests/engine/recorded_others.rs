//! Recorded programs whose stack and heap are in the recording: they take time and room in caches, and nobody needs them after
//! a power failure.

use super::common::judge::{assert_holds, count, crash, run};
use super::common::streams::OnDisk;
use counterpoint_engine::trace::recorded::tests::build::{BASE, Stream};
use serde_json::{Value, json};

const ROUNDS: u64 = 12;
/// Lines of the heap that each round stores to: more than a cache of machine `small` keeps beside those of other rounds.
const HEAP_LINES: u64 = 24;
const HEAP: u64 = 0x5555_0000;
const STACK: u64 = 0x7fff_0000;

/// Each round stores to a line of a file, flushes and fences, and in between uses its heap and its stack, or executes as many
/// instructions without them.
fn recorded(name: &str, others: bool) -> OnDisk {
    let mut stream = Stream::with_file();
    // Of version 8, also without them.
    stream.bytes[7] = 8;
    for round in 0..ROUNDS {
        for line in (0..HEAP_LINES).filter(|_| others) {
            let of_heap = HEAP + round * HEAP_LINES + line;
            stream =
                stream.other(0x26 + (line % 2) as u8, 2, 0, of_heap).other(0x27, 2, 0, STACK + line % 3).near(5, 3);
        }
        let (before, at) = (if others { 9 } else { 9 + HEAP_LINES * 6 }, BASE + round * 64);
        stream = stream.store(0x11, before, 0, at, &[round as u8 + 1; 8]).flush(0x14, 0, 0, at).fence(0x17, 0, 0);
    }
    OnDisk::new(&format!("others-{name}"), &stream.end(0))
}

fn on(trace: &OnDisk, design: &str) -> Value {
    json!({"design": design, "workload": trace.0, "machine": "small"})
}

#[test]
fn it_takes_time_and_room_in_the_caches_and_is_written_when_it_is_evicted() {
    let (with, without) = (recorded("with", true), recorded("without", false));
    let [with, again, without] = [&with, &with, &without].map(|trace| run(&on(trace, "secpm")));
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
    let (with, without) = (recorded("crash-with", true), recorded("crash-without", false));
    let [with, without] = [&with, &without].map(|trace| assert_holds(&on(trace, "secpm")));
    let said =
        "Its accesses of memory that is not persistent are left out; instructions that access nothing stand for them.";
    assert_eq!((&with["assumed"], &without["assumed"]), (&json!(said), &json!(null)));
    for same in ["crash_points", "distinct_states"] {
        assert_eq!(with[same], without[same]);
    }
}

#[test]
fn whom_to_blame_is_asked_without_it() {
    let traces = [recorded("blame-with", true), recorded("blame-without", false)];
    let blamed = traces.each_ref().map(|trace| {
        let mut request = on(trace, "write-back");
        request["blame"] = json!(true);
        let report = crash(&request);
        (report["violation_count"].clone(), report["blame"].clone())
    });
    assert!(blamed[0].0.as_u64().unwrap() > 0);
    assert!(!blamed[0].1.is_null());
    assert_eq!(blamed[0], blamed[1]);
}
