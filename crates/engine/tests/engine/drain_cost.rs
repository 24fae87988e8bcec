//! What a run reports about a power failure at its end: sepencr's Table III and Figure 12 from real runs, with parts
//! that add up.

use counterpoint_engine::api;
use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Memory, Setup};
use counterpoint_engine::parts::Design;
use serde_json::{Value, json};
use std::sync::Arc;

fn try_run(requests: &[Value]) -> Result<Vec<Value>, String> {
    let batch = json!({"runs": requests}).to_string();
    let answer = api::run_many(&batch, 0, &|_, _| {}, &Arc::default()).map_err(|error| error.to_string())?;
    let mut answer: Value = serde_json::from_str(&answer).unwrap();
    Ok(std::mem::take(answer["results"].as_array_mut().unwrap()))
}

fn run(requests: &[Value]) -> Vec<Value> {
    try_run(requests).unwrap()
}

fn request(design: &str, cores: u16, sets: &[&str]) -> Value {
    json!({"design": design, "machine": "sepencr", "workload": "array", "tx_size": 64, "transactions": 50, "warmup": 0,
           "cores": cores, "set": sets})
}

fn number(report: &Value, path: &str) -> f64 {
    report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {report}"))
}

/// Sum of `key` over the parts of `report` that are named.
fn sum(report: &Value, names: &[&str], key: &str) -> f64 {
    let parts = report["at_crash"]["parts"].as_array().unwrap();
    let named = parts.iter().filter(|part| names.contains(&part["name"].as_str().unwrap()));
    named.map(|part| part[key].as_f64().unwrap()).sum()
}

const CACHES: [&str; 3] = ["l1", "l2", "l3"];

