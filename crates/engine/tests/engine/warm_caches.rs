//! `program.base = "warm"`: what caches and counter cache hold when programs begin.

use super::common::{END, Full, LATE, line, run, system};
use counterpoint_engine::config::{self, ByteSize, CounterOrganisation, ProgramBase, RunConfig, Variant};
use counterpoint_engine::message::{CachePort, Line, NoObserver, OpBuffer, OpSource};
use counterpoint_engine::{Job, System, api, design};
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn counter_cache_holds_the_last_blocks_of_each_set() {
    for (name, organisation, lines_of_block) in [
        ("secpm", CounterOrganisation::Split, 64),
        ("fca", CounterOrganisation::Global, 8),
        ("co-located-cc", CounterOrganisation::Global, 1),
    ] {
        let mut machine = config::preset("counter-atomicity").unwrap();
        machine.counters.organisation = organisation;
        // Two sets of two blocks, or sixteen of two counters that lie beside their lines.
        (machine.controller.counter_cache_size, machine.controller.counter_cache_ways) = (ByteSize(256), 2);
        let mut warm = system(&machine, name, NoObserver);
        // Lines of sixty blocks, one after another.
        let uses = || (0..60).map(|block| Line(block * lines_of_block));
        warm.controller.warm(&warm.device, uses());
        let entries = if lines_of_block == 1 { 32 } else { 4 };
        for (number, used) in uses().enumerate() {
            let mut copy = warm.clone();
            copy.read(LATE, used, 0);
            run(&mut copy);
            let now = copy.now();
            let stats = copy.controller.stats(now);
            assert_eq!(stats.counter_hits, u64::from(number < entries), "{name}: {number}");
        }
        // What is read now takes the place of the block of its set that was used longest ago.
        warm.read(LATE, Line(50 * lines_of_block), 0);
        run(&mut warm);
        let sets = entries as u64 / 2;
        for (number, hits) in [(50 % sets + sets, 0), (50 % sets, 1), (50, 1)] {
            let mut copy = warm.clone();
            copy.reset_stats();
            copy.read(2 * LATE, Line(number * lines_of_block), 0);
            run(&mut copy);
            let now = copy.now();
            assert_eq!(copy.controller.stats(now).counter_hits, hits, "{name}: {number}");
        }
    }
}

#[test]
fn no_way_of_large_caches_is_empty_and_lines_are_those_of_memory() {
    for bytes in [true, false] {
        let mut machine = config::preset("secpm").unwrap();
        machine.program.base = ProgramBase::Warm;
        machine.engine.bytes = bytes;
        (machine.l2.size, machine.l3.size) = (ByteSize(256 << 10), ByteSize(1 << 20));
        let config = RunConfig {
            tx_size: 64,
            transactions: 1,
            footprint: 64,
            seed: 7,
            ..RunConfig::new("secpm", "none", machine)
        };
        let job = Job { base: Arc::new(Full([7; 64])), programs: vec![Box::new(Nothing)], layouts: Vec::new() };
        let design = design::find("secpm", Variant::Hardened).unwrap();
        let system = System::new(&config, &design, job, NoObserver).unwrap();
        let held: Vec<_> = (0..END / 64).filter_map(|n| system.cache.peek(0, Line(n))).collect();
        let ways = system.cache.lines(3);
        assert!(held.len() >= ways && held.len() <= ways + system.cache.lines(2), "{} of {ways}", held.len());
        assert!(held.iter().all(|line| *line == if bytes { [7; 64] } else { [0; 64] }));
        assert!(system.on_chip().is_empty());
        assert!(system.cache.peek(0, line(1 << 20, 0)).is_none());
    }
}

/// A program of nothing.
struct Nothing;

impl OpSource for Nothing {
    fn next_transaction(&mut self, _buffer: &mut OpBuffer) -> bool {
        false
    }
}

/// Warm caches spare reads of data and counters, and loads find what the program expects.
#[test]
fn program_finds_its_lines_and_their_counters() {
    let designs =
        ["unencrypted", "secpm", "fca", "co-located-cc", "hw-log", "eadr", "eadr-cme", "sepencr", "secpm-tree"];
    let mut requests = Vec::new();
    for name in designs {
        for base in ["cold", "warm"] {
            // All that is populated fits into the third level, and all counters into their cache.
            let room = ["l3.size=64KiB", "controller.counter_cache_size=8KiB", "engine.check_loads=true"];
            let set: Vec<String> =
                room.map(str::to_owned).into_iter().chain([format!("program.base={base}")]).collect();
            requests.push(json!({"design": name, "machine": "small", "set": set, "workload": "array", "tx_size": 256,
                                 "cores": 2, "footprint": "16KiB", "transactions": 30, "warmup": 0}));
        }
    }
    let answer = api::run_many(&json!({"runs": requests}).to_string(), 0, &|_, _| {}, &Arc::default()).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let reports: Vec<&Value> = answer["results"].as_array().unwrap().iter().collect();
    for (name, pair) in designs.iter().zip(reports.chunks(2)) {
        let get = |report: &Value, key: &str| report["nvm"][key].as_u64().unwrap();
        let [cold, warm] = [pair[0], pair[1]];
        assert!(get(warm, "data_reads") < get(cold, "data_reads"), "{name}: {cold} {warm}");
        assert!(get(warm, "counter_reads") <= get(cold, "counter_reads"), "{name}");
    }
}
