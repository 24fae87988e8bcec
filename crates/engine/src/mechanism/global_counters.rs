//! Global counters: every write of the machine takes the next value of one 64-bit register. Each line stores the 8-byte
//! counter of its latest write (counter-atomicity section 5.2.1), eight to a block or beside the line.

use crate::layout::Coverage;
use crate::message::{GroupMask, LineBytes};
use crate::parts::{Counter, CounterScheme, MinorReset, NextCounter};

/// Bytes of one counter.
const COUNTER_BYTES: usize = 8;
/// The counter of lines that were populated before the run: the value 1, used once per line.
const POPULATED: u64 = 1;

/// The scheme of global counters.
pub struct GlobalCounters {
    coverage: Coverage,
}

impl GlobalCounters {
    /// Counters in blocks of eight, in a separate region.
    pub fn region() -> Self {
        Self { coverage: Coverage::EIGHT_LINES }
    }

    /// Counters that are stored beside their lines.
    pub fn inline() -> Self {
        Self { coverage: Coverage::LINE }
    }
}

fn place(index: usize) -> std::ops::Range<usize> {
    index * COUNTER_BYTES..(index + 1) * COUNTER_BYTES
}

/// The initial block of 8-byte counters: bit `i` of `populated` says that line `i` was populated.
pub(super) fn initial_words(populated: GroupMask, coverage: Coverage) -> LineBytes {
    let mut block = [0; 64];
    for index in (0..coverage.lines()).filter(|index| populated >> index & 1 == 1) {
        set_word(&mut block, index, POPULATED);
    }
    block
}

/// The 8-byte counter of line `index`.
pub(super) fn word(block: &LineBytes, index: usize) -> u64 {
    u64::from_le_bytes(block[place(index)].try_into().expect("eight bytes"))
}

/// Stores the 8-byte counter of line `index` in the block.
pub(super) fn set_word(block: &mut LineBytes, index: usize, value: u64) {
    block[place(index)].copy_from_slice(&value.to_le_bytes());
}

impl CounterScheme for GlobalCounters {
    fn coverage(&self) -> Coverage {
        self.coverage
    }

    fn global(&self) -> bool {
        true
    }

    fn initial(&self, populated: GroupMask) -> LineBytes {
        initial_words(populated, self.coverage)
    }

    fn counter(&self, block: &LineBytes, index: usize) -> Counter {
        Counter { major: word(block, index), minor: 0 }
    }

    fn next(&self, _block: &LineBytes, _index: usize, register: u64) -> NextCounter {
        // A 64-bit register does not overflow: at one write per nanosecond that would take 584 years.
        NextCounter::Is(Counter { major: register.max(POPULATED) + 1, minor: 0 })
    }

    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter) {
        set_word(block, index, counter.major);
    }

    fn increment_major(&self, _block: &mut LineBytes, _reset: MinorReset) {
        unreachable!("a global counter does not overflow");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn eight_counters_lie_side_by_side(writes in prop::collection::vec((0usize..8, any::<u64>()), 1..100)) {
            let scheme = GlobalCounters { coverage: Coverage::EIGHT_LINES };
            let mut block = scheme.initial(0b1010_0000);
            let mut reference = [0, 0, 0, 0, 0, 1, 0, 1];
            for (index, value) in writes {
                scheme.set(&mut block, index, Counter { major: value, minor: 0 });
                reference[index] = value;
                for (i, expected) in reference.iter().enumerate() {
                    prop_assert_eq!(scheme.counter(&block, i), Counter { major: *expected, minor: 0 });
                }
            }
        }
    }

    #[test]
    fn every_write_takes_the_next_value_and_the_first_comes_after_the_populated_lines() {
        let scheme = GlobalCounters { coverage: Coverage::LINE };
        let block = scheme.initial(1);
        assert_eq!(scheme.counter(&block, 0).major, POPULATED);
        assert_eq!(scheme.next(&block, 0, 0), NextCounter::Is(Counter { major: 2, minor: 0 }));
        assert_eq!(scheme.next(&block, 0, 2), NextCounter::Is(Counter { major: 3, minor: 0 }));
        assert_eq!(block[8..], [0; 56], "only the counter's bytes exist");
    }
}
