//! The JSON Schema of a design file, from its keys.

use super::draft::Draft;
use super::file::TEXTS;
use super::keys::{KEYS, Key, Needs, Values};
use super::machine_values::MACHINE_VALUES;
use crate::config;
use serde_json::{Map, Value, json};

/// The JSON Schema of a design file. Beside what JSON Schema has, `x-order` lists the keys of an object in their order, and
/// `x-paper` is where a value comes from.
pub fn schema() -> Value {
    let of_registers = |key: &&Key| key.path.starts_with(REGISTERS);
    let (registers, parts): (Vec<&Key>, Vec<&Key>) = KEYS.iter().partition(of_registers);
    let name = |key: &Key| key.path.trim_start_matches(REGISTERS).to_owned();
    let registers = object(registers.into_iter().map(|key| (name(key), of_key(key))));
    let told = |told: &str, mut schema: Value| {
        schema["description"] = told.into();
        schema
    };
    let mut parts: Vec<(String, Value)> = parts.into_iter().map(|key| (name(key), of_key(key))).collect();
    parts.push(("registers".to_owned(), told("Which power losses each register survives.", registers)));
    parts.push(("set".to_owned(), told("Values of the machine that belong to the design.", machine_values())));
    let again = parts.iter().map(|(name, _)| (name.clone(), json!({"$ref": format!("#/properties/{name}")})));
    let hardened = told("What the hardened reading has instead.", object(again));
    let texts = TEXTS.map(|(name, what)| (name.to_owned(), told(what, json!({"type": "string"}))));
    let mut schema = object(texts.into_iter().chain(parts).chain([("hardened".to_owned(), hardened)]));
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    told("A design: the parts in which it differs from its base.", schema)
}

const REGISTERS: &str = "registers.";

fn object(properties: impl Iterator<Item = (String, Value)>) -> Value {
    let properties: Vec<(String, Value)> = properties.collect();
    let order: Vec<&String> = properties.iter().map(|(name, _)| name).collect();
    let order = json!(order);
    let properties: Map<String, Value> = properties.into_iter().collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false, "x-order": order})
}

fn of_key(key: &Key) -> Value {
    let names = || -> Vec<Value> {
        let value = |value: super::keys::Named| {
            let is_flag = matches!(key.values, Values::TrueOrWhyNot | Values::Secret);
            let constant = if is_flag { Value::from(value.name == "true") } else { Value::from(value.name) };
            let mut schema = json!({"const": constant, "description": value.meaning});
            if !value.paper.is_empty() {
                schema["x-paper"] = value.paper.into();
            }
            schema
        };
        key.list().into_iter().map(value).collect()
    };
    let mut schema = match &key.values {
        Values::One { .. } | Values::Secret => json!({"oneOf": names()}),
        Values::Steps => json!({"type": "array", "uniqueItems": true, "items": {"oneOf": names()}}),
        Values::TrueOrWhyNot => {
            let why = json!({"type": "string", "minLength": 1, "description": "Why a crash test makes no sense."});
            let values = [names(), vec![why]].concat();
            json!({"oneOf": values})
        }
    };
    schema["description"] = needing(&(key.meaning)(), key.needs).into();
    schema
}

/// What is said of a key, with what the design needs for it.
fn needing(told: &str, needs: Needs) -> String {
    needs
        .missing(&Draft::default())
        .map_or_else(|| told.to_owned(), |part| format!("{told} Has an effect only with {part}."))
}

/// The table `[set]`, whose values are those of the schema of machine files.
fn machine_values() -> Value {
    let mut machine = config::file_schema();
    let mut sections: Vec<(String, Vec<(String, Value)>)> = Vec::new();
    for (path, needs) in MACHINE_VALUES {
        let Some((section, key)) = path.split_once('.') else { continue };
        let mut value = machine["properties"][section]["properties"][key].take();
        let told = value["description"].as_str().unwrap_or_default().to_owned();
        value["description"] = needing(&told, *needs).into();
        match sections.iter_mut().find(|(name, _)| name == section) {
            Some((_, values)) => values.push((key.to_owned(), value)),
            None => sections.push((section.to_owned(), vec![(key.to_owned(), value)])),
        }
    }
    object(sections.into_iter().map(|(section, values)| (section, object(values.into_iter()))))
}
