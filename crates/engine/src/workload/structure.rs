//! The interface of every data structure to the other workload code: a layout with initial contents that can run one
//! transaction and check its invariants. Structures hold addresses, never contents: all state is in persistent bytes.

use super::initial::InitialContents;
use super::transaction::Transaction;
use crate::config::ItemMetadata;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES};

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
pub(super) trait Structure: InitialContents {
    /// One past the last byte address that the structure may ever use.
    fn end(&self) -> u64;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
    fn worst_placed_words_reach_the_bound() {
        let lines = |ranges, bytes| WriteBound { ranges, bytes }.in_lines().bytes / LINE_BYTES;
        assert_eq!(lines(3, 24), 3);
        assert_eq!(lines(3, 40), 5);
        assert_eq!(lines(1, 64), 2);
        assert_eq!(lines(1, 80), 3);
    }
}
