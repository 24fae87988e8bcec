//! Reading requests: every key is read for itself, so that an error sentence names it.

use super::schema::{Described, REQUESTS, RequestKind, fields};
use crate::config::unknown_name;
use crate::kernel::ConfigError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A request as received.
pub(in crate::api) type Given = Map<String, Value>;

/// Parses the request `text`.
pub(in crate::api) fn parse<R: RequestKind>(text: &str) -> Result<R, ConfigError> {
    read(json(text)?)
}

/// The request `text`, whose kind depends on what it says.
pub(in crate::api) fn parse_object(text: &str) -> Result<Given, ConfigError> {
    json(text)
}

/// The requests of `{"runs": [...]}`, not parsed yet; they are all of one kind.
pub(in crate::api) fn parse_batch(text: &str) -> Result<Vec<Given>, ConfigError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Batch {
        runs: Vec<Given>,
    }
    json(text).map(|batch: Batch| batch.runs)
}

/// Parses the requests of a batch, which must be of this kind.
pub(in crate::api) fn read_all<R: RequestKind>(batch: Vec<Given>) -> Result<Vec<R>, ConfigError> {
    batch.into_iter().map(read).collect()
}

/// Parses a request of this kind.
pub(in crate::api) fn read<R: RequestKind>(mut given: Given) -> Result<R, ConfigError> {
    given.retain(|_, value| !value.is_null());
    let known = fields::<R>();
    let whole = placed(Value::Object(given.clone()), "request");
    if whole.is_ok() && given.keys().all(|key| known.contains(key)) {
        return whole;
    }
    for (key, value) in &given {
        if !known.contains(key) {
            return Err(refused::<R>(key, &known));
        }
        // Read again alone, because serde does not know the place of a key of a flattened type.
        let alone = Given::from_iter([(key.clone(), value.clone())]);
        placed::<R, _>(Value::Object(alone), key)?;
    }
    whole
}

/// A value; or what is wrong with it, with its place, which is `here` where the place below that is not known.
fn placed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(given: D, here: &str) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(given).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { here } else { &path };
        ConfigError(format!("{place}: {}", error.inner()))
    })
}

fn json<T: DeserializeOwned>(text: &str) -> Result<T, ConfigError> {
    let mut text = serde_json::Deserializer::from_str(text);
    let value = placed(&mut text, "request")?;
    text.end().map_err(|error| ConfigError(format!("request: {error}")))?;
    Ok(value)
}

/// The keys that a request states, without those that have their default.
pub(in crate::api) fn stated<R: RequestKind>(request: &R) -> Given {
    let keys = |request: &R| match serde_json::to_value(request) {
        Ok(Value::Object(keys)) => keys,
        other => unreachable!("a request is an object, and not {other:?}"),
    };
    let defaults = keys(&R::default());
    keys(request).into_iter().filter(|(key, value)| defaults.get(key) != Some(value)).collect()
}

fn refused<R: RequestKind>(key: &str, known: &[String]) -> ConfigError {
    let takes = |kind: &&Described| (kind.fields)().iter().any(|field| field == key);
    let others: Vec<&str> = REQUESTS.iter().filter(takes).map(|kind| kind.kind).collect();
    match &others[..] {
        [] => {
            let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
            known.sort_unstable();
            unknown_name("option", key, &known)
        }
        [other] => ConfigError(format!("{key}: {} does not take it, only {other} does", R::KIND)),
        several => ConfigError(format!("{key}: {} does not take it, only {} do", R::KIND, several.join(" and "))),
    }
}
