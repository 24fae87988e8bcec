//! The kinds of requests, each with its fields and its schema.

use super::options::{Check, Crash, Distinguish, Lines, Prove, Recovery, Run, Window};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;

/// A kind of request.
pub(in crate::api) trait RequestKind: Default + Serialize + DeserializeOwned + JsonSchema {
    /// The function that takes it.
    const NAME: &'static str;
    /// What it is in error sentences.
    const KIND: &'static str;
}

impl RequestKind for Run {
    const NAME: &'static str = "run";
    const KIND: &'static str = "a run";
}

impl RequestKind for Lines {
    const NAME: &'static str = "replay_lines";
    const KIND: &'static str = "a replay of memory lines";
}

impl RequestKind for Crash {
    const NAME: &'static str = "crash";
    const KIND: &'static str = "a crash exploration";
}

impl RequestKind for Window {
    const NAME: &'static str = "scene";
    const KIND: &'static str = "a picture of a crash";
}

impl RequestKind for Prove {
    const NAME: &'static str = "prove";
    const KIND: &'static str = "a proof over small programs";
}

impl RequestKind for Distinguish {
    const NAME: &'static str = "distinguish";
    const KIND: &'static str = "a comparison over small programs";
}

impl RequestKind for Check {
    const NAME: &'static str = "check";
    const KIND: &'static str = "a check of a trace";
}

impl RequestKind for Recovery {
    const NAME: &'static str = "recovery";
    const KIND: &'static str = "a cost of recovery";
}

/// What there is to know of a kind of request.
pub(super) struct Described {
    pub name: &'static str,
    pub kind: &'static str,
    pub fields: fn() -> Vec<String>,
    schema: fn() -> Value,
}

impl Described {
    const fn of<R: RequestKind>() -> Self {
        Self { name: R::NAME, kind: R::KIND, fields: fields::<R>, schema: schema::<R> }
    }
}

/// All kinds of requests.
pub(super) const REQUESTS: [Described; 8] = [
    Described::of::<Run>(),
    Described::of::<Lines>(),
    Described::of::<Crash>(),
    Described::of::<Window>(),
    Described::of::<Prove>(),
    Described::of::<Distinguish>(),
    Described::of::<Check>(),
    Described::of::<Recovery>(),
];

/// The JSON Schema of each kind of request, by the function that takes it, as JSON. Beside what JSON Schema has,
/// `x-order` lists the fields in their order, and the other `x-` keys are those of the fields (`options.rs` beside this file).
pub fn schemas() -> String {
    let schemas = REQUESTS.iter().map(|kind| (kind.name.to_owned(), (kind.schema)()));
    Value::Object(schemas.collect()).to_string()
}

/// The fields of a kind of request, in their order.
pub(super) fn fields<R: RequestKind>() -> Vec<String> {
    let text = serde_json::to_string(&R::default()).expect("a request serialises");
    let Names(names) = serde_json::from_str(&text).expect("a request is an object");
    names
}

fn schema<R: RequestKind>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<R>();
    schema.insert("title".to_owned(), R::KIND.into());
    schema.insert("x-order".to_owned(), fields::<R>().into());
    // Every other key is refused.
    schema.insert("additionalProperties".to_owned(), false.into());
    let mut schema = schema.to_value();
    let properties = schema["properties"].as_object_mut().expect("a request is an object");
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        property.remove("default");
        // To state null is the same as to leave a field out.
        if let Some(Value::Array(kinds)) = property.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [only] = &kinds[..] {
                let only = only.clone();
                property.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::String(told)) = property.get_mut("description") {
            *told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    schema
}

/// The names of the fields of an object, in their order, which a [`Map`](serde_json::Map) does not keep.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = fields.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
