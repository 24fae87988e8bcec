//! Decisions that papers leave open, each set to what no preset has: every design accepts it in both readings, runs and
//! says the same with and without bytes; what promises to survive a power failure does; and each does what it is for.

use super::common::judge::{assert_holds, crash, everywhere, readings, scheduled, suited};
use super::common::{Full, LATE, Times, line, queue_of, run, times};
use counterpoint_engine::config::{self, AesHold, AesOccupancy, CounterAtomicOrder, Machine, Variant};
use counterpoint_engine::message::{NoObserver, ProgramForm};
use counterpoint_engine::workload::{self, WORKLOADS, WorkloadConfig, WorkloadKind};
use counterpoint_engine::{LineSystem, api, design};
use serde_json::{Value, json};
use std::sync::Arc;

/// The values of each decision that differ from those of the presets.
const DECISIONS: [&[&str]; 24] = [
    &["program.log_placement=own-pages"],
    &["program.core_region=own-banks-contiguous", "device.mapping=bank-contiguous"],
    &["program.core_region=own-banks", "device.mapping=bank-contiguous"],
    &["program.think_load_percent=25", "program.think_store_percent=10", "program.think_footprint=4KiB"],
    &["program.item_metadata=inside"],
    &["core.flush_overlap=one-at-a-time"],
    &["core.flush_answer_ns=20"],
    &["core.clwb_leaves=nothing"],
    &["core.clwb_leaves=readable"],
    &["core.store_prefetch=false"],
    &["core.store_buffer=false"],
    &["core.store_cycles=2"],
    &["core.access_bytes=8"],
    &["controller.aes_hold=until-encrypted"],
    &["controller.aes_hold=until-encrypted", "controller.aes_pipelined=true"],
    &["controller.aes_pipelined=true"],
    &["controller.aes_occupancy=block"],
    &["controller.aes_occupancy=block", "controller.aes_pipelined=true"],
    // Reads wait for writes that wait for the queue.
    &["controller.aes_reads=shared", "controller.aes_units=1"],
    &["controller.counter_atomic_order=per-core"],
    &["controller.counter_atomic_order=global"],
    &["counters.reencrypt_unwritten=false"],
    &["program.base=warm"],
    &["controller.counter_write=counter", "counters.organisation=per-line"],
];

/// All decisions at once.
fn together() -> Vec<&'static str> {
    DECISIONS.concat()
}

fn reports(requests: &[Value]) -> Vec<Value> {
    let suited: Vec<Value> = requests.iter().cloned().map(suited).collect();
    let batch = json!({"runs": suited}).to_string();
    let answer = api::run_many(&batch, 0, &|_, _| {}, &Arc::default()).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["results"].as_array().unwrap().clone()
}

#[test]
fn every_design_accepts_every_decision_in_both_readings() {
    let decisions: Vec<Vec<&str>> = DECISIONS.iter().map(|sets| sets.to_vec()).chain([together()]).collect();
    let mut requests = Vec::new();
    let readings = design::names().flat_map(|name| readings(name).into_iter().map(move |variant| (name, variant)));
    for (number, (name, variant)) in readings.enumerate() {
        for (other, sets) in decisions.iter().enumerate() {
            // Each decision and each reading meets both.
            let workload = ["queue", "linked-list"][(number + other) % 2];
            requests.push(json!({
                "design": name, "variant": variant.name(), "machine": "small", "set": sets, "cores": 2,
                "workload": workload, "tx_size": 256, "footprint": "64KiB", "transactions": 10, "warmup": 0,
            }));
        }
    }
    let with_bytes = reports(&requests);
    for request in &mut requests {
        request["set"].as_array_mut().unwrap().push(json!("engine.bytes=false"));
    }
    for ((request, one), two) in requests.iter().zip(&with_bytes).zip(reports(&requests)) {
        assert_eq!(one["transactions"], 20, "{request}");
        assert_eq!(one["event_digest"], two["event_digest"], "{request}");
    }
}

