//! The designs: one small file of named parts for each, in the form that users write too, and the mechanisms that can
//! be switched off ([`faults`]).

mod contradictions;
mod domains;
mod draft;
pub mod faults;
mod file;
mod keys;
mod machine_values;
mod of_lines;
mod schema;
#[cfg(test)]
mod tests;

use crate::config::{self, Machine, Variant, shown, toml_file, unknown_name};
use crate::kernel::ConfigError;
use crate::parts::{Design, PartsList, ProgramForm};
use draft::Draft;
use file::Readings;
use keys::{KEYS, Key, Needs};
use std::borrow::Cow;

pub use schema::schema as file_schema;

/// The names of all built-in designs, in the order in which tables show them.
pub fn names() -> impl Iterator<Item = &'static str> {
    file::built_in_names()
}

/// The built-in design called `name`, in the reading `variant`.
pub fn find(name: &str, variant: Variant) -> Option<Design> {
    Some(Readings::built_in(name)?.of(variant).design(variant, None))
}

/// Every built-in design, in the reading `variant`.
pub fn all(variant: Variant) -> impl Iterator<Item = Design> {
    names().filter_map(move |name| find(name, variant))
}

/// The design file of the built-in design `name`.
pub fn text(name: &str) -> Option<&'static str> {
    file::built_in_text(name)
}

/// The design `name_or_path`, a built-in design, a design file or the text of one (which has a line break), in the reading
/// `variant`, with each of `sets` (`key=value`) applied in order. A design whose parts differ from the built-in design of its
/// name records its parts.
///
/// # Errors
/// One sentence about a design, part or value that does not exist, with the nearest name, or about parts that
/// contradict each other.
pub fn load(name_or_path: &str, variant: Variant, sets: &[&str]) -> Result<Design, ConfigError> {
    load_with_parts(name_or_path, variant, sets).map(|(design, _)| design)
}

/// [`load`], and every part of the design that has an effect.
pub fn load_with_parts(
    name_or_path: &str,
    variant: Variant,
    sets: &[&str],
) -> Result<(Design, PartsList), ConfigError> {
    let draft = with_sets(readings(name_or_path)?.of(variant).clone(), sets)?;
    let is_built_in = Readings::built_in(&draft.name).is_some_and(|built_in| built_in.of(variant).same_parts(&draft));
    let parts = stated(&draft);
    Ok((draft.design(variant, (!is_built_in).then(|| parts.clone())), parts))
}

/// The parts of the design `name_or_path` in the reading `variant` with each of `stated` (`key=value`) in place of its own,
/// without those that then have no effect, stated or not.
///
/// # Errors
/// The errors of [`load`], except that a part without an effect is no error.
pub fn effective_parts(name_or_path: &str, variant: Variant, stated: &[&str]) -> Result<PartsList, ConfigError> {
    let mut draft = readings(name_or_path)?.of(variant).clone();
    for text in stated {
        set(&mut draft, text)?;
    }
    contradictions::contradiction(&draft).map_or(Ok(self::stated(&draft)), |what| Err(ConfigError(what)))
}

/// Checks `design.KEY=VALUE`, or `path.to.key=value` of a machine, by itself: whether there is such a part or value, and it
/// may be this. Whether it goes with the rest of a design and a machine is another question.
///
/// # Errors
/// A sentence that does not say where the value stands.
pub fn check_set(set: &str) -> Result<(), ConfigError> {
    match set.strip_prefix(OF_DESIGN).and_then(|part| part.split_once('=')) {
        Some((path, written)) => {
            file::set_part(&mut Draft::default(), path.trim(), written.trim()).map(|_| ()).map_err(ConfigError)
        }
        None => config::check_set(set),
    }
}

/// A design, and the machine on which it runs.
pub struct OnMachine {
    /// The design.
    pub design: Design,
    /// Every part of the design that has an effect.
    pub parts: PartsList,
    /// The machine, with the values that the design states.
    pub machine: Machine,
    /// The values of the machine that are the design's, as in `integrity.stop_loss = 8, log.buckets = 64`.
    pub set_by_design: Option<String>,
}

/// The design `name_or_path` on `machine`, a preset or a machine file, or else on its own preset, with each of `sets`
/// (`design.KEY=VALUE`, or `path.to.key=value` of the machine) applied in order. What the design states of the machine replaces
/// the values of a preset, and gives way to what a machine file or `sets` state.
///
/// # Errors
/// The errors of [`load`] and of [`config::load_machine`].
pub fn load_on(
    name_or_path: &str,
    variant: Variant,
    machine: Option<&str>,
    sets: &[String],
) -> Result<OnMachine, ConfigError> {
    let of_design: Vec<&str> = sets.iter().filter_map(|set| set.strip_prefix(OF_DESIGN)).collect();
    let of_machine: Vec<String> = sets.iter().filter(|set| !set.starts_with(OF_DESIGN)).cloned().collect();
    let (mut design, mut parts) = load_with_parts(name_or_path, variant, &of_design)?;
    let of_parts = |(path, value): (&String, &toml::Value)| {
        Some((path.strip_prefix(machine_values::PREFIX)?.to_owned(), value.clone()))
    };
    let mut values: PartsList = parts.iter().filter_map(of_parts).collect();
    let named = machine.unwrap_or(&design.machine);
    let (machine, given_way) = config::load_machine_for(&design.name, &values, named, &of_machine)?;
    // The parts then state what runs.
    for path in given_way {
        values.remove(&path);
        for parts in [Some(&mut parts), design.parts.as_mut()].into_iter().flatten() {
            parts.remove(&format!("{}{path}", machine_values::PREFIX));
        }
    }
    let said: Vec<String> = values.iter().map(|(path, value)| format!("{path} = {}", shown(value))).collect();
    let set_by_design = (!said.is_empty()).then(|| said.join(", "));
    Ok(OnMachine { design, parts, machine, set_by_design })
}

