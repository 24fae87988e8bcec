//! Loads a machine from user input: a preset or a file, then `--set` texts on top of it. Every error says where.

use super::bounds::validate;
use super::excerpt::shown_name;
use super::fields::{FIELDS, Field, shown};
use super::nearest::{nearest, unknown_name};
use super::presets::{self, preset_names};
use super::{Machine, toml_file};
use crate::kernel::ConfigError;
use std::path::Path;
use toml::{Table, Value};

/// The machine `name_or_path`, a preset or a TOML file, with each of `sets` ("path.to.key=value") applied in order.
///
/// A file sets any part of a machine; the rest comes from `base = "PRESET"` (secpm if the file names none).
///
/// # Errors
/// What is wrong with the values, in one line, with their places.
pub fn load_machine(name_or_path: &str, sets: &[String]) -> Result<Machine, ConfigError> {
    load_machine_for("", &Table::new(), name_or_path, sets).map(|(machine, _)| machine)
}

/// [`load_machine`] for the design `design`, which states `values` by path: they replace those of a preset, and give way
/// to what a machine file or `sets` state. The second part of the result is the keys that gave way.
///
/// # Errors
/// As for [`load_machine`].
pub fn load_machine_for(
    design: &str,
    values: &Table,
    name_or_path: &str,
    sets: &[String],
) -> Result<(Machine, Vec<String>), ConfigError> {
    let (mut table, mut stated) = if preset_names().contains(&name_or_path) {
        (presets::table(name_or_path)?, Vec::new())
    } else if toml_file::is_path(name_or_path) {
        parse_file(name_or_path, &toml_file::read("machine file", name_or_path)?)?
    } else {
        return Err(unknown_name("machine", name_or_path, &preset_names()));
    };
    for text in sets {
        stated.push(apply_set(&mut table, text)?);
    }
    let (replaced, kept): (Vec<_>, Vec<_>) = values.iter().partition(|(path, _)| stated.contains(path));
    let mut said = String::new();
    for (path, value) in kept {
        set(&mut table, path, value.clone());
        said += &format!("; {path} = {} from design '{design}'", shown(value));
    }
    let source = format!("{}{said}", table["source"].as_str().unwrap_or_default());
    set(&mut table, "source", Value::from(source));
    let machine = from_table(table)?;
    validate(&machine).map_err(|ConfigError(what)| ConfigError(what + &said))?;
    Ok((machine, replaced.into_iter().map(|(path, _)| path.clone()).collect()))
}

/// A machine from a complete table of checked values.
pub(super) fn from_table(table: Table) -> Result<Machine, ConfigError> {
    table.try_into().map_err(|error: toml::de::Error| ConfigError(format!("machine: {}", error.message())))
}

/// The complete table of values of the machine file `text`, a user's or a preset's, on top of its base, and the paths of those
/// that the file states. `path` is the path of the file. Unless the file sets a name, the machine has the file's name.
pub(super) fn parse_file(path: &str, text: &str) -> Result<(Table, Vec<String>), ConfigError> {
    let leaves = toml_file::leaves(path, text, &is_section)?;
    let base = leaves.iter().find(|leaf| leaf.path == "base");
    let mut table = match base {
        None => presets::table(presets::MOST_GENERAL)?,
        Some(leaf) => {
            let name = leaf.value.as_str();
            let name =
                name.ok_or_else(|| leaf.error(format!("base = {} must be the name of a machine", shown(&leaf.value))))?;
            presets::table(name).map_err(|error| leaf.error(format!("base: {error}")))?
        }
    };
    let source = format!("{path}, on top of {}", table["name"].as_str().unwrap_or_default());
    let name = Path::new(path).file_stem().map_or(path.into(), |stem| stem.to_string_lossy());
    set(&mut table, "name", Value::from(name.into_owned()));
    set(&mut table, "source", Value::from(source));
    let (mut complaints, mut stated) = (Vec::new(), Vec::new());
    for leaf in leaves.into_iter().filter(|leaf| leaf.path != "base") {
        match check_value(&leaf.path, &leaf.value) {
            Ok(()) => set(&mut table, &leaf.path, leaf.value),
            Err(what) => complaints.push(leaf.error(what)),
        }
        stated.push(leaf.path);
    }
    if complaints.is_empty() { Ok((table, stated)) } else { Err(toml_file::together(&complaints)) }
}

