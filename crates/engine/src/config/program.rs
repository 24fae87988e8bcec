//! The part of the schema that says what the programs do beside their data structure, and where their memory lies.

use super::fields::{GIB, KIB, LINES, PERCENT, TIB};
use super::size::ByteSize;
use crate::message::{LINE_BYTES, PAGE_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the programs do beside their data structure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Instructions between two transactions ("do some computation"). Decision, one value per paper.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-because" = "a transaction of more would never end"))]
    pub think_instructions: u32,
    /// Of 100 of these instructions, how many load 8 bytes of volatile data. Decision: 0, no paper says it.
    #[schemars(range(min = 0, max = 100), extend("x-because" = PERCENT))]
    pub think_load_percent: u32,
    /// Of 100 of these instructions, how many store 8 bytes of volatile data. Decision: 0, no paper says it.
    #[schemars(range(min = 0, max = 100), extend("x-because" = PERCENT))]
    pub think_store_percent: u32,
    /// Bytes of each core's volatile data, which is after its heap. It takes no memory if nothing accesses it.
    #[schemars(range(min = 4 * KIB, max = GIB), extend("multipleOf" = 4 * KIB,
        "x-because" = "volatile data takes whole pages, and the host holds them all"))]
    pub think_footprint: ByteSize,
    /// Of 100 accesses of volatile data, how many go to its first eighth. The others go to the rest; each is spread
    /// evenly.
    #[schemars(range(min = 0, max = 100), extend("x-because" = PERCENT))]
    pub think_hot_percent: u32,
    /// Bytes that one load or store of a block copy moves. Decision: 16, the SSE2 copy of the x86-64 baseline.
    #[schemars(extend("enum" = [8, 16, 32, 64], "x-because" = "these are the widths of a register move"))]
    pub copy_bytes: u32,
    /// Size of each core's undo-log ring in bytes. Decision.
    #[schemars(range(min = KIB, max = GIB), extend("multipleOf" = 64,
        "x-because" = "the ring holds at least one small transaction, in whole lines"))]
    pub log_ring: ByteSize,
    /// What an undo-log record covers. Decision.
    pub log_granularity: LogGranularity,
    /// How an undo-log entry is stored; the annotated form of programs stores it through the caches in any case. Decision: no
    /// paper says it.
    pub log_stores: LogStores,
    /// Where an undo-log entry begins. Decision: no paper says it.
    pub log_placement: LogPlacement,
    /// Whether a structure's own data is part of a transaction's size. Decision.
    pub item_metadata: ItemMetadata,
    /// Default footprint of a workload in bytes: in total over all cores, or of each core with `footprint_per_core`.
    #[schemars(range(min = 64, max = 16 * TIB), extend("multipleOf" = 64, "x-because" = LINES))]
    pub footprint: ByteSize,
    /// Whether `footprint` is the size for each core. `--footprint` is the total in any case.
    pub footprint_per_core: bool,
    /// Where the memory of each core's program is. Decision: no paper says it.
    pub core_region: CoreRegion,
    /// What the caches and the counter cache hold when the programs begin. Decision: no paper says it.
    pub base: ProgramBase,
}

impl Program {
    /// Default footprint of `cores` cores together, in bytes.
    pub fn total_footprint(&self, cores: u64) -> u64 {
        if self.footprint_per_core { self.footprint.0.saturating_mul(cores) } else { self.footprint.0 }
    }

    /// Bytes of volatile data that each core has in memory.
    pub fn volatile_bytes(&self) -> u64 {
        if self.think_load_percent + self.think_store_percent > 0 { self.think_footprint.0 } else { 0 }
    }
}

/// The smallest unit that an undo-log record covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogGranularity {
    /// The 8-byte words that are written.
    Word,
    /// The whole lines that contain the written words. The annotated program form always logs whole lines: a line whose
    /// counter is not durable is lost completely, including its unwritten words.
    Line,
}

/// How an undo-log entry is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogStores {
    /// Through the caches.
    Cached,
    /// Past the caches, so that it needs a fence and no flush. The word that commits is stored through the caches, and so is
    /// all of the entry in the annotated program form, which declares that word `CounterAtomic`.
    NonTemporal,
}

/// Whether what a structure keeps about its items is part of a transaction's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ItemMetadata {
    /// It lies beside the items and is written in addition: head and tail of a queue, headers of nodes.
    Beside,
    /// It lies in the items, so that a transaction of `array`, `queue` or `hash` writes the lines of its size and no more:
    /// one line at 64 bytes (secpm section 4.2.1, "only a cache line is written"). An array then swaps neighbours and not
    /// the random entries of section 4.1. The other structures are as with `beside`.
    Inside,
}

/// Where the memory of each core's program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CoreRegion {
    /// Cores follow one another, page by page.
    Packed,
    /// Each core has banks of its own, the same number for all cores. The log ring begins with the first of them, and
    /// the heap with the second, if there is one.
    OwnBanks,
    /// Each core has banks of its own, the same number for all cores. The log ring begins with the first of them, and
    /// the heap follows it.
    OwnBanksContiguous,
}

/// What the caches and the counter cache hold when the programs begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramBase {
    /// Nothing.
    Cold,
    /// Clean lines of the populated structures, of a recorded program those of its files' first contents, and the counter
    /// blocks of such lines, as earlier random use would have left them. What protects integrity is empty; so is the counter
    /// cache beside a shadow table or bits that say what is stale.
    Warm,
}

/// Where an undo-log entry begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogPlacement {
    /// On the line after the entry before it.
    Packed,
    /// On a page that no other entry is on, so that its counters are in blocks of their own, as with an allocator that
    /// gives each entry whole pages.
    OwnPages,
}

impl LogPlacement {
    /// The unit, in bytes, of which an entry takes a whole number.
    pub fn unit(self) -> u64 {
        match self {
            LogPlacement::Packed => LINE_BYTES,
            LogPlacement::OwnPages => PAGE_BYTES,
        }
    }
}
