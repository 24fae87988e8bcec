//! What every design must do, whatever its parts: end every transaction, give the same results twice, take the same
//! time with and without bytes, return to programs what they wrote, and account for every line.

use super::engine::common::judge::{needs_modules, readings, suited, with};
use counterpoint_engine::config::{self, RunConfig, Variant};
use counterpoint_engine::controller::ControllerStats;
use counterpoint_engine::design;
use counterpoint_engine::device::{Device, DeviceStats};
use counterpoint_engine::message::{NoObserver, ProgramForm};
use counterpoint_engine::parts::Design;
use counterpoint_engine::workload::WORKLOADS;
use counterpoint_engine::{Bases, Source, System, api};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const MACHINES: [&str; 5] = ["small", "secpm", "counter-atomicity", "optane", "ddr5-4800"];
const TRANSACTIONS: u64 = 40;

/// Settings that give the machine of a paper caches that a short run can fill.
fn sets(machine: &str) -> Vec<String> {
    let sets: &[&str] = match machine {
        "secpm" => &[
            "l1.size=2KiB",
            "l2.size=4KiB",
            "l3.size=16KiB",
            "controller.counter_cache_size=512B",
            "device.capacity=256MiB",
        ],
        "counter-atomicity" => &[
            "l1.size=2KiB",
            "l2.size=4KiB",
            "controller.counter_cache_size=1KiB",
            "controller.counter_cache_ways=4",
            "device.capacity=256MiB",
        ],
        "optane" => &[
            "l1.size=2KiB",
            "l2.size=4KiB",
            "l3.size=16KiB",
            "controller.counter_cache_size=512B",
            "device.capacity=240MiB",
            "module.buffer=1KiB",
        ],
        "ddr5-4800" => &[
            "l1.size=2KiB",
            "l2.size=4KiB",
            "l3.size=16KiB",
            "controller.counter_cache_size=512B",
            "device.capacity=256MiB",
        ],
        _ => &[],
    };
    sets.iter().map(|set| (*set).to_owned()).collect()
}

/// A short run of every design, in each reading that differs, on each of `machines`.
fn requests(machines: &[&str], workloads: &[&str]) -> Vec<Value> {
    let mut requests = Vec::new();
    for name in design::names() {
        for variant in readings(name) {
            for &machine in machines {
                for workload in workloads {
                    requests.push(json!({
                        "design": name, "variant": variant.name(), "machine": machine, "set": sets(machine),
                        "workload": workload, "tx_size": 256, "footprint": "128KiB", "transactions": TRANSACTIONS,
                        "warmup": 10,
                    }));
                }
            }
        }
    }
    requests
}

/// The reports of runs, without the parts that differ between two runs of one configuration.
fn run(requests: &[Value], workers: usize) -> Vec<Value> {
    let suited: Vec<Value> = requests.iter().cloned().map(suited).collect();
    let batch = json!({"runs": suited}).to_string();
    let answer = api::run_many(&batch, workers, &|_, _| {}, &Arc::default()).unwrap();
    let mut answer: Value = serde_json::from_str(&answer).unwrap();
    let reports = answer["results"].as_array_mut().unwrap();
    assert_eq!(reports.len(), requests.len());
    for report in reports.iter_mut() {
        assert!(report.as_object_mut().unwrap().remove("host").is_some_and(|host| host["seconds"].is_number()));
    }
    std::mem::take(reports)
}

fn design_of(name: &Value) -> Design {
    design::find(name.as_str().unwrap(), Variant::Hardened).unwrap()
}

fn add_set(request: &Value, set: &str) -> Value {
    let mut request = request.clone();
    request["set"].as_array_mut().unwrap().push(json!(set));
    request
}

fn of(report: &Value, path: &str) -> u64 {
    let value = report.pointer(path).unwrap_or_else(|| panic!("{path} is missing"));
    value.as_u64().unwrap_or_else(|| panic!("{path} is {value}"))
}

