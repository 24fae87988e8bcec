//! Split counters: one 64-byte block per page with a 64-bit major counter and 64 minor counters of 7 bits (secpm
//! section 3.4.1, Figure 8). A block that covers fewer lines has room for wider minor counters, one that covers more for
//! narrower ones; they are packed into the same 56 bytes.

use crate::config::Counters;
use crate::layout::Coverage;
use crate::message::{GroupMask, Line, LineBytes};
use crate::parts::{Counter, CounterScheme, MinorReset, NextCounter, Zeroing};

/// Bytes of the major counter, which comes before the minor counters.
const MAJOR_BYTES: usize = 8;
const BLOCK_BYTES: usize = 64;
/// Bytes in which a minor counter is read and written.
const WORD_BYTES: usize = 4;

/// The scheme of split counters, with minor counters of a given width.
pub struct SplitCounters {
    minor_bits: usize,
    coverage: Coverage,
    /// The bits of all lines of a block.
    all: GroupMask,
    /// The first block of lines that were all populated, as nearly all lines were.
    all_populated: LineBytes,
    zeroing: Zeroing,
}

impl SplitCounters {
    /// The scheme with the lines of a block and the width of minor counters of a machine.
    pub fn of(counters: &Counters) -> Self {
        let coverage = Coverage::of(counters.block_lines);
        let all = coverage.group(Line(0)).all();
        let (minor_bits, zeroing) = (counters.minor_bits as usize, Zeroing::default());
        let mut scheme = Self { minor_bits, coverage, all, all_populated: [0; 64], zeroing };
        scheme.all_populated = scheme.first(all);
        scheme
    }

    /// The same where pages are filled with zeros by `zeroing`.
    pub fn with_zeroing(self, zeroing: Zeroing) -> Self {
        Self { zeroing, ..self }
    }

    /// The block of which the `populated` lines have been written once.
    fn first(&self, populated: GroupMask) -> LineBytes {
        let mut block = [0; 64];
        for index in (0..self.coverage.lines()).filter(|index| populated >> index & 1 == 1) {
            self.set_minor(&mut block, index, 1);
        }
        block
    }

    fn max(&self) -> u16 {
        (1 << self.minor_bits) - 1
    }

    /// The first of four bytes that have the minor counter of line `index`, and how many bits come before it there.
    fn place(&self, index: usize) -> (usize, usize) {
        let bit = index * self.minor_bits;
        let byte = (MAJOR_BYTES + bit / 8).min(BLOCK_BYTES - WORD_BYTES);
        (byte, MAJOR_BYTES * 8 + bit - byte * 8)
    }

    fn minor(&self, block: &LineBytes, index: usize) -> u16 {
        let (byte, shift) = self.place(index);
        (word(block, byte) >> shift) as u16 & self.max()
    }

    fn set_minor(&self, block: &mut LineBytes, index: usize, value: u16) {
        let (byte, shift) = self.place(index);
        let kept = word(block, byte) & !(u32::from(self.max()) << shift);
        block[byte..byte + WORD_BYTES].copy_from_slice(&(kept | u32::from(value) << shift).to_le_bytes());
    }
}

fn word(block: &LineBytes, byte: usize) -> u32 {
    u32::from_le_bytes(block[byte..byte + WORD_BYTES].try_into().expect("four bytes"))
}

fn major(block: &LineBytes) -> u64 {
    u64::from_le_bytes(block[..MAJOR_BYTES].try_into().expect("eight bytes"))
}

impl CounterScheme for SplitCounters {
    fn coverage(&self) -> Coverage {
        self.coverage
    }

    fn global(&self) -> bool {
        false
    }

