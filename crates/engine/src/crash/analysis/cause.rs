//! Why the images of a recorded program fail: what was lost, what was kept, and what was missing between the two.

use crate::attribution::Place;
use serde::Serialize;

/// What failing images have in common.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Cause {
    /// How the recovery from these images ends.
    pub outcome: CauseOutcome,
    /// What the program lacks.
    pub kind: CauseKind,
    /// Number of different images that fail for it.
    pub count: u64,
    /// The first of them: the record of the trace before which power failed.
    pub at_event: u64,
    /// The fence, flush or store before which power failed; null at a mark and at the end of the program.
    pub before: Option<Place>,
    /// The store from which on the program does not recover, with nothing lost; null if it recovers there, or if it did not
    /// before any store.
    pub begins_at: Option<Place>,
    /// The store that mends that; null if none does.
    pub ends_at: Option<Place>,
    /// The lines whose loss is needed for that image to fail; at most 8. None if it need lack nothing.
    pub lost: Vec<LostLine>,
    /// How many there were.
    pub lost_lines: u64,
    /// The lines that were kept without being surely durable; at most 8, the newest first.
    pub kept: Vec<KeptLine>,
    /// How many there were.
    pub kept_lines: u64,
    /// All of this in a sentence.
    pub sentence: String,
}

impl Cause {
    /// Most lines of each sort that are listed.
    pub const SHOWN: usize = 8;
}

/// How a recovery that does not succeed ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseOutcome {
    /// With an exit code that says so, or by a signal.
    Failed,
    /// Not in time.
    TimedOut,
}

/// What a program lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// A flush of what was stored.
    MissingFlush,
    /// Another flush of a line that was stored to again after its flush.
    StoredAfterFlush,
    /// A fence after the flush.
    MissingFence,
    /// A fence after a store past the caches.
    NonTemporalNotFenced,
    /// A write-back of the counter: the data is durable, and its counter is not.
    CounterNotDurable,
    /// The data: its counter is durable, and what the line held before does not decrypt with it.
    CounterAhead,
    /// Another order of two stores to one line: the second must not be durable without the first, and hardware keeps their
    /// order as it is.
    OrderWithinLine,
    /// Another order of two lines: the first is durable, or may be, before the second, which it needs.
    OrderBetweenLines,
    /// A store of at most eight aligned bytes: of a larger one, a part can be durable.
    TornStore,
    /// An update that is atomic: between two of its stores the program does not recover, with nothing lost.
    NotAtomic,
    /// A recovery from what the program has stored, with nothing lost.
    WrongRecovery,
}

/// A line that was lost.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LostLine {
    /// The file that it belongs to.
    pub file: String,
    /// Its offset in that file.
    pub offset: u64,
    /// The thread that stored to it last.
    pub thread: u64,
    /// Where that was.
    pub stored: Place,
    /// `file:line` of the call of the function that this is in; null if the trace or debug information does not have it.
    pub called_at: Option<String>,
    /// What the line lacks.
    pub missing: CauseKind,
    /// Where it was flushed last; null if it was not.
    pub flushed: Option<Place>,
    /// The locked instruction that fences it by chance; null if there is none.
    pub fenced_by: Option<Place>,
    /// The store that was kept, and before which the missing flush or fence had to come; null if it was none.
    pub needed_before: Option<Place>,
}

/// A line that was kept.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KeptLine {
    /// The file that it belongs to.
    pub file: String,
    /// Its offset in that file.
    pub offset: u64,
    /// Where it was stored to last.
    pub stored: Place,
}