#[test]
fn every_transaction_ends_and_the_parts_add_up() {
    let workloads: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    // Each machine and each workload with half of the others.
    let requests = requests(&MACHINES, &workloads).into_iter().enumerate();
    let requests = requests.filter(|(place, _)| (place + place / workloads.len()).is_multiple_of(2));
    let requests: Vec<Value> = requests.map(|(_, request)| request).collect();
    for (request, report) in requests.iter().zip(run(&requests, 0)) {
        for key in ["design", "variant", "workload", "machine"] {
            assert_eq!(report[key], request[key], "{request}");
        }
        assert_eq!(of(&report, "/transactions"), TRANSACTIONS, "{request}");
        let [reads, writes] = ["/nvm/reads", "/nvm/writes"].map(|path| of(&report, path));
        let [data, log, counters] =
            ["/nvm/data_writes", "/nvm/log_writes", "/nvm/counter_writes"].map(|path| of(&report, path));
        let sum = |paths: &[&str]| paths.iter().map(|path| of(&report, path)).sum::<u64>();
        let protection = sum(&["/nvm/mac_writes", "/nvm/tree_writes", "/nvm/table_writes"]);
        assert_eq!(writes, data + log + counters + protection, "{request}");
        let read = ["/nvm/data_reads", "/nvm/counter_reads", "/nvm/mac_reads", "/nvm/tree_reads"];
        assert_eq!(reads, sum(&read), "{request}");
        assert!(design_of(&request["design"]).integrity.is_some() || protection == 0, "{request}");
        let name = request["design"].as_str().unwrap();
        // A design may say where MACs are.
        let machine = design::load_on(name, Variant::Hardened, request["machine"].as_str(), &[]).unwrap().machine;
        let layout = design_of(&request["design"]).media_layout(&machine);
        let beside = layout.inline || layout.macs.is_some_and(|macs| macs.beside_bytes > 0);
        let transfer = if beside { 72 } else { 64 + layout.modified_bytes };
        assert_eq!(of(&report, "/nvm/write_bytes"), writes * transfer, "{request}");
        assert_eq!(of(&report, "/nvm/read_bytes"), reads * transfer, "{request}");
        let design = design_of(&request["design"]);
        let flushes = design.form != ProgramForm::FlushFree;
        let has_log = design.log.is_some() || request["workload"] != "linked-list";
        // Even a dequeue writes a line; without flushes it may stay in a cache.
        assert!(data >= TRANSACTIONS || !flushes, "{request}: {data}");
        assert_eq!(log > 0, has_log && (flushes || log > 0), "{request}");
        let encrypted = design.encrypts() && design.modules.is_none();
        // A list without flushes may stay in the caches, and what it pushes has never been written.
        let may_rest = !flushes && request["workload"] == "linked-list";
        let encrypts = counters > 0 || of(&report, "/crypto/pads") > 0;
        assert!(encrypts == encrypted || may_rest && !encrypts, "{request}");
        let counter_cache = design.has_counter_cache();
        assert_eq!(report["counter_cache"]["hits"].is_null(), !counter_cache, "{request}");
        let latency = &report["transaction_latency_ns"];
        let latency = ["p50", "p90", "p99", "p999", "max", "mean"].map(|key| latency[key].as_f64().unwrap());
        assert!(latency[..5].is_sorted() && latency[5] <= latency[4], "{request}");
        let seconds = report["simulated_ns"].as_f64().unwrap() / 1e9;
        let throughput = report["throughput_tps"].as_f64().unwrap() * seconds / TRANSACTIONS as f64;
        assert!((throughput - 1.0).abs() < 1e-9, "{request}: {throughput}");
    }
}

#[test]
fn two_runs_say_the_same_with_any_number_of_workers_and_another_seed_says_something_else() {
    let requests = requests(&["small"], &["btree", "linked-list"]);
    let first = run(&requests, 1);
    assert_eq!(first, run(&requests, 2));
    let reseeded: Vec<Value> = requests.iter().map(|request| with(request, json!({"seed": 2}))).collect();
    for (request, (one, two)) in requests.iter().zip(first.iter().zip(run(&reseeded, 2))) {
        // A list grows by the same steps whatever is in its nodes.
        assert_eq!(one["event_digest"] == two["event_digest"], request["workload"] == "linked-list", "{request}");
        assert_ne!(one["config_digest"], two["config_digest"], "{request}");
    }
}

