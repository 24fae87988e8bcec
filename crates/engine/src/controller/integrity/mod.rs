//! What the controller has for the integrity of memory: the root's register, the cache of MACs and nodes if it is apart,
//! and the circuits that compute MACs and hashes. When they have computed what a write needs, nothing has changed yet:
//! the event that admits the write changes MAC, nodes and root together (`metadata.rs`).

pub(super) mod forest;
pub(super) mod metadata;
pub(super) mod metadata_fetch;
pub(super) mod partial_updates;
pub(super) mod recovery_records;
pub(super) mod shadow_table;
pub(super) mod stale_blocks;

use super::encrypted::EncryptionEngine;
use super::encryption::metadata_cache::MetadataCache;
use super::in_flight::{Cipher, MetadataFetch};
use super::interface::{IntegrityParts, TreeParts};
use crate::config::{self, Machine};
use crate::kernel::{Ps, Slab, ns_to_ps};
use crate::layout::{MetadataShape, TreePlace, TreeShape};
use crate::message::{Line, LineBytes, MacBlock, MediaLine, TreeNode};
use crate::parts::{Counter, CounterVerification, MacWrite, TreeLeaves, TreeOrder, TreePersistence, TreeUpdate};
use forest::Forest;
use partial_updates::Updates;
use shadow_table::Table;
use stale_blocks::StaleBlocks;

/// MACs and the tree.
#[derive(Clone)]
pub(super) struct Integrity {
    pub parts: IntegrityParts,
    /// The cache of MACs and nodes; `None` if they share the counter cache.
    pub separate: Option<MetadataCache>,
    /// The root against which nodes are verified; zeros if there is no tree.
    pub root: LineBytes,
    /// The roots, if there are several.
    pub forest: Option<Forest>,
    /// The root of the counter blocks that have persisted, if it is updated by a shortcut past the nodes between.
    pub shortcut: LineBytes,
    pub fetches: Slab<MetadataFetch>,
    /// Slots of the fetches in flight.
    pub fetching: Vec<u32>,
    /// The table of what is in the metadata caches, as the controller keeps it; `None` if there is none.
    pub table: Option<Table>,
    /// What is kept about blocks that are newer on the chip, if a boot computes them from what is below them.
    pub stale: Option<StaleBlocks>,
    /// Partial updates that are combined on the chip; `None` if there is no ring for them.
    pub updates: Option<Updates>,
    /// Levels of the tree, from the first, that persist with a write.
    persisted_levels: u8,
    mac_latency: Ps,
    hash_latency: Ps,
    /// For each circuit, until when it is busy, in picoseconds.
    busy_until: Vec<Ps>,
    /// When the next update may begin to go up the tree, and when the last one reaches the root, in picoseconds.
    next_update: Ps,
    last_root: Ps,
}

impl Integrity {
    /// `caches`: the shape of the metadata caches.
    pub fn new(machine: &Machine, parts: IntegrityParts, caches: MetadataShape) -> Self {
        let config = &machine.integrity;
        let separate = config.metadata_cache == config::MetadataCache::Apart;
        let root = parts.tree.as_ref().map_or([0; 64], |tree| tree.scheme.initial(tree.shape.root().into()));
        let separate =
            separate.then(|| MetadataCache::new(config.metadata_cache_size.0, 64, config.metadata_cache_ways));
        Self {
            separate,
            root,
            forest: parts.tree.as_ref().and_then(|tree| Forest::new(tree, config.forest_roots as usize)),
            shortcut: root,
            fetches: Slab::default(),
            fetching: Vec::with_capacity(32),
            table: parts.tree.as_ref().and_then(|tree| Table::new(tree, caches.slots())),
            stale: parts.tree.as_ref().and_then(|tree| StaleBlocks::new(tree, caches)),
            updates: parts.ring.map(|ring| Updates::new(ring, parts.parts.updates)),
            persisted_levels: parts
                .tree
                .as_ref()
                .map_or(0, |tree| persisted_levels(config, tree.parts.persistence, tree.shape)),
            mac_latency: ns_to_ps(config.mac_latency_ns),
            hash_latency: ns_to_ps(config.hash_latency_ns),
            busy_until: vec![0; config.mac_units as usize],
            next_update: 0,
            last_root: 0,
            parts,
        }
    }

