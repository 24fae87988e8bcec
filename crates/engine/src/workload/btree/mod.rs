//! A B-tree and a B+-tree; a transaction inserts one key-value item (secpm section 4.1, easy-pm section IV-A).
//!
//! ```text
//! anchor   root | height | leaves used | inner nodes used
//! leaf     count, order (32 bytes) | mark | next leaf | unused || items in contiguous slots, tx_size bytes each
//! inner    children | mark | 30 keys | 31 child pointers
//! ```
//!
//! All items are in leaves, which are chained from left to right. Key `k` of an inner node is the smallest key that may
//! be below its child `k + 1`. Leaves and inner nodes come from two arenas; the anchor has the number of used nodes of
//! each, which only splits change.
//!
//! The two trees differ in how a leaf keeps its items in order ([`LeafOrder`]). In the B-tree, an array of slots in the
//! leaf's head lists the items in the order of their keys (the slot array of the wB+-tree, Chen and Jin, VLDB 2015), so
//! an insert writes one item and a few words of one line. In the B+-tree, the items themselves are stored in the order
//! of their keys, as in a textbook (Comer, The Ubiquitous B-Tree, ACM Computing Surveys 1979), so an insert moves the
//! greater items.

mod insert;
mod invariants;
mod populate;
#[cfg(test)]
mod tests;

use self::populate::Fill;
use super::initial::{InitialContents, Part};
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES, PAGE_BYTES};
use std::ops::Range;

const ROOT: u64 = 0;
const HEIGHT: u64 = 8;
const LEAVES_USED: u64 = 16;
const INNER_USED: u64 = 24;

/// Bytes of a leaf's head: the number and order of its items.
const LEAF_HEAD: usize = 32;
const LEAF_MARK: u64 = 32;
const LEAF_NEXT: u64 = 40;
const LEAF_ITEMS: u64 = LINE_BYTES;
/// Most items in a leaf: the slot array has one byte for their number and one byte for each item.
const SLOTS_MAX: usize = LEAF_HEAD - 1;
/// Fewest slots of a leaf, however large the items: "several items in contiguous slots".
const SLOTS_MIN: u64 = 7;

const INNER_COUNT: u64 = 0;
const INNER_MARK: u64 = 8;
const INNER_KEYS: u64 = 16;
const INNER_CHILDREN: u64 = 256;
const INNER_BYTES: u64 = 512;
/// Most children of an inner node.
const CHILDREN_MAX: usize = 31;
/// Children of an inner node of a populated tree: about 70 percent, as random insertion leaves them.
const CHILDREN_POPULATED: u64 = 22;

/// Most levels of inner nodes of any tree: every level at least halves the number of children.
const HEIGHT_MAX: usize = 16;

/// How a leaf keeps its items in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafOrder {
    /// The head has one byte for the number of items and one byte for each item: its slot.
    Named,
    /// The head has one word for the number of items; the items are stored in order.
    Sorted,
}

pub(super) struct BTree {
    start: u64,
    inner_start: u64,
    leaves_start: u64,
    leaf_bytes: u64,
    item_bytes: u64,
    order: LeafOrder,
    /// Items in a full leaf.
    slots: usize,
    leaves_populated: u64,
    leaf_capacity: u64,
    inner_capacity: u64,
    /// Number of populated inner nodes by level: those above the leaves first, the root last. Empty if the root is a
    /// leaf.
    levels: Vec<u64>,
    fill: Fill,
    seed: u64,
}

