//! What stands for something else in the text of a command, and what a run of the command is told by it.

use crate::kernel::keyed_digest;
use std::path::Path;

const POOL: &str = "{pool}";
const FOLDER: &str = "{folder}";
const MARKS: &str = "{marks}";
const EVENT: &str = "{event}";

/// A key of digests that no line has.
const NO_LINE: u64 = u64::MAX;

/// When power failed, as far as a command may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occasion {
    /// How many marks the program had passed.
    pub marks: u64,
    /// The number of the crash point.
    pub event: u64,
}

/// What a run of the command is given.
pub(super) struct Given<'a> {
    pub pool: &'a Path,
    pub folder: &'a Path,
    pub marks: &'a Path,
    pub event: u64,
}

/// What a command names besides the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub marks: bool,
    pub event: bool,
}

impl Named {
    pub fn by(command: &str) -> Self {
        Self { marks: command.contains(MARKS), event: command.contains(EVENT) }
    }

    /// The digest of what the command finds out: `memory`, the digest of the memory, and what it names of `occasion`.
    pub fn digest(self, memory: u128, occasion: Occasion) -> u128 {
        if !self.marks && !self.event {
            return memory;
        }
        let mut told = [0; 64];
        told[..8].copy_from_slice(&(if self.marks { occasion.marks } else { 0 }).to_le_bytes());
        told[8..16].copy_from_slice(&(if self.event { occasion.event } else { 0 }).to_le_bytes());
        memory.wrapping_add(keyed_digest(NO_LINE, &told))
    }
}

/// Whether the command can find the memory.
pub(super) fn names_memory(command: &str) -> bool {
    command.contains(POOL) || command.contains(FOLDER)
}

/// The command with quoted paths, and the number of the crash point, in place of what stands for them.
pub(super) fn filled_in(command: &str, given: &Given<'_>) -> String {
    let quoted = |path: &Path| shell_quoted(&path.to_string_lossy());
    // In one pass, because a path may contain braces.
    let mut text = String::new();
    let mut rest = command;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let found = [POOL, FOLDER, MARKS, EVENT].into_iter().find(|name| from.starts_with(name));
        text.push_str(&match found {
            Some(POOL) => quoted(given.pool),
            Some(FOLDER) => quoted(given.folder),
            Some(MARKS) => quoted(given.marks),
            Some(_) => given.event.to_string(),
            None => "{".to_owned(),
        });
        rest = &from[found.map_or(1, str::len)..];
    }
    text + rest
}

/// `text` as one word of a shell command.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
