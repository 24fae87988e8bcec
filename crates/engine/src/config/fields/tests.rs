//! Every field can be set, and has its bounds.

use super::*;
use crate::config::{load_machine, preset, preset_names};
use std::collections::BTreeSet;

fn leaves(prefix: &str, table: &toml::Table, into: &mut BTreeSet<String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => leaves(&format!("{prefix}{key}."), inner, into),
            _ => assert!(into.insert(format!("{prefix}{key}"))),
        }
    }
}

#[test]
fn fields_are_those_of_the_schema() {
    for name in preset_names() {
        let mut schema = BTreeSet::new();
        leaves("", &toml::Table::try_from(preset(name).unwrap()).unwrap(), &mut schema);
        assert_eq!(FIELDS.iter().map(|field| field.path.clone()).collect::<BTreeSet<_>>(), schema);
    }
}

/// A value that differs from the secpm preset's and that passes every cross-check.
fn another(path: &str) -> &str {
    match path {
        "name" | "source" => "mine",
        "engine.bytes"
        | "counters.reencrypt_unwritten"
        | "controller.counters_overtake"
        | "controller.counter_wpq_merging"
        | "module.buffer_durable"
        | "wear.registers_durable"
        | "l1.shared"
        | "l3.shared" => "false",
        "engine.check_loads"
        | "l2.shared"
        | "program.footprint_per_core"
        | "controller.aes_pipelined"
        | "controller.wpq_issue_when_idle" => "true",
        "controller.policy" => "nvmain-frfcfs",
        "controller.write_acknowledged" => "written",
        "eadr.battery" => "write-only",
        "eadr.cme_levels" => "2",
        "eadr.persist_buffer_watermark" => "7",
        path if path.ends_with("size_per_core") => "true",
        "device.write_recovery" => "row-close",
        "program.log_granularity" => "word",
        "program.log_stores" => "non-temporal",
        "program.log_placement" => "packed",
        "program.base" => "warm",
        "program.core_region" => "own-banks",
        "core.flush_overlap" => "overlapped",
        "core.clwb_leaves" => "readable",
        "core.store_prefetch" | "core.store_buffer" => "false",
        "core.access_bytes" => "8",
        "program.item_metadata" => "inside",
        "controller.aes_occupancy" => "block",
        "controller.counter_atomic_order" => "per-core",
        "controller.counter_write" => "counter",
        "controller.aes_hold" => "until-encrypted",
        "counters.organisation" => "global",
        "counters.global_register" => "max-scan",
        "controller.counter_wpq_high_watermark" => "7",
        "controller.counter_placement" => "cross-bank",
        "log.cfb_latency" => "paper",
        "log.iv" => "per-bucket",
        "device.mapping" => "page-xor",
        "device.programmed_bits" => "changed",
        "module.kind" => "buffered",
        "link.kind" => "cxl",
        "link.domain" => "device",
        "link.power_flush" => "phase-1-fails",
        "module.media_line" => "128B",
        "module.ait_reach" => "1MiB",
        "wear.leveling" => "start-gap",
        "device.write_interruption" => "pause",
        "wear.scatter" => "in-order",
        "controller.aes_key_bits" => "256",
        "counters.block_lines" => "16",
        "counters.minor_bits" | "controller.counter_wpq_low_watermark" => "3",
        "core.clock_mhz" | "device.interface_mhz" => "1000",
        "integrity.mac_bits" => "128",
        "integrity.mac_placement" => "ecc",
        "integrity.tree_arity" | "controller.counter_wpq_entries" => "16",
        "integrity.read_verification" => "speculative",
        "controller.aes_reads" | "integrity.metadata_cache" => "shared",
        path if path.ends_with(".size") || path.ends_with("cache_size") => "128KiB",
        "program.log_ring" | "program.footprint" | "program.think_footprint" | "device.row" | "module.buffer" => "8KiB",
        "device.capacity" => "8GiB",
        "integrity.update_ring" => "8KiB",
        path if ["_ns", "_bit", "_mw", "_byte", "_per_line"].iter().any(|end| path.ends_with(end)) => "17.5",
        "controller.wpq_high_watermark" => "20",
        "controller.wpq_low_watermark" | "core.width" | "l2.latency_cycles" | "device.banks_per_rank" => "4",
        path if path.ends_with("ways") || path == "integrity.mac_units" => "4",
        "controller.wpq_entries" => "64",
        _ => "8",
    }
}

/// What must be set before `another` value of the field at `path` passes the cross-checks.
fn needs(path: &str) -> Option<&'static str> {
    match path {
        "device.mapping" => Some("program.core_region=packed"),
        "controller.write_acknowledged" => Some("controller.wpq_issue_when_idle=true"),
        "integrity.mac_placement" => Some("integrity.mac_bits=56"),
        "link.kind" => Some("module.kind=buffered"),
        "eadr.persist_buffer_entries" => Some("eadr.persist_buffer_watermark=1"),
        "wear.registers_durable" => Some("wear.leveling=start-gap"),
        _ => None,
    }
}

#[test]
fn every_value_can_be_set() {
    for field in FIELDS.iter() {
        let value = another(&field.path);
        let needs = needs(&field.path).map(str::to_owned);
        let sets: Vec<String> = needs.into_iter().chain([format!("{}={value}", field.path)]).collect();
        let shown = |sets: &[String]| {
            let table = toml::Table::try_from(load_machine("secpm", sets).unwrap()).unwrap();
            let set = field.path.split('.').fold(&Value::Table(table), |at, key| &at[key]).clone();
            set.as_str().map_or_else(|| set.to_string(), str::to_owned)
        };
        assert_eq!(shown(&sets), value, "{}", field.path);
        // A first level is never shared.
        assert!(field.path == "l1.shared" || shown(&[]) != value, "{}", field.path);
    }
}

#[test]
fn only_the_first_level_must_take_time() {
    let refused = |path: &str| Field::at(path).unwrap().check(&Value::from(0)).is_err();
    assert_eq!(["l1.latency_cycles", "l2.latency_cycles", "l3.latency_cycles"].map(refused), [true, false, false]);
}

#[test]
fn bounds_hold_at_their_edges() {
    let check = |path: &str, value: Value| Field::at(path).unwrap().check(&value).is_ok();
    for field in FIELDS.iter() {
        match field.kind {
            Kind::Whole { min, max, .. } => {
                for (number, good) in [(min as i64 - 1, false), (min as i64, true), (max as i64, true)] {
                    assert_eq!(check(&field.path, number.into()), good, "{} = {number}", field.path);
                }
                assert!(!check(&field.path, (max as i64 + 1).into()));
            }
            Kind::Size { min, max, multiple, .. } => {
                for (bytes, good) in [(min - multiple, false), (min, true), (min + 1, false), (max, true)] {
                    assert_eq!(check(&field.path, (bytes as i64).into()), good, "{} = {bytes}", field.path);
                    assert_eq!(check(&field.path, format!("{bytes}B").into()), good, "{} = {bytes}B", field.path);
                }
                assert!(!check(&field.path, ((max + multiple) as i64).into()));
            }
            Kind::Decimal { max, .. } => {
                for (number, good) in [(-0.1, false), (0.0, true), (max, true), (max * 1.01, false)] {
                    assert_eq!(check(&field.path, number.into()), good, "{} = {number}", field.path);
                }
                assert!(!check(&field.path, f64::NAN.into()) && !check(&field.path, f64::INFINITY.into()));
                assert!(check(&field.path, 5.into()));
            }
            _ => {}
        }
    }
}
