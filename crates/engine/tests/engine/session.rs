//! A session keeps populated memory between calls, within its limits, and changes no result.

use counterpoint_engine::Session;
use counterpoint_engine::api;
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs of `array` over 64 KiB of memory that differs with the seed.
fn request(seeds: &[u64]) -> String {
    let run = |seed: &u64| {
        json!({
            "design": "secpm", "workload": "array", "machine": "small", "tx_size": 64, "transactions": 5, "warmup": 0,
            "footprint": "64KiB", "seed": seed,
        })
    };
    json!({"runs": seeds.iter().map(run).collect::<Vec<_>>()}).to_string()
}

fn digests(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|result| result["event_digest"].as_str().unwrap().to_owned()).collect()
}

fn run(session: &Session, seeds: &[u64]) -> Vec<String> {
    digests(&api::run_many_in(session, &request(seeds), 2, &|_, _| {}, &Arc::default()).unwrap())
}

#[test]
fn second_of_two_equal_runs_populates_nothing_and_has_the_same_events() {
    let session = Session::new(4, 1 << 20);
    let plain = api::run_many(&request(&[1]), 1, &|_, _| {}, &Arc::default()).unwrap();
    assert_eq!(run(&session, &[1]), digests(&plain));
    assert_eq!(session.populations(), 1);
    assert_eq!(run(&session, &[1]), digests(&plain));
    assert_eq!(session.populations(), 1);
    // Within a call, runs share bases as without a session.
    run(&session, &[1, 1, 2, 2]);
    assert_eq!(session.populations(), 2);
}

#[test]
fn of_too_many_bases_the_one_not_wanted_for_longest_goes() {
    let session = Session::new(2, 1 << 20);
    let populations = |seed| {
        let before = session.populations();
        run(&session, &[seed]);
        session.populations() - before
    };
    assert_eq!([1, 2, 1, 3].map(populations), [1, 1, 0, 1]);
    assert_eq!([1, 3, 2].map(populations), [0, 0, 1]);
}

#[test]
fn bases_are_kept_within_the_bytes_allowed() {
    // One base of about 64 KiB fits, two do not; then not even one.
    for (bytes, expected) in [(100 << 10, [1, 0, 1, 1]), (10 << 10, [1, 1, 1, 1])] {
        let session = Session::new(4, bytes);
        let populations = [1, 1, 2, 1].map(|seed| {
            let before = session.populations();
            run(&session, &[seed]);
            session.populations() - before
        });
        assert_eq!(populations, expected, "{bytes} bytes");
    }
}
