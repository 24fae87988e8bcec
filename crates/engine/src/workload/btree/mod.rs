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

mod check;
mod insert;
mod populate;

use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES, PAGE_BYTES};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

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
        // A leaf of the populated tree splits after the inserts that fill it, and a half of a split leaf after the
        // inserts that fill it again. An inner node splits after at least eight splits below it.
        let first_split = slots + 1 - populate::items_of_leaf(slots).end;
        let splits = leaves_populated.min(share.room / first_split) + share.room / slots.div_ceil(2) + 1;
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

impl Structure for BTree {
    fn populated(&self) -> Vec<Range<u64>> {
        let inner: u64 = self.levels.iter().sum();
        let leaves = self.leaves_start..self.leaf(self.leaves_populated);
        let anchor = self.start..self.start + LINE_BYTES;
        if inner == 0 { vec![anchor, leaves] } else { vec![anchor, self.inner_start..self.inner(inner), leaves] }
    }

    fn end(&self) -> u64 {
        self.leaf(self.leaf_capacity)
    }

    fn populate(&self, extent: usize, bytes: &mut [u8], stop: &AtomicBool) {
        match (extent, self.levels.is_empty()) {
            (0, _) => self.populate_anchor(bytes),
            (1, false) => self.populate_inner(bytes),
            _ => self.populate_leaves(bytes, stop),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::rig::Rig;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ORDERS: [LeafOrder; 2] = [LeafOrder::Named, LeafOrder::Sorted];

    fn rig(order: LeafOrder, bytes: u64, tx_size: u64, room: u64, seed: u64) -> Rig<BTree> {
        Rig::new(|share| BTree::new(share, order), bytes, tx_size, room, seed)
    }

    /// Every key and its version, in order, along the chain of leaves.
    fn contents(rig: &mut Rig<BTree>) -> Vec<(u64, u64)> {
        let mut leaf = rig.structure.leaf(0);
        let mut items = Vec::new();
        while leaf != 0 {
            let mut head = [0; LEAF_HEAD];
            rig.memory.read(leaf, &mut head);
            for place in 0..head[0] {
                let slot = match rig.structure.order {
                    LeafOrder::Named => head[1 + usize::from(place)],
                    LeafOrder::Sorted => place,
                };
                let item = rig.structure.item(leaf, slot);
                items.push((rig.memory.read_u64(item), rig.memory.read_u64(item + 8)));
            }
            leaf = rig.memory.read_u64(leaf + LEAF_NEXT);
        }
        items
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn keeps_what_a_map_keeps(
            order in prop::sample::select(&ORDERS[..]),
            lines in 1..20u64, populated in 1..8u64, keys in prop::collection::vec(0..1000u64, 1..400), seed: u64,
        ) {
            let mut rig = rig(order, populated * 8192, lines * 64, 512, seed);
            let mut reference: BTreeMap<u64, u64> = contents(&mut rig).into_iter().collect();
            prop_assert_eq!(reference.len(), contents(&mut rig).len());
            for key in keys {
                let key = crate::workload::item::nth(seed, key);
                rig.run(|structure, tx| structure.insert(tx, key));
                reference.entry(key).and_modify(|version| *version += 1).or_insert(0);
            }
            let found: Vec<(u64, u64)> = contents(&mut rig);
            prop_assert_eq!(found, reference.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn ascending_and_descending_keys_split_up_to_a_taller_root() {
        for (order, descending) in ORDERS.into_iter().flat_map(|order| [(order, false), (order, true)]) {
            let mut rig = rig(order, 4096, 512, 2048, 1);
            let populated = contents(&mut rig).len();
            for n in 1..1_000 {
                rig.run(|tree, tx| tree.insert(tx, if descending { u64::MAX - n } else { n }));
            }
            assert_eq!(contents(&mut rig).len(), populated + 999);
            assert!(rig.memory.read_u64(rig.structure.start + HEIGHT) >= 2);
        }
    }

    #[test]
    fn populated_leaves_are_about_seventy_percent_full() {
        for (order, tx_size) in ORDERS.into_iter().flat_map(|order| [64, 256, 1024].map(|tx_size| (order, tx_size))) {
            let mut rig = rig(order, 4 << 20, tx_size, 0, 1);
            let fill =
                contents(&mut rig).len() as f64 / (rig.structure.leaves_populated * rig.structure.slots as u64) as f64;
            assert!((0.65..0.75).contains(&fill), "{order:?} {tx_size}: {fill}");
        }
    }

    #[test]
    fn disturbed_nodes_are_noticed() {
        for order in ORDERS {
            let mut rig = rig(order, 65536, 256, 0, 1);
            let [anchor, inner, leaves] = rig.structure.populated().try_into().unwrap();
            rig.disturb(anchor.start..anchor.start + 32, 100);
            // Unused keys, children and slots may have any contents; so may a separator, within bounds.
            rig.disturb(inner, 25);
            rig.disturb(leaves, 60);
        }
    }

    #[test]
    fn an_insert_moves_the_greater_items_of_a_sorted_leaf_and_none_of_a_leaf_that_names_them() {
        for order in ORDERS {
            let mut rig = rig(order, 4096, 512, 0, 3);
            let leaf = rig.structure.leaf(0);
            let before = contents(&mut rig);
            assert!(before.len() > 2 && before.len() < rig.structure.slots, "one leaf with room");
            let places: Vec<u64> = (0..=before.len()).map(|slot| rig.structure.item(leaf, slot as u8)).collect();
            let keys =
                |rig: &mut Rig<BTree>| -> Vec<u64> { places.iter().map(|&item| rig.memory.read_u64(item)).collect() };
            let old = keys(&mut rig);
            let new_key = before[1].0 + 1;
            rig.run(|tree, tx| tree.insert(tx, new_key));
            let mut expected = old.clone();
            match order {
                LeafOrder::Named => expected[before.len()] = new_key,
                LeafOrder::Sorted => {
                    expected.pop();
                    expected.insert(2, new_key);
                }
            }
            assert_eq!(keys(&mut rig), expected, "{order:?}");
        }
    }
}
