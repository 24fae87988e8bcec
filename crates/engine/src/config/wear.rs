//! The part of a machine that says how its device wears out, and what evens this out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the device wears out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Writes of a line until a cell of it fails.
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_u64), extend(
        "x-because" = "a line can be written once, and no cell is known that takes more"))]
    pub endurance_writes: u64,
    /// Whether lines change their places, so that writes of one line fall on many. Decision.
    pub leveling: Leveling,
    /// Writes of a region after which its gap moves by one line (Start-Gap, section 3.2).
    #[schemars(range(min = 1, max = 1_000_000), extend(
        "x-because" = "a move follows a write, and with more than a million writes between two moves nothing is levelled"))]
    pub gap_interval: u32,
    /// Regions of a bank, each with a gap of its own.
    #[schemars(range(min = 1, max = 65_536), extend(
        "x-because" = "a region has a line at least, and the host holds a state of each"))]
    pub regions_per_bank: u32,
    /// Whether the registers of start and gap survive a power failure. If not, lines are looked for where they were before
    /// anything moved. Decision.
    pub registers_durable: bool,
    /// What goes before the rotation: where the lines of a region are at first (Start-Gap, section 4). Decision.
    pub scatter: Scatter,
}

/// Whether lines change their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Leveling {
    /// A line stays where it is.
    None,
    /// A region has one line more than it stores, the gap. The line before the gap moves into it after each
    /// `gap_interval` writes, so that in the end every line has been everywhere (Qureshi et al., MICRO 2009).
    StartGap,
}

/// Where the lines of a region are before they rotate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scatter {
    /// In the order of their addresses.
    InOrder,
    /// In a fixed random order, by a Feistel network. Neighbours are then in different rows.
    Random,
}