#[test]
fn table_three_comes_out_to_the_digit() {
    let table = [
        ("eadr", "47.7343", None, None, "47.7343"),
        ("sepencr", "23.8672", Some("5.8867"), None, "29.7539"),
        ("bbe", "47.7343", Some("5.8867"), Some("0.8087"), "54.4297"),
    ];
    let requests = table.map(|(name, ..)| request(name, 8, &[]));
    for ((name, caches, controller, encryption, overall), report) in table.into_iter().zip(run(&requests)) {
        let names: Vec<&str> =
            report["at_crash"]["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
        let energy = |of: &[&str]| {
            let there = of.iter().all(|name| names.contains(name));
            there.then(|| format!("{:.4}", sum(&report, of, "energy_all_dirty_mj")))
        };
        assert_eq!(energy(&CACHES).as_deref(), Some(caches), "{name}");
        assert_eq!(energy(&["counter-cache"]).as_deref(), controller, "{name}");
        assert_eq!(energy(&["encryption"]).as_deref(), encryption, "{name}");
        assert_eq!(format!("{:.4}", number(&report, "/at_crash/drain_energy_all_dirty_mj")), overall, "{name}");
    }
}

#[test]
fn figure_twelve_comes_out_by_the_papers_formula() {
    // Data caches of 4 and 32 MiB on one core.
    let sizes: [(&[&str], [&str; 2]); 2] = [
        (&["l1.size=1MiB", "l2.size=1MiB", "l3.size=2MiB"], ["0.0131", "0.0066"]),
        (&["l1.size=8MiB", "l2.size=8MiB", "l3.size=16MiB"], ["0.1049", "0.0524"]),
    ];
    for (sets, seconds) in sizes {
        let reports = run(&["bbe", "sepencr"].map(|name| request(name, 1, sets)));
        for (report, seconds) in reports.iter().zip(seconds) {
            let formula = number(report, "/at_crash/recovery_time_paper_ns") / 1e9;
            assert_eq!(format!("{formula:.4}"), seconds, "{}", report["design"]);
        }
    }
}

fn designs() -> impl Iterator<Item = Design> {
    let variants = [Variant::Published, Variant::Hardened];
    design::names().flat_map(move |name| variants.into_iter().filter_map(move |variant| design::find(name, variant)))
}

#[test]
fn parts_add_up_and_are_there_where_they_mean_something() {
    let small = ["l1.size=2KiB", "l2.size=8KiB", "l3.size=16KiB", "controller.counter_cache_size=1KiB"];
    let requests: Vec<Value> = designs()
        .map(|design| {
            let mut request = request(&design.name, 2, &small);
            request["variant"] = json!(design.variant.name());
            super::common::judge::suited(request)
        })
        .collect();
    for (design, report) in designs().zip(run(&requests)) {
        let at_crash = &report["at_crash"];
        let what = format!("{} {:?} {at_crash}", design.name, design.variant);
        let Some(drain) = design.drain().filter(|_| design.stores_persist()) else {
            let nothing = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            assert!(at_crash.as_object().unwrap().values().all(nothing), "{what}");
            continue;
        };
        let all = ["l1", "l2", "l3", "persist-buffers", "counter-cache", "metadata-cache", "encryption", "hashes"];
        for (total, part) in [("drain_energy_mj", "energy_mj"), ("drain_energy_all_dirty_mj", "energy_all_dirty_mj")] {
            let total = at_crash[total].as_f64().unwrap();
            assert!(total > 0.0 && (total - sum(&report, &all, part)).abs() < 1e-12, "{what}");
        }
        for part in at_crash["parts"].as_array().unwrap() {
            let [bytes, dirty] = ["bytes", "dirty_bytes"].map(|key| part[key].as_u64().unwrap());
            assert!(dirty <= bytes, "{what}");
            let [energy, all] = ["energy_mj", "energy_all_dirty_mj"].map(|key| part[key].as_f64().unwrap());
            assert!((energy / all - dirty as f64 / bytes as f64).abs() < 1e-12, "{what}");
        }
        let [dirty, bytes] = ["dirty_bytes", "bytes"].map(|key| sum(&report, &all[..4], key));
        let fraction = at_crash["dirty_fraction"].as_f64().unwrap();
        assert!(fraction > 0.0 && (fraction - dirty / bytes).abs() < 1e-12, "{what}");
        let encrypted = at_crash["parts"].as_array().unwrap().iter().find(|part| part["name"] == "encryption");
        assert!(encrypted.is_none_or(|part| part["dirty_bytes"].as_f64() == Some(dirty)), "{what}");
        assert_eq!(encrypted.is_some(), drain.encrypts(), "{what}");
        let hashes = sum(&report, &["hashes"], "bytes");
        assert_eq!(hashes > 0.0, design.integrity.is_some(), "{what}");
        if drain.shadow_integrity().has_macs() {
            assert_eq!(hashes, bytes, "a MAC for each slot: {what}");
        } else if hashes > 0.0 && drain.uses_shadow() {
            // Slots and their metadata, and the nodes above them: eight children each.
            let lines = bytes / 64.0 * 1.25;
            assert!(hashes > lines * 64.0 && hashes < lines * 64.0 * 1.2, "{what}");
        }

        let recovery = ["recovery_time_ns", "recovery_time_paper_ns"].map(|key| at_crash[key].as_f64());
        assert!(recovery.iter().all(|time| time.is_some() == drain.uses_shadow()), "{what}");
        if let [Some(time), Some(formula)] = recovery {
            assert_eq!(formula, bytes / 64.0 * 200.0, "{what}");
            // Each line read takes at least its burst on the one bus there is, 10 ns.
            let reads = bytes / 64.0 / 4.0 + dirty / 64.0;
            assert!(time >= reads * 10.0, "{what}");
        }
    }
}

#[test]
fn battery_that_does_not_support_the_drain_is_refused_by_every_call() {
    let set = ["eadr.battery=write-only"];
    let refused = request("bbe", 1, &set);
    let sentence =
        "eadr.battery = write-only: design 'bbe' makes pads after power is lost and needs write-compute-order";
    assert_eq!(try_run(&[request("sepencr", 1, &["eadr.battery=write-only"]), refused.clone()]).unwrap_err(), sentence);
    assert_eq!(api::resolve(&refused.to_string()).unwrap_err().to_string(), sentence);
    let crash = api::crash(&refused.to_string(), &|_, _| {}, &Arc::default());
    assert_eq!(crash.unwrap_err().to_string(), sentence);
    let of_boot = json!({"design": "bbe", "machine": "sepencr", "set": set}).to_string();
    assert_eq!(api::recovery(&of_boot, &|_, _| {}, &Arc::default()).unwrap_err().to_string(), sentence);
    let (variant, machine, set) = (Variant::Hardened, Some("sepencr"), &set.map(str::to_owned));
    let memory = Memory::new(&Setup { design: "bbe", variant, machine, set, seed: 1, on_channel: [None; 2] });
    assert_eq!(memory.err().unwrap().0, sentence);
}
