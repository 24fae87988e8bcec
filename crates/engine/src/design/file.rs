//! Reads a design file in its two readings: the file's parts on top of its base, and the table `[hardened]` on top of
//! those. The built-in designs are such files. Errors are one line, with the file and, where there is one, the line of each mistake.

use super::contradictions::contradiction;
use super::draft::Draft;
use super::keys::{KEYS, Key, Needs};
use super::machine_values::{self, MACHINE_VALUES};
use crate::config::toml_file::{self, Leaf};
use crate::config::{Variant, is_section as is_machine_section, shown, shown_name, unknown_name};
use crate::kernel::ConfigError;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use toml::Value;

/// Name and text of each built-in design, in the order in which tables show them.
const BUILT_IN: &[(&str, &str)] = &[
    ("unencrypted", include_str!("unencrypted.toml")),
    ("xts", include_str!("xts.toml")),
    ("optane-xts", include_str!("optane-xts.toml")),
    ("hot-xts", include_str!("hot-xts.toml")),
    ("ideal", include_str!("ideal.toml")),
    ("write-back", include_str!("write-back.toml")),
    ("write-through", include_str!("write-through.toml")),
    ("secpm-workshop", include_str!("secpm-workshop.toml")),
    ("secpm-no-cwr", include_str!("secpm-no-cwr.toml")),
    ("secpm", include_str!("secpm.toml")),
    ("deuce", include_str!("deuce.toml")),
    ("silent-shredder", include_str!("silent-shredder.toml")),
    ("fca", include_str!("fca.toml")),
    ("sca", include_str!("sca.toml")),
    ("co-located", include_str!("co-located.toml")),
    ("co-located-cc", include_str!("co-located-cc.toml")),
    ("hw-log", include_str!("hw-log.toml")),
    ("alc", include_str!("alc.toml")),
    ("easy-pm", include_str!("easy-pm.toml")),
    ("adr", include_str!("adr.toml")),
    ("eadr", include_str!("eadr.toml")),
    ("eadr-mc-cme", include_str!("eadr-mc-cme.toml")),
    ("eadr-cme", include_str!("eadr-cme.toml")),
    ("eadr-all-operation", include_str!("eadr-all-operation.toml")),
    ("bbe", include_str!("bbe.toml")),
    ("sepencr", include_str!("sepencr.toml")),
    ("bbe-tree", include_str!("bbe-tree.toml")),
    ("sepencr-tree", include_str!("sepencr-tree.toml")),
    ("horus", include_str!("horus.toml")),
    ("write-back-tree", include_str!("write-back-tree.toml")),
    ("rebuild", include_str!("rebuild.toml")),
    ("strict", include_str!("strict.toml")),
    ("strict-counter-tree", include_str!("strict-counter-tree.toml")),
    ("triad-nvm", include_str!("triad-nvm.toml")),
    ("osiris", include_str!("osiris.toml")),
    ("anubis-agit-read", include_str!("anubis-agit-read.toml")),
    ("anubis-agit-plus", include_str!("anubis-agit-plus.toml")),
    ("anubis-asit", include_str!("anubis-asit.toml")),
    ("phoenix", include_str!("phoenix.toml")),
    ("thoth", include_str!("thoth.toml")),
    ("eadr-tree", include_str!("eadr-tree.toml")),
    ("secpb", include_str!("secpb.toml")),
    ("star", include_str!("star.toml")),
    ("scue", include_str!("scue.toml")),
    ("secpm-tree", include_str!("secpm-tree.toml")),
    ("xts-tree", include_str!("xts-tree.toml")),
    ("sca-tree", include_str!("sca-tree.toml")),
    ("supermem", include_str!("supermem.toml")),
    ("supermem-tree", include_str!("supermem-tree.toml")),
    ("plp", include_str!("plp.toml")),
    ("bmf", include_str!("bmf.toml")),
    ("dolos", include_str!("dolos.toml")),
];

