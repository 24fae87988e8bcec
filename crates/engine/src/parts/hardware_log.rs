//! An undo log that hardware writes (easy-pm section III).

use super::WritePath;
use crate::message::LogLayout;
use strum::{EnumMessage, EnumProperty, IntoStaticStr, VariantArray};

/// Whether hardware keeps an undo log, and how its lines are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum LogMode {
    /// Hardware keeps none.
    #[default]
    None,
    /// An undo log in counter mode, under counters of its own.
    #[strum(props(paper = "easy-pm, section III-B"))]
    CounterMode,
    /// An undo log in cipher feedback mode, headers and logged lines each as a chain with an initial vector of its own.
    #[strum(props(paper = "easy-pm, section III-C"))]
    CipherFeedback,
}

/// How hardware log lines are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogEncryption {
    /// In counter mode, under counters of their own.
    Counter {
        /// How such a counter becomes durable.
        write_path: WritePath,
    },
    /// In cipher feedback mode, headers and logged lines each as a chain with an initial vector of its own.
    Feedback,
}

/// What a modified line waits for in the controller before it may leave for its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum LogOrder {
    /// Its entry and the header that names it have persisted; of chains the number of valid headers, too.
    #[default]
    #[strum(props(paper = "easy-pm, section III-B"))]
    LogFirst,
    /// Nothing.
    #[strum(props(paper = "seeded fault"))]
    AnyOrder,
}

/// How chains of log lines begin and go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum LogChains {
    /// From initial vectors as the machine draws them, each line after the ciphertext of the one before it.
    #[default]
    #[strum(props(paper = "easy-pm, section III-C"))]
    Linked,
    /// From initial vectors that are always the same.
    #[strum(props(paper = "seeded fault"))]
    ConstantVectors,
    /// Each line but the first after the same ciphertext: the recent-ciphertext register is never written.
    #[strum(props(paper = "seeded fault"))]
    Unlinked,
}

/// An undo log that hardware writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwareLog {
    /// How records lie in a bucket.
    pub layout: LogLayout,
    /// How they are encrypted.
    pub encryption: LogEncryption,
    /// What modified lines wait for.
    pub order: LogOrder,
    /// How chains are linked.
    pub chains: LogChains,
}