const POLICIES: [&str; 6] = ["continuous", "nvmain-frfcfs-wqf", "nvmain-frfcfs", "gem5", "dramsim2", "ramulator2"];

/// Writes keep the only circuit until they are admitted, reads ask for it, and every queue is as short as it can be.
#[test]
fn reads_and_writes_that_share_a_circuit_never_wait_for_each_other_for_ever() {
    let mut requests = Vec::new();
    let readings = design::names().flat_map(|name| readings(name).into_iter().map(move |variant| (name, variant)));
    for (number, (name, variant)) in readings.enumerate() {
        let entries = queue_of(&design::find(name, variant).unwrap(), 2);
        for (other, policy) in POLICIES.iter().enumerate() {
            let workload = WORKLOADS[(number + other) % WORKLOADS.len()].name;
            let mut request = json!({
                "design": name, "variant": variant.name(), "machine": "small", "cores": 2, "workload": workload,
                "transactions": 10, "warmup": 0, "set": [
                    "controller.aes_reads=shared", "controller.aes_units=1",
                    "controller.aes_occupancy=block", "controller.counter_atomic_order=global",
                    format!("controller.wpq_entries={entries}"), "controller.wpq_high_watermark=2", "controller.wpq_low_watermark=0",
                    "controller.counter_wpq_entries=1", "controller.counter_wpq_high_watermark=1",
                    "controller.read_queue_entries=1", "controller.counter_cache_size=64B",
                    "controller.counter_cache_ways=1",
                ],
            });
            request["set"].as_array_mut().unwrap().extend(scheduled(policy).into_iter().map(Value::from));
            requests.push(request);
        }
    }
    for (request, report) in requests.iter().zip(reports(&requests)) {
        assert_eq!(report["transactions"], 20, "{request}: {report}");
    }
}

/// Designs whose hardened reading must survive a power failure at every event.
const SURVIVORS: [&str; 12] = [
    "unencrypted",
    "secpm-no-cwr",
    "secpm",
    "fca",
    "sca",
    "co-located-cc",
    "hw-log",
    "easy-pm",
    "eadr",
    "eadr-cme",
    "bbe",
    "sepencr",
];

#[test]
fn promises_hold_under_every_decision() {
    let mut requests = Vec::new();
    for (number, name) in SURVIVORS.iter().enumerate() {
        for (other, sets) in DECISIONS.iter().map(|sets| sets.to_vec()).chain([together()]).enumerate() {
            // Each decision meets several structures, and each design all of them.
            let workload = WORKLOADS[(number + other) % WORKLOADS.len()].name;
            requests.push(json!({
                "design": name, "workload": workload, "machine": "small", "set": sets, "transactions": 10, "tx_size": 128,
            }));
        }
    }
    everywhere(requests);
}

#[test]
fn every_log_entry_on_its_own_pages_is_recovered_on_every_structure() {
    let mut requests = Vec::new();
    for name in ["secpm", "fca", "sca", "hw-log", "eadr"] {
        for workload in WORKLOADS {
            let set = ["program.log_placement=own-pages"];
            requests.push(json!({
                "design": name, "workload": workload.name, "machine": "small", "set": set, "transactions": 25,
            }));
        }
    }
    everywhere(requests);
}

/// The addresses of the volatile data of the program that `set` asks for on the small machine.
fn volatile(set: &[&str]) -> std::ops::Range<u64> {
    let sets: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let config = WorkloadConfig {
        kind: WorkloadKind::LinkedList,
        tx_size: 64,
        footprint: 64 << 10,
        cores: 1,
        seed: 1,
        operations_per_core: 20,
        program: config::load_machine("small", &sets).unwrap().program,
        banks: None,
        form: ProgramForm::FlushFree,
        leave_out: None,
    };
    workload::plan(&config, 1 << 30).unwrap().layouts()[0].volatile.clone()
}

