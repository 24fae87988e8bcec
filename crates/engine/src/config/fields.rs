//! Every value of a machine that can be set: its path, its allowed values, and the reason for each bound.

use super::ByteSize;
use super::excerpt::shown_name;
use toml::Value;

/// One value of a machine.
pub(super) struct Field {
    /// The path as written after `--set`.
    pub path: &'static str,
    pub kind: Kind,
}

/// The allowed values of a field. Bounds are inclusive; `why` completes "because".
pub(super) enum Kind {
    Text,
    Flag,
    Choice(&'static [&'static str]),
    Number { allowed: &'static [u64], why: &'static str },
    Whole { min: u64, max: u64, why: &'static str },
    Size { min: u64, max: u64, multiple: u64, why: &'static str },
    Decimal { max: f64, why: &'static str },
}

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

const LINES: &str = "memory moves in lines of 64 bytes";
const CACHE_SIZE: &str = "a cache holds whole lines of 64 bytes, and the host holds them all";
const WAYS: &str = "a set is searched way by way";
const LATENCY: &str = "an access takes time, and ten thousand cycles are more than any memory takes";
const MSHRS: &str = "a miss needs a register, and they are searched one by one";
const QUEUE: &str = "what waits needs an entry, and entries are searched one by one";
const CLOCK: &str = "a cycle is at least one picosecond";
const AES_UNITS: &str = "a line needs a circuit, and circuits are searched one by one";
const PERCENT: &str = "it is a share of a hundred";
const TIMING: &str = "a millisecond is longer than any memory takes";
const ENERGY: &str = "a microjoule for a bit is more than any memory takes";
const DRAIN_ENERGY: &str = "a million units for a byte are more than any battery gives";
const BANKS: &str = "a bank's number has 16 bits";

/// All fields, in the order of the schema.
pub(super) const FIELDS: &[Field] = &[
    text("name"),
    text("source"),
    flag("engine.bytes"),
    flag("engine.check_loads"),
    whole("program.think_instructions", 0, 1_000_000_000, "a transaction of more would never end"),
    whole("program.think_load_percent", 0, 100, PERCENT),
    whole("program.think_store_percent", 0, 100, PERCENT),
    size(
        "program.think_footprint",
        4 * KIB,
        GIB,
        4 * KIB,
        "volatile data takes whole pages, and the host holds them all",
    ),
    whole("program.think_hot_percent", 0, 100, PERCENT),
    Field {
        path: "program.copy_bytes",
        kind: Kind::Number { allowed: &[8, 16, 32, 64], why: "these are the widths of a register move" },
    },
    size("program.log_ring", KIB, GIB, 64, "the ring holds at least one small transaction, in whole lines"),
    Field { path: "program.log_granularity", kind: Kind::Choice(&["word", "line"]) },
    Field { path: "program.log_stores", kind: Kind::Choice(&["cached", "non-temporal"]) },
    Field { path: "program.log_placement", kind: Kind::Choice(&["packed", "own-pages"]) },
    Field { path: "program.item_metadata", kind: Kind::Choice(&["beside", "inside"]) },
    size("program.footprint", 64, 16 * TIB, 64, LINES),
    flag("program.footprint_per_core"),
    Field { path: "program.core_region", kind: Kind::Choice(&["packed", "own-banks", "own-banks-contiguous"]) },
    whole("core.clock_mhz", 1, 1_000_000, CLOCK),
    whole("core.width", 1, 64, "a core dispatches at least one instruction per cycle, and none does more than 64"),
    whole("core.rob_entries", 1, 65_536, QUEUE),
    whole("core.load_queue_entries", 1, 4_096, QUEUE),
    whole("core.store_queue_entries", 1, 4_096, QUEUE),
    whole("core.write_combining_buffers", 1, 256, QUEUE),
    Field { path: "core.flush_overlap", kind: Kind::Choice(&["overlapped", "one-at-a-time"]) },
    size("l1.size", 64, GIB, 64, CACHE_SIZE),
    flag("l1.size_per_core"),
    whole("l1.ways", 1, 256, WAYS),
    whole("l1.latency_cycles", 1, 10_000, LATENCY),
    whole("l1.mshrs", 1, 1_024, MSHRS),
    flag("l1.shared"),
    size("l2.size", 64, GIB, 64, CACHE_SIZE),
    flag("l2.size_per_core"),
    whole("l2.ways", 1, 256, WAYS),
    whole("l2.latency_cycles", 0, 10_000, LATENCY),
    whole("l2.mshrs", 1, 1_024, MSHRS),
    flag("l2.shared"),
    size("l3.size", 64, GIB, 64, CACHE_SIZE),
    flag("l3.size_per_core"),
    whole("l3.ways", 1, 256, WAYS),
    whole("l3.latency_cycles", 0, 10_000, LATENCY),
    whole("l3.mshrs", 1, 1_024, MSHRS),
    flag("l3.shared"),
    size("controller.counter_cache_size", 64, GIB, 64, CACHE_SIZE),
    flag("controller.counter_cache_size_per_core"),
    whole("controller.counter_cache_ways", 1, 256, WAYS),
    whole("controller.counter_cache_latency_cycles", 1, 10_000, LATENCY),
    whole(
        "controller.wpq_entries",
        2,
        4_096,
        "a line and its counter block are appended together and take two entries",
    ),
    whole("controller.wpq_high_watermark", 1, 4_096, "draining begins with an entry to drain"),
    whole("controller.wpq_low_watermark", 0, 4_095, "draining ends below the high watermark"),
    Field {
        path: "controller.policy",
        kind: Kind::Choice(&["continuous", "nvmain-frfcfs-wqf", "nvmain-frfcfs", "gem5", "dramsim2"]),
    },
    flag("controller.wpq_issue_when_idle"),
    whole("controller.min_writes_per_switch", 1, 4_096, "the bus turns to writes for at least one of them"),
    whole("controller.row_hit_limit", 1, 1_000_000, "an open row serves a request before it is closed"),
    flag("controller.counters_overtake"),
    Field { path: "controller.write_acknowledged", kind: Kind::Choice(&["queued", "written"]) },
    decimal("controller.answer_latency_ns", 1e6, TIMING),
    whole("controller.counter_wpq_entries", 1, 4_096, QUEUE),
    whole("controller.counter_wpq_high_watermark", 1, 4_096, "draining begins with an entry to drain"),
    whole("controller.counter_wpq_low_watermark", 0, 4_095, "draining ends below the high watermark"),
    flag("controller.counter_wpq_merging"),
    whole("controller.read_queue_entries", 1, 4_096, QUEUE),
    whole("controller.aes_units", 1, 256, AES_UNITS),
    whole("controller.aes_read_units", 1, 256, AES_UNITS),
    flag("controller.aes_pipelined"),
    Field { path: "controller.aes_hold", kind: Kind::Choice(&["until-admitted", "until-encrypted"]) },
    decimal("controller.aes_latency_ns", 1e6, TIMING),
    Field {
        path: "controller.aes_key_bits",
        kind: Kind::Number { allowed: &[128, 256], why: "the engine has AES-128 and AES-256" },
    },
    Field {
        path: "controller.counter_placement",
        kind: Kind::Choice(&["same-bank", "single-bank", "cross-bank", "interleaved"]),
    },
    Field { path: "controller.counter_atomic_order", kind: Kind::Choice(&["overlapped", "serialised"]) },
    whole("controller.reencryption_parallelism", 1, 64, "a page has 64 lines"),
    Field { path: "counters.organisation", kind: Kind::Choice(&["split", "global", "per-line"]) },
    whole("counters.minor_bits", 1, 7, "64 minors and a 64-bit major share the 64 bytes of a counter block"),
    flag("counters.reencrypt_unwritten"),
    Field { path: "counters.global_register", kind: Kind::Choice(&["adr", "volatile", "max-scan"]) },
    Field {
        path: "integrity.mac_bits",
        kind: Kind::Number { allowed: &[56, 64, 128], why: "a line of 64 bytes has 8 of 56 or 64 bits, or 4 of 128" },
    },
    Field { path: "integrity.mac_placement", kind: Kind::Choice(&["region", "beside", "ecc"]) },
    decimal("integrity.mac_latency_ns", 1e6, TIMING),
    decimal("integrity.hash_latency_ns", 1e6, TIMING),
    whole("integrity.mac_units", 1, 256, AES_UNITS),
    Field { path: "integrity.read_verification", kind: Kind::Choice(&["before-use", "speculative"]) },
    Field {
        path: "integrity.tree_arity",
        kind: Kind::Number { allowed: &[8, 16, 32], why: "the children of a node share its 64 bytes" },
    },
    Field { path: "integrity.metadata_cache", kind: Kind::Choice(&["shared", "apart"]) },
    size("integrity.metadata_cache_size", 64, GIB, 64, CACHE_SIZE),
    whole("integrity.metadata_cache_ways", 1, 256, WAYS),
    whole(
        "integrity.persisted_levels",
        1,
        20,
        "a design that persists levels persists one at least, and no tree has 20",
    ),
    whole("integrity.stop_loss", 1, 64, "a recovery tries this many counters for each line"),
    whole("integrity.low_bits", 1, 10, "a MAC of 64 bits leaves 10 beside its own 54"),
    whole("log.transactions", 1, 32, "the controller has registers for 32 concurrent transactions"),
    whole("log.buckets", 1, 65_536, "a transaction needs a bucket, and free ones are kept in a list"),
    whole("log.bucket_records", 1, 256, "a bucket holds at least one record, and a recovery reads all of them"),
    whole("log.pending_entries", 1, 256, QUEUE),
    Field { path: "log.cfb_latency", kind: Kind::Choice(&["serial", "paper"]) },
    Field { path: "log.iv", kind: Kind::Choice(&["per-allocation", "per-bucket"]) },
    Field {
        path: "eadr.battery",
        kind: Kind::Choice(&["as-needed", "write-only", "write-compute-order", "all-operation"]),
    },
    whole("eadr.cme_levels", 1, 3, "there are three levels, and the first one is where the core reads"),
    whole("eadr.xor_cycles", 0, 10_000, LATENCY),
    decimal("eadr.l1_drain_nj_per_byte", 1e6, DRAIN_ENERGY),
    decimal("eadr.l2_drain_nj_per_byte", 1e6, DRAIN_ENERGY),
    decimal("eadr.l3_drain_nj_per_byte", 1e6, DRAIN_ENERGY),
    decimal("eadr.controller_drain_nj_per_byte", 1e6, DRAIN_ENERGY),
    decimal("eadr.aes_pj_per_byte", 1e6, DRAIN_ENERGY),
    decimal("eadr.xor_fj_per_byte", 1e6, DRAIN_ENERGY),
    decimal("eadr.recovery_ns_per_line", 1e6, TIMING),
    size(
        "device.capacity",
        64 * KIB,
        16 * TIB,
        4 * KIB,
        "a device holds whole pages, and the host keeps a table of them",
    ),
    whole("device.channels", 1, 64, BANKS),
    whole("device.ranks", 1, 64, BANKS),
    whole("device.banks_per_rank", 1, 4_096, BANKS),
    size("device.row", 4 * KIB, 1 << 20, 4 * KIB, "a page lies in one row"),
    whole("device.row_segments", 1, 64, "a part of a row holds at least a line of a page"),
    Field {
        path: "device.mapping",
        kind: Kind::Choice(&["page-interleaved", "row-interleaved", "line-interleaved", "page-xor", "bank-contiguous"]),
    },
    whole("device.interface_mhz", 1, 1_000_000, CLOCK),
    whole("device.burst_cycles", 1, 1_024, "a burst occupies the bus for at least one cycle"),
    decimal("device.t_rcd_ns", 1e6, TIMING),
    decimal("device.t_cl_ns", 1e6, TIMING),
    decimal("device.t_cwd_ns", 1e6, TIMING),
    decimal("device.t_ccd_ns", 1e6, TIMING),
    decimal("device.t_rtp_ns", 1e6, TIMING),
    decimal("device.t_rp_ns", 1e6, TIMING),
    decimal("device.t_rrd_ns", 1e6, TIMING),
    decimal("device.t_faw_ns", 1e6, TIMING),
    decimal("device.t_wtr_ns", 1e6, TIMING),
    decimal("device.t_rtrs_ns", 1e6, TIMING),
    decimal("device.t_wp_ns", 1e6, TIMING),
    decimal("device.t_wr_ns", 1e6, TIMING),
    Field { path: "device.write_recovery", kind: Kind::Choice(&["each-write", "row-close"]) },
    decimal("device.array_read_pj_per_bit", 1e6, ENERGY),
    decimal("device.array_write_pj_per_bit", 1e6, ENERGY),
    decimal("device.row_buffer_pj_per_bit", 1e6, ENERGY),
    decimal("device.background_mw", 1e6, "a kilowatt is more than any memory takes"),
];

const fn text(path: &'static str) -> Field {
    Field { path, kind: Kind::Text }
}

const fn flag(path: &'static str) -> Field {
    Field { path, kind: Kind::Flag }
}

const fn whole(path: &'static str, min: u64, max: u64, why: &'static str) -> Field {
    Field { path, kind: Kind::Whole { min, max, why } }
}

const fn size(path: &'static str, min: u64, max: u64, multiple: u64, why: &'static str) -> Field {
    Field { path, kind: Kind::Size { min, max, multiple, why } }
}

/// A field whose value is a finite number from 0 to `max`.
const fn decimal(path: &'static str, max: f64, why: &'static str) -> Field {
    Field { path, kind: Kind::Decimal { max, why } }
}

impl Field {
    /// The field at `path`.
    pub fn at(path: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|field| field.path == path)
    }

    /// Whether the field takes any text.
    pub fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text)
    }

    /// Checks whether the field may have `value`; the error is a sentence.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let whole = value.as_integer().and_then(|number| u64::try_from(number).ok());
        let (good, allowed) = match &self.kind {
            Kind::Text => (value.is_str(), "a text".to_owned()),
            Kind::Flag => (value.is_bool(), "true or false".to_owned()),
            Kind::Choice(names) => (value.as_str().is_some_and(|name| names.contains(&name)), either(names)),
            Kind::Number { allowed, why } => {
                let names: Vec<String> = allowed.iter().map(u64::to_string).collect();
                (whole.is_some_and(|number| allowed.contains(&number)), format!("{}, because {why}", either(&names)))
            }
            Kind::Whole { min, max, why } => {
                let good = whole.is_some_and(|number| (*min..=*max).contains(&number));
                (good, format!("a whole number from {min} to {max}, because {why}"))
            }
            Kind::Size { min, max, multiple, why } => {
                let bytes = match value.as_str() {
                    Some(text) => text.parse::<ByteSize>().ok().map(|size| size.0),
                    None => whole,
                };
                let good = bytes.is_some_and(|bytes| (*min..=*max).contains(&bytes) && bytes.is_multiple_of(*multiple));
                let (min, max, multiple) = (ByteSize(*min), ByteSize(*max), ByteSize(*multiple));
                (
                    good,
                    format!(
                        "a size from {min} to {max} (B, KiB, MiB, GiB, TiB), a multiple of {multiple}, because {why}"
                    ),
                )
            }
            Kind::Decimal { max, why } => {
                let number = value.as_float().or(value.as_integer().map(|number| number as f64));
                let good = number.is_some_and(|number| (0.0..=*max).contains(&number));
                (good, format!("a number from 0 to {max}, because {why}"))
            }
        };
        if good { Ok(()) } else { Err(format!("{} = {} must be {allowed}", self.path, shown(value))) }
    }
}

