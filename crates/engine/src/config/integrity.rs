//! The part of a machine that protects the integrity of its memory: MACs, the tree, and the circuits for both.

use super::size::ByteSize;
use serde::{Deserialize, Serialize};

/// MACs and the integrity tree, in designs that have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Integrity {
    /// Bits of the MAC of a data line.
    pub mac_bits: u32,
    /// Where the MACs of data lines are stored.
    pub mac_placement: MacPlacement,
    /// Time to compute or check the MAC of a line, in ns. Decision.
    pub mac_latency_ns: f64,
    /// Time to hash a node of the tree or a counter block, in ns. Decision.
    pub hash_latency_ns: f64,
    /// Circuits that compute MACs and hashes, each one at a time. Decision.
    pub mac_units: u32,
    /// When the data of a read is given out.
    pub read_verification: ReadVerification,
    /// Children of a node of the tree.
    pub tree_arity: u32,
    /// Whether MACs and nodes share the counter cache.
    pub metadata_cache: MetadataCache,
    /// Capacity of the cache of MACs and nodes, if it is apart.
    pub metadata_cache_size: ByteSize,
    /// Associativity of the cache of MACs and nodes, if it is apart.
    pub metadata_cache_ways: u32,
    /// The lowest levels of the tree that persist with every write, in designs that persist some (Triad-NVM).
    pub persisted_levels: u32,
    /// A counter persists when it has been incremented this many times, in designs whose recovery finds the others by
    /// trial (Osiris).
    pub stop_loss: u32,
    /// Bits of a counter that are also stored with what it counts, in designs that compute blocks from what is below them
    /// (STAR). A counter persists when they wrap.
    pub low_bits: u32,
}

/// Where the MACs of data lines are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MacPlacement {
    /// In lines of their own, read and written like counter blocks.
    Region,
    /// In a chip of their own beside the line's: an access moves the MAC, too (Synergy).
    Beside,
    /// In spare bits of the line's ECC, which every access moves anyway.
    Ecc,
}

/// When the data of a read is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadVerification {
    /// When its MAC and its counter are verified.
    BeforeUse,
    /// When it is decrypted; the check follows, and an alarm may come too late.
    Speculative,
}

/// Whether MACs and tree nodes share the counter cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataCache {
    /// They compete with counter blocks for the counter cache.
    Shared,
    /// They have a cache of their own.
    Apart,
}