/// What errors call a design that is given as a text; without its extension, its name.
const TEXT: &str = "typed.toml";
/// The machine of a design without a base that names no machine.
const MACHINE: &str = "secpm";
/// The keys that are not parts, each with what it is.
pub(super) const TEXTS: [(&str, &str); 5] = [
    (
        "base",
        "The design to build on: the name of a built-in one, or the path of a design file, from the folder of this file; none if \
         absent.",
    ),
    (
        "name",
        "The name in tables and results: letters, digits, `-`, `_`, `.`, at most 60; that of the file without `.toml` if absent.",
    ),
    ("summary", "One line about it; \"design file NAME, on top of BASE\" if absent."),
    ("paper", "Paper and section; none if absent."),
    ("machine", "The preset that runs use if they name none; that of the base if absent, `secpm` without one."),
];

fn is_text(key: &str) -> bool {
    TEXTS.iter().any(|(text, _)| *text == key)
}

/// The names of the built-in designs.
pub(super) fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The file of the built-in design `name`.
pub(super) fn built_in_text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A design in both readings.
#[derive(Clone, Default)]
pub(super) struct Readings {
    published: Draft,
    hardened: Draft,
}

impl Readings {
    /// The built-in design `name`. Its file is parsed when it is first asked for.
    pub(super) fn built_in(name: &str) -> Option<&'static Self> {
        static PARSED: [OnceLock<Readings>; BUILT_IN.len()] = [const { OnceLock::new() }; BUILT_IN.len()];
        let at = BUILT_IN.iter().position(|(known, _)| *known == name)?;
        let parse = || Self::parse(&format!("{name}.toml"), BUILT_IN[at].1);
        Some(PARSED[at].get_or_init(|| parse().expect("the files of the built-in designs are valid")))
    }

    /// Reads the design file at `path`. A file with the name of a built-in design must have the same parts as that
    /// design.
    pub(super) fn read(path: &str) -> Result<Self, ConfigError> {
        Self::read_beneath(path, &Chain::default())
    }

    /// Reads the text of a design file, as if it lay in a file that is not there: like [`read`](Self::read).
    pub(super) fn written(text: &str) -> Result<Self, ConfigError> {
        Self::unlike_built_in(TEXT, Self::parse(TEXT, text)?)
    }

    /// [`read`](Self::read), for a file on which those `above` build.
    fn read_beneath(path: &str, above: &Chain) -> Result<Self, ConfigError> {
        Self::unlike_built_in(path, Self::parse_beneath(path, &toml_file::read("design file", path)?, above)?)
    }

    /// `readings`, from the file at `path`, if they do not take the name of a built-in design for something else.
    fn unlike_built_in(path: &str, readings: Self) -> Result<Self, ConfigError> {
        match Self::built_in(&readings.hardened.name) {
            Some(built_in) if !Variant::ALL.into_iter().all(|of| built_in.of(of).same_parts(readings.of(of))) => {
                Err(ConfigError(format!(
                    "design file '{path}': '{}' is a built-in design with other parts; give this one a name of its own",
                    readings.hardened.name
                )))
            }
            _ => Ok(readings),
        }
    }

    /// The reading for `variant`.
    pub(super) fn of(&self, variant: Variant) -> &Draft {
        match variant {
            Variant::Published => &self.published,
            Variant::Hardened => &self.hardened,
        }
    }

    fn both(&mut self) -> [&mut Draft; 2] {
        [&mut self.published, &mut self.hardened]
    }

    /// Parses the file `text`, which is at `path`. Unless it sets a name, the design has the file's name.
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ConfigError> {
        Self::parse_beneath(path, text, &Chain::default())
    }

    fn parse_beneath(path: &str, text: &str, above: &Chain) -> Result<Self, ConfigError> {
        let leaves = toml_file::leaves(path, text, &is_section)?;
        let mut readings = base_of(path, &leaves, above)?;
        let name = Path::new(path).file_stem().map_or(path.into(), |stem| stem.to_string_lossy()).into_owned();
        let summary = match readings.hardened.name.as_str() {
            "" => format!("design file {name}"),
            base => format!("design file {name}, on top of {base}"),
        };
        for draft in readings.both() {
            (draft.name, draft.summary, draft.paper) = (name.clone(), summary.clone(), "none".to_owned());
            if draft.machine.is_empty() {
                MACHINE.clone_into(&mut draft.machine);
            }
        }
        let stated: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.path != "base").collect();
        let built = readings.clone().with(&stated).map_err(|complaints| toml_file::together(&complaints))?;
        match built.contradiction() {
            Some(what) => Err(ConfigError(format!("design file '{path}': {what}{}", readings.nearest(&stated)))),
            None => Ok(built),
        }
    }

    /// These readings with the parts that a file states, or everything that is wrong with them.
    fn with(mut self, stated: &[&Leaf]) -> Result<Self, Vec<ConfigError>> {
        // The parts of the hardened reading come after all parts of both readings.
        let (hardened, both): (Vec<&Leaf>, Vec<&Leaf>) =
            stated.iter().copied().partition(|leaf| leaf.path.starts_with("hardened."));
        let mut complaints = Vec::new();
        for leaf in &both {
            complaints.extend(self.state(leaf).err());
        }
        for leaf in &hardened {
            let path = leaf.path.strip_prefix("hardened.").unwrap_or_default();
            let set = set_value(&mut self.hardened, path, &[], &leaf.value);
            complaints.extend(set.err().map(|what| leaf.error(format!("[hardened]: {what}"))));
        }
        if complaints.is_empty() {
            complaints.extend(self.without_effect(&both, &hardened));
        }
        if complaints.is_empty() { Ok(self) } else { Err(complaints) }
    }

    /// The first contradiction of a reading.
    fn contradiction(&self) -> Option<String> {
        [&self.published, &self.hardened].into_iter().find_map(contradiction)
    }

    /// What a file could leave out of what it states on top of these readings to be a design, as a sentence to go on with; empty
    /// if leaving out one part is not enough.
    fn nearest(&self, stated: &[&Leaf]) -> String {
        let is_design = |without: &&Leaf| {
            let others: Vec<&Leaf> = stated.iter().copied().filter(|leaf| !std::ptr::eq(*leaf, *without)).collect();
            self.clone().with(&others).is_ok_and(|readings| readings.contradiction().is_none())
        };
        let mut parts = stated.iter().copied().filter(|leaf| !is_text(&leaf.path));
        let superfluous = parts.find(is_design);
        superfluous
            .map_or_else(String::new, |leaf| format!(". Without {} = {} it is a design", leaf.path, shown(&leaf.value)))
    }

    /// Applies `leaf` to both readings.
    fn state(&mut self, leaf: &Leaf) -> Result<(), ConfigError> {
        if is_text(&leaf.path) {
            let text = text_of(leaf)?;
            for draft in self.both() {
                let place = match leaf.path.as_str() {
                    "name" => &mut draft.name,
                    "summary" => &mut draft.summary,
                    "paper" => &mut draft.paper,
                    _ => &mut draft.machine,
                };
                text.clone_into(place);
            }
            return Ok(());
        }
        if leaf.path == "hardened" {
            return Err(leaf.error("hardened must be a table, [hardened]"));
        }
        let texts = TEXTS.map(|(text, _)| text);
        let set = |draft| set_value(draft, &leaf.path, &texts, &leaf.value).map(|_| ());
        self.both().into_iter().try_for_each(set).map_err(|what| leaf.error(what))
    }

    /// The parts that have no effect with the other parts, each with what it lacks.
    fn without_effect(&self, both: &[&Leaf], hardened: &[&Leaf]) -> Vec<ConfigError> {
        let complaint = |leaf: &Leaf, path, part| leaf.error(format!("{path} has no effect without {part}"));
        let of_both = both.iter().filter_map(|leaf| {
            let needs = needs_of(&leaf.path)?;
            needs.missing(&self.published)?;
            Some(complaint(leaf, leaf.path.as_str(), needs.missing(&self.hardened)?))
        });
        let of_hardened = hardened.iter().filter_map(|leaf| {
            let path = leaf.path.strip_prefix("hardened.")?;
            Some(complaint(leaf, path, needs_of(path)?.missing(&self.hardened)?))
        });
        of_both.chain(of_hardened).collect()
    }
}