/// `value` on one line, shortened if it is long.
pub fn shown(value: &Value) -> String {
    shown_name(&value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}")))
}

fn either<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
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
            assert_eq!(FIELDS.iter().map(|field| field.path.to_owned()).collect::<BTreeSet<_>>(), schema);
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
            | "l3.shared" => "false",
            "engine.check_loads" | "l2.shared" | "controller.wpq_issue_when_idle" => "true",
            "controller.policy" => "nvmain-frfcfs",
            "controller.write_acknowledged" => "written",
            "l1.shared" => "false",
            "program.footprint_per_core" => "true",
            "eadr.battery" => "write-only",
            "eadr.cme_levels" => "2",
            path if path.ends_with("size_per_core") => "true",
            "device.write_recovery" => "row-close",
            "program.log_granularity" => "word",
            "program.log_stores" => "non-temporal",
            "program.log_placement" => "packed",
            "program.core_region" => "own-banks",
            "core.flush_overlap" => "overlapped",
            "program.item_metadata" => "inside",
            "controller.aes_pipelined" => "true",
            "controller.counter_atomic_order" => "serialised",
            "controller.aes_hold" => "until-encrypted",
            "counters.organisation" => "global",
            "counters.global_register" => "max-scan",
            "controller.counter_wpq_low_watermark" => "3",
            "controller.counter_wpq_high_watermark" => "7",
            "controller.counter_wpq_entries" => "16",
            "controller.counter_placement" => "cross-bank",
            "log.cfb_latency" => "paper",
            "log.iv" => "per-bucket",
            "device.mapping" => "page-xor",
            "controller.aes_key_bits" => "256",
            "counters.minor_bits" => "3",
            "core.clock_mhz" => "1000",
            "device.interface_mhz" => "800",
            "integrity.mac_bits" => "128",
            "integrity.mac_placement" => "ecc",
            "integrity.tree_arity" => "16",
            "integrity.read_verification" => "speculative",
            "integrity.metadata_cache" => "shared",
            "integrity.mac_units" => "4",
            "l1.size" | "l2.size" | "l3.size" | "controller.counter_cache_size" | "integrity.metadata_cache_size" => {
                "128KiB"
            }
            "program.log_ring" | "program.footprint" | "program.think_footprint" | "device.row" => "8KiB",
            "device.capacity" => "8GiB",
            path if ["_ns", "_bit", "_mw", "_byte", "_per_line"].iter().any(|end| path.ends_with(end)) => "17.5",
            "controller.wpq_high_watermark" => "20",
            "controller.wpq_low_watermark" | "core.width" | "l2.latency_cycles" | "device.banks_per_rank" => "4",
            path if path.ends_with("ways") => "4",
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
            _ => None,
        }
    }

    #[test]
    fn every_value_can_be_set() {
        for field in FIELDS {
            let value = another(field.path);
            let needs = needs(field.path).map(str::to_owned);
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
    fn bounds_hold_at_their_edges() {
        let check = |path, value: Value| Field::at(path).unwrap().check(&value).is_ok();
        for field in FIELDS {
            match field.kind {
                Kind::Whole { min, max, .. } => {
                    for (number, good) in [(min as i64 - 1, false), (min as i64, true), (max as i64, true)] {
                        assert_eq!(check(field.path, number.into()), good, "{} = {number}", field.path);
                    }
                    assert!(!check(field.path, (max as i64 + 1).into()));
                }
                Kind::Size { min, max, multiple, .. } => {
                    for (bytes, good) in [(min - multiple, false), (min, true), (min + 1, false), (max, true)] {
                        assert_eq!(check(field.path, (bytes as i64).into()), good, "{} = {bytes}", field.path);
                        assert_eq!(check(field.path, format!("{bytes}B").into()), good, "{} = {bytes}B", field.path);
                    }
                    assert!(!check(field.path, ((max + multiple) as i64).into()));
                }
                Kind::Decimal { max, .. } => {
                    for (number, good) in [(-0.1, false), (0.0, true), (max, true), (max * 1.01, false)] {
                        assert_eq!(check(field.path, number.into()), good, "{} = {number}", field.path);
                    }
                    assert!(!check(field.path, f64::NAN.into()) && !check(field.path, f64::INFINITY.into()));
                    assert!(check(field.path, 5.into()));
                }
                _ => {}
            }
        }
    }
}
