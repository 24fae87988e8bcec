//! What a check finds, kind by kind.

use serde::Serialize;

/// Whether a finding is about what a power failure may lose, or about time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FindingClass")]
pub enum Class {
    Correctness,
    Performance,
}

/// A kind of finding.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, schemars::JsonSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename = "FindingKind")]
pub enum Kind {
    NeverFlushed,
    StoredAfterFlush,
    NeverFenced,
    NonTemporalNotFenced,
    NotOrdered,
    FlushedTwice,
    CleanFlush,
    VolatileFlush,
    IdleFence,
}

impl Kind {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn class(self) -> Class {
        match self {
            Kind::NeverFlushed
            | Kind::StoredAfterFlush
            | Kind::NeverFenced
            | Kind::NonTemporalNotFenced
            | Kind::NotOrdered => Class::Correctness,
            Kind::FlushedTwice | Kind::CleanFlush | Kind::VolatileFlush | Kind::IdleFence => Class::Performance,
        }
    }

    /// Whether a fence is all that is missing.
    pub fn is_for_want_of_a_fence(self) -> bool {
        matches!(self, Kind::NeverFenced | Kind::NonTemporalNotFenced)
    }

    /// What the trace shows, in a sentence about one operation.
    pub fn sentence(self) -> &'static str {
        match self {
            Kind::NeverFlushed => {
                "No flush of its line follows this store, and no sync of its file, so a power failure may lose it."
            }
            Kind::StoredAfterFlush => {
                "This store comes after a flush of its line that no fence had completed, and no other flush follows, so a \
                 power failure may lose it."
            }
            Kind::NeverFenced => {
                "The line of this store is flushed, but the thread that flushes it executes no fence afterwards, so a \
                 power failure may lose the store."
            }
            Kind::NonTemporalNotFenced => {
                "No fence of its thread follows this non-temporal store, so a power failure may lose it."
            }
            Kind::NotOrdered => "A power failure may keep the later store and lose this one.",
            Kind::FlushedTwice => "The line was flushed before, and nothing has been stored to it since.",
            Kind::CleanFlush => {
                "No store through the caches has changed the line since the recording began or it was last flushed."
            }
            Kind::VolatileFlush => "The memory that is flushed is not persistent.",
            Kind::IdleFence => {
                "The thread has neither flushed persistent memory nor stored past the caches since its last fence."
            }
        }
    }
}
