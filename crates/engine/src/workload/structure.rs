//! The interface of every data structure to the other workload code: a layout that can populate itself, run one
//! transaction and check its invariants. Structures hold addresses, never contents: all state is in persistent bytes.

use super::transaction::Transaction;
use crate::config::ItemMetadata;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES};
use std::ops::Range;

/// The most that one transaction of a structure can write; determines the size of the log ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteBound {
    /// Number of separate ranges.
    pub ranges: u64,
    /// Bytes in all ranges, each rounded out to whole words.
    pub bytes: u64,
}

impl WriteBound {
    /// The bound when each range is rounded out to whole lines. In the worst case, a range's first word is the last
    /// word of a line: the second word begins another line, and so does every eighth word after it. The number of lines
    /// is largest if as many ranges as possible have a second word.
    pub(super) fn in_lines(self) -> Self {
        let more_words = (self.bytes / 8).saturating_sub(self.ranges);
        let seconds = more_words.min(self.ranges);
        let lines = self.ranges + seconds + (more_words - seconds) / (LINE_BYTES / 8);
        Self { bytes: lines * LINE_BYTES, ..self }
    }
}

/// A data structure on one core's heap.
pub(super) trait Structure: Send + Sync {
    /// The populated extents, in ascending order, in whole lines, within the heap.
    fn populated(&self) -> Vec<Range<u64>>;
    /// One past the last byte address that the structure may ever use.
    fn end(&self) -> u64;
    /// Fills a part of populated extent `extent` (an index into [`Structure::populated`]). Every byte depends on its
    /// address alone, not on the parts that are asked for nor on their order.
    fn populate(&self, extent: usize, part: &mut Part<'_>);
    /// Runs one transaction.
    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random);
    /// Checks the whole structure. Never panics, never reads outside the heap, and terminates on any garbage.
    ///
    /// # Errors
    /// Says which invariant is broken and where.
    fn check(&self, view: &mut dyn ByteView) -> Result<(), String>;
    /// The largest write set of one transaction.
    fn write_bound(&self) -> WriteBound;
}

/// What a structure is built from: one core's part of the footprint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// First byte address of the heap, page-aligned.
    pub start: u64,
    /// Bytes to populate.
    pub bytes: u64,
    /// Bytes of user data in a transaction.
    pub tx_size: u64,
    /// Transactions to reserve room for.
    pub room: u64,
    /// Seed of the contents.
    pub seed: u64,
    /// Where what the structure keeps about its items is.
    pub metadata: ItemMetadata,
}

/// A part of a populated extent, to be filled.
pub(super) struct Part<'a> {
    /// Bytes of the extent before this part.
    pub before: u64,
    /// Bytes of the whole extent.
    pub extent: u64,
    /// The bytes of the part; zero so far.
    pub bytes: &'a mut [u8],
}

impl Part<'_> {
    /// Fills what belongs to this part of the extent's adjacent items of `item_bytes` bytes: `fill(n, bytes)` fills item
    /// n, of zeroed bytes. The last item ends with the extent.
    pub fn fill_items(&mut self, item_bytes: u64, mut fill: impl FnMut(u64, &mut [u8])) {
        let part = self.before..self.before + self.bytes.len() as u64;
        for number in part.start / item_bytes..part.end.div_ceil(item_bytes) {
            let item = number * item_bytes..((number + 1) * item_bytes).min(self.extent);
            let shared = item.start.max(part.start)..item.end.min(part.end);
            let bytes = &mut self.bytes[(shared.start - part.start) as usize..(shared.end - part.start) as usize];
            if shared == item {
                fill(number, bytes);
            } else {
                let mut whole = vec![0; (item.end - item.start) as usize];
                fill(number, &mut whole);
                let from = (shared.start - item.start) as usize;
                bytes.copy_from_slice(&whole[from..from + bytes.len()]);
            }
        }
    }
}

/// Writes `value` as a little-endian word at `offset` of `bytes`.
pub(super) fn put_word(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_together_are_the_whole(
            item_bytes in 1..40u64, extent in 1..400u64, cuts in prop::collection::vec(0..400u64, 0..6),
        ) {
            let fill = |number: u64, bytes: &mut [u8]| {
                for (place, byte) in bytes.iter_mut().enumerate() {
                    assert_eq!(*byte, 0, "an item is filled once");
                    *byte = 1 + (number * 41 + place as u64) as u8 % 255;
                }
            };
            let mut whole = vec![0; extent as usize];
            for (number, item) in whole.chunks_mut(item_bytes as usize).enumerate() {
                fill(number as u64, item);
            }
            let mut edges: Vec<u64> = cuts.into_iter().map(|cut| cut % extent).chain([0, extent]).collect();
            edges.sort_unstable();
            let mut found = vec![0; extent as usize];
            for edge in edges.windows(2).rev() {
                let bytes = &mut found[edge[0] as usize..edge[1] as usize];
                Part { before: edge[0], extent, bytes }.fill_items(item_bytes, fill);
            }
            prop_assert_eq!(found, whole);
        }

        #[test]
        fn no_write_set_within_a_bound_touches_more_lines_than_it_allows(
            ranges in prop::collection::vec((0..8u64, 1..40u64), 1..12),
        ) {
            let bytes = ranges.iter().map(|(_, words)| words * 8).sum();
            let bound = WriteBound { ranges: ranges.len() as u64, bytes };
            let lines: u64 = ranges.iter().map(|(offset, words)| (offset + words).div_ceil(8)).sum();
            prop_assert!(lines * LINE_BYTES <= bound.in_lines().bytes);
        }
    }

    #[test]
    fn the_worst_placed_words_reach_the_bound() {
        let lines = |ranges, bytes| WriteBound { ranges, bytes }.in_lines().bytes / LINE_BYTES;
        assert_eq!(lines(3, 24), 3);
        assert_eq!(lines(3, 40), 5);
        assert_eq!(lines(1, 64), 2);
        assert_eq!(lines(1, 80), 3);
    }
}
