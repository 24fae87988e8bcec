//! A Bonsai Merkle tree (Rogers et al., MICRO 2007): a hash tree whose leaves are the counter blocks. A node has, side by
//! side, the hashes of its children; its 64 bytes are divided among them, so a hash has 512 bits divided by the arity. A
//! node follows from the counter blocks below it alone.

use super::first_blocks::FirstBlocks;
use crate::cipher::MacCipher;
use crate::layout::{TreePlace, TreeShape};
use crate::message::{BaseImage, CounterBlock, Line, LineBytes, TreeNode};
use crate::parts::{Counted, CounterScheme, TreeScheme};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// A tree of hashes with one key.
pub struct BonsaiTree {
    shape: TreeShape,
    cipher: MacCipher,
    first: FirstBlocks,
    /// For a node above blocks all of whose lines were populated, and for one above none: its bytes, by level from 0.
    uniform: [Vec<LineBytes>; 2],
    /// Other nodes before the run, as far as they were asked for.
    mixed: Mutex<FxHashMap<TreePlace, LineBytes>>,
}

/// Indices of [`BonsaiTree::uniform`].
const FULL: usize = 0;
const BLANK: usize = 1;

impl BonsaiTree {
    /// A tree of this shape over the blocks of `counters`, of a memory that starts as `base`.
    pub fn new(shape: TreeShape, cipher: MacCipher, counters: Box<dyn CounterScheme>, base: &dyn BaseImage) -> Self {
        let mut tree = Self {
            shape,
            cipher,
            first: FirstBlocks::new(counters, base),
            uniform: [Vec::new(), Vec::new()],
            mixed: Mutex::default(),
        };
        let all = tree.first.counters.coverage().group(Line(0)).all();
        tree.uniform = [all, 0].map(|populated| {
            let grown = |child: &LineBytes| {
                let mut node = [0; 64];
                (0..shape.arity()).for_each(|place| tree.put(&mut node, place, child));
                Some(node)
            };
            let leaf = tree.first.counters.initial(populated);
            std::iter::successors(Some(leaf), grown).take(usize::from(shape.top()) + 1).collect()
        });
        tree
    }

    fn hash_bytes(&self) -> usize {
        64 / self.shape.arity()
    }

    /// Puts the hash of `child` at place `index` of `parent`.
    fn put(&self, parent: &mut LineBytes, index: usize, child: &LineBytes) {
        let bytes = self.hash_bytes();
        parent[index * bytes..][..bytes].copy_from_slice(&self.cipher.node(child).to_le_bytes()[..bytes]);
    }

    /// Which of the two kinds of uniform node the one at `place` is, if it is one: all of its blocks exist, and all or
    /// none of their lines were populated.
    fn kind(&self, place: TreePlace) -> Option<usize> {
        let leaves = self.shape.leaves_below(place);
        let all = 1 << (self.shape.arity().trailing_zeros() * u32::from(place.level)).min(63);
        if leaves.end - leaves.start < all {
            return None;
        }
        let all_lines = self.first.lines(&leaves);
        let next = self.first.populated.partition_point(|lines| lines.end <= all_lines.start);
        match self.first.populated.get(next) {
            Some(lines) if lines.start <= all_lines.start && all_lines.end <= lines.end => Some(FULL),
            Some(lines) if lines.start < all_lines.end => None,
            _ => Some(BLANK),
        }
    }
}

impl TreeScheme for BonsaiTree {
    fn count(&self, _parent: &mut LineBytes, _index: usize, _child: &LineBytes) -> Counted {
        Counted::Alone
    }

    fn mark(&self, parent: &mut LineBytes, index: usize, _place: TreePlace, child: &mut LineBytes) {
        self.put(parent, index, child);
    }

    fn carry(&self, _root: &mut LineBytes, _index: usize, _before: &LineBytes, _after: &LineBytes) {
        unreachable!("hashes are not carried");
    }

    fn vouches(&self, parent: &LineBytes, index: usize, _place: TreePlace, child: &LineBytes) -> bool {
        let mut computed = *parent;
        self.put(&mut computed, index, child);
        computed == *parent
    }