    /// The cache that `media` belongs to, where `counters` is that of counter blocks.
    pub fn cache_of<'c>(
        separate: &'c Option<MetadataCache>,
        counters: &'c MetadataCache,
        media: MediaLine,
    ) -> &'c MetadataCache {
        separate.as_ref().filter(|_| !media.is_counter()).unwrap_or(counters)
    }

    /// The register of the root, if there is a tree.
    pub fn root(&self) -> Option<LineBytes> {
        let tree = self.parts.tree.as_ref()?;
        Some(if tree.parts.update == TreeUpdate::Shortcut { self.shortcut } else { self.root })
    }

    /// The register of the root of the tree over the shadow table, or over what is newer in the metadata caches.
    pub fn table_root(&self) -> Option<LineBytes> {
        self.table.as_ref().and_then(Table::root).or_else(|| self.stale.as_ref().map(StaleBlocks::root))
    }

    /// The lines on the chip that go to memory when power is lost, as they would be there.
    pub fn chip_lines(&self) -> Vec<(MediaLine, LineBytes)> {
        let bits = self.stale.iter().flat_map(StaleBlocks::lines);
        bits.chain(self.updates.iter().flat_map(Updates::lines)).collect()
    }

    /// Sets the register of the root, and the root on the chip, to what a boot has left.
    pub fn load_root(&mut self, root: LineBytes) {
        (self.root, self.shortcut) = (root, root);
    }

    /// Whether MACs are in lines of their own, which are cached and fetched.
    pub fn macs_apart(&self) -> bool {
        !self.parts.mac_layout.beside()
    }

    /// The line of MACs that has the MAC of `line`.
    pub fn mac_block(&self, line: Line) -> MacBlock {
        self.parts.mac_layout.block(line)
    }

    /// Whether the node at `place` persists with a write below it.
    pub fn persists(&self, place: TreePlace) -> bool {
        place.level <= self.persisted_levels
    }

    /// Number of entries that a write needs, beside data and counter: for its MAC, and for the nodes above its counter
    /// block if the tree changes with the data.
    pub fn entries_with_data(&self) -> usize {
        let mac = self.macs_apart() && self.parts.parts.mac_write == MacWrite::WithData;
        let leaves = self.parts.tree.as_ref().map(|tree| tree.parts.leaves);
        let nodes = if leaves == Some(TreeLeaves::Current) { self.persisted_levels } else { 0 };
        usize::from(mac) + usize::from(nodes)
    }

    /// Number of entries that a counter block needs for the nodes that persist with it.
    pub fn entries_with_counter(&self) -> usize {
        let leaves = self.parts.tree.as_ref().map(|tree| tree.parts.leaves);
        if leaves == Some(TreeLeaves::Persisted) { usize::from(self.persisted_levels) } else { 0 }
    }

    /// Occupies the first free circuit for `latency`, not before `from`; returns when it is done.
    fn circuit(&mut self, from: Ps, latency: Ps) -> Ps {
        let busy = self.busy_until.iter_mut().min().expect("one circuit at least");
        *busy = from.max(*busy) + latency;
        *busy
    }

    /// When a hash that can begin now is computed.
    pub fn hash_done(&mut self, now: Ps) -> Ps {
        self.circuit(now, self.hash_latency)
    }

    /// When the MAC of a write and its way up the tree, which can begin now, are computed. `levels`: nodes on that way.
    pub fn authenticated_at(&mut self, now: Ps, levels: usize) -> Ps {
        let mac = self.circuit(now, self.mac_latency);
        let Some(TreeParts { parts, .. }) = self.parts.tree.as_ref() else { return mac };
        let way = match parts.update {
            TreeUpdate::Eager => levels as Ps * self.hash_latency,
            // The node above the block, when the block leaves. The entry of a table and the nodes above it, at once.
            TreeUpdate::Lazy => {
                let table = self.table.as_ref().map(Table::levels_with_change);
                let levels = table.or_else(|| self.stale.as_ref().map(StaleBlocks::levels_with_change));
                levels.unwrap_or(0) as Ps * self.hash_latency
            }
            // The MAC of the block.
            TreeUpdate::Shortcut => self.hash_latency,
        };
        let root = match parts.order {
            TreeOrder::OutOfOrder => now + way,
            TreeOrder::Sequential => {
                let begun = now.max(self.next_update);
                self.next_update = begun + way;
                begun + way
            }
            TreeOrder::Pipelined => {
                let begun = now.max(self.next_update);
                self.next_update = begun + self.hash_latency.min(way);
                begun + way
            }
        };
        self.last_root = root.max(self.last_root);
        mac.max(if parts.order == TreeOrder::OutOfOrder { root } else { self.last_root })
    }
}

