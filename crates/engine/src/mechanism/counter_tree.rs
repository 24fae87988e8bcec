//! A tree of counters (Gueron 2016, the tree of SGX): a node has a counter for each child and a MAC of its own, which also
//! covers the node's counter in its parent. Nodes of arity 8 have eight 56-bit counters. Nodes of a larger arity have a 64-bit
//! major counter and minor counters of 24 or 12 bits (Taassori et al., ASPLOS 2018, VAULT). What a node's counter counts is
//! one of two things: how often its child has left the chip, which nothing below tells again, or the sum of the counters in
//! the child (Huang and Hua, HPCA 2023, SCUE).

use super::first_blocks::FirstBlocks;
use super::low_bits::LowBits;
use super::wide_counters::{set_wide, sum, wide};
use crate::cipher::{MAC_OFFSET, MacCipher};
use crate::layout::{TreePlace, TreeShape};
use crate::message::{BaseImage, CounterBlock, LineBytes};
use crate::parts::{Counted, CounterScheme, NodeMac, TreeScheme};

/// Bits of a counter that is a sum.
const SUM_BITS: u32 = 56;
/// The arity of nodes that have whole counters.
const WHOLE: usize = 8;

/// What the counters of nodes count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// How often the child has left the chip.
    Departures,
    /// All counters of the child.
    Sums,
}

/// A tree of counters with one key.
pub struct CounterTree {
    shape: TreeShape,
    cipher: MacCipher,
    counting: Counting,
    mac: NodeMac,
    low: LowBits,
    first: FirstBlocks,
}

impl CounterTree {
    /// A tree of this shape over the blocks of `counters`, of a memory that starts as `base`. Sums need nodes of arity 8.
    pub fn new(
        shape: TreeShape,
        cipher: MacCipher,
        (counting, mac, low): (Counting, NodeMac, LowBits),
        counters: Box<dyn CounterScheme>,
        base: &dyn BaseImage,
    ) -> Self {
        Self { shape, cipher, counting, mac, low, first: FirstBlocks::new(counters, base) }
    }

    /// Bits of a minor counter.
    fn minor_bits(&self) -> usize {
        (MAC_OFFSET - 8) * 8 / self.shape.arity()
    }

    /// The counter at place `index` of `node`.
    fn counter(&self, node: &LineBytes, index: usize) -> u64 {
        if self.shape.arity() == WHOLE {
            return wide(node, index);
        }
        let bits = self.minor_bits();
        word(node, 0) << bits | minor(node, index, bits)
    }

    /// Increments the counter at place `index` of `node`.
    fn increment(&self, node: &mut LineBytes, index: usize) -> Counted {
        if self.shape.arity() == WHOLE {
            let next = wide(node, index) + 1;
            set_wide(node, index, next);
            let wraps = self.mac == NodeMac::WithLowBits && self.low.of_counter(next) == 0;
            return if wraps { Counted::LowBitsWrapped } else { Counted::Alone };
        }
        let bits = self.minor_bits();
        let next = minor(node, index, bits) + 1;
        if next < 1 << bits {
            set_minor(node, index, bits, next);
            return Counted::Alone;
        }
        let major = word(node, 0) + 1;
        node[..8].copy_from_slice(&major.to_le_bytes());
        node[8..MAC_OFFSET].fill(0);
        Counted::AllChanged
    }

    /// The sum of the counters of a counter block or node, modulo 2^56.
    fn sum(block: &LineBytes) -> u64 {
        (sum(block) & ((1 << SUM_BITS) - 1)) as u64
    }

    /// The MAC that `child` has at `place` if the counter in its parent is `counter`.
    fn mac_of(&self, child: &LineBytes, place: TreePlace, counter: u64) -> [u8; 8] {
        let counter = if self.mac == NodeMac::UnderItself { 0 } else { counter };
        let mac = self.cipher.child(child, place, counter);
        let mac = if self.mac == NodeMac::WithLowBits { self.low.joined(mac, counter) } else { mac }.to_le_bytes();
        std::array::from_fn(|byte| mac[byte])
    }

    /// The counter for the child at `place` before the run.
    fn first_counter(&self, place: TreePlace) -> u64 {
        match self.counting {
            Counting::Departures => 0,
            Counting::Sums => self.first.populated_in(&self.shape.leaves_below(place)),
        }
    }
}

