//! The user's own recovery of a recorded program: a command that is run on files with the memory that a boot finds after a
//! power failure, and whose exit code is the verdict.
//!
//! ```text
//! lines as the boot reads them -> image: one file for each file of the trace, of which only changed lines are written
//!                              -> copy: of its own for each run, by reference where the file system can
//!                              -> command: sh, with a time limit -> verdict, kept for equal memory
//! ```

mod command;
mod copy;
mod image;
#[cfg(test)]
mod tests;

use crate::config::ConfigError;
use crate::message::{Line, LineBytes};
use crate::simulate::Failure;
use crate::workload::trace::{TraceBase, TraceFile};
use command::{Command, Outcome, Ran};
use image::Image;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

/// Seconds that a run of the command may take where nobody says.
pub const TIMEOUT_SECONDS: u64 = 60;

/// What the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// The command, in which `{pool}` and `{folder}` stand for quoted paths.
    pub command: String,
    /// Seconds that a run of it may take, at least 1.
    pub timeout_seconds: u64,
    /// Where the temporary folder is made; `None`: where the system has those.
    pub folder: Option<PathBuf>,
    /// Where the image of the first failure is kept; `None`: it is not.
    pub keep: Option<PathBuf>,
}

/// What the command made of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    outcome: Outcome,
    /// The last line that it printed, in which the folder of its files is `{folder}`.
    said: String,
}

impl Verdict {
    /// Whether the program recovers.
    pub fn recovers(&self) -> bool {
        self.outcome == Outcome::Exit(0)
    }

    /// What the command did, as a sentence without its subject.
    pub fn told(&self, timeout_seconds: u64) -> String {
        let did = match self.outcome {
            Outcome::Exit(code) => format!("ended with exit code {code}"),
            Outcome::Signal(number) => format!("was ended by signal {number}"),
            Outcome::TimedOut => format!("had not ended after {timeout_seconds} s and was killed"),
        };
        match self.said.as_str() {
            "" => format!("{did}, and printed nothing."),
            said => format!("{did}. The last line that it printed: \"{said}\""),
        }
    }
}

/// Runs the command on one image after the other, in as many explorations of the same trace as there are.
pub struct OwnRecovery {
    settings: RecoverySettings,
    /// Removed with all that is in it when this is dropped.
    folder: TempDir,
    image: Image,
    verdicts: FxHashMap<u128, Arc<Verdict>>,
    runs: u64,
}

impl OwnRecovery {
    /// A recovery of the program that has `files` and starts from `base`. `trace` stands for it in errors.
    pub fn new(
        settings: RecoverySettings,
        trace: &str,
        files: &[TraceFile],
        base: &TraceBase,
    ) -> Result<Self, ConfigError> {
        check(&settings)?;
        let within = settings.folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = std::path::absolute(&within)
            .and_then(|within| tempfile::Builder::new().prefix("counterpoint-").tempdir_in(within))
            .map_err(|error| {
                ConfigError(format!("recover: no folder can be made in '{}': {}", within.display(), reason(&error)))
            })?;
        let image = Image::create(&folder.path().join("image"), trace, files, base)?;
        Ok(Self { settings, folder, image, verdicts: FxHashMap::default(), runs: 0 })
    }

    /// What was asked for.
    pub fn settings(&self) -> &RecoverySettings {
        &self.settings
    }

    /// How many times the command has been run.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Another exploration begins, with memory as it was before the run.
    pub fn rewind(&mut self) -> Result<(), ConfigError> {
        self.image.rewind()
    }

    /// No image is kept from now on.
    pub fn keep_nothing(&mut self) {
        self.settings.keep = None;
    }

    /// The verdict on the memory of this digest, if it is known.
    pub fn known(&self, digest: u128) -> Option<Arc<Verdict>> {
        self.verdicts.get(&digest).cloned()
    }

    /// Runs the command on the memory of this digest, in which `lines` are all that may differ from before the run.
    pub fn judge(
        &mut self,
        digest: u128,
        lines: impl Iterator<Item = (Line, LineBytes)>,
        cancel: &AtomicBool,
    ) -> Result<Arc<Verdict>, Failure> {
        for (line, bytes) in lines {
            self.image.put(line, &bytes)?;
        }
        self.runs += 1;
        let folder = self.folder.path().join(format!("run-{}", self.runs));
        self.image.copy_into(&folder)?;
        let timeout = Duration::from_secs(self.settings.timeout_seconds);
        let text = filled_in(&self.settings.command, &folder.join(self.image.pool()), &folder);
        let ran = Command { text: &text, timeout, cancel }.run();
        // What the command made unremovable is left to the end.
        let _ = std::fs::remove_dir_all(&folder);
        let Ran { outcome, said } = match ran {
            Ok(Some(ran)) => ran,
            Ok(None) => return Err(Failure::Cancelled),
            Err(error) => {
                let why = reason(&error);
                return Err(ConfigError(format!("recover: the command cannot be run by sh: {why}")).into());
            }
        };
        let said = said.replace(&*folder.to_string_lossy(), "{folder}");
        // These say that the shell could not run it, which is no verdict.
        if let Outcome::Exit(code @ (126 | 127)) = outcome {
            let what = format!(
                "recover: exit code {code} of '{}' means that the shell cannot run it: {said}",
                self.settings.command
            );
            return Err(ConfigError(what).into());
        }
        let verdict = Arc::new(Verdict { outcome, said });
        self.verdicts.insert(digest, Arc::clone(&verdict));
        Ok(verdict)
    }

    /// Keeps the image that was judged last, where that was asked for and none has been kept, as `crash-EVENT.NAME`; gives
    /// the paths.
    pub fn keep(&mut self, event: u64) -> Result<Vec<PathBuf>, ConfigError> {
        match self.settings.keep.take() {
            Some(folder) => self.image.keep(&folder, event),
            None => Ok(Vec::new()),
        }
    }
}

fn check(settings: &RecoverySettings) -> Result<(), ConfigError> {
    let RecoverySettings { command, timeout_seconds, .. } = settings;
    if !command.contains("{pool}") && !command.contains("{folder}") {
        return Err(ConfigError(format!(
            "recover: '{command}' names neither {{pool}} nor {{folder}}, so that it could not find the memory"
        )));
    }
    if command.contains('\0') {
        return Err(ConfigError("recover: the command has a zero byte in it, which no shell takes".to_owned()));
    }
    if !(1..=86_400).contains(timeout_seconds) {
        return Err(ConfigError(format!("recover_timeout: {timeout_seconds} is not from 1 to 86400 seconds")));
    }
    Ok(())
}

/// The command with paths in the places of `{pool}` and `{folder}`, quoted where the shell needs that.
fn filled_in(command: &str, pool: &Path, folder: &Path) -> String {
    // In one pass, because a path may have braces in it.
    let mut text = String::new();
    let mut rest = command;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        rest = if let Some(after) = from.strip_prefix("{pool}") {
            text.push_str(&shell_quoted(&pool.to_string_lossy()));
            after
        } else if let Some(after) = from.strip_prefix("{folder}") {
            text.push_str(&shell_quoted(&folder.to_string_lossy()));
            after
        } else {
            text.push('{');
            &from[1..]
        };
    }
    text + rest
}

/// `text` as one word of a shell.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// What the system says, without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
