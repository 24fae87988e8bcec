//! Lines that are encrypted without counters: what distinguishes them, what modules do that encrypt them, and which pages have them
//! beside others with counters.

use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// What a module that encrypts makes of what is in its buffer when power fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum BufferSave {
    /// It goes to the media as at any other time, encrypted.
    #[default]
    #[strum(props(paper = "Intel Optane persistent memory"))]
    Encrypted,
    /// It is saved as the buffer has it, flagged as unencrypted.
    #[strum(props(paper = "seeded fault"))]
    InTheClear,
}

/// What distinguishes lines that are encrypted without counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum Tweak {
    /// The number of the line, so that equal lines at different addresses differ.
    #[default]
    #[strum(props(paper = "IEEE 1619-2018, section 5.1"))]
    Line,
    /// Nothing: every line has the same tweak.
    #[strum(props(paper = "seeded fault"))]
    Constant,
}

/// Which pages are encrypted with AES-XTS instead of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum PageModes {
    /// None.
    #[default]
    #[strum(props(paper = "secpm, section 2.2"))]
    Counters,
    /// A page whose lines are written often. It begins with counters. When a minor counter overflows, it is re-encrypted under the next
    /// major counter, as any page, but with AES-XTS, and from then on its lines have no counters. The lowest bit of its major counter
    /// says so.
    #[strum(props(paper = "our own"))]
    ByHeat,
    /// As `by-heat`, and a boot takes every page for one with counters.
    #[strum(props(paper = "seeded fault"))]
    ByHeatForgotten,
}