    fn initial(&self, populated: GroupMask) -> LineBytes {
        if populated == self.all { self.all_populated } else { self.first(populated) }
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
            for index in 0..self.coverage.lines() {
                if !self.is_zero(self.counter(block, index)) {
                    self.set_minor(block, index, self.zeroing.first_minor());
                }
            }
        }
    }

    fn restarted(&self, block: &LineBytes, _index: usize) -> Counter {
        Counter { major: major(block), minor: self.zeroing.first_minor() }
    }

    fn restart_line(&self, block: &mut LineBytes, index: usize) {
        self.set_minor(block, index, u16::from(self.zeroing.shreds()));
    }

    fn is_zero(&self, counter: Counter) -> bool {
        if self.zeroing.shreds() { counter.minor == 0 } else { counter == Counter::NEVER }
    }

    fn shreds(&self) -> bool {
        self.zeroing.shreds()
    }

    fn shred(&self, block: &mut LineBytes) {
        let next = major(block) + 1;
        *block = [0; BLOCK_BYTES];
        block[..MAJOR_BYTES].copy_from_slice(&next.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;
    use proptest::prelude::*;

    fn scheme(block_lines: u32, minor_bits: u32) -> SplitCounters {
        SplitCounters::of(&Counters { block_lines, minor_bits, ..preset("small").unwrap().counters })
    }

    /// Every number of lines, with every width of minors for which a block has room.
    fn schemes() -> impl Iterator<Item = SplitCounters> {
        [16, 32, 64, 128].into_iter().flat_map(|lines| {
            let most = Counters { block_lines: lines, ..preset("small").unwrap().counters }.minor_bits_max();
            (1..=most).map(move |bits| scheme(lines, bits))
        })
    }

    #[test]
    fn minors_count_to_their_last_value_and_then_overflow() {
        for (lines, bits, last) in [(64, 7, 127), (128, 3, 7), (32, 14, 16_383), (16, 8, 255)] {
            let scheme = scheme(lines, bits);
            let (mut block, index) = (scheme.initial(0), lines as usize - 1);
            for expected in 1..=last {
                let next = Counter { major: 0, minor: expected };
                assert_eq!(scheme.next(&block, index, 0), NextCounter::Is(next));
                scheme.set(&mut block, index, next);
            }
            assert_eq!(scheme.next(&block, index, 0), NextCounter::Overflow);
        }
    }

    /// Where the bits of a minor counter are, by hand: after 64 bits of the major counter, the least significant bit first.
    #[test]
    fn minors_lie_side_by_side_after_the_major() {
        for (lines, bits, index, byte, shift) in
            [(64, 7, 63, 63, 1), (64, 7, 1, 8, 7), (128, 3, 127, 55, 5), (32, 14, 31, 62, 2), (16, 14, 15, 34, 2)]
        {
            let scheme = scheme(lines, bits);
            let mut block = [0; 64];
            scheme.set(&mut block, index, Counter { major: 0, minor: 1 });
            let mut expected = [0; 64];
            expected[byte] = 1 << shift;
            assert_eq!(block, expected, "{lines} lines, {bits} bits, line {index}");
        }
    }

    #[test]
    fn populated_lines_have_been_written_once() {
        for scheme in schemes() {
            let last = 1 << (scheme.coverage.lines() - 1);
            for populated in [scheme.all, scheme.all >> 1, last, 0b101, 0] {
                let block = scheme.initial(populated);
                for index in 0..scheme.coverage.lines() {
                    let counter = Counter { major: 0, minor: (populated >> index & 1) as u16 };
                    assert_eq!(scheme.counter(&block, index), counter, "{} bits, line {index}", scheme.minor_bits);
                }
            }
        }
    }

    #[test]
    fn hardened_page_keeps_old_minors_and_a_published_one_loses_them() {
        let scheme = scheme(64, 7);
        let mut kept = scheme.initial(scheme.all);
        let mut lost = kept;
        scheme.increment_major(&mut kept, MinorReset::WithDoneBit);
        scheme.increment_major(&mut lost, MinorReset::AtOnce);
        assert_eq!(scheme.counter(&kept, 5), Counter { major: 1, minor: 1 });
        assert_eq!(scheme.counter(&lost, 5), Counter { major: 1, minor: 0 });
        scheme.restart_line(&mut kept, 5);
        assert_eq!(scheme.counter(&kept, 5), Counter { major: 1, minor: 0 });
        assert_eq!(scheme.counter(&kept, 6).minor, 1);
    }

    /// A shredded line reads as zeros until it is written, also when its page is re-encrypted; no other line does.
    #[test]
    fn minor_counter_zero_is_kept_for_lines_that_are_zero() {
        let scheme = scheme(64, 7).with_zeroing(Zeroing::Counters);
        let mut block = scheme.initial(scheme.all);
        assert!(!scheme.is_zero(scheme.counter(&block, 3)));
        scheme.shred(&mut block);
        for index in 0..64 {
            assert_eq!(scheme.counter(&block, index), Counter { major: 1, minor: 0 });
            assert!(scheme.is_zero(scheme.counter(&block, index)));
        }
        let NextCounter::Is(written) = scheme.next(&block, 3, 0) else { panic!("a minor counter of zero overflows") };
        assert_eq!(written, Counter { major: 1, minor: 1 });
        scheme.set(&mut block, 3, written);
        scheme.increment_major(&mut block, MinorReset::AtOnce);
        assert_eq!(scheme.counter(&block, 3), Counter { major: 2, minor: 1 });
        assert_eq!(scheme.counter(&block, 4), Counter { major: 2, minor: 0 });
        scheme.restart_line(&mut block, 3);
        assert_eq!(scheme.counter(&block, 3).minor, 1);
    }

    proptest! {
        #[test]
        fn minors_do_not_disturb_their_neighbours(
            which in 0..schemes().count(), writes in prop::collection::vec((0..128usize, any::<u16>()), 1..200), major: u64,
        ) {
            let scheme = schemes().nth(which).unwrap();
            let mut block = scheme.initial(0);
            block[..MAJOR_BYTES].copy_from_slice(&major.to_le_bytes());
            let mut reference = vec![0; scheme.coverage.lines()];
            for (index, value) in writes {
                let (index, minor) = (index % reference.len(), value & scheme.max());
                scheme.set_minor(&mut block, index, minor);
                reference[index] = minor;
                for (i, &minor) in reference.iter().enumerate() {
                    prop_assert_eq!(scheme.counter(&block, i), Counter { major, minor });
                }
            }
        }
    }
}
