//! Figures over time, against an independent count over the stream of events.

use counterpoint_engine::config::{RunConfig, Variant, load_machine};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{
    CoreId, CounterBlock, CounterCacheAct, LineBytes, MediaLine, MediaOp, Observer, Op, Site,
};
use counterpoint_engine::stats::RunReport;
use counterpoint_engine::{Bases, Source, api, design, simulate_observed};
use serde_json::{Value, json};
use std::sync::Arc;

const WINDOW: Ps = 3_000_000;
const TRANSACTIONS: u64 = 30;

/// What happened, each with its time. Entries of the queue as a change of their number.
#[derive(Default)]
struct Log {
    accesses: Vec<(Ps, u16, MediaOp, bool)>,
    found: Vec<(Ps, bool)>,
    entries: Vec<(Ps, i64)>,
    instructions: u64,
    fence_stall: Ps,
    end: Ps,
}

impl Observer for Log {
    fn dispatched(&mut self, _core: CoreId, _site: Site, _op: &Op, instructions: u32) {
        self.instructions += u64::from(instructions);
    }
    fn fence_stalled(&mut self, _core: CoreId, _site: Site, from: Ps, until: Ps) {
        self.fence_stall += until - from;
    }
    fn device_access(&mut self, now: Ps, bank: u16, media: MediaLine, op: MediaOp, _until: Ps) {
        self.accesses.push((now, bank, op, media.is_counter()));
    }
    fn counter_cache(&mut self, now: Ps, _block: CounterBlock, act: CounterCacheAct) {
        match act {
            CounterCacheAct::Hit => self.found.push((now, true)),
            CounterCacheAct::Miss | CounterCacheAct::SecondaryMiss => self.found.push((now, false)),
            CounterCacheAct::Filled | CounterCacheAct::Evicted { .. } => {}
        }
    }
    fn persisted(&mut self, now: Ps, _media: MediaLine, _bytes: &LineBytes) {
        self.entries.push((now, 1));
    }
    fn coalesced(&mut self, now: Ps, _media: MediaLine, _bytes: &LineBytes) {
        self.entries.push((now, -1));
    }
    fn bus_write(&mut self, now: Ps, _media: MediaLine, _bytes: &LineBytes) {
        self.entries.push((now, -1));
    }
    fn event_over(&mut self, now: Ps) {
        self.end = now;
    }
}

impl Log {
    /// Mean and most entries of the queue from `from` until `until`, nanosecond by nanosecond.
    fn entries(&self, from: Ps, until: Ps) -> (f64, i64) {
        let before: i64 = self.entries.iter().filter(|(at, _)| *at < from).map(|(_, change)| change).sum();
        let within: Vec<_> = self.entries.iter().filter(|(at, _)| (from..until).contains(at)).collect();
        let (mut now, mut most, mut area, mut since) = (before, before, 0.0, from);
        for (at, change) in within {
            area += now as f64 * (at - since) as f64;
            (now, since) = (now + change, *at);
            most = most.max(now);
        }
        ((area + now as f64 * (until - since) as f64) / (until - from) as f64, most)
    }
}

fn request(more: &Value) -> Value {
    let mut run = json!({"design": "secpm", "workload": "btree", "machine": "small", "transactions": TRANSACTIONS,
        "warmup": 0, "footprint": 65_536, "tx_size": 256});
    run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"runs": [run]})
}

/// The rows of a table of which these are the columns: a value of each for each window.
fn rows(windows: &Value) -> Vec<Value> {
    let columns = windows.as_object().unwrap().iter().filter(|(_, column)| column.is_array());
    let windows = windows["from_ns"].as_array().unwrap().len();
    let row = |window: usize| {
        let value = |(name, column): (&String, &Value)| match name.as_str() {
            "channel_lines" => {
                let of_channels: Vec<_> = column.as_array().unwrap().iter().map(|lines| &lines[window]).collect();
                (name.clone(), json!(of_channels))
            }
            _ => (name.clone(), column[window].clone()),
        };
        columns.clone().map(value).collect::<serde_json::Map<_, _>>()
    };
    (0..windows).map(|window| Value::Object(row(window))).collect()
}

fn report(more: &Value) -> Result<Value, String> {
    let answer = api::run_many(&request(more).to_string(), 1, &|_, _| {}, &Arc::default());
    let mut document: Value = serde_json::from_str(&answer.map_err(|why| format!("{why:?}"))?).unwrap();
    Ok(document["results"][0].take())
}

/// The same run of `design`, with a log of the stream.
fn logged(design: &str, warmup: u64) -> (RunReport, Log) {
    let config = RunConfig {
        transactions: TRANSACTIONS,
        warmup,
        footprint: 65_536,
        tx_size: 256,
        ..RunConfig::new(design, "btree", load_machine("small", &[]).unwrap())
    };
    let design = design::load(design, Variant::Hardened, &[]).unwrap();
    let source = Source::open(&config, design.form, 1 << 24, &Arc::default()).unwrap();
    let observed = (Log::default(), None);
    simulate_observed(&config, &design, &source, &Bases::default(), observed, &|_| {}, &Arc::default()).unwrap()
}