/// Volatile data may be lost, and its secrets may not.
#[test]
fn auditors_look_at_volatile_data_for_secrecy_and_not_for_durability() {
    let set = ["program.think_load_percent=20", "program.think_store_percent=20", "program.think_instructions=200"];
    let request = |name| {
        json!({"design": name, "variant": "published", "workload": "linked-list", "machine": "small", "set": set,
               "transactions": 20, "tx_size": 64, "footprint": "64KiB"})
    };
    let data = volatile(&set);
    let of_volatile = |violation: &&Value| data.contains(&violation["line"].as_u64().unwrap_or(0));
    let rule = |violation: &Value| violation["rule"].as_str().unwrap().to_owned();
    // Designs that leave data in the clear at a power failure, and designs that lose caches and counters.
    for (name, rule_of_volatile) in [("eadr-mc-cme", Some("plaintext")), ("write-back", None)] {
        let report = crash(&request(name));
        let violations = report["violations"].as_array().unwrap();
        let rules: Vec<String> = violations.iter().filter(of_volatile).map(rule).collect();
        assert!(rules.iter().all(|rule| rule == "plaintext" || rule == "pad_reuse"), "{name}: {violations:?}");
        assert!(rule_of_volatile.is_none_or(|rule| rules.iter().any(|found| found == rule)), "{name}: {violations:?}");
        assert!(violations.iter().any(|violation| !of_volatile(&violation)), "{name}: {violations:?}");
    }
    assert_holds(
        &json!({"design": "unencrypted", "workload": "array", "machine": "small", "set": set, "transactions": 20}),
    );
}

/// The hardened `name` on `machine` for two cores, over memory that is populated everywhere.
fn system(machine: &Machine, name: &str) -> LineSystem<NoObserver> {
    config::validate(machine).unwrap();
    let design = design::find(name, Variant::Hardened).unwrap();
    LineSystem::new(machine, &design, Arc::new(Full([7; 64])), 2, NoObserver).unwrap()
}

#[test]
fn ordered_pairs_of_a_core_or_of_all_cores_follow_one_another_and_others_overlap() {
    let pairs = |name: &str, order, cores: [u16; 3]| {
        let mut machine = config::preset("counter-atomicity").unwrap();
        machine.controller.counter_atomic_order = order;
        let t = Times::of(&machine);
        let mut system = system(&machine, name);
        // The counters are in the counter cache.
        system.read(0, line(0, 0), 1_000);
        run(&mut system);
        for (token, core) in cores.into_iter().enumerate() {
            system.write_of(LATE, core, line(0, token), &[1; 64], token as u32);
        }
        let once = t.counter_cache + t.aes;
        let after = times(&mut system).into_iter().map(move |at| ((at - LATE) / once, (at - LATE) % once));
        after.collect::<Vec<_>>()
    };
    use CounterAtomicOrder::{Global, Overlapped, PerCore};
    assert_eq!(pairs("fca", Overlapped, [0; 3]), [(1, 0), (1, 0), (1, 0)]);
    for order in [PerCore, Global] {
        assert_eq!(pairs("fca", order, [0; 3]), [(1, 0), (2, 0), (3, 0)]);
    }
    assert_eq!(pairs("fca", PerCore, [0, 1, 0]), [(1, 0), (1, 0), (2, 0)]);
    assert_eq!(pairs("fca", Global, [0, 1, 0]), [(1, 0), (2, 0), (3, 0)]);
    // These are no pairs: lines without a counter-atomic variable, pairs of one queue, counters beside their lines.
    for name in ["sca", "secpm", "co-located"] {
        for order in [PerCore, Global] {
            assert_eq!(pairs(name, order, [0, 1, 0]), pairs(name, Overlapped, [0, 1, 0]), "{name}");
        }
    }
}

/// When three writes of a page with one circuit are answered, after `LATE` and the latency of the counter cache.
fn with_one_circuit(occupancy: AesOccupancy, hold: AesHold, pipelined: bool) -> (Vec<u64>, Times) {
    let mut machine = config::preset("secpm").unwrap();
    let controller = &mut machine.controller;
    (controller.aes_units, controller.aes_hold, controller.aes_pipelined) = (1, hold, pipelined);
    controller.aes_occupancy = occupancy;
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm-no-cwr");
    system.read(0, line(0, 0), 1_000);
    run(&mut system);
    for token in 0..3 {
        system.write(LATE, line(0, token), &[1; 64], token as u32);
    }
    (times(&mut system).into_iter().map(|at| at - LATE - t.counter_cache).collect(), t)
}

