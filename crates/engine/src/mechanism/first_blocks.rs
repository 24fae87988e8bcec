//! Counter blocks before the run: each line that was populated has been written once.

use crate::message::{BaseImage, CounterBlock, LineBytes, group_mask, mask_from_ranges};
use crate::parts::CounterScheme;
use std::ops::Range;

/// The counter blocks of a memory before the run.
pub(super) struct FirstBlocks {
    pub counters: Box<dyn CounterScheme>,
    /// The lines that were populated, ascending and disjoint.
    pub populated: Vec<Range<u64>>,
}

impl FirstBlocks {
    /// The blocks of `counters`, of a memory that starts as `base`.
    pub fn new(counters: Box<dyn CounterScheme>, base: &dyn BaseImage) -> Self {
        Self { counters, populated: base.populated_lines() }
    }

    /// The block `id`.
    pub fn block(&self, id: CounterBlock) -> LineBytes {
        let lines = self.counters.coverage().numbers_of(id);
        let mask = |lines: Range<u64>| mask_from_ranges(lines.clone(), self.populated_from(lines.start).cloned());
        self.counters.initial(group_mask(lines, mask))
    }

    /// The lines of a range of blocks, which is not empty.
    pub fn lines(&self, blocks: &Range<u64>) -> Range<u64> {
        let [first, end] =
            [blocks.start, blocks.end].map(|block| self.counters.coverage().line(CounterBlock(block), 0).0);
        first..end
    }

    /// Number of lines in a range of blocks that were populated.
    pub fn populated_in(&self, blocks: &Range<u64>) -> u64 {
        let lines = self.lines(blocks);
        let overlapping = self.populated_from(lines.start).take_while(|populated| populated.start < lines.end);
        overlapping.map(|populated| populated.end.min(lines.end) - populated.start.max(lines.start)).sum()
    }

    /// The ranges of populated lines that end after `line`.
    fn populated_from(&self, line: u64) -> impl Iterator<Item = &Range<u64>> {
        self.populated[self.populated.partition_point(|populated| populated.end <= line)..].iter()
    }
}