#[test]
fn moving_bytes_and_watching_take_no_simulated_time() {
    let requests = requests(&["small", "counter-atomicity"], &["hash", "queue"]);
    let strip = |mut report: Value| {
        report.as_object_mut().unwrap().remove("config_digest");
        // What bits change is known of bytes alone.
        for key in ["flipped_bits", "data_flip_share"] {
            report["nvm"].as_object_mut().unwrap().remove(key).expect("each report has it");
        }
        report
    };
    let full: Vec<Value> = run(&requests, 0).into_iter().map(strip).collect();
    let without: Vec<Value> = requests.iter().map(|request| add_set(request, "engine.bytes=false")).collect();
    for (request, (one, two)) in requests.iter().zip(full.iter().zip(run(&without, 0))) {
        assert_eq!(one, &strip(two), "{request} without bytes");
    }
    let path = std::env::temp_dir().join(format!("counterpoint-conformance-{}.json", std::process::id()));
    // The design with the most to observe.
    let last = requests.iter().rposition(|request| request["design"] == "easy-pm").unwrap();
    let watched = with(&requests[last], json!({"timeline": path}));
    assert_eq!(full.get(last), run(&[watched], 1).into_iter().map(strip).next().as_ref());
    let timeline = std::fs::read_to_string(&path).unwrap();
    for event in ["transaction 3", "counter persists", "line logged", "log freed"] {
        assert!(timeline.contains(event), "{event} is not in the timeline");
    }
    std::fs::remove_file(path).unwrap();
}

/// What a finished system counted.
struct Counted {
    controller: ControllerStats,
    device: DeviceStats,
    loads_checked: u64,
}

fn finished(design: &Design, workload: &str, machine: &str, cores: u16) -> Counted {
    let mut sets = sets(machine);
    sets.push("engine.check_loads=true".to_owned());
    let config = RunConfig {
        variant: design.variant,
        tx_size: 256,
        transactions: TRANSACTIONS,
        cores,
        footprint: 128 << 10,
        ..RunConfig::new(&design.name, workload, config::load_machine(machine, &sets).unwrap())
    };
    config::validate_run(&config).unwrap();
    let source =
        Source::open(&config, design.form, Device::program_capacity_of(&config.machine), &Arc::default()).unwrap();
    let mut system =
        System::new(&config, design, source.job(&Bases::default(), &AtomicBool::new(false)).unwrap(), NoObserver)
            .unwrap();
    system.run(|_| ControlFlow::Continue(()));
    assert_eq!(system.transactions_ended(), TRANSACTIONS * u64::from(cores), "{} {workload}", design.name);
    let now = system.queue.now();
    Counted {
        controller: system.controller.stats(now),
        device: system.device.stats(),
        loads_checked: system.cores.iter().map(|core| core.stats().loads_checked).sum(),
    }
}