#[test]
fn every_window_has_what_an_independent_count_finds_in_it() {
    let found = report(&json!({"window": "3us"})).unwrap();
    let (whole, log) = logged("secpm", 0);
    assert_eq!(found["event_digest"], json!(whole.event_digest), "watching changes nothing");

    let windows = &found["windows"];
    let rows = rows(windows);
    assert_eq!((windows["window_ns"].as_f64(), windows["measured_from_ns"].as_f64()), (Some(3_000.0), Some(0.0)));
    assert_eq!(rows.len() as u64, log.end.div_ceil(WINDOW));
    assert!(rows.len() > 5);
    for (number, row) in rows.iter().enumerate() {
        let from = number as Ps * WINDOW;
        let within = |at: Ps| (from..from + WINDOW).contains(&at);
        let accesses = |op: MediaOp, counter: Option<bool>| {
            let of = log.accesses.iter().filter(|one| within(one.0) && one.2 == op);
            of.filter(|one| counter.is_none_or(|counter| one.3 == counter)).count() as u64
        };
        let lookups = |hit: bool| log.found.iter().filter(|(at, found)| within(*at) && *found == hit).count() as u64;
        let (mean, most) = log.entries(from, (from + WINDOW).min(log.end));
        assert_eq!(row["from_ns"], json!(from as f64 / 1e3));
        assert_eq!(row["reads"], json!(accesses(MediaOp::Read, None)), "window {number}");
        assert_eq!(row["writes"], json!(accesses(MediaOp::Write, None)), "window {number}");
        assert_eq!(row["counter_writes"], json!(accesses(MediaOp::Write, Some(true))), "window {number}");
        assert_eq!(row["counter_hits"], json!(lookups(true)), "window {number}");
        assert_eq!(row["counter_misses"], json!(lookups(false)), "window {number}");
        assert!((row["wpq_mean"].as_f64().unwrap() - mean).abs() < 1e-9, "window {number}: {row} {mean}");
        assert_eq!(row["wpq_most"], json!(most), "window {number}");
        let lines = row["reads"].as_u64().unwrap() + row["writes"].as_u64().unwrap();
        assert_eq!(row["channel_lines"].as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>(), lines);
    }
    let sum = |key: &str| rows.iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
    assert_eq!(sum("transactions"), TRANSACTIONS as f64);
    assert_eq!(sum("instructions"), whole.stats.instructions as f64);
    assert_eq!(sum("reads"), whole.stats.nvm.reads as f64);
    assert_eq!(sum("writes"), whole.stats.nvm.writes as f64);
    assert!((sum("fence_stall_ns") - whole.stats.core.fence_stall_ns).abs() < 1e-6);
}

#[test]
fn counting_anew_after_warm_up_loses_nothing() {
    for design in ["unencrypted", "secpm", "sca"] {
        let found = report(&json!({"design": design, "window": "700ns", "warmup": 10})).unwrap();
        let (whole, log) = logged(design, 10);
        assert_eq!(found["event_digest"], json!(whole.event_digest), "{design}: watching changes nothing");
        let rows = rows(&found["windows"]);
        assert_eq!(rows.len() as u64, log.end.div_ceil(700_000), "{design}");
        let sum = |key: &str| rows.iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
        let accesses = |op: MediaOp| log.accesses.iter().filter(|one| one.2 == op).count() as f64;
        let lookups = |hit: bool| log.found.iter().filter(|(_, found)| *found == hit).count() as f64;
        assert_eq!([sum("reads"), sum("writes")], [MediaOp::Read, MediaOp::Write].map(accesses), "{design}");
        assert_eq!([sum("counter_hits"), sum("counter_misses")], [true, false].map(lookups), "{design}");
        assert_eq!([sum("instructions"), sum("transactions")], [log.instructions as f64, (TRANSACTIONS + 10) as f64]);
        assert!((sum("fence_stall_ns") - log.fence_stall as f64 / 1e3).abs() < 1e-6, "{design}");
        assert!(accesses(MediaOp::Write) > whole.stats.nvm.writes as f64, "{design}: warm-up has written");
    }
}

#[test]
fn windows_begin_with_warm_up_and_the_timeline_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let found = report(&json!({"window": 5_000, "warmup": 10, "timeline": path})).unwrap();
    let windows = &found["windows"];
    let warm = windows["measured_from_ns"].as_f64().unwrap();
    let rows = rows(windows);
    let before: u64 = rows
        .iter()
        .filter(|row| row["from_ns"].as_f64().unwrap() + 5_000.0 <= warm)
        .filter_map(|row| row["transactions"].as_u64())
        .sum();
    assert!((5..=10).contains(&before), "{before} transactions end in windows before {warm} ns");
    let timeline: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let tracks = timeline["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == "entries, mean");
    assert_eq!(tracks.count(), rows.len());
}

#[test]
fn windows_that_nobody_can_hold_and_times_that_are_none_are_refused() {
    let refused = report(&json!({"window": 1})).unwrap_err();
    assert!(refused.contains("window: 1 ns makes more than 100000 windows of a run of "), "{refused}");
    for wrong in [json!("0.5ns"), json!("10 parsecs"), json!(0), json!(-1), json!(true), json!("ns")] {
        let refused = report(&json!({"window": wrong})).unwrap_err();
        assert!(refused.contains("is not a time from 1ns to 1000000s, as in 500ns, 10us or 1ms"), "{refused}");
    }
}
