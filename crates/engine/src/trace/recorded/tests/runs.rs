//! A recorded program on machines: every design runs it, and a crash of it can be explored.

use super::super::tests::*;
use super::build::{BASE, SIZE};
use crate::{api, design};
use serde_json::{Value, json};
use std::sync::Arc;

/// Transactions on a file that was not empty, with every kind of access.
fn program() -> Vec<u8> {
    program_with(|stream| stream)
}

/// The same program, with something more at many places of each transaction.
fn program_with(more: impl Fn(Stream) -> Stream) -> Vec<u8> {
    let mut stream = Stream::with_file().image(0, 0x800, &[0x5a; 256]).load(100, 0, BASE + 0x810, 8);
    for n in 0..12u64 {
        let at = BASE + n * 4160 % (SIZE - 4096);
        let begun = more(more(stream.thread(n % 2)).begin()).load(7, 1, at, 32);
        stream = more(more(begun).store(0x11, 3, 2, at + 40, &[n as u8; 48]))
            .flush(0x14 + (n % 3) as u8, 0, 3, at + 40)
            .flush(0x14, 0, 3, at + 87)
            .callers(&[0x1000 + n % 3, 0x2000])
            .store(0x12, 0, 4, at + 128, &[n as u8 + 1; 64])
            .fence(0x17, 0, 5)
            .load(0, 6, at + 128, 64)
            .store(0x13, 9, 7, BASE + 8, &n.to_le_bytes())
            .flush(0x14, 0, 8, BASE + 8);
        stream = more(more(more(stream).fence(0x18, 0, 9)).commit());
    }
    stream.store(0x19, 50, 0, BASE + 0x840, &[9; 700]).end(0)
}

/// Words stored past the caches, each with a fence behind it.
fn words_past_the_caches() -> Vec<u8> {
    let word =
        |stream: Stream, n: u64| stream.store(0x12, 1, 2, BASE + n % 40 * 72, &n.to_le_bytes()).fence(0x17, 0, 3);
    (1..80).fold(Stream::with_file(), word).end(0)
}

fn at_path(name: &str, use_it: impl FnOnce(&str)) {
    with(&program(), name, use_it);
}