#[test]
fn loads_find_what_the_program_stored_and_every_write_asked_for_is_accounted_for() {
    let mut cases = Vec::new();
    for (number, name) in design::names().enumerate() {
        for (other, machine) in MACHINES.into_iter().enumerate() {
            let machine = if needs_modules(name) { "optane" } else { machine };
            // Each machine and each workload with half of the others, each design and each workload with one core and with two.
            for (place, workload) in WORKLOADS.iter().enumerate().skip((number + other) % 2).step_by(2) {
                let cores = 1 + ((number + place / 2 + other / 2) % 2) as u16;
                cases.push((name, machine, workload.name, cores));
            }
        }
    }
    cases.into_par_iter().for_each(|(name, machine, workload, cores)| {
        let design = design::find(name, Variant::Hardened).unwrap();
        // A load that finds other bytes stops the run.
        let Counted { controller, device, loads_checked } = finished(&design, workload, machine, cores);
        let case = format!("{name} {workload} on {machine}, {cores} cores");
        // What a load finds is checked where it hits. A push loads nothing but the head of the list, which its core has
        // in its registers, and a swap each line once, all at the same time.
        assert!(loads_checked > 0 || matches!(workload, "linked-list" | "array"), "{case}: {loads_checked}");
        let protection = controller.mac_writes + controller.tree_writes + controller.table_writes;
        assert_eq!(protection, device.mac_writes + device.tree_writes + device.table_writes, "{case}");
        assert_eq!(controller.alarms, 0, "{case}");
        let written = controller.data_writes + controller.log_writes + controller.counter_writes + protection;
        assert_eq!(written, device.writes, "{case}");
        assert_eq!(controller.data_writes + controller.log_writes, device.data_writes, "{case}");
        assert_eq!(controller.counter_writes, device.counter_writes, "{case}");
        let read = controller.data_reads + controller.counter_reads + controller.mac_reads + controller.tree_reads;
        assert_eq!(read, device.reads, "{case}");
        let left = controller.counter_writes + controller.counter_writes_coalesced;
        assert_eq!(controller.counter_writes_asked, left, "{case}");
        let replaced = controller.integrity_writes_coalesced + controller.data_writes_merged;
        let coalesced = controller.counter_writes_coalesced + replaced;
        assert_eq!(controller.admitted, written + coalesced, "{case}");
        let merges = config::preset(machine).unwrap().controller.counter_wpq_merging;
        let with_reduction = ["secpm", "secpm-workshop", "deuce", "silent-shredder", "supermem", "hot-xts"];
        let coalesces = with_reduction.contains(&name) || name == "fca" && merges;
        // The selective design merges a pair's block with one written back on request, if they meet; hardware logging
        // merges the blocks of pairs, if the machine's queue merges. Behind a tree, writes may come too slowly to meet.
        let may = matches!(
            name,
            "sca" | "hw-log" | "alc" | "easy-pm" | "sca-tree" | "secpm-tree" | "supermem-tree" | "xts-tree"
        );
        assert!(may || (controller.counter_writes_coalesced > 0) == coalesces, "{case}");
        match name {
            "unencrypted" | "optane-xts" | "adr" | "eadr" => {
                assert_eq!((controller.counter_writes_asked, controller.pads), (0, 0), "{case}")
            }
            // There are no counters.
            "xts" => assert_eq!((controller.counter_writes_asked, controller.counter_reads), (0, 0), "{case}"),
            // Those of pages without counters carry none.
            "hot-xts" => {
                assert!(controller.counter_writes_asked <= device.data_writes + controller.data_writes_merged, "{case}")
            }
            // Every data write carries its counter.
            "secpm"
            | "secpm-no-cwr"
            | "secpm-workshop"
            | "deuce"
            | "silent-shredder"
            | "write-through"
            | "fca"
            | "hw-log"
            | "supermem"
            | "secpm-tree"
            | "xts-tree"
            | "supermem-tree"
            | "rebuild"
            | "secpb"
            | "strict"
            | "triad-nvm"
            | "plp"
            | "bmf"
            | "strict-counter-tree"
            | "scue" => {
                let accepted = device.data_writes + controller.data_writes_merged;
                assert_eq!(controller.counter_writes_asked, accepted, "{case}");
            }
            // One of several increments, and what is evicted.
            "osiris" | "anubis-agit-read" | "anubis-agit-plus" | "dolos" | "phoenix" => {
                let asked = controller.counter_writes_asked;
                assert!(asked < device.data_writes + controller.counter_evictions, "{case}: {asked}");
            }
            // What is evicted, a block at most for each update that leaves the ring, of which a write makes one, and one with the
            // first write of a line under a new major counter.
            "thoth" => {
                let accepted = device.data_writes + controller.data_writes_merged;
                assert!(controller.counter_writes_asked <= 2 * accepted + controller.counter_evictions, "{case}");
            }
            // Of the log, only what is evicted.
            "alc" => {
                let asked = controller.counter_writes_asked;
                assert!(asked >= controller.data_writes, "{case}: {asked}");
                assert!(asked <= controller.data_writes + controller.counter_evictions, "{case}: {asked}");
            }
            // The log has no counters.
            "easy-pm" => assert_eq!(controller.counter_writes_asked, controller.data_writes, "{case}"),
            // It is the other part of the same write.
            "co-located" | "co-located-cc" => assert_eq!(controller.counter_writes_asked, 0, "{case}"),
            // Counter-atomic lines, and blocks written back on demand or evicted; never a block for each line.
            "sca" | "sca-tree" => {
                let asked = controller.counter_writes_asked;
                assert!(asked > 0 && asked < device.data_writes + controller.counter_evictions, "{case}: {asked}");
            }
            // What is evicted, and a block whenever the bits of a counter that its line holds come round.
            "star" => {
                let comes_round = device.data_writes >> config::preset(machine).unwrap().integrity.low_bits;
                assert!(controller.counter_writes_asked <= controller.counter_evictions + comes_round, "{case}");
            }
            // Counters leave only when their place in the cache is needed.
            _ => assert!(controller.counter_writes_asked <= controller.counter_evictions, "{case}"),
        }
    });
}

