//! The integrity of memory: which MACs and trees a design has, what of them persists, and when.

use super::Counter;
use crate::message::{Line, LineBytes, TreePlace};
use strum::{EnumMessage, EnumProperty, IntoStaticStr, VariantArray};

/// What protects memory against an attacker who writes to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
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
}

/// What goes into the MAC of a data line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum MacWrite {
    /// In the event that admits the data.
    #[default]
    WithData,
    /// When the line of MACs is evicted from the metadata cache: not crash-consistent.
    Deferred,
}

/// When the nodes above a counter block are updated on the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum TreeUpdate {
    /// All nodes to the root, with the write that changes the block.
    #[default]
    Eager,
    /// Each node when what is below it leaves the chip.
    Lazy,
}

/// Which nodes persist with a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum RootUpdate {
    /// In the event that admits what changes it.
    #[default]
    WithWrite,
    /// Never.
    #[strum(props(paper = "seeded fault"))]
    Never,
}

/// In which order the updates of several writes go up the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
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

/// Whether a counter block that is read from memory is verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CounterVerification {
    /// Against the nodes above it, up to one that is on the chip.
    #[default]
    OnFill,
    /// It is not.
    #[strum(props(paper = "seeded fault"))]
    Never,
}

/// A table in memory of what is in the metadata caches, by cache slot, with which a boot finds what it must restore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
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
    /// A slot's entry is written when the first block in it is changed, and never again.
    #[strum(props(paper = "seeded fault"))]
    Stale,
}

/// How many entries of the write pending queue a write with its metadata needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum GroupCommit {
    /// A free entry for everything that persists with it.
    #[default]
    Entries,
    /// None: non-volatile registers beside the queue hold what finds no entry. The next write with metadata waits until
    /// they are empty.
    #[strum(props(paper = "Ye et al., MICRO 2018 (Osiris); Awad et al., ISCA 2019 (Triad-NVM)"))]
    Registers,
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
}

/// The tree of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    /// When nodes are updated on the chip.
    pub update: TreeUpdate,
    /// Which nodes persist with a write.
    pub persistence: TreePersistence,
    /// Which counters the tree protects.
    pub leaves: TreeLeaves,
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

/// An integrity tree: how a node vouches for its children.
pub trait TreeScheme: Send + Sync {
    /// Has `parent` vouch for `child`, the child at place `index` in it. The child may be changed, too.
    fn vouch(&self, parent: &mut LineBytes, index: usize, place: TreePlace, child: &mut LineBytes);
    /// Whether `parent` vouches for `child`, the child at place `index` in it.
    fn vouches(&self, parent: &LineBytes, index: usize, place: TreePlace, child: &LineBytes) -> bool;
    /// What is at `place` before the run has written anything below it.
    fn initial(&self, place: TreePlace) -> LineBytes;
}
