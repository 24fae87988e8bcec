//! Every value of a machine that can be set: its path, what it may be, and why. All of this is read from the schema's types.

use super::excerpt::shown_name;
use super::{ByteSize, Machine, preset_names};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use std::sync::LazyLock;
use toml::Value;

type Json = serde_json::Value;

/// One value of a machine.
pub(super) struct Field {
    /// The path as written after `--set`.
    pub path: String,
    pub kind: Kind,
}

/// The allowed values of a field. Bounds are inclusive; `why` completes "because".
pub(super) enum Kind {
    Text,
    Flag,
    Choice(Vec<String>),
    Number { allowed: Vec<u64>, why: String },
    Whole { min: u64, max: u64, why: String },
    Size { min: u64, max: u64, multiple: u64, why: String },
    Decimal { max: f64, why: String },
}

pub(super) const KIB: u64 = 1 << 10;
pub(super) const GIB: u64 = 1 << 30;
pub(super) const TIB: u64 = 1 << 40;

pub(super) const LINES: &str = "memory moves in lines of 64 bytes";
pub(super) const CACHE_SIZE: &str = "a cache holds whole lines of 64 bytes, and the host holds them all";
pub(super) const WAYS: &str = "a set is searched way by way";
pub(super) const LATENCY: &str = "an access takes time, and ten thousand cycles are more than any memory takes";
pub(super) const MSHRS: &str = "a miss needs a register, and they are searched one by one";
pub(super) const QUEUE: &str = "what waits needs an entry, and entries are searched one by one";
pub(super) const CLOCK: &str = "a cycle is at least one picosecond";
pub(super) const AES_UNITS: &str = "a line needs a circuit, and circuits are searched one by one";
pub(super) const PERCENT: &str = "it is a share of a hundred";
pub(super) const TIMING: &str = "a millisecond is longer than any memory takes";
pub(super) const ENERGY: &str = "a microjoule for a bit is more than any memory takes";
pub(super) const DRAIN_ENERGY: &str = "a million units for a byte are more than any battery gives";
pub(super) const BANKS: &str = "a bank's number has 16 bits";

/// The JSON Schema of a complete machine. Beside what JSON Schema has, `required` lists the fields of each type in their
/// order, and `x-because` completes "because" after the bounds of a value.
pub(super) fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Machine>()
}

/// The JSON Schema of a machine file, which may leave out every value. `x-order` lists the keys of an object in their order.
pub fn file_schema() -> Json {
    let mut schema = schema().to_value();
    may_leave_out(&mut schema);
    schema["properties"]["base"] = serde_json::json!({
        "type": "string", "enum": preset_names(), "description": "The preset to build on; `secpm` if absent.",
    });
    schema["x-order"].as_array_mut().expect("a machine has values").insert(0, "base".into());
    schema
}

fn may_leave_out(schema: &mut Json) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(order) = schema.remove("required") {
        schema.insert("x-order".to_owned(), order);
    }
    let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
    properties.into_iter().flat_map(serde_json::Map::values_mut).for_each(may_leave_out);
}

/// All fields, in the order of the schema.
pub(super) static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let mut fields = Vec::new();
    collect("", schema().as_value(), &mut fields);
    fields
});

fn collect(prefix: &str, schema: &Json, fields: &mut Vec<Field>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        let (path, field) = (format!("{prefix}{name}"), &schema["properties"][name]);
        if field["properties"].is_object() {
            collect(&format!("{path}."), field, fields);
        } else {
            fields.push(Field { path, kind: Kind::of(field) });
        }
    }
}

impl Kind {
    /// What a field with this schema may be.
    fn of(schema: &Json) -> Self {
        let whole = |key: &str| schema[key].as_u64().expect("a number has bounds");
        let why = || schema["x-because"].as_str().expect("bounds have a reason").to_owned();
        let list = |key: &str| schema[key].as_array().into_iter().flatten();
        if schema["enum"].is_array() {
            return Kind::Number { allowed: list("enum").filter_map(Json::as_u64).collect(), why: why() };
        }
        match schema["type"].as_str() {
            Some("boolean") => Kind::Flag,
            Some("integer") => Kind::Whole { min: whole("minimum"), max: whole("maximum"), why: why() },
            Some("number") => Kind::Decimal { max: whole("maximum") as f64, why: why() },
            Some("string") => Kind::Text,
            _ if schema["oneOf"].is_array() => {
                Kind::Choice(list("oneOf").filter_map(|one| one["const"].as_str()).map(str::to_owned).collect())
            }
            _ => Kind::Size { min: whole("minimum"), max: whole("maximum"), multiple: whole("multipleOf"), why: why() },
        }
    }
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
            Kind::Choice(names) => {
                (value.as_str().is_some_and(|name| names.iter().any(|known| known == name)), either(names))
            }
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
            path if path.ends_with("size_per_core") => "true",
            "device.write_recovery" => "row-close",
            "program.log_granularity" => "word",
            "program.log_stores" => "non-temporal",
            "program.log_placement" => "packed",
            "program.base" => "warm",
            "program.core_region" => "own-banks",
            "core.flush_overlap" => "overlapped",
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
            "module.media_line" => "128B",
            "module.buffer" => "8KiB",
            "module.ait_reach" => "1MiB",
            "module.buffer_durable" => "false",
            "wear.leveling" => "start-gap",
            "device.write_interruption" => "pause",
            "wear.scatter" => "in-order",
            "controller.aes_key_bits" => "256",
            "counters.minor_bits" | "controller.counter_wpq_low_watermark" => "3",
            "core.clock_mhz" | "device.interface_mhz" => "1000",
            "integrity.mac_bits" => "128",
            "integrity.mac_placement" => "ecc",
            "integrity.tree_arity" | "controller.counter_wpq_entries" => "16",
            "integrity.read_verification" => "speculative",
            "controller.aes_reads" | "integrity.metadata_cache" => "shared",
            path if path.ends_with(".size") || path.ends_with("cache_size") => "128KiB",
            "program.log_ring" | "program.footprint" | "program.think_footprint" | "device.row" => "8KiB",
            "device.capacity" => "8GiB",
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
}
