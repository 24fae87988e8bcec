//! The part of a machine that protects the integrity of its memory: MACs, the tree, and the circuits for both.

use super::fields::{AES_UNITS, CACHE_SIZE, GIB, TIMING, WAYS};
use super::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MACs and the integrity tree, in designs that have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Integrity {
    /// Bits of the MAC of a data line.
    #[schemars(extend("enum" = [56, 64, 128], "x-because" = "a line of 64 bytes has 8 of 56 or 64 bits, or 4 of 128"))]
    pub mac_bits: u32,
    /// Where the MACs of data lines are stored.
    pub mac_placement: MacPlacement,
    /// Time to compute or check the MAC of a line, in ns. Decision.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub mac_latency_ns: f64,
    /// Time to hash a node of the tree or a counter block, in ns. Decision.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub hash_latency_ns: f64,
    /// Circuits that compute the MACs of writes and the hashes of what is read, each one at a time. As many again check the
    /// MACs of reads. Decision.
    #[schemars(range(min = 1, max = 256), extend("x-because" = AES_UNITS))]
    pub mac_units: u32,
    /// When the data of a read is given out.
    pub read_verification: ReadVerification,
    /// Children of a node of the tree. Their hashes share its 64 bytes: 64, 32 or 16 bits each.
    #[schemars(extend("enum" = [8, 16, 32], "x-because" = "the children of a node share its 64 bytes"))]
    pub tree_arity: u32,
    /// Whether MACs and nodes share the counter cache.
    pub metadata_cache: MetadataCache,
    /// Capacity of the cache of MACs and nodes, if it is apart.
    #[schemars(range(min = 64, max = GIB), extend("multipleOf" = 64, "x-because" = CACHE_SIZE))]
    pub metadata_cache_size: ByteSize,
    /// Associativity of the cache of MACs and nodes, if it is apart.
    #[schemars(range(min = 1, max = 256), extend("x-because" = WAYS))]
    pub metadata_cache_ways: u32,
    /// The lowest levels of the tree that persist with every write, in designs that persist some (Triad-NVM).
    #[schemars(range(min = 1, max = 20), extend(
        "x-because" = "a design that persists levels persists one at least, and no tree has 20"))]
    pub persisted_levels: u32,
    /// Most roots of a forest of trees, in designs that keep several on the chip (BMF).
    #[schemars(range(min = 1, max = 65_536), extend("x-because" = "a forest has one root at least, and they are on the chip"))]
    pub forest_roots: u32,
    /// A counter persists when it has been incremented this many times, in designs whose recovery finds the others by
    /// trial (Osiris).
    #[schemars(range(min = 1, max = 64), extend("x-because" = "a recovery tries this many counters for each line"))]
    pub stop_loss: u32,
    /// Bits of a counter that are also stored with what it counts, in designs that compute blocks from what is below them
    /// (STAR). A counter persists when they wrap.
    #[schemars(range(min = 1, max = 10), extend("x-because" = "a MAC of 64 bits leaves 10 beside its own 54"))]
    pub low_bits: u32,
    /// Bytes of the ring in memory of partial updates of counter blocks and lines of MACs, in designs that have one (Thoth).
    /// Decision.
    #[schemars(range(min = 128, max = 33_554_432), extend(
        "multipleOf" = 64, "x-because" = "the ring has two lines at least, and 24 bits of a counter tell what of it is newer"))]
    pub update_ring: ByteSize,
    /// Lines on the chip in which partial updates are combined before they go to the ring, in designs that have one (Thoth).
    /// They are entries of the write pending queue that it does not have otherwise. Decision.
    #[schemars(range(min = 1, max = 64), extend("x-because" = "they are entries of the write pending queue"))]
    pub update_lines: u32,
}

/// Where the MACs of data lines are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MacPlacement {
    /// In lines of their own, eight to a line (four with 128 bits), read and written like counter blocks.
    Region,
    /// In a chip of their own beside the line's: an access moves the MAC, too (Synergy).
    Beside,
    /// In spare bits of the line's ECC, which every access moves anyway.
    Ecc,
}

/// When the data of a read is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadVerification {
    /// When its MAC and its counter are verified.
    BeforeUse,
    /// When it is decrypted; the check follows, and an alarm may come too late.
    Speculative,
}

/// Whether MACs and tree nodes share the counter cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataCache {
    /// They compete with counter blocks for the counter cache.
    Shared,
    /// They have a cache of their own, with the counter cache's latency.
    Apart,
}