fn with(content: &[u8], name: &str, use_it: impl FnOnce(&str)) {
    let path = std::env::temp_dir().join(format!("counterpoint-{}-{name}.cptrace", std::process::id()));
    std::fs::write(&path, content).unwrap();
    use_it(path.to_str().unwrap());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn every_design_replays_it_and_always_alike() {
    at_path("designs", |path| {
        let replay = |by_line: bool| -> Value {
            let run = |name| json!({"design": name, "workload": path, "by_line": by_line});
            let request = json!({"runs": design::names().map(run).collect::<Vec<Value>>()}).to_string();
            serde_json::from_str(&api::replay(&request, 1, &|_, _| {}, &Arc::default()).unwrap()).unwrap()
        };
        let (results, again) = (replay(false), replay(true));
        for (run, again) in results["results"].as_array().unwrap().iter().zip(again["results"].as_array().unwrap()) {
            assert_eq!(run["transactions"], 12, "{run}");
            assert_eq!(run["event_digest"], again["event_digest"], "nobody notices who watches");
            assert_eq!(run["core"], again["core"]);
            assert_eq!(run.get("sites"), None);
            every_stall_has_a_line(again);
            assert!(run["nvm"]["data_reads"].as_u64().unwrap() > 0 && run["instructions"].as_u64().unwrap() > 300);
        }
    });
}

#[test]
fn marks_take_no_time() {
    let digests = |content: &[u8]| {
        let mut digests = Vec::new();
        with(content, "marks", |path| {
            let run = |name| json!({"design": name, "workload": path});
            let request = json!({"runs": design::names().map(run).collect::<Vec<Value>>()}).to_string();
            let all: Value =
                serde_json::from_str(&api::replay(&request, 1, &|_, _| {}, &Arc::default()).unwrap()).unwrap();
            let of = |run: &Value| (run["event_digest"].clone(), run["core"].clone(), run["recorded"]["marks"].clone());
            digests.extend(all["results"].as_array().unwrap().iter().map(of));
        });
        digests
    };
    let marked = program_with(|stream| stream.mark(b"done").mark(b"again"));
    for (without, with) in digests(&program()).into_iter().zip(digests(&marked)) {
        assert_eq!((without.0, without.1), (with.0, with.1));
        assert_eq!((without.2, with.2), (json!(0), json!(12 * 14)));
    }
}

/// Stalls by fences and loads are attributed to lines, each exactly once.
fn every_stall_has_a_line(run: &Value) {
    let sites = run["sites"].as_array().unwrap();
    let sum = |key: &str| sites.iter().map(|site| site[key].as_f64().unwrap()).sum::<f64>();
    let total = run["core"]["fence_stall_ns"].as_f64().unwrap();
    assert!((sum("fence_stall_ns") - total).abs() < 1e-6 * total.max(1.0), "{run}");
    assert!((sum("waited_for_ns") - total).abs() < 1e-6 * total.max(1.0), "{run}");
    assert!(total > 0.0 && sum("load_stall_ns") > 0.0);
    // No code is mapped: every place is an address, of the program counter.
    assert!(sites.iter().all(|site| site["source"].is_null() && site["place"].as_str().unwrap().starts_with("0x")));
    let mut order: Vec<f64> = sites.iter().map(waited).collect();
    order.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(order, sites.iter().map(waited).collect::<Vec<f64>>());
}

fn waited(site: &Value) -> f64 {
    site["waited_for_ns"].as_f64().unwrap() + site["load_stall_ns"].as_f64().unwrap()
}

#[test]
fn lines_are_known_of_recorded_programs_only() {
    for (workload, expected) in [
        ("btree", "by_line: only a recorded program has source lines"),
        ("tests/data/btree-5.pmemcheck.log", "by_line: a log does not tell where in the program it was"),
    ] {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let path = if workload.contains('/') { format!("{root}{workload}") } else { workload.to_owned() };
        let request = json!({"runs": [{"design": "secpm", "workload": path, "by_line": true}]}).to_string();
        let error = api::run_many(&request, 1, &|_, _| {}, &Arc::default()).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn lines_of_stores_are_known_of_a_log_with_stacks() {
    let log = b"==7== START|REGISTER_FILE;pool;0x5200000;0x1000;0x0\
        |STORE;0x5200000;0x7;0x8;0x109A3F: insert (list.c:44);0x109B01: main (list.c:90)|FLUSH;0x5200000;0x40|FENCE|STOP";
    with(log, "stacks", |path| {
        let request = json!({"runs": [{"design": "secpm", "workload": path, "by_line": true}]}).to_string();
        let runs: Value =
            serde_json::from_str(&api::run_many(&request, 1, &|_, _| {}, &Arc::default()).unwrap()).unwrap();
        let text = runs.to_string();
        assert!(text.contains(r#""function":"insert""#) && text.contains(r#""source":"list.c:44""#), "{text}");
    });
}

#[test]
fn crash_finds_nothing_wrong_with_a_design_that_is_right() {
    for (content, name) in [(program(), "crash"), (words_past_the_caches(), "words")] {
        with(&content, name, |path| {
            for design in ["unencrypted", "secpm", "sca"] {
                let request = json!({"design": design, "workload": path, "blame": false}).to_string();
                let report = api::crash(&request, &|_, _| {}, &Arc::default()).unwrap();
                let report: Value = serde_json::from_str(&report).unwrap();
                assert!(report["crash_points"].as_u64().unwrap_or_default() > 100, "{report}");
                assert_eq!(
                    (&report["violation_count"], &report["internal_errors"]),
                    (&json!(0), &json!([])),
                    "{design} {name}: {report}"
                );
            }
        });
    }
}

/// A list of records: each becomes durable, and then their number, which is `CounterAtomic` if that is `declared`.
fn records(declared: bool, written_back: bool) -> Vec<u8> {
    let mut stream = Stream::with_file();
    if declared {
        stream = stream.annotate(0x1b, 1, BASE, 8);
    }
    for n in 1..20u64 {
        let at = BASE + n * 4160 % SIZE;
        stream = stream.store(0x11, 5, 2, at, &[n as u8; 64]).flush(0x14, 0, 3, at);
        if written_back {
            stream = stream.annotate(0x1a, 4, at, 64);
        }
        stream = stream.fence(0x17, 0, 5).store(0x11, 1, 6, BASE, &n.to_le_bytes());
        stream = stream.flush(0x14, 0, 7, BASE).fence(0x17, 0, 8);
    }
    stream.end(0)
}

#[test]
fn violation_names_the_places_that_touched_the_line() {
    with(&records(true, false), "places", |path| {
        let crash = |more: Value| -> Value {
            let mut request = json!({"design": "sca", "workload": path, "blame": false});
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_str(&api::crash(&request.to_string(), &|_, _| {}, &Arc::default()).unwrap()).unwrap()
        };
        let whole = crash(json!({}));
        let first = &whole["violations"][0];
        let lines = first["lines"].as_array().unwrap();
        assert_eq!((lines.len(), &first["lost_lines"]), (1, &json!(1)));
        assert_eq!((&lines[0]["file"], &lines[0]["offset"]), (&json!("pool"), &first["line"]));
        assert_eq!((&lines[0]["stored"]["place"], &lines[0]["flushed"]["place"]), (&json!("0x2"), &json!("0x3")));
        let told = "of pool, last stored to at 0x2, flushed since at 0x3.";
        assert!(first["explanation"].as_str().unwrap().ends_with(told), "{first}");
        // A run that ends early has not read the places of all of the program.
        let stopped = crash(json!({"recover": "! grep -q . {pool}", "no_preflight": true, "stop_after": 1}));
        let lost = &stopped["violations"][0];
        assert_eq!(lost["rule"], "recovery");
        assert!(lost["lines"].as_array().unwrap().iter().all(|line| line["stored"]["place"] != "unknown"), "{lost}");
    });
}

#[test]
fn lines_that_explain_the_failures_come_first() {
    // The flag is durable before its data; what is idle is lost in memories that recover, too.
    let program = Stream::with_file()
        .store(0x11, 1, 2, BASE + 4096, b"idle")
        .store(0x11, 1, 3, BASE + 64, b"data")
        .store(0x11, 1, 4, BASE + 128, b"flag")
        .flush(0x14, 0, 5, BASE + 128)
        .fence(0x17, 0, 6)
        .flush(0x14, 0, 7, BASE + 64)
        .fence(0x17, 0, 8)
        .end(0);
    with(&program, "by-line", |path| {
        let recover = "! grep -q flag {pool} || grep -q data {pool}";
        let crash = |more: Value| -> Value {
            let mut request = json!({"design": "unencrypted", "workload": path, "blame": false, "recover": recover});
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_str(&api::crash(&request.to_string(), &|_, _| {}, &Arc::default()).unwrap()).unwrap()
        };
        let whole = crash(json!({}));
        assert_eq!((&whole["recoveries"]["images"], &whole["recoveries"]["failed"]), (&json!(3), &json!(1)));
        let lines: Vec<_> = whole["by_line"].as_array().unwrap().iter().collect();
        let places: Vec<_> = lines.iter().map(|line| (&line["stored"]["place"], &line["flushed"])).collect();
        assert_eq!(places, [(&json!("0x3"), &Value::Null), (&json!("0x2"), &Value::Null)]);
        let counts: Vec<_> = lines.iter().map(|line| (&line["failed"], &line["recovered"])).collect();
        assert_eq!(counts, [(&json!(1), &json!(0)), (&json!(1), &json!(1))]);
        assert_eq!(lines[0]["similarity"], json!(1.0));
        assert_eq!(lines[1]["similarity"], json!(1.0 / 2f64.sqrt()));
        assert_eq!((&lines[0]["schedule"], &lines[0]["at_event"]), (&json!(0), &whole["violations"][0]["crash_event"]));
        let schedules = crash(json!({"explore": "schedules", "schedules": 4}));
        assert_eq!(schedules["by_line"][0], *lines[0], "what other schedules leave is known");
        assert_eq!(crash(json!({"explore": "legal"}))["by_line"], Value::Null);
        assert_eq!(crash(json!({"recover": "true {pool}"}))["by_line"], json!([]));
    });
}

#[test]
fn annotations_of_a_program_are_what_its_verdict_rests_on() {
    let found = |content: &[u8], design: &str| {
        let mut report = Value::Null;
        with(content, "annotated", |path| {
            let request = json!({"design": design, "workload": path}).to_string();
            report = serde_json::from_str(&api::crash(&request, &|_, _| {}, &Arc::default()).unwrap()).unwrap();
        });
        (report["violation_count"].as_u64().unwrap() > 0, report["blame"]["who"].clone(), report["assumed"].clone())
    };
    let blamed = |who| (true, json!(who), Value::Null);
    let holds = || (false, Value::Null, Value::Null);
    assert_eq!(found(&records(true, true), "sca"), holds());
    assert_eq!(found(&records(true, false), "sca"), blamed("annotations"), "the records' counters are lost");
    assert_eq!(found(&records(false, true), "sca"), blamed("annotations"), "the number's counter is lost");
    assert_eq!(found(&records(true, false), "secpm"), holds());
    assert_eq!(found(&records(true, false), "fca"), holds());
    let (fails, who, assumed) = found(&records(false, false), "sca");
    assert_eq!((fails, who), (false, Value::Null));
    assert!(assumed.as_str().unwrap().starts_with("The recorded program has no annotations, so before each fence"));
    let (fails, _, assumed) = found(&records(true, true), "easy-pm");
    assert!(!fails && assumed.as_str().unwrap().starts_with("A recorded program keeps its own log"));
}

#[test]
fn what_lies_in_a_write_combining_buffer_is_lost_where_caches_persist() {
    let program = |fenced: bool| {
        let mut stream = Stream::with_file();
        for n in 0..3u64 {
            stream = stream.store(0x12, 5, 2, BASE + 64 * (n + 1), b"data");
            if fenced {
                stream = stream.fence(0x17, 0, 3);
            }
            stream = stream.store(0x11, 5, 4, BASE, &[b'0' + n as u8 + 1; 1]);
        }
        stream.lacks(0, b"").end(0)
    };
    for (fenced, fails) in [(false, true), (true, false)] {
        with(&program(fenced), "combining", |path| {
            let request = json!({"design": "eadr", "workload": path, "recover":
                "n=$(head -c 1 {pool} | tr -d '\\0'); test $(grep -ao data {pool} | wc -l) -ge ${n:-0}"});
            let report: Value =
                serde_json::from_str(&api::crash(&request.to_string(), &|_, _| {}, &Arc::default()).unwrap()).unwrap();
            assert_eq!(report["recoveries"]["failed"].as_u64().unwrap() > 0, fails, "{report}");
            assert!(report["assumed"].as_str().unwrap().contains("non-temporal stores"), "{report}");
            assert_eq!(report["lacks"][0], "The program started other processes, of which nothing is recorded.");
        });
    }
}
