//! A red-black tree with one item per node; a transaction inserts one key-value item (secpm section 4.1).
//!
//! ```text
//! node:  32 bytes unused | key | left | right | parent + red bit || item of tx_size bytes
//! ```
//!
//! The fields are at the end of the node's first line, so that fields and item are one contiguous range and the item is
//! line-aligned. Address 0 is not a node (it belongs to a log ring). Nodes of a populated tree are in shuffled order,
//! as after many random inserts. The allocator is volatile: transaction n takes the n-th spare node, so no allocator
//! metadata is written in addition to what the paper's workload writes.

use super::initial::{InitialContents, Part, put_word};
use super::item;
use super::nodes::Nodes;
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::kernel::{Random, Shuffle};
use crate::message::{ByteView, LINE_BYTES};
use std::ops::Range;

const KEY: u64 = 32;
const LEFT: u64 = 40;
const RIGHT: u64 = 48;
const PARENT: u64 = 56;
const ITEM: u64 = 64;
const RED: u64 = 1;
pub(super) struct RbTree {
    /// Byte address of the header with the root pointer.
    start: u64,
    nodes: Nodes,
    item_bytes: u64,
    populated: u64,
    shuffle: Shuffle,
    seed: u64,
}

impl RbTree {
    pub(super) fn new(share: Share) -> Self {
        let node_bytes = ITEM + share.tx_size;
        let populated = Nodes::fitting(&share, node_bytes).max(1);
        Self {
            start: share.start,
            nodes: Nodes::new(&share, node_bytes, populated + share.room),
            item_bytes: share.tx_size,
            populated,
            shuffle: Shuffle::new(populated, share.seed),
            seed: share.seed,
        }
    }

    /// Inserts `key`, or gives it a new value if it exists.
    pub(super) fn insert(&self, tx: &mut Transaction<'_>, key: u64) {
        let mut parent = 0;
        let mut side = LEFT;
        let mut node = tx.read_word(self.start, false);
        while node != 0 {
            let found = tx.read_word(node + KEY, true);
            tx.compare();
            if found == key {
                let version = tx.read_word(node + ITEM + 8, false) + 1;
                tx.write_item(node + ITEM, key, version, self.item_bytes);
                return;
            }
            parent = node;
            side = if key < found { LEFT } else { RIGHT };
            // The line is cached already; marked dependent because the next node's address depends on it.
            node = tx.read_word(node + side, true);
        }
        let node = self.nodes.address(self.populated + tx.number());
        tx.write_item(node + ITEM, key, 0, self.item_bytes);
        for (field, value) in [(KEY, key), (LEFT, 0), (RIGHT, 0), (PARENT, parent | RED)] {
            tx.write_word(node + field, value);
        }
        if parent == 0 {
            tx.write_word(self.start, node);
        } else {
            tx.write_word(parent + side, node);
        }
        self.rebalance(tx, node);
    }

    /// Restores the colours above the red node `node` (Cormen et al., Introduction to Algorithms, RB-INSERT-FIXUP).
    fn rebalance(&self, tx: &mut Transaction<'_>, mut node: u64) {
        loop {
            let (parent, _) = family(tx, node);
            if parent == 0 {
                return set_red(tx, node, false);
            }
            let (grand, parent_red) = family(tx, parent);
            if !parent_red {
                return;
            }
            let (near, far) = if tx.read_word(grand + LEFT, true) == parent { (LEFT, RIGHT) } else { (RIGHT, LEFT) };
            let uncle = tx.read_word(grand + far, true);
            if uncle != 0 && family(tx, uncle).1 {
                set_red(tx, parent, false);
                set_red(tx, uncle, false);
                set_red(tx, grand, true);
                node = grand;
                continue;
            }
            let mut top = parent;
            if tx.read_word(parent + far, true) == node {
                self.rotate(tx, parent, near);
                top = node;
            }
            self.rotate(tx, grand, far);
            set_red(tx, top, false);
            return set_red(tx, grand, true);
        }
    }