#[test]
fn circuit_takes_the_next_line_after_its_pad_or_after_its_round() {
    use AesHold::{UntilAdmitted, UntilEncrypted};
    use AesOccupancy::{Block, Line};
    for (hold, pipelined) in [(UntilAdmitted, false), (UntilAdmitted, true), (UntilEncrypted, false)] {
        for occupancy in [Line, Block] {
            let (answers, t) = with_one_circuit(occupancy, hold, pipelined);
            let pad = match (occupancy, pipelined) {
                (Line, _) => t.aes,
                (Block, false) => 4 * t.aes,
                (Block, true) => t.aes + 3 * t.aes / 10,
            };
            assert_eq!(answers, [pad, 2 * pad, 3 * pad], "{occupancy:?} {hold:?} {pipelined}");
        }
    }
    let (answers, t) = with_one_circuit(Line, UntilEncrypted, true);
    assert_eq!(answers, [t.aes, t.aes + t.aes / 10, t.aes + t.aes / 5]);
    let (answers, t) = with_one_circuit(Block, UntilEncrypted, true);
    let pad = t.aes + 3 * t.aes / 10;
    assert_eq!(answers, [pad, pad + 4 * t.aes / 10, pad + 8 * t.aes / 10]);
}

/// The simulated time of a run of `design` on the small machine with `sets`, and its event digest.
fn time(design: &str, workload: &str, sets: &[&str]) -> (f64, Value) {
    let request = json!({"design": design, "machine": "small", "set": sets, "workload": workload, "tx_size": 256,
                         "footprint": "64KiB", "transactions": 60, "warmup": 0});
    let report = &reports(&[request])[0];
    (report["simulated_ns"].as_f64().unwrap(), report["event_digest"].clone())
}

#[test]
fn each_decision_costs_or_saves_time_where_it_is_meant_to() {
    let contiguous = ["device.mapping=bank-contiguous"];
    // Each case: the design, the values before, the values after, and whether these take more time.
    let cases: [(&str, &[&str], &[&str], bool); 11] = [
        ("secpm", &contiguous, &["program.core_region=own-banks", contiguous[0]], false),
        ("secpm", &[], &["core.flush_overlap=one-at-a-time"], true),
        ("secpm", &[], &["core.flush_answer_ns=20"], true),
        ("secpm", &[], &["core.store_prefetch=false"], true),
        ("secpm", &[], &["core.store_buffer=false"], true),
        ("secpm", &[], &["core.store_cycles=8"], true),
        ("secpm", &["core.store_cycles=8"], &["core.store_cycles=8", "core.access_bytes=8"], true),
        ("fca", &[], &["controller.counter_atomic_order=per-core"], true),
        ("secpm", &[], &["controller.aes_occupancy=block"], true),
        ("co-located", &["controller.aes_units=1"], &["controller.aes_units=1", "controller.aes_reads=shared"], true),
        ("secpm", &[], &["counters.reencrypt_unwritten=false"], false),
    ];
    for (design, before, after, more) in cases {
        let (before, after) = (time(design, "queue", before), time(design, "queue", after));
        assert_eq!(after.0 > before.0, more, "{design}: {before:?} {after:?}");
        assert_ne!(before.1, after.1, "{design}");
    }
    // These move time to and fro: a circuit that is free earlier meets a queue that is still full, and what is not in the first
    // level evicts nothing from it.
    let to_and_fro = ["program.log_placement=own-pages", "controller.aes_hold=until-encrypted"];
    for other in to_and_fro.into_iter().chain(["core.clwb_leaves=nothing", "core.clwb_leaves=readable"]) {
        assert_ne!(time("secpm", "queue", &[other]).1, time("secpm", "queue", &[]).1, "{other}");
    }
}
