//! An undo log that hardware writes (easy-pm section III).

use super::WritePath;
use crate::layout::LogLayout;
use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// Whether hardware keeps an undo log, and how its lines are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum LogMode {
    /// Hardware keeps no log.
    #[default]
    None,
    /// An undo log in counter mode, with counters of its own.
    #[strum(props(paper = "easy-pm, section III-B"))]
    CounterMode,
    /// An undo log in cipher feedback mode. Headers and logged lines are separate chains, each with its own initial
    /// vector.
    #[strum(props(paper = "easy-pm, section III-C"))]
    CipherFeedback,
}

/// How hardware log lines are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogEncryption {
    /// In counter mode, with counters of their own.
    Counter {
        /// How a log line's counter becomes durable.
        write_path: WritePath,
    },
    /// In cipher feedback mode. Headers and logged lines are separate chains, each with its own initial vector.
    Feedback,
}

/// What a modified line waits for in the controller before it may be written to its own address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum LogOrder {
    /// The line's log entry and its header must have persisted; for chains, also the number of valid headers.
    #[default]
    #[strum(props(paper = "easy-pm, section III-B"))]
    LogFirst,
    /// A modified line waits for nothing.
    #[strum(props(paper = "seeded fault"))]
    AnyOrder,
}

/// How chains of log lines begin and continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum LogChains {
    /// Chains begin with the initial vectors that the machine draws, and each line follows the ciphertext of the line
    /// before.
    #[default]
    #[strum(props(paper = "easy-pm, section III-C"))]
    Linked,
    /// Chains begin with initial vectors that are always the same.
    #[strum(props(paper = "seeded fault"))]
    ConstantVectors,
    /// Every line after the first follows the same ciphertext: the recent-ciphertext register is never written.
    #[strum(props(paper = "seeded fault"))]
    Unlinked,
}

/// An undo log that hardware writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwareLog {
    /// How records are laid out in a bucket.
    pub layout: LogLayout,
    /// How log lines are encrypted.
    pub encryption: LogEncryption,
    /// What modified lines wait for before they leave.
    pub order: LogOrder,
    /// How chains of log lines begin and continue.
    pub chains: LogChains,
}
