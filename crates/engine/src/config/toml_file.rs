//! A TOML file that a user wrote: its values, each with the line of its key.

use super::excerpt::excerpt;
use crate::kernel::ConfigError;
use std::fs::File;
use std::io::Read;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// The most characters that an error quotes from the TOML parser's message.
const PARSER_CHARS_MAX: usize = 300;
/// The most bytes of a file; a machine with every value takes about ten thousand.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The most complaints about one file that are told.
const COMPLAINTS_MAX: usize = 5;

/// A value of a file. A table that is not a section counts as a value.
pub struct Leaf {
    /// The key with its sections, as in `device.t_wr_ns`.
    pub path: String,
    /// The value.
    pub value: Value,
    /// The place of the key, as in `mine.toml:7`.
    pub place: String,
}

impl Leaf {
    /// An error about this value: its place and the sentence `what`.
    pub fn error(&self, what: impl std::fmt::Display) -> ConfigError {
        ConfigError(format!("{}: {what}", self.place))
    }
}

/// The text of the file at `path`. `what` names its kind in errors: "machine file". Any path may be given, also one
/// that never ends, such as a device.
///
/// # Errors
/// A sentence if it cannot be read, is too long or is not UTF-8.
pub fn read(what: &str, path: &str) -> Result<String, ConfigError> {
    let broken = |why: String| ConfigError(format!("{what} '{path}' cannot be read: {why}"));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| broken(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(broken(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| broken("it is not UTF-8".to_owned()))
}

/// Whether `text`, a name or a path, is a path: it ends in `.toml` or has a separator.
pub fn is_path(text: &str) -> bool {
    text.ends_with(".toml") || text.contains(std::path::MAIN_SEPARATOR)
}

/// Everything that is wrong with a file, at least one thing, in one line; of much, the first things.
pub fn together(complaints: &[ConfigError]) -> ConfigError {
    let more = complaints.len().saturating_sub(COMPLAINTS_MAX);
    let mut told: Vec<String> = complaints.iter().take(COMPLAINTS_MAX).map(|ConfigError(what)| what.clone()).collect();
    told.extend((more > 0).then(|| format!("and {more} more")));
    ConfigError(told.join("; "))
}

/// The value that `written` is in TOML; `None` for everything else, such as a text without quotes.
pub fn value(written: &str) -> Option<Value> {
    match toml::from_str::<Table>(&format!("value = {written}")) {
        Ok(mut parsed) if parsed.len() == 1 => parsed.remove("value"),
        _ => None,
    }
}

/// The values of `text`, which is the file at `path`, in the order of the file, so that errors report mistakes in this
/// order. `is_section` says whether the keys of the table at a path are values of their own.
///
/// # Errors
/// A sentence with file and line if the text is not TOML.
pub fn leaves(path: &str, text: &str, is_section: &dyn Fn(&str) -> bool) -> Result<Vec<Leaf>, ConfigError> {
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    let broken = |error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(span.start.min(text.len())));
        let message = error.message().replace('\n', ", ");
        ConfigError(format!("{path}:{line}: {}", excerpt(&message, PARSER_CHARS_MAX)))
    };
    let values: Table = toml::from_str(text).map_err(broken)?;
    let parsed = DeTable::parse(text).map_err(broken)?;
    let mut found = Vec::new();
    collect("", parsed.get_ref(), &values, is_section, &mut |key, value, start| found.push((start, key, value)));
    found.sort_by_key(|(start, ..)| *start);
    let leaf = |(start, key, value): (usize, String, &Value)| Leaf {
        path: key,
        value: value.clone(),
        place: format!("{path}:{}", line_of(start)),
    };
    Ok(found.into_iter().map(leaf).collect())
}

fn collect<'a>(
    prefix: &str,
    parsed: &DeTable<'_>,
    values: &'a Table,
    is_section: &dyn Fn(&str) -> bool,
    found: &mut dyn FnMut(String, &'a Value, usize),
) {
    for (key, place) in parsed {
        let path = format!("{prefix}{}", key.get_ref());
        let value = &values[key.get_ref().as_ref()];
        match (place.get_ref(), value) {
            (DeValue::Table(parsed), Value::Table(values)) if is_section(&path) => {
                collect(&format!("{path}."), parsed, values, is_section, found);
            }
            _ => found(path, value, key.span().start),
        }
    }
}