    /// Rotates `node` down to its `down` side; its child on the other side takes its place.
    fn rotate(&self, tx: &mut Transaction<'_>, node: u64, down: u64) {
        let up = LEFT + RIGHT - down;
        let child = tx.read_word(node + up, true);
        let middle = tx.read_word(child + down, true);
        let (above, _) = family(tx, node);
        tx.write_word(node + up, middle);
        if middle != 0 {
            set_parent(tx, middle, node);
        }
        tx.write_word(child + down, node);
        set_parent(tx, child, above);
        set_parent(tx, node, child);
        if above == 0 {
            tx.write_word(self.start, child);
        } else {
            let side = if tx.read_word(above + LEFT, true) == node { LEFT } else { RIGHT };
            tx.write_word(above + side, child);
        }
    }

    /// The address of populated node `number` (from 1, level by level: the children of h are 2h and 2h + 1).
    fn numbered(&self, number: u64) -> u64 {
        if number == 0 || number > self.populated { 0 } else { self.nodes.address(self.shuffle.forward(number - 1)) }
    }

    /// Fills the populated node `number`. All levels are full except the last, whose nodes are red.
    fn populate_node(&self, number: u64, bytes: &mut [u8]) {
        let levels = self.populated.ilog2() + 1;
        let level = number.ilog2();
        // The node's rank in a tree with full levels, and the part of the keys that belongs to it.
        let rank = (2 * (number - (1 << level)) + 1) << (levels - 1 - level);
        let width = u64::MAX >> levels;
        let key = rank * width + item::scale(item::nth(self.seed, number), width);
        let red = level > 0 && level == levels - 1;
        put_word(bytes, KEY as usize, key);
        put_word(bytes, LEFT as usize, self.numbered(2 * number));
        put_word(bytes, RIGHT as usize, self.numbered(2 * number + 1));
        put_word(bytes, PARENT as usize, self.numbered(number / 2) | if red { RED } else { 0 });
        item::fill(key, 0, &mut bytes[ITEM as usize..]);
    }

    /// Checks the subtree at `node` and returns its black height.
    fn check_node(&self, view: &mut dyn ByteView, node: u64, place: Place) -> Result<u32, String> {
        if node == 0 {
            return Ok(0);
        }
        if self.nodes.number(node).is_none() {
            return Err(format!("tree pointer in node {:#x} is garbage: {node:#x}", place.parent));
        }
        if place.depth == 0 {
            return Err(format!("the tree is deeper than a red-black tree can be, at node {node:#x}"));
        }
        let key = view.read_u64(node + KEY);
        let parent = view.read_u64(node + PARENT);
        let red = parent & RED != 0;
        if parent & !RED != place.parent {
            return Err(format!("tree node {node:#x} does not point back at its parent {:#x}", place.parent));
        }
        if u128::from(key) < place.keys.start || u128::from(key) >= place.keys.end {
            return Err(format!("tree node {node:#x} is out of order"));
        }
        if red && place.parent_red {
            return Err(format!("tree node {node:#x} and its parent are both red"));
        }
        if item::verify(view, node + ITEM, self.item_bytes).is_none_or(|(found, _)| found != key) {
            return Err(format!("the item of tree node {node:#x} is garbage"));
        }
        let below = |keys| Place { parent: node, parent_red: red, keys, depth: place.depth - 1 };
        let left = view.read_u64(node + LEFT);
        let right = view.read_u64(node + RIGHT);
        let left_height = self.check_node(view, left, below(place.keys.start..u128::from(key)))?;
        let right_height = self.check_node(view, right, below(u128::from(key) + 1..place.keys.end))?;
        if left_height != right_height {
            return Err(format!("black heights differ below tree node {node:#x}: {left_height} and {right_height}"));
        }
        Ok(left_height + u32::from(!red))
    }
}

/// The constraints on a subtree.
struct Place {
    parent: u64,
    parent_red: bool,
    /// The keys that may be in the subtree. The range shrinks on the way down, so a walk over garbage visits no node
    /// twice.
    keys: Range<u128>,
    /// The number of levels that may still follow.
    depth: u32,
}

/// The parent of `node`, and whether `node` is red.
fn family(tx: &mut Transaction<'_>, node: u64) -> (u64, bool) {
    let word = tx.read_word(node + PARENT, true);
    (word & !RED, word & RED != 0)
}