/// The prefix of a set that applies to the design instead of the machine.
const OF_DESIGN: &str = "design.";

fn with_sets(mut draft: Draft, sets: &[&str]) -> Result<Draft, ConfigError> {
    let needed = sets.iter().map(|text| set(&mut draft, text)).collect::<Result<Vec<_>, _>>()?;
    for (path, needs) in needed {
        if let Some(part) = needs.missing(&draft) {
            return Err(refused(path, &format!("has no effect without {part}")));
        }
    }
    match contradictions::contradiction(&draft).filter(|_| !sets.is_empty()) {
        Some(what) => {
            Err(ConfigError(format!("design '{}' with set design.{}: {what}", draft.name, sets.join(", design."))))
        }
        None => Ok(draft),
    }
}

/// Sets a part of `draft` as `text`, which is `key=value`, says. Returns the key, and what it needs to have an effect.
fn set<'a>(draft: &mut Draft, text: &'a str) -> Result<(&'a str, Needs), ConfigError> {
    let (path, written) = text
        .split_once('=')
        .ok_or_else(|| refused(text, "write design.KEY=VALUE, as in design.write_path=deferred"))?;
    Ok((path.trim(), file::set(draft, path.trim(), written.trim())?))
}

fn refused(path: &str, what: &str) -> ConfigError {
    ConfigError(format!("set design.{path}: {what}"))
}

fn readings(name_or_path: &str) -> Result<Cow<'static, Readings>, ConfigError> {
    if name_or_path.contains('\n') {
        return Readings::written(name_or_path).map(Cow::Owned);
    }
    if toml_file::is_path(name_or_path) {
        return Readings::read(name_or_path).map(Cow::Owned);
    }
    let known: Vec<&str> = names().collect();
    let built_in = Readings::built_in(name_or_path).map(Cow::Borrowed);
    built_in.ok_or_else(|| unknown_name("design", name_or_path, &known))
}

/// Every part of `draft` that has an effect, and the values of the machine that it states.
fn stated(draft: &Draft) -> PartsList {
    let says = |key: &&Key| key.needs.missing(draft).is_none();
    let parts = KEYS.iter().filter(says).map(|key| (key.path.to_owned(), key.get(draft)));
    parts.chain(machine_values::stated(draft)).collect()
}

/// The design `name_or_path` in its hardened reading, and the parts of each reading without those that have no effect.
///
/// # Errors
/// The errors of [`load`].
pub fn with_parts(name_or_path: &str) -> Result<(Design, [(Variant, PartsList); 2]), ConfigError> {
    let readings = readings(name_or_path)?;
    let design = readings.of(Variant::Hardened).design(Variant::Hardened, None);
    Ok((design, Variant::ALL.map(|variant| (variant, stated(readings.of(variant))))))
}

/// A key of a design file, as lists show it.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "DesignPart")]
pub struct Part {
    /// The key as written in the file, and after `--set design.`.
    pub key: &'static str,
    /// What the part decides.
    pub meaning: String,
    /// The allowed values.
    pub values: Vec<PartValue>,
}

/// A value of a part.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct PartValue {
    /// The value as written in the file.
    pub name: &'static str,
    /// What the value means, in sentences.
    pub meaning: String,
    /// Paper and section, "seeded fault", or an empty string.
    pub paper: &'static str,
}

/// Every part that a design file can name, in the order in which a design is read.
pub fn parts() -> Vec<Part> {
    let value = |value: keys::Named| PartValue { name: value.name, meaning: value.meaning, paper: value.paper };
    KEYS.iter()
        .map(|key| Part {
            key: key.path,
            meaning: (key.meaning)(),
            values: key.list().into_iter().map(value).collect(),
        })
        .collect()
}

/// The design that runs programs in `form` on plaintext memory, so that a failure there can only be the program's.
/// `None` if hardware keeps the log: without encryption the program would need a log of its own.
pub fn plaintext_of(form: ProgramForm) -> Option<&'static str> {
    match form {
        ProgramForm::Plain | ProgramForm::Annotated => Some("unencrypted"),
        ProgramForm::FlushFree => Some("eadr"),
        ProgramForm::HardwareLogged => None,
    }
}

/// The design with which programs need none of the annotations of `form`, because every write is counter-atomic.
pub fn unannotated_of(form: ProgramForm) -> Option<&'static str> {
    (form == ProgramForm::Annotated).then_some("fca")
}