/// Whether `path` is a table of a design file.
fn is_section(path: &str) -> bool {
    let path = path.strip_prefix("hardened.").unwrap_or(path);
    let of_machine = path.strip_prefix(machine_values::PREFIX);
    ["registers", "hardened", "set"].contains(&path) || of_machine.is_some_and(is_machine_section)
}

/// What a part, or a value of the machine, needs to have an effect; `None` for the other keys of a file.
fn needs_of(path: &str) -> Option<Needs> {
    match path.strip_prefix(machine_values::PREFIX) {
        Some(path) => MACHINE_VALUES.iter().find(|(key, _)| *key == path).map(|(_, needs)| *needs),
        None => KEYS.iter().find(|key| key.path == path).map(|key| key.needs),
    }
}

/// Sets a part, or a value of the machine, and returns what it needs to have an effect; the error is a sentence. `others`: the
/// other keys that a file can have.
fn set_value(draft: &mut Draft, path: &str, others: &[&str], value: &Value) -> Result<Needs, String> {
    if path == "set" {
        return Err("set must be a table, [set]".to_owned());
    }
    if let Some(path) = path.strip_prefix(machine_values::PREFIX) {
        return machine_values::set(draft, path, value).map_err(|what| format!("[set]: {what}"));
    }
    let key = Key::at(path, others)?;
    key.set(draft, value)?;
    Ok(key.needs)
}