    fn initial(&self, place: TreePlace) -> LineBytes {
        if let Some(kind) = self.kind(place) {
            return self.uniform[kind][usize::from(place.level)];
        }
        if place.level == 0 {
            return self.first.block(CounterBlock(place.index));
        }
        // Not held while children are asked for.
        let known = |mixed: &Mutex<FxHashMap<TreePlace, LineBytes>>| {
            mixed.lock().unwrap_or_else(PoisonError::into_inner).get(&place).copied()
        };
        if let Some(node) = known(&self.mixed) {
            return node;
        }
        let mut node = [0; 64];
        for (index, child) in self.shape.children(TreeNode { level: place.level, index: place.index }).enumerate() {
            self.put(&mut node, index, &self.initial(child));
        }
        self.mixed.lock().unwrap_or_else(PoisonError::into_inner).insert(place, node);
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Keys;
    use crate::config::Counters;
    use crate::mechanism::line_counters::LineCounters;
    use crate::mechanism::split_counters::SplitCounters;
    use crate::message::tests::Populated;
    use crate::message::{group_mask, ranges};
    use proptest::prelude::*;

    /// A tree computed from nothing but all its leaves: a vector of nodes for each level.
    fn reference(cipher: &MacCipher, arity: usize, mut below: Vec<LineBytes>) -> Vec<Vec<LineBytes>> {
        let mut levels = vec![below.clone()];
        loop {
            let hash = |child: &LineBytes| cipher.node(child).to_le_bytes()[..64 / arity].to_vec();
            let node = |children: &[LineBytes]| {
                let mut bytes: Vec<u8> = children.iter().flat_map(hash).collect();
                bytes.resize(64, 0);
                LineBytes::try_from(bytes).unwrap()
            };
            below = below.chunks(arity).map(node).collect();
            levels.push(below.clone());
            if below.len() == 1 {
                return levels;
            }
        }
    }

    /// Whole counters of eight lines, or split counters of more.
    fn scheme(block_lines: u32) -> Box<dyn CounterScheme> {
        let counters = Counters { block_lines, ..crate::config::preset("small").unwrap().counters };
        if block_lines > 8 { Box::new(SplitCounters::of(&counters)) } else { Box::new(LineCounters) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn tree_before_the_run_is_that_of_all_its_leaves(
            leaves in 1..600u64, arity in prop::sample::select(vec![8u32, 16, 32]), block_lines in prop::sample::select(vec![8u32, 16, 64, 128]),
            extents in prop::collection::vec((0..40_000u64, 0..3_000u64), 0..4), changes in prop::collection::vec((any::<u64>(), any::<u8>()), 0..20),
        ) {
            let counters = scheme(block_lines);
            let coverage = counters.coverage();
            let lines = leaves * coverage.lines() as u64;
            let base = Populated(extents.iter().flat_map(|(first, length)| *first..first + length).filter(|line| *line < lines).collect());
            let shape = TreeShape::new(leaves, arity);
            let cipher = MacCipher::new(&Keys::from_seed(3).tree);
            let tree = BonsaiTree::new(shape, cipher.clone(), scheme(block_lines), &base);
            prop_assert_eq!(&tree.first.populated, &ranges(base.0.iter().copied()));
            let leaf = |block| counters.initial(group_mask(coverage.numbers_of(block), |lines| base.populated_mask(lines)));
            let mut all: Vec<LineBytes> = (0..leaves).map(|block| leaf(CounterBlock(block))).collect();
            let nodes = |level: u8| (0..shape.nodes(level)).map(move |index| TreePlace { level, index });
            let expected = reference(&cipher, arity as usize, all.clone());
            prop_assert_eq!(expected.len(), usize::from(shape.top()) + 1);
            let mut kept: Vec<Vec<LineBytes>> = (0..=shape.top()).map(|level| nodes(level).map(|place| tree.initial(place)).collect()).collect();
            prop_assert_eq!(&kept, &expected);
            // Changed leaves, each with its way to the root, give the tree of the changed leaves; and every node
            // vouches for its children and for nothing else.
            for (block, byte) in changes {
                let block = block % leaves;
                all[block as usize][7] ^= byte;
                kept[0][block as usize] = all[block as usize];
                let mut below = TreePlace::leaf(CounterBlock(block));
                for (node, index) in shape.path(below) {
                    let mut child = kept[usize::from(below.level)][below.index as usize];
                    let parent = &mut kept[usize::from(node.level)][node.index as usize];
                    tree.mark(parent, index, below, &mut child);
                    prop_assert!(tree.vouches(parent, index, below, &child));
                    child[63] ^= 1;
                    prop_assert!(!tree.vouches(parent, index, below, &child));
                    below = node.into();
                }
            }
            prop_assert_eq!(&kept, &reference(&cipher, arity as usize, all));
        }
    }
}
