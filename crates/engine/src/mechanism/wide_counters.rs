//! Wide counters: each line has a 56-bit counter of its own writes. Eight of them and a 64-bit MAC fill a block of 64 bytes,
//! which is also the layout of a node in a tree of counters (Gueron, "A Memory Encryption Engine Suitable for General
//! Purpose Processors", 2016).

use crate::layout::Coverage;
use crate::message::{GroupMask, LineBytes};
use crate::parts::{Counter, CounterScheme, MinorReset, NextCounter};

/// Bytes of one counter.
pub(super) const COUNTER_BYTES: usize = 7;
/// Counters of a block.
const COUNTERS: usize = 8;
/// The counter of lines that were populated before the run: each has been written once.
const POPULATED: u64 = 1;

/// The scheme of wide counters. The MAC of a block belongs to the tree.
pub struct WideCounters;

/// The 56-bit counter at place `index`.
pub(super) fn wide(block: &LineBytes, index: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..COUNTER_BYTES].copy_from_slice(&block[index * COUNTER_BYTES..][..COUNTER_BYTES]);
    u64::from_le_bytes(bytes)
}

/// Stores the 56-bit counter at place `index`.
pub(super) fn set_wide(block: &mut LineBytes, index: usize, value: u64) {
    block[index * COUNTER_BYTES..][..COUNTER_BYTES].copy_from_slice(&value.to_le_bytes()[..COUNTER_BYTES]);
}

/// The sum of the counters of a block.
pub(super) fn sum(block: &LineBytes) -> u128 {
    (0..COUNTERS).map(|index| u128::from(wide(block, index))).sum()
}

impl CounterScheme for WideCounters {
    fn coverage(&self) -> Coverage {
        Coverage::EIGHT_LINES
    }

    fn counter_bytes(&self) -> usize {
        COUNTER_BYTES
    }

    fn global(&self) -> bool {
        false
    }

    fn initial(&self, populated: GroupMask) -> LineBytes {
        let mut block = [0; 64];
        for index in (0..COUNTERS).filter(|index| populated >> index & 1 == 1) {
            set_wide(&mut block, index, POPULATED);
        }
        block
    }

    fn counter(&self, block: &LineBytes, index: usize) -> Counter {
        Counter { major: wide(block, index), minor: 0 }
    }

    fn next(&self, block: &LineBytes, index: usize, _register: u64) -> NextCounter {
        // 56 bits do not overflow: at one write of a line in 100 ns that would take 228 years.
        NextCounter::Is(Counter { major: wide(block, index) + 1, minor: 0 })
    }

    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter) {
        set_wide(block, index, counter.major);
    }

    fn increment_major(&self, _block: &mut LineBytes, _reset: MinorReset) {
        unreachable!("a wide counter does not overflow");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_line_counts_its_own_writes_beside_the_mac(
            writes in prop::collection::vec(0usize..8, 0..100), populated: u8, mac: u64,
        ) {
            let mut block = WideCounters.initial(GroupMask::from(populated));
            block[56..].copy_from_slice(&mac.to_le_bytes());
            let mut reference: [u64; 8] = std::array::from_fn(|index| u64::from(populated >> index & 1));
            for index in writes {
                let NextCounter::Is(next) = WideCounters.next(&block, index, 0) else { panic!("it overflowed") };
                WideCounters.set(&mut block, index, next);
                reference[index] += 1;
                for (i, expected) in reference.iter().enumerate() {
                    prop_assert_eq!(WideCounters.counter(&block, i), Counter { major: *expected, minor: 0 });
                }
            }
            prop_assert_eq!(&block[56..], &mac.to_le_bytes());
        }
    }
}
