//! The kinds of values that requests have. Each says in the schema what may be given; those that are read in a way of
//! their own say how, so that an error sentence names what is wrong.

use super::explore::Explore;
use crate::config::{ByteSize, Variant};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::marker::PhantomData;
use strum::VariantArray;

/// A kind of value.
pub(in crate::api) trait Kind {
    /// The front end's name of it, from which the type in Python and the form on the command line follow.
    const NAME: &'static str;

    /// What JSON may be given.
    fn schema() -> Value;
}

/// A kind of value that is read in a way of its own.
pub(in crate::api) trait Read: Kind {
    type Value: Serialize;

    /// The value; or what is wrong with it, without the name of the field.
    fn read(given: &Value) -> Result<Self::Value, String>;
}

/// A field of kind `K`, for the attributes of the fields: `serde(with = "As::<K>")`, or `schemars(with = "As<K>")` if
/// the field is read as its type is.
pub(in crate::api) struct As<K>(PhantomData<K>);

impl<K: Read> As<K> {
    pub(in crate::api) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<K::Value, D::Error> {
        K::read(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }

    pub(in crate::api) fn serialize<S: Serializer>(value: &K::Value, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
}

impl<K: Kind> JsonSchema for As<K> {
    fn schema_name() -> Cow<'static, str> {
        K::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Schema::try_from(K::schema()).expect("the schema of a kind is an object");
        schema.insert("x-kind".to_owned(), K::NAME.into());
        schema
    }
}

/// A whole number.
pub(in crate::api) struct Count;

impl Kind for Count {
    const NAME: &'static str = "count";

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 0, "maximum": u64::MAX})
    }
}

impl Read for Count {
    type Value = Option<u64>;

    fn read(given: &Value) -> Result<Option<u64>, String> {
        whole_number(given).map(Some)
    }
}

/// A number of bytes, or a text with a unit.
pub(in crate::api) struct Size;

impl Kind for Size {
    const NAME: &'static str = "size";

    fn schema() -> Value {
        ByteSize::json_schema(&mut SchemaGenerator::default()).to_value()
    }
}

impl Read for Size {
    type Value = Option<u64>;

    fn read(given: &Value) -> Result<Option<u64>, String> {
        bytes(given).map(Some)
    }
}

/// A time of the simulation: a number of nanoseconds, or a text with a unit. In picoseconds.
pub(in crate::api) struct Span;

/// The units of times, in nanoseconds.
const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// The longest time: a hundred days fit into the picoseconds of a simulation.
const SPAN_MAX_NS: f64 = 1e15;

impl Kind for Span {
    const NAME: &'static str = "span";

    fn schema() -> Value {
        json!({"type": ["number", "string"], "minimum": 1, "pattern": r"^[0-9.]+ ?(ns|us|ms|s)$"})
    }
}

impl Read for Span {
    type Value = Option<u64>;

    fn read(given: &Value) -> Result<Option<u64>, String> {
        let ns = match given {
            Value::String(text) => TIME_UNITS
                .iter()
                .find_map(|(unit, ns)| text.strip_suffix(unit)?.trim_end().parse().ok().map(|number: f64| number * ns)),
            other => other.as_f64(),
        };
        match ns.filter(|ns| (1.0..=SPAN_MAX_NS).contains(ns)) {
            Some(ns) => Ok(Some((ns * 1e3).round() as u64)),
            None => Err(format!("{given} is not a time from 1ns to 1000000s, as in 500ns, 10us or 1ms")),
        }
    }
}

/// Several sizes.
pub(in crate::api) struct Sizes;

impl Kind for Sizes {
    const NAME: &'static str = "sizes";

    fn schema() -> Value {
        json!({"type": "array", "items": Size::schema()})
    }
}

impl Read for Sizes {
    type Value = Vec<u64>;

    fn read(given: &Value) -> Result<Vec<u64>, String> {
        Vec::<Value>::deserialize(given).map_err(|error| error.to_string())?.iter().map(bytes).collect()
    }
}

impl Kind for Variant {
    const NAME: &'static str = "variant";

    fn schema() -> Value {
        one_of::<Variant>()
    }
}

impl Read for Variant {
    type Value = Option<Variant>;

    fn read(given: &Value) -> Result<Option<Variant>, String> {
        named(&text(given)?).map(Some)
    }
}

impl Kind for Explore {
    const NAME: &'static str = "name";

    fn schema() -> Value {
        one_of::<Explore>()
    }
}

impl Read for Explore {
    type Value = Option<Explore>;

    fn read(given: &Value) -> Result<Option<Explore>, String> {
        named(&text(given)?).map(Some)
    }
}

/// Values of machine and design that are changed.
pub(in crate::api) struct Assignments;

impl Kind for Assignments {
    const NAME: &'static str = "set";

    fn schema() -> Value {
        json!({"type": "array", "items": {"type": "string", "pattern": "="}})
    }
}

fn names<T: VariantArray + Copy + Into<&'static str>>() -> Vec<&'static str> {
    T::VARIANTS.iter().map(|&value| value.into()).collect()
}

/// The schema of one of several names.
fn one_of<T: VariantArray + Copy + Into<&'static str>>() -> Value {
    json!({"type": "string", "enum": names::<T>()})
}

/// The value called `name`; or that there is none, without the name of the field.
pub(in crate::api) fn named<T: VariantArray + Copy + Into<&'static str>>(name: &str) -> Result<T, String> {
    let known = names::<T>();
    if let Some(at) = known.iter().position(|known| *known == name) {
        return Ok(T::VARIANTS[at]);
    }
    let (last, others) = known.split_last().expect("there is a name");
    Err(format!("'{name}' does not exist: {} or {last}", others.join(", ")))
}

fn text(given: &Value) -> Result<String, String> {
    String::deserialize(given).map_err(|error| error.to_string())
}

fn bytes(value: &Value) -> Result<u64, String> {
    match value {
        Value::String(text) => text.parse().map(|ByteSize(bytes)| bytes),
        other => whole_number(other),
    }
}

fn whole_number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is not a whole number from 0 to {}", u64::MAX))
}
