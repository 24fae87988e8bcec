//! How the command is run, and on what first of all.

use crate::trace::Trace;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Seconds that a run of the command may take by default.
pub const TIMEOUT_SECONDS: u64 = 60;

/// The settings of the user's own recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoverySettings {
    /// The command; `{pool}`, `{folder}` and `{marks}` are replaced with quoted paths, `{event}` with a number.
    pub command: String,
    /// What the last line that the command prints must contain; `None` if its exit code alone decides.
    pub prints: Option<String>,
    /// Seconds that a run of the command may take, at least 1.
    pub timeout_seconds: u64,
    /// Where the temporary folder is created; `None` for the system's default.
    pub folder: Option<PathBuf>,
    /// Where the image of the first failure is kept; `None` to keep none.
    pub keep: Option<PathBuf>,
    /// Commands that run at a time, at least 1; never more than there are processors.
    pub jobs: usize,
    /// The command line of what notes the reads of a run (`watched_reads.rs`); `None` to note none.
    pub watcher: Option<Vec<String>>,
    /// The command line of what records a run (`recorded_runs.rs`); `None` to record none.
    pub recorder: Option<Vec<String>>,
}

/// What is run before an exploration.
pub struct Preflight<'a> {
    pub trace: &'a Trace,
    /// Whether the good part of a trace that is cut off is enough.
    pub allow_truncated: bool,
    /// The first memory is that after so many marks, and the last one that before the mark of this number.
    pub after: u64,
    pub until: Option<u64>,
    pub cancel: &'a Arc<AtomicBool>,
}
