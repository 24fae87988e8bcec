//! How a page is filled with zeros.

use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// What fills a page with zeros when a program asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum Zeroing {
    /// The core stores zeros past the caches, line by line.
    #[default]
    #[strum(props(paper = "x86, non-temporal stores"))]
    Stores,
    /// The controller shreds the page: it increments the major counter of its block and sets all minor counters to zero, which
    /// means that a line reads as zeros, and nothing else is written. A line that is written has a minor counter from 1 on.
    #[strum(props(paper = "Awad et al., ASPLOS 2016 (Silent Shredder)"))]
    Counters,
    /// As `counters`, but the block stays in the counter cache until it is evicted.
    #[strum(props(paper = "seeded fault"))]
    CachedCounters,
    /// As `counters`, but re-encryption of a page gives its lines minor counters from 0 on.
    #[strum(props(paper = "seeded fault"))]
    CountersFromZero,
}

impl Zeroing {
    /// Whether the controller shreds pages.
    pub fn shreds(self) -> bool {
        self != Zeroing::Stores
    }

    /// The minor counter that re-encryption of a page gives its lines.
    pub fn first_minor(self) -> u16 {
        u16::from(matches!(self, Zeroing::Counters | Zeroing::CachedCounters))
    }
}
