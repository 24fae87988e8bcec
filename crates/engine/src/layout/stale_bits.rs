//! Where the bits are that say which counter blocks and tree nodes are newer on the chip than in memory (Huang and Hua, HPCA
//! 2021, STAR): one bit for each, 512 to a line; above them one bit for each line that is not zero, and so on up to one line.
//! Pure arithmetic.

use super::{TreePlace, TreeShape};
use crate::message::{CounterBlock, TreeNode};

const BITS_SHIFT: u32 = 9;
const BITS: u64 = 1 << BITS_SHIFT;

/// The layers of bits over the blocks and nodes of a tree. Lines are numbered layer by layer, from the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaleBits {
    shape: TreeShape,
}

impl StaleBits {
    /// The bits for a tree of this shape.
    pub fn new(shape: TreeShape) -> Self {
        Self { shape }
    }

    /// Lines of `layer`, from 0.
    fn lines(self, layer: u32) -> u64 {
        let units = self.shape.leaves() + self.shape.nodes_below_root();
        units.div_ceil(1 << (BITS_SHIFT * (layer + 1)).min(63)).max(1)
    }

    /// Number of layers.
    pub fn layers(self) -> u32 {
        (1..).find(|layer| self.lines(layer - 1) == 1).unwrap_or(1)
    }

    /// The number of line `index` of `layer` among all lines.
    fn number(self, layer: u32, index: u64) -> u64 {
        (0..layer).map(|below| self.lines(below)).sum::<u64>() + index
    }

    /// The number of the one line of the top layer.
    pub fn top(self) -> u64 {
        self.number(self.layers() - 1, 0)
    }

    /// The most lines that are not zero if so many bits of places are set, with the top line, which is always looked at.
    pub fn most_lines(self, places: u64) -> u64 {
        let below_top = (0..self.layers() - 1).map(|layer| self.lines(layer).min(places));
        below_top.sum::<u64>() + 1
    }

    /// The bits of `place`, from the lowest layer up: each as the number of its line and the bit in it.
    pub fn path(self, place: TreePlace) -> impl Iterator<Item = (u64, usize)> {
        let unit = match place.level {
            0 => place.index,
            level => self.shape.leaves() + self.shape.number(TreeNode { level, index: place.index }),
        };
        (0..self.layers()).map(move |layer| {
            let bit = unit >> (BITS_SHIFT * layer);
            (self.number(layer, bit >> BITS_SHIFT), (bit & (BITS - 1)) as usize)
        })
    }

    /// What bit `bit` of line `number` stands for: a place, or the number of a line of the layer below. `None` if there is no
    /// such thing.
    pub fn meaning(self, number: u64, bit: usize) -> Option<StaleBit> {
        let layer = (0..self.layers()).rev().find(|layer| self.number(*layer, 0) <= number)?;
        let below = (number - self.number(layer, 0)) << BITS_SHIFT | bit as u64;
        if layer > 0 {
            return (below < self.lines(layer - 1)).then(|| StaleBit::Line(self.number(layer - 1, below)));
        }
        if below < self.shape.leaves() {
            return Some(StaleBit::Place(TreePlace::leaf(CounterBlock(below))));
        }
        let levels = 1..self.shape.top();
        let node = |level: u8| {
            let first = self.shape.leaves() + self.shape.number(TreeNode { level, index: 0 });
            (first..first + self.shape.nodes(level)).contains(&below).then(|| TreePlace { level, index: below - first })
        };
        levels.into_iter().find_map(node).map(StaleBit::Place)
    }
}

/// What a bit stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StaleBit {
    /// A counter block or node.
    Place(TreePlace),
    /// A line of bits, by number.
    Line(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn every_place_has_a_bit_of_its_own_under_the_top(leaves in 1..3_000u64) {
            let shape = TreeShape::new(leaves, 8);
            let bits = StaleBits::new(shape);
            let places = (0..shape.top()).flat_map(|level| (0..shape.nodes(level)).map(move |index| TreePlace { level, index }));
            let mut meanings = BTreeMap::new();
            for place in places {
                let mut below = StaleBit::Place(place);
                let mut last = 0;
                for (number, bit) in bits.path(place) {
                    prop_assert_eq!(bits.meaning(number, bit), Some(below));
                    prop_assert!(meanings.insert((number, bit), below).is_none_or(|before| before == below));
                    below = StaleBit::Line(number);
                    last = number;
                }
                prop_assert_eq!(last, bits.top());
            }
            let of_places = meanings.values().filter(|meaning| matches!(meaning, StaleBit::Place(_))).count() as u64;
            prop_assert_eq!(of_places, shape.leaves() + shape.nodes_below_root());
        }
    }
}
