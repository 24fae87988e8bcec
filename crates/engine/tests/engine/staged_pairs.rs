//! Published hw-log, alc and easy-pm: a staged pair carries the counter block as it was at its counter increment. If
//! the block leaves the counter cache alone meanwhile (evicted, or written back on request) with the newer counter of a
//! neighbour, the pair must not overwrite it with the older block.
//!
//! Published sca-tree: a ready pair takes the newest block, which is not that of a write under way if memory has a newer one.

use super::common::judge::crash;
use super::common::{Full, LATE, reading};
use counterpoint_engine::assembly::validate_machine;
use counterpoint_engine::config::{CounterOrganisation, Machine, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design::faults::Fault;
use counterpoint_engine::kernel::{ConfigError, ns_to_ps};
use counterpoint_engine::message::{Line, LineBytes, NoObserver};
use counterpoint_engine::parts::{CounterKind, CounterPart, CounterUpdate, Design, LogEncryption, WritePath};
use counterpoint_engine::{LineSystem, config, design};
use serde_json::json;
use std::sync::Arc;

/// Handles all events and reads `line`.
fn read_back(system: &mut LineSystem<NoObserver>, line: Line) -> LineBytes {
    while system.advance().is_some() {}
    system.read(system.now() + LATE, line, 99);
    let mut read = None;
    while let Some(responses) = system.advance() {
        for response in responses {
            if let Response::Read { token: 99, bytes } = response {
                read = Some(*bytes);
            }
        }
    }
    read.expect("the read was answered")
}

/// The machine of the paper with a counter cache of one block.
fn one_block() -> config::Machine {
    let mut machine = config::preset("easy-pm").unwrap();
    machine.controller.counter_cache_size = config::ByteSize(64);
    machine.controller.counter_cache_ways = 1;
    machine
}

/// Lines 0 and 1 share a counter block. Line 0 is flushed: its pair is staged with the block at that time. Line 1,
/// evicted, gets its counter after that. Then the block itself is written before the staged pair.
#[test]
fn staged_pair_does_not_overwrite_a_newer_counter_block_that_was_evicted() {
    for name in ["hw-log", "alc", "easy-pm"] {
        let mut machine = one_block();
        machine.controller.aes_latency_ns = 400.0;
        let mut system = reading(&machine, name, Variant::Published, NoObserver);
        system.read(0, Line(0), 0);
        while system.advance().is_some() {}
        let now = system.now() + LATE;
        system.write_counter_atomic(now, Line(0), &[1; 64], 1);
        system.write(now + 1, Line(1), &[2; 64], 2);
        // The counter of another block replaces theirs.
        system.read(now + ns_to_ps(20.0), Line(8000), 3);
        while system.advance().is_some() {}
        assert_eq!(read_back(&mut system, Line(8001)), [7; 64]);
        assert_eq!(read_back(&mut system, Line(0)), [1; 64], "{name}");
        assert_eq!(read_back(&mut system, Line(8001)), [7; 64]);
        assert_eq!(read_back(&mut system, Line(1)), [2; 64], "{name}: its counter is lost without any power failure");
    }
}

#[test]
fn staged_pair_does_not_overwrite_a_newer_counter_block_that_was_written_back() {
    for name in ["hw-log", "alc", "easy-pm"] {
        let mut system = reading(&one_block(), name, Variant::Published, NoObserver);
        system.read(0, Line(0), 0);
        while system.advance().is_some() {}
        let now = system.now() + LATE;
        system.write(now, Line(2), &[3; 64], 1);
        system.write_back_counters(now + 1, Line(2), 2);
        system.write_counter_atomic(now + 2, Line(0), &[1; 64], 3);
        system.write(now + 3, Line(1), &[2; 64], 4);
        while system.advance().is_some() {}
        assert_eq!(read_back(&mut system, Line(8001)), [7; 64]);
        assert_eq!(read_back(&mut system, Line(1)), [2; 64], "{name}: its counter is lost without any power failure");
    }
}

/// What the auditors still find is the paper's: with per-line counters its published readings only repeat pads.
#[test]
fn with_a_counter_per_line_the_published_readings_lose_nothing() {
    let request = json!({
        "cores": 8, "design": "hw-log", "footprint": "256KiB", "machine": "small", "seed": 131, "transactions": 24,
        "tx_size": 128, "variant": "published", "workload": "hash",
        "set": [
            "controller.wpq_entries=2", "controller.wpq_high_watermark=1", "controller.wpq_low_watermark=0",
            "controller.wpq_issue_when_idle=false", "controller.read_queue_entries=1",
            "controller.counter_cache_size=64B", "controller.counter_cache_ways=1", "controller.aes_units=2",
            "controller.aes_read_units=1", "counters.organisation=per-line", "counters.minor_bits=1",
            "log.buckets=1024", "log.bucket_records=3", "log.pending_entries=7", "log.cfb_latency=paper",
            "l1.size=256B", "l1.ways=1", "l2.ways=1", "l2.shared=true", "l2.size=128B", "l3.ways=1", "l3.size=256B",
        ],
    });
    for violation in crash(&request)["violations"].as_array().unwrap() {
        assert_eq!(violation["rule"], "pad_reuse", "{violation}");
    }
}

/// Lines 0 and 1 share a counter block. Line 0 is a pair with ready bits whose block leaves the counter cache before its data
/// is queued, so that the pair waits for the block. Line 1 increments its counter in the block as memory has it, and is being
/// encrypted when the pair has reached memory: what it has of the block is older now, and a fetch must not find it.
#[test]
fn write_under_way_does_not_bring_back_a_counter_block_older_than_memory() {
    let mut machine = config::preset("small").unwrap();
    machine.controller.counter_cache_size = config::ByteSize(64);
    machine.controller.counter_cache_ways = 1;
    machine.controller.aes_latency_ns = 10_000.0;
    // Line 1 comes at a time when the fetch of the pair is under way.
    for delay in (0..1_000).step_by(20) {
        let mut system = reading(&machine, "sca-tree", Variant::Published, NoObserver);
        system.read(0, Line(0), 0);
        while system.advance().is_some() {}
        let now = system.now() + LATE;
        let after = |ns: u32| now + ns_to_ps(f64::from(ns));
        system.write_counter_atomic(now, Line(0), &[1; 64], 1);
        // The counter of another block replaces theirs, and again when the pair is complete.
        system.read(after(1_000), Line(8000), 2);
        system.write_counter_atomic(after(10_000 + delay), Line(1), &[2; 64], 3);
        system.read(after(14_000), Line(8000), 4);
        system.read(after(17_000), Line(2), 5);
        for (line, written) in [(0, 1), (1, 2)] {
            assert_eq!(read_back(&mut system, Line(line)), [written; 64], "line {line}, {delay} ns");
        }
    }
}

fn put_together(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    validate_machine(machine, design)?;
    LineSystem::new(machine, design, Arc::new(Full([7; 64])), 1, NoObserver).map(|_| ())
}

/// A staged pair takes the block that the increment produced. With a global counter there is no such block, and if the
/// counter cache takes counters together with the data, the block lacks the new counter: zeros and old blocks would be
/// written instead.
#[test]
fn parts_that_leave_a_staged_pair_without_its_counter_block_are_refused_in_a_sentence() {
    let machine = config::preset("small").unwrap();
    let of = |name: &str, change: &dyn Fn(&mut Design)| {
        let mut design = design::find(name, Variant::Hardened).unwrap();
        change(&mut design);
        put_together(&machine, &design).err().map(|error| error.0)
    };
    let refused = |name: &str, how: &str, why: &str, change: &dyn Fn(&mut Design)| {
        let error = of(name, change).unwrap_or_else(|| panic!("{name} {how} was put together"));
        let start = format!("design '{name}' has no counter block for a write path that {how}, because {why}");
        assert!(error.starts_with(&start), "{error}");
    };
    let global = "a global counter comes from its register";
    refused("fca", "stages it with the line", global, &|design| {
        design.encryption.as_mut().unwrap().write_path = WritePath::StagedPair;
    });
    refused("sca", "stages it with the line", global, &|design| {
        design.encryption.as_mut().unwrap().write_path = WritePath::FlushedPairs;
    });
    refused("fca", "appends it at the increment", global, &|design| {
        design.encryption.as_mut().unwrap().write_path = WritePath::WriteThrough;
    });
    refused("secpm", "stages it with the line", global, &|design| {
        design.encryption.as_mut().unwrap().counters = CounterPart::Kind(CounterKind::Global);
    });
    // The write path of the log only.
    refused("hw-log", "stages it with the line", global, &|design| {
        let parts = design.encryption.as_mut().unwrap();
        (parts.counters, parts.write_path) = (CounterPart::Kind(CounterKind::Global), WritePath::Deferred);
    });
    let none = of("hw-log", &|design| {
        let parts = design.encryption.as_mut().unwrap();
        (parts.counters, parts.write_path) = (CounterPart::Kind(CounterKind::Global), WritePath::Deferred);
        design.log.as_mut().unwrap().encryption = LogEncryption::Counter { write_path: WritePath::Deferred };
    });
    assert_eq!(none, None);
    refused("secpm", "stages it with the line", "with counter_update = \"with-data\"", &|design| {
        design.encryption.as_mut().unwrap().update = CounterUpdate::WithData;
    });
    refused("write-through", "appends it at the increment", "with counter_update = \"with-data\"", &|design| {
        design.encryption.as_mut().unwrap().update = CounterUpdate::WithData;
    });
}

#[test]
fn no_design_and_no_design_with_a_fault_is_refused_whatever_the_counters_of_the_machine() {
    for organisation in [CounterOrganisation::Split, CounterOrganisation::Global, CounterOrganisation::PerLine] {
        let mut machine = config::preset("small").unwrap();
        machine.counters.organisation = organisation;
        let designs = [Variant::Published, Variant::Hardened].into_iter().flat_map(design::all);
        for design in designs.filter(|design| design.modules.is_none()) {
            put_together(&machine, &design).unwrap();
            for fault in Fault::of(&design) {
                put_together(&machine, &fault.apply(&design).unwrap()).unwrap();
            }
        }
    }
}