#[test]
fn more_cores_do_more() {
    let mut requests = Vec::new();
    for name in design::names() {
        for cores in [1, 2, 4] {
            requests.push(json!({
                "design": name, "workload": "btree", "machine": "secpm", "tx_size": 256,
                "footprint": "4MiB", "transactions": 3 * TRANSACTIONS, "warmup": 0, "cores": cores,
                // Updates go up a tree one after another, and one circuit would encrypt the logs of all cores, and one bank hold what hardware logs; counters that
                // leave early would merge less the more cores there are.
                "set": [
                    "controller.aes_units=4", "program.core_region=packed", "device.mapping=page-interleaved",
                    "controller.wpq_issue_when_idle=true", "controller.counters_overtake=false",
                    "integrity.hash_latency_ns=1",
                ],
            }));
        }
    }
    let reports = run(&requests, 0);
    for (request, reports) in requests.chunks(3).zip(reports.chunks(3)) {
        let throughput: Vec<f64> = reports.iter().map(|report| report["throughput_tps"].as_f64().unwrap()).collect();
        let name = &request[0]["design"];
        // Four cores come near to what the write queue lets through.
        // One core nearly does if every node is written.
        let [two, four] =
            if matches!(name.as_str(), Some("strict" | "strict-counter-tree")) { [1.0, 0.9] } else { [1.2, 1.05] };
        assert!(throughput[1] > two * throughput[0] && throughput[2] > four * throughput[1], "{name}: {throughput:?}");
        for (report, cores) in reports.iter().zip([1, 2, 4]) {
            assert_eq!(of(report, "/transactions"), 3 * TRANSACTIONS * cores, "{name}");
        }
    }
}

/// Every key of `run --json`, by its path; `host` is checked separately.
const KEYS: &[&str] = &[
    "/schema",
    "/design",
    "/variant",
    "/workload",
    "/machine",
    "/seed",
    "/cores",
    "/tx_size",
    "/footprint",
    "/config_digest",
    "/engine_version",
    "/engine_build",
    "/transactions",
    "/simulated_ns",
    "/instructions",
    "/event_digest",
    "/transaction_latency_ns/mean",
    "/transaction_latency_ns/p50",
    "/transaction_latency_ns/p90",
    "/transaction_latency_ns/p99",
    "/transaction_latency_ns/p999",
    "/transaction_latency_ns/max",
    "/throughput_tps",
    "/nvm/reads",
    "/nvm/writes",
    "/nvm/data_writes",
    "/nvm/log_writes",
    "/nvm/counter_writes",
    "/nvm/mac_writes",
    "/nvm/tree_writes",
    "/nvm/table_writes",
    "/nvm/write_bytes",
    "/nvm/data_reads",
    "/nvm/counter_reads",
    "/nvm/mac_reads",
    "/nvm/tree_reads",
    "/nvm/read_bytes",
    "/nvm/energy_nj",
    "/nvm/max_line_writes",
    "/nvm/max_data_writes",
    "/nvm/max_counter_writes",
    "/nvm/max_mac_writes",
    "/nvm/max_tree_writes",
    "/nvm/max_table_writes",
    "/nvm/row_hits",
    "/nvm/bank_busy_ns",
    "/counter_cache/hits",
    "/counter_cache/misses",
    "/counter_cache/hit_rate",
    "/counter_cache/evictions",
    "/wpq/admitted",
    "/wpq/counter_writes_coalesced",
    "/wpq/full_stall_ns",
    "/wpq/mean_occupancy",
    "/cache/0/level",
    "/cache/0/hits",
    "/cache/0/misses",
    "/cache/0/mean_latency_ns",
    "/cache/2/level",
    "/core/ipc",
    "/core/fence_stall_ns",
    "/reencryptions",
    "/crypto/pads",
    "/crypto/aes_busy_ns",
    "/integrity",
    "/at_crash/dirty_fraction",
    "/at_crash/dirty_lines_fraction",
    "/at_crash/drain_energy_mj",
    "/at_crash/drain_energy_all_dirty_mj",
    "/at_crash/recovery_time_ns",
    "/at_crash/recovery_time_paper_ns",
];

