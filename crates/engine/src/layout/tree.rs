//! The shape of an integrity tree over counter blocks: pure arithmetic on node numbers.

use crate::message::{CounterBlock, MediaLine, MediaUnit, TreeNode};

/// What a node covers, or the node itself: a counter block is at level 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TreePlace {
    /// 0 for a counter block, from 1 for a node.
    pub level: u8,
    /// The number in its level.
    pub index: u64,
}

impl TreePlace {
    /// The place of a counter block.
    pub fn leaf(block: CounterBlock) -> Self {
        Self { level: 0, index: block.0 }
    }

    /// The place of what `media` holds; `None` if it is neither a counter block nor a node.
    pub fn of(media: MediaLine) -> Option<Self> {
        match media.unit() {
            MediaUnit::Counter(block) => Some(Self::leaf(block)),
            MediaUnit::Node(node) => Some(node.into()),
            MediaUnit::Data(_) | MediaUnit::Mac(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => None,
        }
    }

    /// The unit on the media that holds it.
    pub fn media(self) -> MediaLine {
        match self.level {
            0 => MediaLine::counter(CounterBlock(self.index)),
            level => MediaLine::node(TreeNode { level, index: self.index }),
        }
    }
}

impl From<TreeNode> for TreePlace {
    fn from(node: TreeNode) -> Self {
        Self { level: node.level, index: node.index }
    }
}

/// A tree over the counter blocks of a memory. Each node covers `arity` children; the one node of the top level is the
/// root, which is on the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeShape {
    leaves: u64,
    arity_shift: u32,
    top: u8,
}

impl TreeShape {
    /// A tree over `leaves` counter blocks, at least one, with nodes of `arity` children, a power of two.
    pub fn new(leaves: u64, arity: u32) -> Self {
        debug_assert!(leaves > 0 && arity.is_power_of_two() && arity > 1);
        let mut shape = Self { leaves, arity_shift: arity.trailing_zeros(), top: 1 };
        while shape.nodes(shape.top) > 1 {
            shape.top += 1;
        }
        shape
    }

    /// Children of a node.
    pub fn arity(self) -> usize {
        1 << self.arity_shift
    }

    /// The level of the root: the number of nodes on the way from a counter block to the root, with the root.
    pub fn top(self) -> u8 {
        self.top
    }

    /// Hashes of a write of a line that finds nothing of its path verified: each level is checked, and computed anew.
    pub fn hashes_of_a_write(self) -> u64 {
        2 * u64::from(self.top)
    }

    /// Number of counter blocks.
    pub fn leaves(self) -> u64 {
        self.leaves
    }

    /// Number of nodes at `level`, or of counter blocks at level 0.
    pub fn nodes(self, level: u8) -> u64 {
        let shift = self.arity_shift * u32::from(level);
        if shift >= u64::BITS { 1 } else { self.leaves.div_ceil(1 << shift) }
    }

    /// Number of nodes on the media: all below the root.
    pub fn nodes_below_root(self) -> u64 {
        (1..self.top).map(|level| self.nodes(level)).sum()
    }

    /// Whether there is something at `place` on the media: a counter block, or a node below the root.
    pub fn has(self, place: TreePlace) -> bool {
        place.level < self.top && place.index < self.nodes(place.level)
    }

    /// The number of `node` among all nodes on the media, level by level from the first.
    pub fn number(self, node: TreeNode) -> u64 {
        (1..node.level).map(|level| self.nodes(level)).sum::<u64>() + node.index
    }

    /// The root.
    pub fn root(self) -> TreeNode {
        TreeNode { level: self.top, index: 0 }
    }

    /// The node that covers `place`, and the place of that child in it. The root has no parent.
    pub fn parent(self, place: TreePlace) -> Option<(TreeNode, usize)> {
        (place.level < self.top).then(|| {
            let node = TreeNode { level: place.level + 1, index: place.index >> self.arity_shift };
            (node, (place.index & ((1 << self.arity_shift) - 1)) as usize)
        })
    }

    /// The nodes from the one above `place` to the root, each with the place of its child on this way.
    pub fn path(self, place: TreePlace) -> impl Iterator<Item = (TreeNode, usize)> {
        std::iter::successors(self.parent(place), move |(node, _)| self.parent(TreePlace::from(*node)))
    }

    /// The children of `node` that exist.
    pub fn children(self, node: TreeNode) -> impl Iterator<Item = TreePlace> {
        let level = node.level - 1;
        let first = node.index << self.arity_shift;
        let end = (first + (1 << self.arity_shift)).min(self.nodes(level));
        (first..end).map(move |index| TreePlace { level, index })
    }

    /// The counter blocks below `place`.
    pub fn leaves_below(self, place: TreePlace) -> std::ops::Range<u64> {
        let shift = self.arity_shift * u32::from(place.level);
        (place.index << shift)..((place.index + 1) << shift).min(self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tree_of_a_gibibyte_has_six_levels_of_eight() {
        let shape = TreeShape::new(1 << 18, 8);
        assert_eq!(shape.top(), 6);
        assert_eq!(
            (0..=6).map(|level| shape.nodes(level)).collect::<Vec<_>>(),
            [262_144, 32_768, 4_096, 512, 64, 8, 1]
        );
        assert_eq!(shape.nodes_below_root(), 32_768 + 4_096 + 512 + 64 + 8);
        let path: Vec<_> = shape.path(TreePlace::leaf(CounterBlock(262_143))).collect();
        assert_eq!(path.len(), 6);
        assert_eq!(path[0], (TreeNode { level: 1, index: 32_767 }, 7));
        assert_eq!(path[5], (shape.root(), 7));
        assert_eq!(TreeShape::new(1, 8).top(), 1);
        assert_eq!(TreeShape::new(9, 8).top(), 2);
    }

    proptest! {
        #[test]
        fn parents_and_children_agree(leaves in 1..5_000u64, arity in prop::sample::select(vec![2u32, 8, 16, 32])) {
            let shape = TreeShape::new(leaves, arity);
            let mut numbers = Vec::new();
            for level in 1..=shape.top() {
                let mut below = 0;
                for index in 0..shape.nodes(level) {
                    let node = TreeNode { level, index };
                    for (place, child) in shape.children(node).enumerate() {
                        prop_assert_eq!(child.index, below);
                        prop_assert_eq!(shape.parent(child), Some((node, place)));
                        below += 1;
                    }
                    if level < shape.top() {
                        numbers.push(shape.number(node));
                    }
                }
                prop_assert_eq!(below, shape.nodes(level - 1));
            }
            prop_assert_eq!(numbers, (0..shape.nodes_below_root()).collect::<Vec<_>>());
            prop_assert_eq!(shape.leaves_below(shape.root().into()), 0..leaves);
            prop_assert_eq!(shape.parent(shape.root().into()), None);
        }
    }
}
