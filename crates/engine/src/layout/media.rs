//! How a design lays counters and MACs on the media.

use super::TreeShape;
use crate::message::{CounterBlock, CounterGroup, LINE_BYTES, Line, LineBytes, MacBlock, MediaLine, MediaUnit};
use std::ops::Range;

/// How many neighbouring lines share a counter block: a power of two from 1 to 128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Coverage {
    shift: u32,
}

impl Coverage {
    /// A page of 64 lines (split counters as published).
    pub const PAGE: Coverage = Coverage { shift: 6 };
    /// Eight lines (8-byte counters).
    pub const EIGHT_LINES: Coverage = Coverage { shift: 3 };
    /// Four lines (MACs of 128 bits).
    pub const FOUR_LINES: Coverage = Coverage { shift: 2 };
    /// One line (its counter is stored beside it).
    pub const LINE: Coverage = Coverage { shift: 0 };

    /// So many lines, a power of two.
    pub const fn of(lines: u32) -> Self {
        assert!(lines.is_power_of_two() && lines <= 128);
        Coverage { shift: lines.trailing_zeros() }
    }
    /// Whether a block has room for no more than a minor counter of each line, so that its lines share a major counter.
    pub fn shares_major(self) -> bool {
        self.shift > Self::EIGHT_LINES.shift
    }
    /// Lines per block.
    pub fn lines(self) -> usize {
        1 << self.shift
    }
    /// The block with the counter of `line`.
    pub fn block(self, line: Line) -> CounterBlock {
        CounterBlock(line.0 >> self.shift)
    }
    /// Position of `line` in its block.
    pub fn index(self, line: Line) -> usize {
        (line.0 & ((1 << self.shift) - 1)) as usize
    }
    /// Line `index` of `block`.
    pub fn line(self, block: CounterBlock, index: usize) -> Line {
        debug_assert!(index < self.lines());
        Line((block.0 << self.shift) + index as u64)
    }
    /// The lines of the block with the counter of `line`.
    pub fn group(self, line: Line) -> CounterGroup {
        CounterGroup::new(self.line(self.block(line), 0), self.lines())
    }
    /// The lines of `block`.
    pub fn lines_of(self, block: CounterBlock) -> impl Iterator<Item = Line> {
        self.numbers_of(block).map(Line)
    }
    /// The numbers of the lines of `block`.
    pub fn numbers_of(self, block: CounterBlock) -> Range<u64> {
        block.0 << self.shift..(block.0 + 1) << self.shift
    }
}

/// How a design lays counters and MACs on the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MediaLayout {
    /// Lines per counter block.
    pub coverage: Coverage,
    /// Whether each counter is stored beside its line and moves with it.
    pub inline: bool,
    /// Whether counter blocks are half the number of banks away from where the machine puts them, if it puts them into the
    /// page's own bank.
    pub cross_bank: bool,
    /// Where MACs are; `None` if lines have none.
    pub macs: Option<MacLayout>,
    /// The integrity tree over counter blocks; `None` if there is none.
    pub tree: Option<TreeShape>,
    /// Bytes of modified bits that lie beside each line and move with it.
    pub modified_bytes: u64,
}

/// Where the MACs of data lines are on the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MacLayout {
    /// Data lines per line of MACs; one if each MAC is stored beside its line.
    pub coverage: Coverage,
    /// Bytes of a MAC that an access of its line moves in addition to the line.
    pub beside_bytes: u64,
    /// Bits of a MAC.
    pub bits: u32,
}

impl MacLayout {
    /// Whether each MAC is stored beside its line and moves with it.
    pub fn beside(self) -> bool {
        self.coverage == Coverage::LINE
    }
    /// The line of MACs that has the MAC of `line`.
    pub fn block(self, line: Line) -> MacBlock {
        MacBlock(self.coverage.block(line).0)
    }
    /// The data lines whose MACs are in `block`.
    pub fn lines(self, block: MacBlock) -> impl Iterator<Item = Line> {
        self.coverage.lines_of(CounterBlock(block.0))
    }
    /// The MAC of `line` in its line of MACs.
    pub fn get(self, block: &LineBytes, line: Line) -> u128 {
        let bytes = self.bits as usize / 8;
        let first = self.coverage.index(line) * bytes;
        let mut mac = [0; 16];
        mac[..bytes].copy_from_slice(&block[first..first + bytes]);
        u128::from_le_bytes(mac)
    }
    /// Puts the MAC of `line` into its line of MACs.
    pub fn set(self, block: &mut LineBytes, line: Line, mac: u128) {
        let bytes = self.bits as usize / 8;
        let first = self.coverage.index(line) * bytes;
        block[first..first + bytes].copy_from_slice(&mac.to_le_bytes()[..bytes]);
    }
}

impl MediaLayout {
    /// Memory without counters. It reserves the same space for counters as every other layout.
    pub const PLAIN: MediaLayout = MediaLayout {
        coverage: Coverage::PAGE,
        inline: false,
        cross_bank: false,
        macs: None,
        tree: None,
        modified_bytes: 0,
    };

    /// Whether `media` has no access and no entry of its own, because it is stored beside its line.
    pub fn moves_with_line(self, media: MediaLine) -> bool {
        match media.unit() {
            MediaUnit::Data(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => false,
            MediaUnit::Counter(_) => self.inline,
            MediaUnit::Mac(_) => self.macs.is_some_and(MacLayout::beside),
            MediaUnit::Modified(_) => true,
        }
    }

    /// Bytes that one access moves: a line, and its 8-byte counter, its MAC and its modified bits if these are stored beside
    /// it.
    pub fn transfer_bytes(self) -> u64 {
        let beside = self.macs.map_or(0, |macs| macs.beside_bytes) + self.modified_bytes;
        LINE_BYTES + if self.inline { 8 } else { 0 } + beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn line_of_macs_keeps_each_mac_apart(
            first in 0..1_000u64, index in 0..8u64, mac: u128, before: [u8; 32], bits in prop::sample::select(vec![56u32, 64]),
        ) {
            let layout = MacLayout { coverage: Coverage::EIGHT_LINES, beside_bytes: 0, bits };
            let mut block: LineBytes = [before, before].concat().try_into().unwrap();
            let line = Line(first * 8 + index);
            let others: Vec<Line> = layout.lines(layout.block(line)).filter(|other| *other != line).collect();
            prop_assert_eq!(others.len(), 7);
            let kept: Vec<u128> = others.iter().map(|other| layout.get(&block, *other)).collect();
            layout.set(&mut block, line, mac);
            prop_assert_eq!(layout.get(&block, line), mac & ((1 << bits) - 1));
            prop_assert_eq!(others.iter().map(|other| layout.get(&block, *other)).collect::<Vec<_>>(), kept);
        }
    }
}
