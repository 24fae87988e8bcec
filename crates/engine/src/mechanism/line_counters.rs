//! Line counters: each line has an 8-byte counter of its own writes, eight to a block. A data block's "corresponding
//! counter is also incremented" when it is written back (easy-pm section II-B). The block layout is that of the paper's
//! reference for counters (counter-atomicity section 5.2.1).

use super::global_counters::{initial_words, set_word, word};
use crate::layout::Coverage;
use crate::message::{GroupMask, LineBytes};
use crate::parts::{Counter, CounterScheme, MinorReset, NextCounter};

/// The scheme of line counters.
pub struct LineCounters;

impl CounterScheme for LineCounters {
    fn coverage(&self) -> Coverage {
        Coverage::EIGHT_LINES
    }

    fn global(&self) -> bool {
        false
    }

    fn initial(&self, populated: GroupMask) -> LineBytes {
        initial_words(populated, Coverage::EIGHT_LINES)
    }

    fn counter(&self, block: &LineBytes, index: usize) -> Counter {
        Counter { major: word(block, index), minor: 0 }
    }

    fn next(&self, block: &LineBytes, index: usize, _register: u64) -> NextCounter {
        // 64 bits do not overflow: at one write per nanosecond that would take 584 years.
        NextCounter::Is(Counter { major: self.counter(block, index).major + 1, minor: 0 })
    }

    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter) {
        set_word(block, index, counter.major);
    }

    fn increment_major(&self, _block: &mut LineBytes, _reset: MinorReset) {
        unreachable!("a line counter does not overflow");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_line_counts_its_own_writes(writes in prop::collection::vec(0usize..8, 0..100), populated: u8) {
            let scheme = LineCounters;
            let mut block = scheme.initial(GroupMask::from(populated));
            let mut reference: [u64; 8] = std::array::from_fn(|index| u64::from(populated >> index & 1));
            for index in writes {
                let NextCounter::Is(next) = scheme.next(&block, index, 0) else { panic!("it overflowed") };
                scheme.set(&mut block, index, next);
                reference[index] += 1;
                for (i, expected) in reference.iter().enumerate() {
                    prop_assert_eq!(scheme.counter(&block, i), Counter { major: *expected, minor: 0 });
                }
            }
        }
    }
}