fn set_red(tx: &mut Transaction<'_>, node: u64, red: bool) {
    let (parent, was_red) = family(tx, node);
    if red != was_red {
        tx.write_word(node + PARENT, parent | u64::from(red));
    }
}

fn set_parent(tx: &mut Transaction<'_>, node: u64, parent: u64) {
    let (_, red) = family(tx, node);
    tx.write_word(node + PARENT, parent | u64::from(red));
}

impl InitialContents for RbTree {
    fn populated(&self) -> Vec<Range<u64>> {
        vec![self.start..self.start + LINE_BYTES, self.nodes.start..self.nodes.address(self.populated)]
    }

    fn populate(&self, extent: usize, part: &mut Part<'_>) {
        if extent == 0 {
            part.fill_items(LINE_BYTES, |_, header| put_word(header, 0, self.numbered(1)));
            return;
        }
        part.fill_items(self.nodes.bytes, |place, node| {
            self.populate_node(self.shuffle.inverse(place) + 1, node);
        });
    }
}

impl Structure for RbTree {
    fn end(&self) -> u64 {
        self.nodes.end()
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        self.insert(tx, random.next_u64());
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let root = view.read_u64(self.start);
        // A red-black tree of n nodes is at most 2 log2(n + 1) deep.
        let depth = 2 * ((self.nodes.count + 1).ilog2() + 1);
        // A red root is refused as if it had a red parent.
        let place = Place { parent: 0, parent_red: true, keys: 0..1 << 64, depth };
        self.check_node(view, root, place)?;
        Ok(())
    }

    fn write_bound(&self) -> WriteBound {
        // Recolouring changes three words on every second level, two rotations about ten; then node and root.
        let words = 3 * u64::from((self.nodes.count + 1).ilog2() + 1) + 12;
        WriteBound { ranges: words + 2, bytes: words * 8 + self.nodes.bytes + 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::rig::Rig;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Every key and its version, in order.
    fn contents(rig: &mut Rig<RbTree>) -> Vec<(u64, u64)> {
        fn walk(memory: &mut dyn ByteView, node: u64, items: &mut Vec<(u64, u64)>) {
            if node != 0 {
                let [left, right] = [LEFT, RIGHT].map(|field| memory.read_u64(node + field));
                walk(memory, left, items);
                items.push((memory.read_u64(node + KEY), memory.read_u64(node + ITEM + 8)));
                walk(memory, right, items);
            }
        }
        let mut items = Vec::new();
        let root = rig.memory.read_u64(rig.structure.start);
        walk(&mut rig.memory, root, &mut items);
        items
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn keeps_what_a_map_keeps(
            lines in 1..5u64, populated in 1..8u64, keys in prop::collection::vec(0..1000u64, 1..300), seed: u64,
        ) {
            let mut rig = Rig::new(RbTree::new, populated * 4096, lines * 64, 512, seed);
            let mut reference: BTreeMap<u64, u64> = contents(&mut rig).into_iter().collect();
            prop_assert_eq!(reference.len(), contents(&mut rig).len());
            for key in keys {
                let key = item::nth(seed, key);
                rig.run(|structure, tx| structure.insert(tx, key));
                reference.entry(key).and_modify(|version| *version += 1).or_insert(0);
            }
            let found: Vec<(u64, u64)> = contents(&mut rig);
            prop_assert_eq!(found, reference.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn ascending_and_descending_keys_stay_balanced() {
        for descending in [false, true] {
            let mut rig = Rig::new(RbTree::new, 4096, 64, 512, 1);
            for n in 1..500 {
                rig.run(|tree, tx| tree.insert(tx, if descending { u64::MAX - n } else { n }));
            }
            assert_eq!(contents(&mut rig).len(), 500);
        }
    }

    #[test]
    fn disturbed_nodes_are_noticed() {
        let mut rig = Rig::new(RbTree::new, 16384, 256, 0, 1);
        let [header, nodes] = rig.structure.populated().try_into().unwrap();
        rig.disturb(header.start..header.start + 8, 100);
        // Four of forty words of a node are unused, and either colour of a leaf may be valid.
        rig.disturb(nodes, 85);
    }
}