impl BTree {
    pub(super) fn new(share: Share, order: LeafOrder) -> Self {
        let slots = (PAGE_BYTES / share.tx_size).saturating_sub(1).clamp(SLOTS_MIN, SLOTS_MAX as u64);
        let mut leaf_bytes = LEAF_ITEMS + slots * share.tx_size;
        if leaf_bytes > PAGE_BYTES / 2 {
            leaf_bytes = leaf_bytes.next_multiple_of(PAGE_BYTES);
        }
        let leaves_populated = (share.bytes / (leaf_bytes + INNER_BYTES / CHILDREN_POPULATED)).max(1);
        let mut levels = Vec::new();
        let mut width = leaves_populated;
        while width > 1 {
            width = width.div_ceil(CHILDREN_POPULATED);
            levels.push(width);
        }
        // A leaf of the populated tree may be full and split at once, and a half of a split leaf splits after the inserts
        // that fill it again. An inner node splits after at least eight splits below it.
        let splits = leaves_populated.min(share.room) + share.room / slots.div_ceil(2) + 1;
        let inner_populated: u64 = levels.iter().sum();
        let inner_capacity = inner_populated + splits / 7 + HEIGHT_MAX as u64;
        let inner_start = share.start + PAGE_BYTES;
        Self {
            start: share.start,
            inner_start,
            leaves_start: (inner_start + inner_capacity * INNER_BYTES).next_multiple_of(PAGE_BYTES),
            leaf_bytes,
            item_bytes: share.tx_size,
            order,
            slots: slots as usize,
            leaves_populated,
            leaf_capacity: leaves_populated + splits,
            inner_capacity,
            levels,
            fill: Fill::new(share.seed, slots, leaves_populated),
            seed: share.seed,
        }
    }

    /// The most levels of inner nodes: every inner node except the root has at least 11 children.
    fn height_bound(&self) -> u64 {
        let mut levels = 0;
        let mut width = self.leaf_capacity;
        while width > 1 {
            width = width.div_ceil(CHILDREN_POPULATED / 2);
            levels += 1;
        }
        levels
    }

    fn leaf(&self, index: u64) -> u64 {
        self.leaves_start + index * self.leaf_bytes
    }

    fn inner(&self, index: u64) -> u64 {
        self.inner_start + index * INNER_BYTES
    }

    fn item(&self, leaf: u64, slot: u8) -> u64 {
        leaf + LEAF_ITEMS + u64::from(slot) * self.item_bytes
    }

    /// The tree's name in messages.
    fn name(&self) -> &'static str {
        match self.order {
            LeafOrder::Named => "B-tree",
            LeafOrder::Sorted => "B+-tree",
        }
    }

    /// A mark that identifies the node, so that a pointer to anything else is detected.
    fn mark(&self, node: u64) -> u64 {
        super::item::nth(self.seed, node)
    }
}

impl InitialContents for BTree {
    fn populated(&self) -> Vec<Range<u64>> {
        let inner: u64 = self.levels.iter().sum();
        let leaves = self.leaves_start..self.leaf(self.leaves_populated);
        let anchor = self.start..self.start + LINE_BYTES;
        if inner == 0 { vec![anchor, leaves] } else { vec![anchor, self.inner_start..self.inner(inner), leaves] }
    }

    fn populate(&self, extent: usize, part: &mut Part<'_>) {
        match (extent, self.levels.is_empty()) {
            (0, _) => part.fill_items(LINE_BYTES, |_, anchor| self.populate_anchor(anchor)),
            (1, false) => part.fill_items(INNER_BYTES, |index, node| self.populate_inner(index, node)),
            _ => part.fill_items(self.leaf_bytes, |index, leaf| self.populate_leaf(index, leaf)),
        }
    }
}

impl Structure for BTree {
    fn end(&self) -> u64 {
        self.leaf(self.leaf_capacity)
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        self.insert(tx, random.next_u64());
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        self.check_tree(view)
    }

    fn write_bound(&self) -> WriteBound {
        // A split leaf moves half its items into one stretch of the new one, and one more is inserted, for which sorted
        // leaves move up to the other half; every level above splits, each node into halves of count, mark, keys and
        // children; the root grows.
        let moved = match self.order {
            LeafOrder::Named => self.slots.div_ceil(2),
            LeafOrder::Sorted => self.slots,
        };
        let items = moved as u64 + 1;
        let children = CHILDREN_MAX.div_ceil(2) as u64;
        let levels = self.height_bound();
        WriteBound {
            ranges: 6 + 6 * levels + 4,
            bytes: items * self.item_bytes + 2 * LINE_BYTES + LINE_BYTES + levels * 2 * (16 + 16 * children),
        }
    }
}
