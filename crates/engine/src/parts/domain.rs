//! How far the persistence domain reaches.

use super::persistence::CrashDrain;
use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// How far the persistence domain reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum DomainReach {
    /// The domain has the write pending queue and the registers that are declared in it.
    #[default]
    #[strum(props(paper = "secpm, section 2.1"))]
    Adr,
    /// The domain also has writes that the controller has accepted and not encrypted yet: each rests in an entry of the write
    /// pending queue until it is encrypted there.
    #[strum(props(paper = "Han et al., MICRO 2021 (Dolos)"))]
    AcceptedWrites,
    /// The domain also has a persist buffer beside the first level of each core, with the lines that the core wrote last.
    #[strum(props(paper = "Freij, Zhou and Solihin, HPCA 2023 (SecPB)"))]
    PersistBuffers,
    /// The domain also has the caches and the counter cache.
    #[strum(props(paper = "sepencr, section II-D"))]
    Eadr,
}

/// When an entry of a persist buffer is free for another line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum BufferRelease {
    /// When the write that takes its line to memory is in the persistence domain.
    #[default]
    #[strum(props(paper = "Freij, Zhou and Solihin, HPCA 2023 (SecPB)"))]
    WhenDurable,
    /// When its line is sent.
    #[strum(props(paper = "seeded fault"))]
    WhenSent,
}

/// What is computed for a write before it is accepted, so that it can leave on battery. The rest is computed on battery. What
/// is kept for that takes room from the entries of the write pending queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum MinorUnit {
    /// The tree over all entries. All entries are there.
    #[default]
    #[strum(props(paper = "Han et al., MICRO 2021 (Dolos), full WPQ"))]
    FullWpq,
    /// The MAC of the entry, which is kept beside it: 13 of 16 entries are left.
    #[strum(props(paper = "Han et al., MICRO 2021 (Dolos), partial WPQ"))]
    PartialWpq,
    /// Nothing. The energy that the computation takes is missing for entries: 10 of 16 are left.
    #[strum(props(paper = "Han et al., MICRO 2021 (Dolos), post WPQ"))]
    PostWpq,
}

impl MinorUnit {
    /// Entries of the write pending queue that a queue of `entries` has with it.
    pub fn entries(self, entries: u32) -> u32 {
        let of_16 = match self {
            MinorUnit::FullWpq => 16,
            MinorUnit::PartialWpq => 13,
            MinorUnit::PostWpq => 10,
        };
        (entries * of_16 / 16).max(1)
    }

    /// The shortest queue in which an accepted write leaves room for what it needs beside its own entry.
    pub fn least_queue(self) -> u32 {
        (1..).find(|&entries| self.entries(entries) >= 2).expect("longer queues have more entries")
    }
}

/// What the persistence domain contains.
#[derive(Clone, Copy)]
pub enum PersistenceDomain {
    /// The write pending queue, and the registers that are declared in it.
    Adr,
    /// Also writes that have been accepted and are not encrypted yet.
    AcceptedWrites {
        /// How they leave after power loss.
        drain: CrashDrain,
        /// What is computed before one is accepted.
        unit: MinorUnit,
    },
    /// Also a persist buffer of each core.
    PersistBuffers {
        /// How lines leave it after power loss.
        drain: CrashDrain,
        /// When an entry is free.
        release: BufferRelease,
    },
    /// Also the caches and the counter cache.
    Eadr {
        /// How dirty lines leave the caches after power loss.
        drain: CrashDrain,
    },
}
