//! Designs as files: every value of every part runs and is crashed, parts that contradict each other are refused in one
//! sentence, and every other combination works or is caught by the auditors, never with a panic.

use super::common::judge::with;
use super::common::{Full, run};
use counterpoint_engine::api::{self, Error};
use counterpoint_engine::audit::Rule;
use counterpoint_engine::config::Variant;
use counterpoint_engine::design::{self, Part};
use counterpoint_engine::kernel::{ConfigError, Random};
use counterpoint_engine::mechanism::line_counters::LineCounters;
use counterpoint_engine::mechanism::split_counters::SplitCounters;
use counterpoint_engine::message::{Line, NoObserver};
use counterpoint_engine::parts::{CounterKind, CounterPart};
use counterpoint_engine::{LineSystem, config};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// The result of a crash exploration of the design file at `path` on the small machine.
fn crash(path: &Path, over: Value) -> Result<Value, String> {
    let request = json!({
        "design": path, "workload": "array", "machine": "small", "footprint": "4KiB", "transactions": 2,
        "shrink": false, "blame": false,
    });
    match api::crash(&with(&request, over).to_string(), &|_, _| {}, &Arc::default()) {
        Ok(report) => Ok(serde_json::from_str(&report).unwrap()),
        Err(Error::Config(ConfigError(sentence))) => Err(sentence),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// A line of a design file; a key of a table gets its table.
fn line(key: &str, value: &str) -> String {
    let value = match value {
        "true" | "false" => value.to_owned(),
        _ if key == "recovery" => format!("[\"{value}\"]"),
        _ => format!("\"{value}\""),
    };
    format!("{key} = {value}\n")
}

/// Whether `text` can be one sentence for a user: short, on one line, and without a path in the source.
fn is_a_sentence(text: &str) -> bool {
    !text.contains('\n') && text.len() < 900 && !text.contains("::")
}

/// Whether the design file was accepted. If so, also checks that a power failure after every event gives a verdict.
fn accepted(path: &Path, text: &str, over: Value) -> bool {
    match crash(path, over) {
        Ok(report) => {
            assert_eq!(report["internal_errors"], json!([]), "{text}");
            assert!(report["crash_points"].as_u64().unwrap() > 0, "{text}");
            true
        }
        Err(sentence) => {
            assert!(is_a_sentence(&sentence), "{text}: {sentence}");
            false
        }
    }
}

/// Values that no built-in design has without another part, and the text that a file needs for them.
const BESIDE: [((&str, &str), &str); 8] = [
    (("log_write_path", "ready-pairs"), "log_write_path = \"ready-pairs\"\nwrite_queues = \"data-and-counter\""),
    (("log_write_path", "early-pairs"), "log_write_path = \"early-pairs\"\nwrite_queues = \"data-and-counter\""),
    (
        ("log_write_path", "selective-ready-pairs"),
        "log_write_path = \"selective-ready-pairs\"\nwrite_queues = \"data-and-counter\"",
    ),
    (
        ("log_write_path", "selective-early-pairs"),
        "log_write_path = \"selective-early-pairs\"\nwrite_queues = \"data-and-counter\"",
    ),
    (
        ("log_write_path", "selective-stop-loss"),
        "log_write_path = \"selective-stop-loss\"\nwrite_queues = \"data-and-counter\"",
    ),
    (("write_path", "selective-stop-loss"), "write_path = \"selective-stop-loss\"\ncounter_update = \"with-data\""),
    (
        ("recovery", "renew-cache-pads"),
        "recovery = [\"restore-shadow\", \"renew-cache-pads\"]\nrestore_into = \"caches\"\nshadow_stamp = \"boot-counter\"",
    ),
    (
        ("shadow_stamp", "lowest-bit"),
        "shadow_stamp = \"lowest-bit\"\nrecovery = [\"advance-boot-counter\", \"restore-shadow\"]\nrestore_into = \"memory\"",
    ),
];

const READINGS: [&str; 2] = ["published", "hardened"];

/// The designs of one in three bases with the value of a part, by their parts: the text of a file, and which reading of it. Two
/// files, or two readings of one, that have the same parts are one design.
fn designs_with<'a>(
    folder: &TempDir,
    (key, value): (&'a str, &'a str),
    third: usize,
    distinct: &mut BTreeMap<String, (String, PathBuf, &'a str)>,
) -> Vec<String> {
    let mut designs = Vec::new();
    for base in design::names().skip(third).step_by(3) {
        let beside = BESIDE.iter().find(|(part, _)| *part == (key, value)).map(|(_, lines)| *lines);
        let lines = beside.map_or_else(|| line(key, value), str::to_owned);
        let text = format!("base = \"{base}\"\n{lines}");
        let path = write(folder, "case.toml", &text);
        let readings = match design::with_parts(path.to_str().unwrap()) {
            Ok((_, readings)) => readings.map(|(reading, parts)| (reading.name(), parts.to_string())).to_vec(),
            Err(ConfigError(sentence)) => {
                assert!(is_a_sentence(&sentence), "{text}: {sentence}");
                Vec::new()
            }
        };
        for (reading, parts) in readings {
            let number = distinct.len();
            distinct
                .entry(parts.clone())
                .or_insert_with(|| (text.clone(), write(folder, &format!("case-{number}.toml"), &text), reading));
            designs.push(parts);
        }
    }
    designs
}

/// Each value on a third of the designs, and on the others if none of these can have it.
#[test]
fn every_value_of_every_part_is_crashed_on_designs_that_can_have_it() {
    let folder = TempDir::new().unwrap();
    let parts: Vec<Part> = design::parts();
    let values = parts.iter().flat_map(|part| part.values.iter().map(|value| (part.key, value.name)));
    let mut missing: Vec<(usize, (&str, &str))> = values.enumerate().collect();
    let mut accepted_by_parts: BTreeMap<String, bool> = BTreeMap::new();
    for pass in 0..3 {
        let mut distinct = BTreeMap::new();
        let of: Vec<Vec<String>> = missing
            .iter()
            .map(|(number, value)| designs_with(&folder, *value, (number + pass) % 3, &mut distinct))
            .collect();
        distinct.retain(|parts, _| !accepted_by_parts.contains_key(parts));
        let run = |(parts, (text, path, reading)): (&String, &(String, PathBuf, &str))| {
            (parts.clone(), accepted(path, text, json!({"variant": reading})))
        };
        accepted_by_parts.par_extend(distinct.par_iter().map(run));
        let mut of = of.iter();
        missing.retain(|_| !of.next().unwrap().iter().any(|parts| accepted_by_parts[parts]));
    }
    // No design can have a log counter that is stored beside its line, and the machine here has no modules.
    let of_modules = [("encryption", "module-xts"), ("buffer_save", "encrypted"), ("buffer_save", "in-the-clear")];
    let expected: Vec<_> = of_modules.into_iter().chain([("log_write_path", "co-located")]).collect();
    assert_eq!(missing.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), expected);
}

#[test]
fn parts_drawn_at_random_work_or_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut random = Random::stream(1, "design files");
    let (parts, names) = (design::parts(), design::names().collect::<Vec<_>>());
    let mut pick = |count: usize| random.below(count as u64) as usize;
    let cases: Vec<(String, PathBuf, &str)> = (0..600)
        .map(|case| {
            let mut stated = BTreeMap::new();
            for _ in 0..2 + pick(5) {
                let part = &parts[pick(parts.len())];
                stated.insert(part.key, part.values[pick(part.values.len())].name);
            }
            // Keys of a table come after all other keys.
            let (tables, plain): (Vec<_>, Vec<_>) = stated.into_iter().partition(|(key, _)| key.contains('.'));
            let lines = plain.into_iter().chain(tables).map(|(key, value)| line(key, value));
            let text = format!("base = \"{}\"\n{}", names[pick(names.len())], lines.collect::<String>());
            let path = write(&folder, &format!("case-{case}.toml"), &text);
            (text, path, READINGS[pick(2)])
        })
        .collect();
    let taken = cases
        .par_iter()
        .filter(|(text, path, reading)| accepted(path, text, json!({"variant": reading, "nested": true})))
        .count();
    assert!(taken > 20, "{taken} of {}", cases.len());
}

