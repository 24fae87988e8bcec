//! The integrity of memory: which MACs and trees a design has, what of them persists, and when.

use super::Counter;
use crate::layout::{LineHash, TableEntry, TreePlace};
use crate::message::{Line, LineBytes};
use schemars::JsonSchema;
use std::sync::Arc;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// What protects memory against an attacker who writes to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum IntegrityMode {
    /// Nothing.
    #[default]
    None,
    /// Each data line has a MAC over its ciphertext, its address and its counter. Counters are not protected.
    Macs,
    /// Data lines have MACs, and counter blocks are the leaves of a hash tree: each node has the hashes of its children.
    /// Nodes can be computed from the counter blocks alone.
    #[strum(props(paper = "Rogers et al., MICRO 2007"))]
    BonsaiTree,
    /// Data lines have MACs, and counter blocks are the leaves of a tree of counters: each node has a counter for each
    /// child, which counts how often the child left the chip, and a MAC under its own counter in its parent. Nodes cannot
    /// be computed from the counter blocks.
    #[strum(props(paper = "Gueron, 2016 (SGX)"))]
    CounterTree,
    /// As a tree of counters, but each counter is the sum of the counters in the child, so that nodes can be computed from
    /// the counter blocks alone.
    #[strum(props(paper = "Huang and Hua, HPCA 2023 (SCUE)"))]
    SummingTree,
}

/// What the MAC of a node in a tree of counters, or of a counter block below one, covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum NodeMac {
    /// Its counters, its place and its counter in its parent.
    #[default]
    #[strum(props(paper = "Gueron, 2016 (SGX)"))]
    UnderParent,
    /// As above, in 54 bits. The other 10 bits of its place are the lowest of the counter in its parent, of which the
    /// machine's `integrity.low_bits` are used. MACs of data lines have the lowest bits of the line's counter.
    #[strum(props(paper = "Huang and Hua, HPCA 2021 (STAR)"))]
    WithLowBits,
    /// Its own counters and its place.
    #[strum(props(paper = "seeded fault"))]
    UnderItself,
}

/// What goes into the MAC of a data line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum MacInputs {
    /// Ciphertext, address and counter.
    #[default]
    #[strum(props(paper = "Rogers et al., MICRO 2007"))]
    All,
    /// Ciphertext and counter.
    #[strum(props(paper = "seeded fault"))]
    WithoutAddress,
    /// Ciphertext and address.
    #[strum(props(paper = "seeded fault"))]
    WithoutCounter,
}

/// When the MAC of a line becomes durable, if it is stored in a line of MACs. A MAC beside its line moves with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum MacWrite {
    /// In the event that admits the data.
    #[default]
    WithData,
    /// When the line of MACs is evicted from the metadata cache: not crash-consistent, unless a battery drains that cache.
    Deferred,
}

/// When the nodes above a counter block are updated on the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum TreeUpdate {
    /// All nodes to the root, with the write that changes the block.
    #[default]
    Eager,
    /// Each node when what is below it leaves the chip.
    Lazy,
    /// The register of the root with the counter block that persists, the nodes between when what is below them leaves the
    /// chip.
    #[strum(props(paper = "Huang and Hua, HPCA 2023 (SCUE)"))]
    Shortcut,
}

/// Which nodes persist with a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum TreePersistence {
    /// None: a node persists when it is evicted from the metadata cache.
    #[default]
    Evicted,
    /// The nodes of the lowest levels, as many as the machine's `integrity.persisted_levels`.
    #[strum(props(paper = "Awad et al., ISCA 2019 (Triad-NVM)"))]
    LowestLevels,
    /// The nodes of all levels.
    AllLevels,
}

/// Which counters the tree protects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum TreeLeaves {
    /// Those of counter blocks in the persistence domain: the tree changes when a block enters it.
    #[default]
    Persisted,
    /// Those with which data in the persistence domain is encrypted, even if they are only in the counter cache: the tree
    /// changes when the data enters it.
    #[strum(props(paper = "Ye et al., MICRO 2018 (Osiris)"))]
    Current,
}

/// When the register of the root takes a new root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum RootUpdate {
    /// In the event that admits what changes it.
    #[default]
    WithWrite,
    /// Never.
    #[strum(props(paper = "seeded fault"))]
    Never,
}

/// In which order the updates of several writes go up the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum TreeOrder {
    /// One after another: an update begins when the one before has reached the root.
    #[default]
    #[strum(props(paper = "Freij et al., MICRO 2020 (PLP), baseline"))]
    Sequential,
    /// An update enters a level when the one before has left it.
    #[strum(props(paper = "Freij et al., MICRO 2020 (PLP), pipelined updates"))]
    Pipelined,
    /// Updates do not wait for one another.
    #[strum(props(paper = "Freij et al., MICRO 2020 (PLP), out-of-order updates"))]
    OutOfOrder,
}