impl TreeScheme for CounterTree {
    fn count(&self, parent: &mut LineBytes, index: usize, child: &LineBytes) -> Counted {
        match self.counting {
            Counting::Departures => self.increment(parent, index),
            Counting::Sums => {
                set_wide(parent, index, Self::sum(child));
                Counted::Alone
            }
        }
    }

    fn mark(&self, parent: &mut LineBytes, index: usize, place: TreePlace, child: &mut LineBytes) {
        let mac = self.mac_of(child, place, self.counter(parent, index));
        child[MAC_OFFSET..].copy_from_slice(&mac);
    }

    fn vouches(&self, parent: &LineBytes, index: usize, place: TreePlace, child: &LineBytes) -> bool {
        child[MAC_OFFSET..] == self.mac_of(child, place, self.counter(parent, index))
    }

    fn initial(&self, place: TreePlace) -> LineBytes {
        let mut block = [0; 64];
        if place.level == 0 {
            block = self.first.block(CounterBlock(place.index));
        } else if self.counting == Counting::Sums {
            let children = self.shape.children(crate::message::TreeNode { level: place.level, index: place.index });
            for (index, child) in children.enumerate() {
                set_wide(&mut block, index, self.first_counter(child));
            }
        }
        if place.level < self.shape.top() {
            let mac = self.mac_of(&block, place, self.first_counter(place));
            block[MAC_OFFSET..].copy_from_slice(&mac);
        }
        block
    }

    fn carry(&self, root: &mut LineBytes, place: usize, before: &LineBytes, after: &LineBytes) {
        let grown = Self::sum(after).wrapping_sub(Self::sum(before));
        set_wide(root, place, wide(root, place).wrapping_add(grown));
    }
}

fn word(node: &LineBytes, first: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&node[first..first + 8]);
    u64::from_le_bytes(bytes)
}

/// The minor counter of `bits` bits at place `index`, 12 or 24 bits: whole bytes, or three bytes for two.
fn minor(node: &LineBytes, index: usize, bits: usize) -> u64 {
    let bit = index * bits;
    let mut bytes = [0; 8];
    let first = 8 + bit / 8;
    let end = (first + 4).min(MAC_OFFSET);
    bytes[..end - first].copy_from_slice(&node[first..end]);
    (u64::from_le_bytes(bytes) >> (bit % 8)) & ((1 << bits) - 1)
}

