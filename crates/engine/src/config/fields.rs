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
mod tests;
