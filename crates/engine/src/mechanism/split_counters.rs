//! Split counters: one 64-byte block per page with a 64-bit major counter and 64 minor counters of 7 bits (secpm
//! section 3.4.1, Figure 8). Narrower minor counters, for tests that need an early overflow, are packed into the same
//! 56 bytes.

use crate::config::Counters;
use crate::layout::Coverage;
use crate::message::LineBytes;
use crate::parts::{Counter, CounterScheme, MinorReset, NextCounter};

/// Bytes of the major counter, which comes before the minor counters.
const MAJOR_BYTES: usize = 8;

/// The scheme of split counters, with minor counters of a given width.
pub struct SplitCounters {
    minor_bits: usize,
    /// The first block of a page that was populated whole, as nearly every page was.
    all_populated: LineBytes,
}

impl SplitCounters {
    /// The scheme with the minor counters' width of a machine.
    pub fn of(counters: &Counters) -> Self {
        Self::with_minors_of(counters.minor_bits as usize)
    }

    fn with_minors_of(minor_bits: usize) -> Self {
        let mut scheme = Self { minor_bits, all_populated: [0; 64] };
        scheme.all_populated = scheme.first(u64::MAX);
        scheme
    }

    /// The block of a page of which the `populated` lines have been written once.
    fn first(&self, populated: u64) -> LineBytes {
        let mut block = [0; 64];
        for index in (0..64).filter(|index| populated >> index & 1 == 1) {
            self.set_minor(&mut block, index, 1);
        }
        block
    }

    fn max(&self) -> u8 {
        ((1u16 << self.minor_bits) - 1) as u8
    }

    fn minor(&self, block: &LineBytes, index: usize) -> u8 {
        let bit = index * self.minor_bits;
        let byte = MAJOR_BYTES + bit / 8;
        let pair = u16::from(block[byte]) | block.get(byte + 1).map_or(0, |next| u16::from(*next) << 8);
        (pair >> (bit % 8)) as u8 & self.max()
    }

    fn set_minor(&self, block: &mut LineBytes, index: usize, value: u8) {
        let bit = index * self.minor_bits;
        let byte = MAJOR_BYTES + bit / 8;
        let mask = u16::from(self.max()) << (bit % 8);
        let pair = u16::from(block[byte]) | block.get(byte + 1).map_or(0, |next| u16::from(*next) << 8);
        let pair = pair & !mask | u16::from(value) << (bit % 8);
        block[byte] = pair as u8;
        if let Some(next) = block.get_mut(byte + 1) {
            *next = (pair >> 8) as u8;
        }
    }
}

fn major(block: &LineBytes) -> u64 {
    u64::from_le_bytes(block[..MAJOR_BYTES].try_into().expect("eight bytes"))
}

impl CounterScheme for SplitCounters {
    fn coverage(&self) -> Coverage {
        Coverage::PAGE
    }

    fn global(&self) -> bool {
        false
    }

    fn initial(&self, populated: u64) -> LineBytes {
        if populated == u64::MAX { self.all_populated } else { self.first(populated) }
    }

    fn counter(&self, block: &LineBytes, index: usize) -> Counter {
        Counter { major: major(block), minor: self.minor(block, index) }
    }

    fn next(&self, block: &LineBytes, index: usize, _register: u64) -> NextCounter {
        match self.minor(block, index) {
            minor if minor == self.max() => NextCounter::Overflow,
            minor => NextCounter::Is(Counter { major: major(block), minor: minor + 1 }),
        }
    }

    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter) {
        // The majors agree, unless an attacker has changed the block.
        self.set_minor(block, index, counter.minor);
    }

    fn increment_major(&self, block: &mut LineBytes, reset: MinorReset) {
        let next = major(block) + 1;
        block[..MAJOR_BYTES].copy_from_slice(&next.to_le_bytes());
        if reset == MinorReset::AtOnce {
            block[MAJOR_BYTES..].fill(0);
        }
    }

    fn restart_line(&self, block: &mut LineBytes, index: usize) -> Counter {
        self.set_minor(block, index, 0);
        Counter { major: major(block), minor: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scheme(minor_bits: usize) -> SplitCounters {
        SplitCounters::with_minors_of(minor_bits)
    }

    #[test]
    fn seven_bits_count_to_127_and_then_overflow() {
        let scheme = scheme(7);
        let mut block = scheme.initial(0);
        for expected in 1..=127 {
            let next = Counter { major: 0, minor: expected };
            assert_eq!(scheme.next(&block, 63, 0), NextCounter::Is(next));
            scheme.set(&mut block, 63, next);
        }
        assert_eq!(scheme.next(&block, 63, 0), NextCounter::Overflow);
    }

    #[test]
    fn populated_lines_have_been_written_once() {
        for scheme in (1..=7).map(scheme) {
            for populated in [u64::MAX, u64::MAX >> 1, 1 << 63, 0b101, 0] {
                let block = scheme.initial(populated);
                for index in 0..64 {
                    let counter = Counter { major: 0, minor: (populated >> index & 1) as u8 };
                    assert_eq!(scheme.counter(&block, index), counter, "{} bits, line {index}", scheme.minor_bits);
                }
            }
        }
    }

    #[test]
    fn hardened_page_keeps_old_minors_and_a_published_one_loses_them() {
        let scheme = scheme(7);
        let mut kept = scheme.initial(u64::MAX);
        let mut lost = kept;
        scheme.increment_major(&mut kept, MinorReset::WithDoneBit);
        scheme.increment_major(&mut lost, MinorReset::AtOnce);
        assert_eq!(scheme.counter(&kept, 5), Counter { major: 1, minor: 1 });
        assert_eq!(scheme.counter(&lost, 5), Counter { major: 1, minor: 0 });
        assert_eq!(scheme.restart_line(&mut kept, 5), Counter { major: 1, minor: 0 });
        assert_eq!(scheme.counter(&kept, 6).minor, 1);
    }

    proptest! {
        #[test]
        fn minors_do_not_disturb_their_neighbours(bits in 1usize..=7, writes in prop::collection::vec((0usize..64, 0u8..128), 1..200)) {
            let scheme = scheme(bits);
            let mut block = scheme.initial(0);
            let mut reference = [0u8; 64];
            for (index, value) in writes {
                let value = value & scheme.max();
                scheme.set_minor(&mut block, index, value);
                reference[index] = value;
                for (i, expected) in reference.iter().enumerate() {
                    prop_assert_eq!(scheme.minor(&block, i), *expected);
                }
                prop_assert_eq!(major(&block), 0);
            }
        }
    }
}