fn set_minor(node: &mut LineBytes, index: usize, bits: usize, value: u64) {
    let bit = index * bits;
    let first = 8 + bit / 8;
    let end = (first + 4).min(MAC_OFFSET);
    let mut bytes = [0; 8];
    bytes[..end - first].copy_from_slice(&node[first..end]);
    let mask = ((1 << bits) - 1) << (bit % 8);
    let word = u64::from_le_bytes(bytes) & !mask | value << (bit % 8);
    node[first..end].copy_from_slice(&word.to_le_bytes()[..end - first]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Keys;
    use crate::mechanism::wide_counters::WideCounters;
    use crate::message::tests::Populated;
    use crate::message::{Line, TreeNode};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A tree as a map from places to plain numbers: the counters of each node and of each block.
    struct Reference {
        shape: TreeShape,
        sums: bool,
        counters: BTreeMap<TreePlace, Vec<u64>>,
    }

    impl Reference {
        fn new(shape: TreeShape, populated: &Populated, sums: bool) -> Self {
            let mut counters = BTreeMap::new();
            for index in 0..shape.leaves() {
                let of = |line| u64::from(populated.populated(Line(line)));
                counters.insert(TreePlace { level: 0, index }, (index * 8..index * 8 + 8).map(of).collect::<Vec<_>>());
            }
            for (level, index) in
                (1..=shape.top()).flat_map(|level| (0..shape.nodes(level)).map(move |index| (level, index)))
            {
                let children: Vec<TreePlace> = shape.children(TreeNode { level, index }).collect();
                let of = |child: &TreePlace| if sums { counters[child].iter().sum() } else { 0 };
                let mut node: Vec<u64> = children.iter().map(of).collect();
                node.resize(shape.arity(), 0);
                counters.insert(TreePlace { level, index }, node);
            }
            Self { shape, sums, counters }
        }

        /// A write of a line of the block `place`, which goes up to the root.
        fn write(&mut self, place: TreePlace, index: usize) {
            self.counters.get_mut(&place).unwrap()[index] += 1;
            for (node, child) in self.shape.path(place) {
                let limit = match self.shape.arity() {
                    8 => u64::MAX,
                    arity => 1 << (384 / arity),
                };
                let node = self.counters.get_mut(&node.into()).unwrap();
                let next = node[child] % limit + 1;
                if next == limit && !self.sums {
                    // The major counter is incremented, and every minor counter begins again.
                    let major = node[child] / limit + 1;
                    node.iter_mut().for_each(|counter| *counter = major * limit);
                } else {
                    node[child] += 1;
                }
            }
        }

        /// The MAC of what is at `place`, written from its definition.
        fn mac(&self, cipher: &MacCipher, place: TreePlace) -> [u8; 8] {
            let (parent, index) = self.shape.parent(place).unwrap();
            let block = self.bytes(place);
            let mac = cipher.child(&block, place, self.counters[&parent.into()][index]);
            mac.to_le_bytes()[..8].try_into().unwrap()
        }

        /// The counters at `place`, packed bit by bit, with no MAC.
        fn bytes(&self, place: TreePlace) -> LineBytes {
            let counters = &self.counters[&place];
            let bits = if place.level == 0 || self.shape.arity() == 8 { 56 } else { 384 / self.shape.arity() };
            let mut packed = Vec::new();
            if bits < 56 {
                packed.extend((0..64).map(|bit| counters[0] >> bits >> bit & 1 == 1));
            }
            for counter in counters {
                packed.extend((0..bits).map(|bit| counter >> bit & 1 == 1));
            }
            let mut block = [0; 64];
            packed.iter().enumerate().for_each(|(bit, set)| block[bit / 8] |= u8::from(*set) << (bit % 8));
            block
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn tree_of_counters_is_that_of_plain_numbers(
            leaves in 1..300u64, arity in prop::sample::select(vec![8u32, 16, 32]), sums: bool, first in 0..900u64,
            length in 0..900u64, writes in prop::collection::vec((any::<u64>(), 0..8usize), 1..40), repeat in 1..120usize,
        ) {
            let arity = if sums { 8 } else { arity };
            let populated = Populated((first.min(leaves * 8)..(first + length).min(leaves * 8)).collect());
            let shape = TreeShape::new(leaves, arity);
            let cipher = MacCipher::new(&Keys::from_seed(5).tree);
            let counting = if sums { Counting::Sums } else { Counting::Departures };
            let tree = CounterTree::new(shape, cipher.clone(), (counting, NodeMac::UnderParent, LowBits { bits: 10 }), Box::new(WideCounters), &populated);
            let mut reference = Reference::new(shape, &populated, sums);
            let mut kept: BTreeMap<TreePlace, LineBytes> = reference.counters.keys().map(|place| (*place, tree.initial(*place))).collect();
            // The last child is written often, so that its minor counters of 12 bits overflow on the way.
            let often = std::iter::repeat_n((u64::MAX, 0), repeat * 40);
            for (block, index) in writes.into_iter().chain(often) {
                let place = TreePlace { level: 0, index: block % leaves };
                reference.write(place, index);
                let leaf = kept.get_mut(&place).unwrap();
                let counter = WideCounters.counter(leaf, index).major + 1;
                WideCounters.set(leaf, index, crate::parts::Counter { major: counter, minor: 0 });
                let mut below = place;
                for (node, child) in shape.path(place) {
                    let (mut parent, mut block) = (kept[&node.into()], kept[&below]);
                    let renewed = tree.count(&mut parent, child, &block) == Counted::AllChanged;
                    tree.mark(&mut parent, child, below, &mut block);
                    prop_assert!(tree.vouches(&parent, child, below, &block));
                    kept.insert(below, block);
                    for (other, sibling) in shape.children(node).enumerate().filter(|(other, _)| renewed && *other != child) {
                        tree.mark(&mut parent, other, sibling, kept.get_mut(&sibling).unwrap());
                    }
                    kept.insert(node.into(), parent);
                    below = node.into();
                }
            }
            for (place, block) in &kept {
                prop_assert_eq!(&block[..56], &reference.bytes(*place)[..56], "{:?}", place);
                if place.level == shape.top() {
                    prop_assert_eq!(&block[56..], &[0; 8]);
                    continue;
                }
                prop_assert_eq!(&block[56..], &reference.mac(&cipher, *place), "{:?}", place);
                let (parent, index) = shape.parent(*place).unwrap();
                let mut changed = *block;
                changed[20] ^= 1;
                prop_assert!(tree.vouches(&kept[&parent.into()], index, *place, block));
                prop_assert!(!tree.vouches(&kept[&parent.into()], index, *place, &changed));
            }
        }
    }
}
