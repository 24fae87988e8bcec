//! What a machine keeps about counter blocks and nodes that are newer on the chip than in memory, if a boot computes them from
//! what is below them (Huang and Hua, HPCA 2021, STAR): a bit for each in lines of bits, of which those in use are on the chip,
//! in the persistence domain; and a tree over the sets of the metadata caches, whose root is in a register.

use super::super::interface::TreeParts;
use crate::layout::{LineTree, MetadataShape, StaleBits, TreePlace};
use crate::message::{LineBytes, MediaLine};
use crate::parts::LowBitsScheme;
use std::sync::Arc;

/// Lines of bits on the chip, as in the paper.
const LINES: usize = 16;

/// A line of bits on the chip.
#[derive(Clone, Copy)]
struct BitLine {
    number: u64,
    bytes: LineBytes,
    used: u64,
}

/// Bits and tree.
#[derive(Clone)]
pub(in crate::controller) struct StaleBlocks {
    pub bits: StaleBits,
    lines: Vec<BitLine>,
    clock: u64,
    scheme: Arc<dyn LowBitsScheme>,
    sets: LineTree,
    caches: MetadataShape,
    /// The changed blocks of a set, kept to reuse its memory.
    of_set: Vec<(TreePlace, LineBytes)>,
}

impl StaleBlocks {
    /// What `tree` keeps about the metadata `caches`; `None` if it keeps nothing.
    pub fn new(tree: &TreeParts, caches: MetadataShape) -> Option<Self> {
        let scheme = Arc::clone(tree.low_bits.as_ref()?);
        Some(Self {
            bits: StaleBits::new(tree.shape),
            lines: Vec::with_capacity(LINES),
            clock: 0,
            sets: LineTree::new(caches.sets(), scheme.as_ref()),
            scheme,
            caches,
            of_set: Vec::new(),
        })
    }

    /// The root of the tree over the sets.
    pub fn root(&self) -> LineBytes {
        self.sets.root()
    }

    /// MACs and hashes that one change of a block needs.
    pub fn levels_with_change(&self) -> usize {
        1 + self.sets.levels()
    }

    /// The set of `media` has these blocks that are newer than memory.
    pub fn set_changed(&mut self, media: MediaLine, blocks: impl Iterator<Item = (TreePlace, LineBytes)>) {
        self.of_set.clear();
        self.of_set.extend(blocks);
        self.of_set.sort_unstable_by_key(|(place, _)| *place);
        let line = self.scheme.set(&mut self.of_set.iter().copied());
        self.sets.set(self.caches.set(media), &line, self.scheme.as_ref());
    }

    /// Whether line `number` of the bits is on the chip; counts as a use.
    pub fn uses(&mut self, number: u64) -> bool {
        self.clock += 1;
        let line = self.lines.iter_mut().find(|line| line.number == number);
        line.map(|line| line.used = self.clock).is_some()
    }

    /// Puts line `number` of the bits on the chip; returns the line that leaves for memory, if one does.
    pub fn bring(&mut self, number: u64, bytes: LineBytes) -> Option<(MediaLine, LineBytes)> {
        let line = BitLine { number, bytes, used: self.clock };
        if self.lines.len() < LINES {
            self.lines.push(line);
            return None;
        }
        let oldest = self.lines.iter_mut().min_by_key(|line| line.used)?;
        let left = std::mem::replace(oldest, line);
        Some((MediaLine::table(left.number), left.bytes))
    }

    /// Changes bit `bit` of line `number`, which is on the chip. Returns the line, and whether it was zero before and is now.
    pub fn put_bit(&mut self, number: u64, bit: usize, stale: bool) -> Option<(LineBytes, [bool; 2])> {
        let line = self.lines.iter_mut().find(|line| line.number == number)?;
        let was_zero = line.bytes == [0; 64];
        let byte = &mut line.bytes[bit / 8];
        *byte = *byte & !(1 << (bit % 8)) | u8::from(stale) << (bit % 8);
        Some((line.bytes, [was_zero, line.bytes == [0; 64]]))
    }

    /// The lines of bits on the chip.
    pub fn lines(&self) -> impl Iterator<Item = (MediaLine, LineBytes)> {
        self.lines.iter().map(|line| (MediaLine::table(line.number), line.bytes))
    }
}