/// Which nodes of the tree are roots: on the chip, where they vouch for what is below them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum TreeRoots {
    /// The one at the top, in a register.
    #[default]
    One,
    /// All nodes of the lowest level that has no more than the machine's `integrity.forest_roots`, in a non-volatile cache.
    #[strum(props(paper = "Freij et al., MICRO 2021 (BMF), static"))]
    StaticLevel,
    /// At most so many nodes, in a non-volatile cache. A root that is used often is split into its children; children that are
    /// not used are merged into their parent.
    #[strum(props(paper = "Freij et al., MICRO 2021 (BMF), dynamic"))]
    Dynamic,
}

/// Whether a counter block that is read from memory is verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterVerification {
    /// Against the nodes above it, up to one that is on the chip.
    #[default]
    OnFill,
    /// It is not.
    #[strum(props(paper = "seeded fault"))]
    Never,
}

/// A table in memory of what is in the metadata caches, by cache slot, with which a boot finds what it must restore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum ShadowTable {
    /// There is none.
    #[default]
    None,
    /// A slot's entry is written when a block is brought into it.
    #[strum(props(paper = "Abu Zubair and Awad, ISCA 2019 (Anubis, AGIT-Read)"))]
    OnFill,
    /// A slot's entry is written when the block in it is first changed.
    #[strum(props(paper = "Abu Zubair and Awad, ISCA 2019 (Anubis, AGIT-Plus)"))]
    OnDirty,
    /// A slot's entry has the lowest bits of the counters of the block in it, and is written when the block is changed. It is
    /// cleared when the block leaves. A small tree protects the table.
    #[strum(props(paper = "hardened reading of Anubis, ASIT"))]
    Contents,
    /// As above, but an entry stays when its block leaves, until the next block in the slot is changed.
    #[strum(props(paper = "Abu Zubair and Awad, ISCA 2019 (Anubis, ASIT)"))]
    KeptContents,
    /// A slot's entry has the contents of a node, and is written when the node is changed. Of a counter block it has the name
    /// alone, and is written when the block is first changed: a boot finds its counters by trial. It is cleared when node or
    /// block leaves. A small tree protects the table, with the counters of named blocks.
    #[strum(props(paper = "hardened reading of Phoenix"))]
    NodeContents,
    /// As above, but the entry of a node stays when the node leaves, until something else in the slot is changed.
    #[strum(props(paper = "Alwadi et al., arXiv:1911.01922 (Phoenix)"))]
    KeptNodeContents,
    /// As `node-contents`, but the tree over the table has the names of counter blocks alone.
    #[strum(props(paper = "seeded fault"))]
    UncheckedCounters,
    /// Not by slot: a bit for each counter block and node says whether it is newer on the chip than in memory. Lines of bits
    /// have layers of bits above them, which say which lines are not zero.
    #[strum(props(paper = "Huang and Hua, HPCA 2021 (STAR)"))]
    StaleBits,
    /// A slot's entry is written when the first block in it is changed, and never again.
    #[strum(props(paper = "seeded fault"))]
    Stale,
}

impl ShadowTable {
    /// Whether entries name blocks.
    pub fn names_blocks(self) -> bool {
        matches!(self, ShadowTable::OnFill | ShadowTable::OnDirty | ShadowTable::Stale)
    }

    /// Whether entries have the contents of blocks, so that the table is protected by a tree of its own.
    pub fn has_contents(self) -> bool {
        matches!(self, ShadowTable::Contents | ShadowTable::KeptContents) || self.names_counters()
    }

    /// Whether entries with contents are those of nodes alone, and those of counter blocks name them.
    pub fn names_counters(self) -> bool {
        matches!(self, ShadowTable::NodeContents | ShadowTable::KeptNodeContents | ShadowTable::UncheckedCounters)
    }

    /// Whether the entry of a node stays when the node leaves.
    pub fn keeps_nodes(self) -> bool {
        matches!(self, ShadowTable::KeptContents | ShadowTable::KeptNodeContents)
    }
}

/// What becomes of the counter and the MAC of a write whose counter block and line of MACs stay in the metadata caches. Such
/// partial updates can be combined in lines on the chip, which go to a ring in memory one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum PartialUpdates {
    /// There is no ring.
    #[default]
    None,
    /// What leaves the ring is written to its block if that is dirty in its cache: the whole block is written.
    #[strum(props(paper = "Han et al., HPCA 2023 (Thoth), by status"))]
    DirtyBlocks,
    /// What leaves the ring is written to its block if that part of it is dirty in its cache: a bit for each part says so. The
    /// whole block is written.
    #[strum(props(paper = "Han et al., HPCA 2023 (Thoth), by bit mask"))]
    DirtyParts,
    /// What leaves the ring is not written to its block.
    #[strum(props(paper = "seeded fault"))]
    Dropped,
}

/// Where a write and what persists with it find room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum GroupCommit {
    /// A free entry for everything that persists with it.
    #[default]
    Entries,
    /// None: non-volatile registers beside the queue hold what finds no entry. The next write with metadata waits until
    /// they are empty.
    #[strum(props(paper = "Ye et al., MICRO 2018 (Osiris); Awad et al., ISCA 2019 (Triad-NVM)"))]
    Registers,
}

