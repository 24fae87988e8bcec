//! Building the populated B-tree bottom up: every leaf owns an equal part of the key space, and every node above an
//! equal part of the nodes below.

use super::super::item;
use super::super::structure::put_word;
use super::{
    BTree, HEIGHT, INNER_BYTES, INNER_CHILDREN, INNER_COUNT, INNER_KEYS, INNER_MARK, INNER_USED, LEAF_ITEMS, LEAF_MARK,
    LEAF_NEXT, LEAVES_USED, LeafOrder, ROOT,
};
use crate::workload::structure::fill_items;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// How many items a populated leaf of `slots` may hold: 70 percent on average, spread so that leaves split at different
/// times, as after many random inserts.
pub(super) fn items_of_leaf(slots: u64) -> Range<u64> {
    slots.div_ceil(2)..slots * 9 / 10 + 1
}

impl BTree {
    pub(super) fn populate_anchor(&self, bytes: &mut [u8]) {
        let inner: u64 = self.levels.iter().sum();
        let root = if inner == 0 { self.leaf(0) } else { self.inner(inner - 1) };
        put_word(bytes, ROOT as usize, root);
        put_word(bytes, HEIGHT as usize, self.levels.len() as u64);
        put_word(bytes, LEAVES_USED as usize, self.leaves_populated);
        put_word(bytes, INNER_USED as usize, inner);
    }

    pub(super) fn populate_leaves(&self, bytes: &mut [u8], stop: &AtomicBool) {
        fill_items(bytes, self.leaf_bytes as usize, stop, |index, leaf| self.populate_leaf(index, leaf));
    }

    fn populate_leaf(&self, index: u64, bytes: &mut [u8]) {
        let allowed = items_of_leaf(self.slots as u64);
        let draw = item::nth(self.seed, index);
        let count = allowed.start + item::scale(draw, allowed.end - allowed.start);
        bytes[0] = count as u8;
        if self.order == LeafOrder::Named {
            for position in 0..count {
                bytes[1 + position as usize] = position as u8;
            }
        }
        put_word(bytes, LEAF_MARK as usize, self.mark(self.leaf(index)));
        if index + 1 < self.leaves_populated {
            put_word(bytes, LEAF_NEXT as usize, self.leaf(index + 1));
        }
        let first = self.first_key(index);
        let width = (u64::MAX / self.leaves_populated) / count;
        for position in 0..count {
            let key = first + position * width + item::scale(item::nth(draw, position), width);
            let start = (LEAF_ITEMS + position * self.item_bytes) as usize;
            item::fill(key, 0, &mut bytes[start..start + self.item_bytes as usize]);
        }
    }

    pub(super) fn populate_inner(&self, bytes: &mut [u8]) {
        let mut nodes = bytes.chunks_exact_mut(INNER_BYTES as usize);
        let mut below_start = 0;
        let mut level_start = 0;
        for (level, &width) in self.levels.iter().enumerate() {
            let below = if level == 0 { self.leaves_populated } else { self.levels[level - 1] };
            for (index, node) in nodes.by_ref().take(width as usize).enumerate() {
                let children = part(index as u64, width, below);
                put_word(node, INNER_COUNT as usize, children.end - children.start);
                put_word(node, INNER_MARK as usize, self.mark(self.inner(level_start + index as u64)));
                for (place, child) in children.enumerate() {
                    let address = if level == 0 { self.leaf(child) } else { self.inner(below_start + child) };
                    put_word(node, INNER_CHILDREN as usize + 8 * place, address);
                    if place > 0 {
                        put_word(
                            node,
                            INNER_KEYS as usize + 8 * (place - 1),
                            self.first_key(self.first_leaf(level, child)),
                        );
                    }
                }
            }
            below_start = level_start;
            level_start += width;
        }
    }

    /// The first leaf below node `index` of the level below inner level `level`.
    fn first_leaf(&self, level: usize, mut index: u64) -> u64 {
        for upper in (0..level).rev() {
            let below = if upper == 0 { self.leaves_populated } else { self.levels[upper - 1] };
            index = part(index, self.levels[upper], below).start;
        }
        index
    }

    /// The smallest key that populated leaf `index` may hold.
    fn first_key(&self, index: u64) -> u64 {
        index * (u64::MAX / self.leaves_populated)
    }
}

/// The part of `below` nodes that belongs to node `index` of `width` nodes, when they are distributed evenly.
fn part(index: u64, width: u64, below: u64) -> Range<u64> {
    let start = |index: u64| (u128::from(index) * u128::from(below) / u128::from(width)) as u64;
    start(index)..start(index + 1)
}