/// Levels of a tree of this shape, from the first, that persist with a write. The root is a register.
pub fn persisted_levels(config: &config::Integrity, persistence: TreePersistence, shape: TreeShape) -> u8 {
    let below_root = shape.top() - 1;
    match persistence {
        TreePersistence::Evicted => 0,
        TreePersistence::LowestLevels => below_root.min(config.persisted_levels as u8),
        TreePersistence::AllLevels => below_root,
    }
}

impl EncryptionEngine {
    /// The tree, if there is one.
    pub fn tree(&self) -> Option<&TreeParts> {
        self.integrity.as_ref()?.parts.tree.as_ref()
    }

    /// What is kept about blocks that are newer on the chip, if a boot computes them from what is below them.
    pub fn stale(&mut self) -> Option<&mut StaleBlocks> {
        self.integrity.as_mut()?.stale.as_mut()
    }

    /// Whether memory says what is in the metadata caches.
    pub fn tells_what_is_cached(&self) -> bool {
        self.integrity.as_ref().is_some_and(|integrity| integrity.table.is_some() || integrity.stale.is_some())
    }

    /// Whether a block which is evicted from the metadata caches must leave in that event: memory says what is in them, or what
    /// is not dirty in them is taken to be in memory.
    pub fn leaves_at_once(&self) -> bool {
        self.tells_what_is_cached() || self.keeps_updates()
    }

    /// Whether partial updates are combined on the chip.
    pub fn keeps_updates(&self) -> bool {
        self.integrity.as_ref().is_some_and(|integrity| integrity.updates.is_some())
    }

    /// Partial updates that are combined on the chip, if they are.
    pub fn updates(&mut self) -> Option<&mut Updates> {
        self.integrity.as_mut()?.updates.as_mut()
    }

    /// Whether counter blocks that are read from the media are verified.
    pub fn verifies_counters(&self) -> bool {
        self.tree().is_some_and(|tree| tree.parts.verification == CounterVerification::OnFill)
    }

    /// The node that vouches for `place`, and the place in it; `None` for a root, or without a tree.
    pub fn parent_of(&self, place: TreePlace) -> Option<(TreeNode, usize)> {
        let integrity = self.integrity.as_ref()?;
        let is_root = integrity.forest.as_ref().is_some_and(|forest| forest.has(place));
        integrity.parts.tree.as_ref()?.shape.parent(place).filter(|_| !is_root)
    }

    /// Whether `node` is a root.
    pub fn is_root(&self, node: TreeNode) -> bool {
        match self.integrity.as_ref().and_then(|integrity| integrity.forest.as_ref()) {
            Some(forest) => forest.has(node.into()),
            None => self.tree().is_some_and(|tree| tree.shape.root() == node),
        }
    }

    /// The nodes from the one above `place` to the root above it, each with the place of its child on this way.
    pub fn way_to_root(&self, place: TreePlace) -> impl Iterator<Item = (TreeNode, usize)> {
        std::iter::successors(self.parent_of(place), move |(node, _)| self.parent_of(TreePlace::from(*node)))
    }

    /// When a hash that can begin now is computed.
    pub fn hash_done(&mut self, now: Ps) -> Ps {
        self.integrity.as_mut().map_or(now, |integrity| integrity.hash_done(now))
    }

    /// The fetch in flight of the line of MACs or node `media`, if there is one.
    pub fn metadata_fetch_of(&self, media: MediaLine) -> Option<u32> {
        let integrity = self.integrity.as_ref()?;
        integrity.fetching.iter().copied().find(|&slot| integrity.fetches[slot].media == media)
    }

    /// The cache of lines of MACs and tree nodes.
    pub fn metadata_cache(&mut self) -> &mut MetadataCache {
        let separate = self.integrity.as_mut().and_then(|integrity| integrity.separate.as_mut());
        separate.unwrap_or(&mut self.counters.cache)
    }

    /// The MAC that moves with `line`, if MACs are stored beside their lines and the line has one.
    pub fn mac_beside(
        &self,
        cipher: Cipher,
        line: Line,
        ciphertext: &LineBytes,
        counter: Counter,
        bytes: bool,
    ) -> Option<(MediaLine, LineBytes)> {
        let integrity = self.integrity.as_ref().filter(|integrity| !integrity.macs_apart())?;
        let IntegrityParts { macs, mac_layout, .. } = &integrity.parts;
        let mut block = [0; 64];
        if bytes {
            mac_layout.set(&mut block, line, macs.mac(line, ciphertext, counter));
        }
        (cipher == Cipher::Counter).then(|| (MediaLine::mac(mac_layout.block(line)), block))
    }
}