/// The most files that build on one another.
const FILES_MAX: usize = 16;

/// The files that build on one another, from the one that the user names: each is the base of the one before it.
#[derive(Clone, Default)]
struct Chain(Vec<PathBuf>);

impl Chain {
    /// The path of the base `name` of the file at `path`, which names it from the folder where it is, and the chain down to
    /// that file. The error, if files build on themselves, or too many on one another, is a sentence.
    fn base(&self, path: &str, name: &str) -> Result<(String, Chain), ConfigError> {
        let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let base = Path::new(path).parent().unwrap_or(Path::new("")).join(name);
        let files: Vec<PathBuf> = self.0.iter().cloned().chain([place(Path::new(path))]).collect();
        if files.contains(&place(&base)) {
            return Err(ConfigError(format!("the file '{}' builds on itself", shown_name(name))));
        }
        if files.len() == FILES_MAX {
            return Err(ConfigError(format!("more than {FILES_MAX} files build on one another")));
        }
        Ok((base.to_string_lossy().into_owned(), Chain(files)))
    }
}

/// What the file at `path` builds on: the base that it names, or the default of every part.
fn base_of(path: &str, leaves: &[Leaf], above: &Chain) -> Result<Readings, ConfigError> {
    let Some(leaf) = leaves.iter().find(|leaf| leaf.path == "base") else {
        return Ok(Readings::default());
    };
    let no_name = || leaf.error(format!("base = {} must be the name of a design, or a path", shown(&leaf.value)));
    let name = leaf.value.as_str().filter(|name| !name.contains(char::is_control)).ok_or_else(no_name)?;
    let refused = |ConfigError(what)| leaf.error(format!("base: {what}"));
    if toml_file::is_path(name) {
        let (path, above) = above.base(path, name).map_err(refused)?;
        return Readings::read_beneath(&path, &above).map_err(refused);
    }
    let known: Vec<&str> = built_in_names().collect();
    Readings::built_in(name).cloned().ok_or_else(|| refused(unknown_name("design", name, &known)))
}

/// The most characters of a design's name.
const NAME_CHARS_MAX: usize = 60;

fn text_of(leaf: &Leaf) -> Result<String, ConfigError> {
    let refused = |what: &str| leaf.error(format!("{} = {} must be {what}", leaf.path, shown(&leaf.value)));
    let text = leaf.value.as_str().map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| refused("a text"))?;
    if leaf.path == "name" && !is_name(text) {
        return Err(refused("a name of letters, digits, '-', '_' and '.'"));
    }
    Ok(text.to_owned())
}

/// Whether a design can have this name: it stands in tables, in file names and on the command line.
fn is_name(text: &str) -> bool {
    text.chars().count() <= NAME_CHARS_MAX && text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

/// Sets a part of `draft`, as `--set design.PATH=WRITTEN` does, and returns what it needs to have an effect; the error is a
/// sentence.
pub(super) fn set(draft: &mut Draft, path: &str, written: &str) -> Result<Needs, ConfigError> {
    set_part(draft, path, written).map_err(|what| ConfigError(format!("set design.{}: {what}", shown_name(path))))
}

/// [`set`], whose error does not say where the value stands.
pub(super) fn set_part(draft: &mut Draft, path: &str, written: &str) -> Result<Needs, String> {
    set_value(draft, path, &[], &toml_file::value(written).unwrap_or_else(|| Value::from(written)))
}