/// What protects the shadow cache: a tree over it, or MACs of its slots.
#[derive(Clone)]
pub struct ShadowTree {
    /// The hash of its lines and nodes.
    pub hash: Arc<dyn LineHash + Send + Sync>,
    /// The MACs of its slots; `None` if a tree protects it.
    pub macs: Option<Arc<dyn MacSource>>,
    /// Whether a boot compares what it reads with the root.
    pub verified: bool,
}

/// How a design protects the integrity of its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Integrity {
    /// The tree over counter blocks; `None` if only data lines are protected.
    pub tree: Option<Tree>,
    /// What goes into the MAC of a data line.
    pub mac_inputs: MacInputs,
    /// When a MAC becomes durable.
    pub mac_write: MacWrite,
    /// Where a write with its metadata finds room.
    pub commit: GroupCommit,
    /// What becomes of counters and MACs that stay in the caches.
    pub updates: PartialUpdates,
}

/// What the nodes of a tree have of their children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeNodes {
    /// Hashes.
    Hashes,
    /// Counters of departures.
    Counters,
    /// Sums of their counters.
    Sums,
}

/// The tree of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    /// Whether nodes have counters or hashes of their children.
    pub nodes: TreeNodes,
    /// What the MAC of a node covers, if nodes have counters.
    pub node_mac: NodeMac,
    /// When nodes are updated on the chip.
    pub update: TreeUpdate,
    /// Which nodes persist with a write.
    pub persistence: TreePersistence,
    /// Which counters the tree protects.
    pub leaves: TreeLeaves,
    /// Which nodes are roots.
    pub roots: TreeRoots,
    /// When the root's register takes a new root.
    pub root_update: RootUpdate,
    /// In which order updates go up.
    pub order: TreeOrder,
    /// Whether counter blocks are verified.
    pub verification: CounterVerification,
    /// The table of what is in the metadata caches.
    pub table: ShadowTable,
}

/// MACs of data lines.
pub trait MacSource: Send + Sync {
    /// The MAC of `line`, which is stored as `ciphertext` under `counter`, in the lowest bits.
    fn mac(&self, line: Line, ciphertext: &LineBytes, counter: Counter) -> u128;
}

/// What else follows when a node has counted a change of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Nothing.
    Alone,
    /// The counters of all its children have changed: each must be marked again.
    AllChanged,
    /// The lowest bits of the counter, which the child also has, are zero again: memory must get the node with its other bits.
    LowBitsWrapped,
}

/// An integrity tree: how a node vouches for its children.
pub trait TreeScheme: Send + Sync {
    /// Counts in `parent` that `child`, the child at place `index` in it, has changed, if nodes have counters.
    fn count(&self, parent: &mut LineBytes, index: usize, child: &LineBytes) -> Counted;
    /// Marks the child at place `index` as the one that `parent` vouches for: with a hash in the parent, or with a MAC in the
    /// child.
    fn mark(&self, parent: &mut LineBytes, index: usize, place: TreePlace, child: &mut LineBytes);
    /// Whether `parent` vouches for `child`, the child at place `index` in it.
    fn vouches(&self, parent: &LineBytes, index: usize, place: TreePlace, child: &LineBytes) -> bool;
    /// What is at `place` before the run has written anything below it.
    fn initial(&self, place: TreePlace) -> LineBytes;
    /// Adds to the counter at place `index` of `root` what the counters of a node far below have grown from `before` to
    /// `after`. Only sums are carried.
    fn carry(&self, root: &mut LineBytes, index: usize, before: &LineBytes, after: &LineBytes);
}

/// The entries of a shadow table that has the contents of blocks.
pub trait TableScheme: LineHash + Send + Sync {
    /// The entry of the block or node at `place`, which is now `block`.
    fn entry(&self, place: TreePlace, block: &LineBytes) -> LineBytes;
    /// The block or node that `entry` speaks of, from what of it is stored; `None` if the two do not belong together.
    fn restored(&self, entry: &TableEntry, place: TreePlace, stored: &LineBytes) -> Option<LineBytes>;
    /// Whether `block` is an older version than `other` of the same block.
    fn is_older(&self, block: &LineBytes, other: &LineBytes) -> bool;
}

/// Nodes and MACs with the lowest bits of the counter above them, so that a block can be computed from what is below it.
pub trait LowBitsScheme: LineHash + Send + Sync {
    /// The lowest bits that a child, as it is stored, has of its counter in its parent.
    fn of_child(&self, child: &LineBytes) -> u64;
    /// The lowest bits that the MAC of a data line has of its counter.
    fn of_mac(&self, mac: u128) -> u64;
    /// `stored` with these lowest bits of its counters.
    fn restored(&self, stored: &LineBytes, low: &[u64; 8]) -> LineBytes;
    /// What protects the blocks of a set of a cache that are newer than memory, which come in the order of their places; zeros
    /// if there are none.
    fn set(&self, blocks: &mut dyn Iterator<Item = (TreePlace, LineBytes)>) -> LineBytes;
}