/// The keys that are null for a trace.
const NULL_FOR_TRACES: [&str; 2] = ["/tx_size", "/footprint"];

fn assert_keys(request: &Value, report: &Value, is_trace: bool) {
    let design = design_of(&request["design"]);
    let drain = design.drain().filter(|_| design.stores_persist());
    for key in KEYS {
        let value = report.pointer(key).unwrap_or_else(|| panic!("{request}: {key} is missing"));
        let meaningless = key.starts_with("/at_crash") && drain.is_none()
            || key.starts_with("/at_crash/recovery") && !drain.is_some_and(|drain| drain.uses_shadow())
            || is_trace && NULL_FOR_TRACES.contains(key)
            || *key == "/integrity" && design.integrity.is_none()
            || !design.has_counter_cache() && key.starts_with("/counter_cache");
        assert_eq!(value.is_null(), meaningless, "{request}: {key} is {value}");
    }
}

fn traces() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path().to_str().unwrap().to_owned());
    let mut traces: Vec<String> = files.filter(|path| path.contains(".pmemcheck.log")).collect();
    traces.sort();
    assert_eq!(traces.len(), 6);
    traces
}

#[test]
fn report_has_every_key_of_the_contract() {
    let mut requests = requests(&MACHINES, &["array"]);
    for trace in traces().into_iter().filter(|trace| trace.contains("hashmap")) {
        for name in ["unencrypted", "secpm"] {
            requests.push(json!({"design": name, "workload": trace, "set": []}));
        }
    }
    let reports = run(&requests, 0);
    for (request, report) in requests.iter().zip(&reports) {
        assert_keys(request, report, request["workload"] != "array");
    }
    let host = json!({"runs": [requests[0]]}).to_string();
    let host = api::run_many(&host, 1, &|_, _| {}, &Arc::default()).unwrap();
    let host: Value = serde_json::from_str(&host).unwrap();
    for key in ["seconds", "instructions_per_second", "memory_requests_per_second", "peak_rss_bytes"] {
        assert!(host["results"][0]["host"].get(key).is_some(), "host.{key} is missing");
    }
}

#[test]
fn traces_end_every_transaction_and_move_the_same_data_in_every_design() {
    for trace in traces() {
        let inserts = if trace.contains("-5.") { 5 } else { 20 };
        // The long recordings take long, so two designs must do.
        let designs = design::names().filter(|name| inserts == 5 || matches!(*name, "unencrypted" | "secpm"));
        let requests: Vec<Value> = designs.map(|name| json!({"design": name, "workload": trace, "set": []})).collect();
        let reports = run(&requests, 0);
        let without: Vec<Value> = requests.iter().map(|request| add_set(request, "engine.bytes=false")).collect();
        for ((request, report), bare) in requests.iter().zip(&reports).zip(run(&without, 0)) {
            assert!(of(report, "/transactions") > inserts, "{request}: {}", report["transactions"]);
            assert_eq!(report["transactions"], reports[0]["transactions"], "{request}");
            assert_eq!(report["event_digest"], bare["event_digest"], "{request}");
            assert_eq!(report["nvm"]["writes"], bare["nvm"]["writes"], "{request}");
        }
    }
}

#[test]
fn recorded_program_can_leave_no_annotation_out() {
    let request = json!({"design": "sca", "workload": traces()[0], "leave_out": "commit-counter-atomic"});
    let error = api::run_many(&json!({"runs": [request]}).to_string(), 1, &|_, _| {}, &Arc::default());
    let sentence = error.unwrap_err().to_string();
    assert!(sentence.starts_with("leave_out commit-counter-atomic: trace "), "{sentence}");
}
