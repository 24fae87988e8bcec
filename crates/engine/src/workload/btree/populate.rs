//! Building the populated B-tree bottom up: every item owns an equal part of the key space, and every node above the
//! leaves an equal part of the nodes below.

use super::super::initial::put_word;
use super::super::item;
use super::{
    BTree, HEIGHT, INNER_CHILDREN, INNER_COUNT, INNER_KEYS, INNER_MARK, INNER_USED, LEAF_ITEMS, LEAF_MARK, LEAF_NEXT,
    LEAVES_USED, LeafOrder, ROOT,
};
use std::ops::Range;

/// Leaves between two leaves whose rank is kept.
const STRIDE: u64 = 16;

/// How many items each populated leaf holds: as in a tree that has grown by inserts of random keys, whose leaves
/// therefore split as often at the start of a run as later.
///
/// A leaf is found by an insert as often as it has items. With a_k leaves of k items for each item of the tree, the
/// inserts that make such leaves and those that end them balance if a_k = (k - 1) a_(k-1) - k a_k, so a_k is
/// proportional to 1 / (k (k + 1)) from half a leaf to a full one (fringe analysis: Yao, On random 2-3 trees, Acta
/// Informatica 1978).
pub(super) struct Fill {
    seed: u64,
    /// Fewest items of a leaf.
    least: u64,
    /// Which draws at most give the fewest items, one more, and so on.
    thresholds: Vec<u64>,
    /// The number of items before every sixteenth leaf.
    ranks: Vec<u64>,
    /// Items in all leaves.
    items: u64,
}

impl Fill {
    /// That of `leaves` leaves of an odd number of `slots`, so that both halves of a split one are equal.
    pub fn new(seed: u64, slots: u64, leaves: u64) -> Self {
        let least = slots.div_ceil(2);
        // The sum of 1 / (k (k + 1)) telescopes.
        let below = |items: u64| 1.0 / least as f64 - 1.0 / items as f64;
        let thresholds = (least..slots).map(|items| (below(items + 1) / below(slots + 1) * 2f64.powi(64)) as u64);
        let mut fill = Self { seed, least, thresholds: thresholds.collect(), ranks: Vec::new(), items: 0 };
        for leaf in 0..leaves {
            if leaf % STRIDE == 0 {
                fill.ranks.push(fill.items);
            }
            fill.items += fill.of(leaf);
        }
        fill
    }

    /// Items of populated leaf `leaf`.
    fn of(&self, leaf: u64) -> u64 {
        let draw = item::nth(self.seed, leaf);
        self.least + self.thresholds.partition_point(|&threshold| threshold <= draw) as u64
    }

    /// Items before populated leaf `leaf`.
    fn rank(&self, leaf: u64) -> u64 {
        let kept = leaf / STRIDE;
        self.ranks[kept as usize] + (kept * STRIDE..leaf).map(|before| self.of(before)).sum::<u64>()
    }

    /// The part of the key space that each item has.
    fn width(&self) -> u64 {
        u64::MAX / self.items
    }
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

    pub(super) fn populate_leaf(&self, index: u64, bytes: &mut [u8]) {
        let count = self.fill.of(index);
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
        let (rank, width) = (self.fill.rank(index), self.fill.width());
        for position in 0..count {
            let key = (rank + position) * width + item::scale(item::nth(!self.seed, rank + position), width);
            let start = (LEAF_ITEMS + position * self.item_bytes) as usize;
            item::fill(key, 0, &mut bytes[start..start + self.item_bytes as usize]);
        }
    }

    /// Fills inner node `index`, counted over all levels.
    pub(super) fn populate_inner(&self, index: u64, node: &mut [u8]) {
        let (mut below_start, mut start, mut level) = (0, 0, 0);
        while index >= start + self.levels[level] {
            below_start = start;
            start += self.levels[level];
            level += 1;
        }
        let below = if level == 0 { self.leaves_populated } else { self.levels[level - 1] };
        let children = part(index - start, self.levels[level], below);
        put_word(node, INNER_COUNT as usize, children.end - children.start);
        put_word(node, INNER_MARK as usize, self.mark(self.inner(index)));
        for (place, child) in children.enumerate() {
            let address = if level == 0 { self.leaf(child) } else { self.inner(below_start + child) };
            put_word(node, INNER_CHILDREN as usize + 8 * place, address);
            if place > 0 {
                let key = self.first_key(self.first_leaf(level, child));
                put_word(node, INNER_KEYS as usize + 8 * (place - 1), key);
            }
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
        self.fill.rank(index) * self.fill.width()
    }
}

/// The part of `below` nodes that belongs to node `index` of `width` nodes, when they are distributed evenly.
fn part(index: u64, width: u64, below: u64) -> Range<u64> {
    let start = |index: u64| (u128::from(index) * u128::from(below) / u128::from(width)) as u64;
    start(index)..start(index + 1)
}