/// Checks `path.to.key=value` by itself: whether there is such a value of a machine, and it may be this.
///
/// # Errors
/// A sentence that does not say where the value stands.
pub fn check_set(text: &str) -> Result<(), ConfigError> {
    read_set(text).map(|_| ()).map_err(ConfigError)
}

/// Applies `path.to.key=value`, and returns the path.
fn apply_set(table: &mut Table, text: &str) -> Result<String, ConfigError> {
    let (path, value) = read_set(text).map_err(|what| ConfigError(format!("set {}: {what}", shown_name(text))))?;
    set(table, path, value);
    Ok(path.to_owned())
}

/// The path and the value of `path.to.key=value`; the error is a sentence.
fn read_set(text: &str) -> Result<(&str, Value), String> {
    let (path, written) = text.split_once('=').ok_or("write path.to.key=value, as in device.t_wr_ns=150")?;
    let (path, written) = (path.trim(), written.trim());
    // Numbers, booleans and quoted texts are TOML; anything else is a size, a choice or a text without quotes.
    let value = toml_file::value(written);
    let bare = || Value::from(written);
    let value = match Field::at(path) {
        // A name may look like a number.
        Some(field) if field.is_text() => value.filter(Value::is_str).unwrap_or_else(bare),
        _ => value.unwrap_or_else(bare),
    };
    // What is not finite is out of every range.
    let number = value.is_integer() || value.as_float().is_some_and(f64::is_finite);
    if number && !is_decimal(written) {
        let shown = shown_name(written);
        return Err(format!("'{shown}' is not a number in decimal digits, as in 64, 1.5 or 1e-3"));
    }
    check_value(path, &value)?;
    Ok((path, value))
}

/// TOML has other ways to write numbers; on a command line they are more likely typing errors.
fn is_decimal(written: &str) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
}

/// Whether `path` is a table of a machine.
pub fn is_section(path: &str) -> bool {
    FIELDS.iter().any(|field| field.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Checks whether a machine has a key `path` that may have `value`.
///
/// # Errors
/// A sentence that does not say where the value stands.
pub fn check_value(path: &str, value: &Value) -> Result<(), String> {
    if let Some(field) = Field::at(path) {
        return field.check(value);
    }
    if is_section(path) {
        return Err(format!("{path} = {} must be a table, [{path}]", shown(value)));
    }
    let shown = shown_name(path);
    Err(match nearest_path(path) {
        Some(meant) => format!("there is no key '{shown}': did you mean '{meant}'?"),
        None => format!("there is no key '{shown}'"),
    })
}

/// The key or table nearest to `path`; the user may have left out the table of a key.
fn nearest_path(path: &str) -> Option<String> {
    let sections = FIELDS.iter().filter_map(|field| field.path.split_once('.')).map(|(section, _)| section);
    if let Some(meant) = nearest(path, FIELDS.iter().map(|field| field.path.as_str()).chain(sections)) {
        return Some(meant.to_owned());
    }
    let last = |path: &'static str| path.rsplit_once('.').map(|(_, key)| key);
    let key = path.rsplit_once('.').map_or(path, |(_, key)| key);
    let meant = nearest(key, FIELDS.iter().filter_map(|field| last(&field.path)))?;
    FIELDS.iter().find(|field| last(&field.path) == Some(meant)).map(|field| field.path.clone())
}

/// Replaces the value at `path`, whose tables exist.
fn set(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((section, rest)) => {
            if let Some(Value::Table(inner)) = table.get_mut(section) {
                set(inner, rest, value);
            }
        }
    }
}