#[expect(dead_code, reason = "its main function")]
#[path = "../../examples/drain_of_your_own.rs"]
mod drain_of_your_own;

#[test]
fn drain_written_in_rust_is_judged_like_any_other() {
    let [small, whole] = drain_of_your_own::outcomes();
    assert!(small.0 < small.1, "a battery for four lines loses some");
    assert!(whole.0 == whole.1 && whole.1 > 0, "one for all lines does not");
}

#[expect(dead_code, reason = "its main function")]
#[path = "../../examples/counters_of_your_own.rs"]
mod counters_of_your_own;

#[test]
fn counters_that_begin_again_repeat_pads() {
    assert_eq!(counters_of_your_own::outcomes(), [None, Some(Rule::PadReuse)]);
}

/// The digest of forty writes to pages that run out of minor counters.
fn digest_with(counters: CounterPart) -> u64 {
    let mut design = design::find("secpm", Variant::Hardened).unwrap();
    design.encryption.as_mut().unwrap().counters = counters;
    let machine = config::preset("small").unwrap();
    let mut system = LineSystem::new(&machine, &design, Arc::new(Full([7; 64])), 1, NoObserver).unwrap();
    for n in 0..40 {
        system.write(n * 1_000, Line(n % 3 + 64 * (n % 2)), &[n as u8; 64], n as u32);
    }
    run(&mut system);
    system.digest()
}

#[test]
fn counter_scheme_written_in_rust_takes_the_place_of_a_kind() {
    let split = digest_with(CounterPart::Kind(CounterKind::Split));
    assert_eq!(digest_with(CounterPart::Custom(|counters| Box::new(SplitCounters::of(counters)))), split);
    assert_ne!(digest_with(CounterPart::Custom(|_| Box::new(LineCounters))), split, "another scheme is another run");
}
