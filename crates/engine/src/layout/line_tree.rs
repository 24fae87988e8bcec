//! A hash tree over numbered lines of which few differ from zeros, for what is small enough to be hashed on the chip: the lines
//! of a shadow table, or of a shadow cache. Only what differs from a tree over zeros is kept.

use crate::message::LineBytes;
use rustc_hash::FxHashMap;

const ARITY: u64 = 8;

/// Hashes a line to 8 bytes.
pub trait LineHash {
    /// The hash of `bytes`.
    fn hash(&self, bytes: &LineBytes) -> [u8; 8];
}

/// The tree's nodes above its lines.
#[derive(Clone, Debug)]
pub struct LineTree {
    /// For each level from the one above the lines: a node over zeros.
    blank: Vec<LineBytes>,
    /// For each level, the other nodes.
    nodes: Vec<FxHashMap<u64, LineBytes>>,
}

impl LineTree {
    /// A tree over `lines` lines of zeros, at least one.
    pub fn new(lines: u64, hash: &dyn LineHash) -> Self {
        let above = |child: &LineBytes| {
            let hash = hash.hash(child);
            let node: LineBytes = std::array::from_fn(|byte| hash[byte % hash.len()]);
            node
        };
        let blank = std::iter::successors(Some(above(&[0; 64])), |node| Some(above(node)));
        let blank: Vec<LineBytes> = blank.take(Self::levels_over(lines)).collect();
        Self { nodes: vec![FxHashMap::default(); blank.len()], blank }
    }

    /// The root over `lines` lines, which are zeros but for those in `held`, and the number of hashes that it takes if the
    /// nodes over zeros are known. `held` is in ascending order.
    pub fn root_over(
        lines: u64,
        held: impl Iterator<Item = (u64, LineBytes)>,
        hash: &dyn LineHash,
    ) -> (LineBytes, u64) {
        let Self { blank, .. } = Self::new(lines, hash);
        let (mut level, mut hashes): (Vec<(u64, LineBytes)>, u64) = (held.collect(), 0);
        let mut root = [0; 64];
        for blank in blank {
            let mut above: Vec<(u64, LineBytes)> = Vec::with_capacity(level.len() / ARITY as usize + 1);
            for (index, child) in level {
                if above.last().is_none_or(|(parent, _)| *parent != index / ARITY) {
                    above.push((index / ARITY, blank));
                }
                if let Some((_, node)) = above.last_mut() {
                    node[(index % ARITY) as usize * 8..][..8].copy_from_slice(&hash.hash(&child));
                }
                hashes += 1;
            }
            root = above.first().map_or(blank, |(_, node)| *node);
            level = above;
        }
        (root, hashes)
    }

    /// Hashes that the root over `lines` lines takes: of each line, and of each node below the root.
    pub fn hashes(lines: u64) -> u64 {
        let below = std::iter::successors(Some(lines.max(1)), |lines| Some(lines.div_ceil(ARITY)));
        below.take(Self::levels_over(lines)).sum()
    }

    /// Levels of nodes over `lines` lines, with the root.
    pub fn levels_over(lines: u64) -> usize {
        let above = std::iter::successors(Some(lines.max(1).div_ceil(ARITY)), |lines| {
            (*lines > 1).then(|| lines.div_ceil(ARITY))
        });
        above.count()
    }

    /// Levels of nodes, with the root.
    pub fn levels(&self) -> usize {
        self.blank.len()
    }

    /// The root.
    pub fn root(&self) -> LineBytes {
        let top = self.blank.len() - 1;
        self.nodes[top].get(&0).copied().unwrap_or(self.blank[top])
    }

    /// Line `number` is now `bytes`.
    pub fn set(&mut self, number: u64, bytes: &LineBytes, hash: &dyn LineHash) {
        let (mut index, mut child) = (number, *bytes);
        for (level, nodes) in self.nodes.iter_mut().enumerate() {
            let node = nodes.entry(index / ARITY).or_insert(self.blank[level]);
            node[(index % ARITY) as usize * 8..][..8].copy_from_slice(&hash.hash(&child));
            (index, child) = (index / ARITY, *node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    struct Sum;

    impl LineHash for Sum {
        fn hash(&self, bytes: &LineBytes) -> [u8; 8] {
            let word = bytes.iter().fold(7u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            word.to_le_bytes()
        }
    }

    /// The root over all lines, level by level.
    fn reference(mut lines: Vec<LineBytes>) -> LineBytes {
        loop {
            // A node has a place for every child that it could have; those that do not exist are as zeros would be.
            let node = |children: &[LineBytes]| {
                let mut bytes: Vec<u8> = children.iter().flat_map(|child| Sum.hash(child)).collect();
                bytes.resize(64, 0);
                LineBytes::try_from(bytes).unwrap()
            };
            lines = lines.chunks(ARITY as usize).map(node).collect();
            if lines.len() == 1 {
                return lines[0];
            }
        }
    }

    proptest! {
        #[test]
        fn root_is_that_of_all_lines(levels in 1..4u32, writes in prop::collection::vec((any::<u64>(), any::<u8>()), 0..30)) {
            let lines = ARITY.pow(levels);
            let mut all = vec![[0; 64]; lines as usize];
            let mut tree = LineTree::new(lines, &Sum);
            prop_assert_eq!(tree.levels(), levels as usize);
            prop_assert_eq!(LineTree::hashes(lines), (1..=levels).map(|level| ARITY.pow(level)).sum::<u64>());
            for (number, byte) in writes {
                let number = number % lines;
                all[number as usize][9] = byte;
                tree.set(number, &all[number as usize], &Sum);
                prop_assert_eq!(tree.root(), reference(all.clone()));
            }
            let held = || all.iter().enumerate().filter(|(_, line)| **line != [0; 64]);
            let (root, hashes) = LineTree::root_over(lines, held().map(|(number, line)| (number as u64, *line)), &Sum);
            prop_assert_eq!(root, reference(all.clone()));
            // Every line, and every node below the root that is above one of them.
            let nodes = (1..levels).map(|level| held().map(|(number, _)| number as u64 / ARITY.pow(level)).collect::<BTreeSet<_>>().len());
            prop_assert_eq!(hashes, (held().count() + nodes.sum::<usize>()) as u64);
            let whole = LineTree::root_over(lines, all.iter().enumerate().map(|(number, line)| (number as u64, *line)), &Sum);
            prop_assert_eq!(whole, (reference(all.clone()), LineTree::hashes(lines)));
        }
    }
}
