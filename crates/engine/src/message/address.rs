//! Addresses. The program sees one flat space of bytes; caches and controller see 64-byte lines of it; the media
//! also holds counter blocks, which have names of their own and no program address.

use super::TreeShape;
use std::ops::Range;

/// Bytes in a line.
pub const LINE_BYTES: u64 = 64;
/// Bytes in a page: the unit that shares one counter block (secpm section 3.4.1).
pub const PAGE_BYTES: u64 = 4096;
/// Lines in a page.
pub const LINES_PER_PAGE: u64 = PAGE_BYTES / LINE_BYTES;

/// The bytes of a line.
pub type LineBytes = [u8; 64];

/// Exclusive-or of two lines: encrypts plaintext with a pad, or gives the plaintext back.
pub fn xor(a: &LineBytes, b: &LineBytes) -> LineBytes {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// A line of program memory, by number (address / 64).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Line(pub u64);

/// A page of program memory, by number (address / 4096).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Page(pub u64);

impl Line {
    /// Number of buckets over which [`Line::bucket`] spreads lines.
    pub const BUCKETS: usize = 256;

    /// One of [`Line::BUCKETS`], for counts that tell of most lines that nothing concerns them.
    #[inline]
    pub fn bucket(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }
    /// The line that holds byte address `address`.
    pub fn containing(address: u64) -> Self {
        Line(address / LINE_BYTES)
    }
    /// The first byte address of the line.
    pub fn address(self) -> u64 {
        self.0 * LINE_BYTES
    }
    /// The page that holds the line.
    pub fn page(self) -> Page {
        Page(self.0 / LINES_PER_PAGE)
    }
    /// The line's place in its page, 0 to 63.
    pub fn index_in_page(self) -> usize {
        (self.0 % LINES_PER_PAGE) as usize
    }
}

impl Page {
    /// The page's line `index` (0 to 63).
    pub fn line(self, index: usize) -> Line {
        debug_assert!(index < LINES_PER_PAGE as usize);
        Line(self.0 * LINES_PER_PAGE + index as u64)
    }
}

/// Number of a counter block: the lines that it covers come one after another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct CounterBlock(pub u64);

/// How many neighbouring lines share a counter block: a power of two from 1 to 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Coverage {
    shift: u32,
}

impl Coverage {
    /// A page of 64 lines (split counters).
    pub const PAGE: Coverage = Coverage { shift: 6 };
    /// Eight lines (8-byte counters).
    pub const EIGHT_LINES: Coverage = Coverage { shift: 3 };
    /// Four lines (MACs of 128 bits).
    pub const FOUR_LINES: Coverage = Coverage { shift: 2 };
    /// One line (its counter is stored beside it).
    pub const LINE: Coverage = Coverage { shift: 0 };

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
    /// The lines of `block`.
    pub fn lines_of(self, block: CounterBlock) -> impl Iterator<Item = Line> {
        self.numbers_of(block).map(Line)
    }
    /// The numbers of the lines of `block`.
    pub fn numbers_of(self, block: CounterBlock) -> Range<u64> {
        block.0 << self.shift..(block.0 + 1) << self.shift
    }
}

/// Number of a line of MACs: the data lines that it covers come one after another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct MacBlock(pub u64);

/// A node of the integrity tree, 64 bytes. Level 1 covers counter blocks, each higher level the nodes below it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TreeNode {
    /// The node's level, from 1.
    pub level: u8,
    /// The node's number in its level, in the order of what it covers.
    pub index: u64,
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
    pub const PLAIN: MediaLayout =
        MediaLayout { coverage: Coverage::PAGE, inline: false, cross_bank: false, macs: None, tree: None };

    /// Whether `media` has no access and no entry of its own, because it is stored beside its line.
    pub fn moves_with_line(self, media: MediaLine) -> bool {
        match media.unit() {
            MediaUnit::Data(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => false,
            MediaUnit::Counter(_) => self.inline,
            MediaUnit::Mac(_) => self.macs.is_some_and(MacLayout::beside),
        }
    }

    /// Bytes that one access moves: a line, and its 8-byte counter and its MAC if these are stored beside it.
    pub fn transfer_bytes(self) -> u64 {
        LINE_BYTES + if self.inline { 8 } else { 0 } + self.macs.map_or(0, |macs| macs.beside_bytes)
    }
}

/// A unit on the media, 64 bytes: a data line, a counter block, a line of MACs, a node of the integrity tree or a line of the
/// shadow table. A
/// counter or a MAC that is stored beside its line is also a unit here, of which only its own bytes exist.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MediaLine(u64);

/// The kinds of media line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MediaUnit {
    /// A data line.
    Data(Line),
    /// A counter block.
    Counter(CounterBlock),
    /// A line of MACs.
    Mac(MacBlock),
    /// A node of the integrity tree.
    Node(TreeNode),
    /// A line of the shadow table, by number.
    Table(u64),
}

/// The bit that all kinds but data have.
const METADATA_FLAG: u64 = 1 << 63;
const KIND_SHIFT: u32 = 61;
const COUNTER: u64 = 0b100;
const MAC: u64 = 0b101;
const NODE: u64 = 0b110;
const TABLE: u64 = 0b111;
const LEVEL_SHIFT: u32 = 56;
const LEVEL_MASK: u64 = (1 << (KIND_SHIFT - LEVEL_SHIFT)) - 1;
const NUMBER_MASK: u64 = (1 << KIND_SHIFT) - 1;
const INDEX_MASK: u64 = (1 << LEVEL_SHIFT) - 1;

impl MediaLine {
    /// The data line `line`.
    pub fn data(line: Line) -> Self {
        debug_assert!(line.0 < METADATA_FLAG);
        MediaLine(line.0)
    }
    /// The counter block `block`.
    pub fn counter(block: CounterBlock) -> Self {
        MediaLine(block.0 | COUNTER << KIND_SHIFT)
    }
    /// The line of MACs `block`.
    pub fn mac(block: MacBlock) -> Self {
        MediaLine(block.0 | MAC << KIND_SHIFT)
    }
    /// The tree node `node`.
    pub fn node(node: TreeNode) -> Self {
        debug_assert!(u64::from(node.level) <= LEVEL_MASK && node.index <= INDEX_MASK);
        MediaLine(node.index | u64::from(node.level) << LEVEL_SHIFT | NODE << KIND_SHIFT)
    }
    /// Line `number` of the shadow table.
    pub fn table(number: u64) -> Self {
        MediaLine(number | TABLE << KIND_SHIFT)
    }
    /// The one-bit flag that distinguishes counter entries from data entries in the write pending queue.
    pub fn is_counter(self) -> bool {
        self.0 >> KIND_SHIFT == COUNTER
    }
    /// The set of a cache with `sets` sets that it belongs to. A cache that grows with the cores may have a number of sets that
    /// is no power of two.
    pub fn cache_set(self, sets: u64) -> u64 {
        let number = match self.unit() {
            MediaUnit::Data(line) => line.0,
            MediaUnit::Counter(block) => block.0,
            MediaUnit::Mac(block) => block.0,
            MediaUnit::Table(number) => number,
            // The first nodes of all levels are used most; they go to different sets.
            MediaUnit::Node(node) => node.index + u64::from(node.level),
        };
        if sets.is_power_of_two() { number & (sets - 1) } else { number % sets }
    }
    /// The name of its kind: "data", "counter", "MAC", "tree" or "table".
    pub fn kind(self) -> &'static str {
        match self.unit() {
            MediaUnit::Data(_) => "data",
            MediaUnit::Counter(_) => "counter",
            MediaUnit::Mac(_) => "MAC",
            MediaUnit::Node(_) => "tree",
            MediaUnit::Table(_) => "table",
        }
    }
    /// Whether it is anything but a data line.
    pub fn is_metadata(self) -> bool {
        self.0 & METADATA_FLAG != 0
    }
    /// The data line, if it is one.
    pub fn as_line(self) -> Option<Line> {
        (!self.is_metadata()).then_some(Line(self.0))
    }
    /// The unit, for code that handles the kinds differently.
    pub fn unit(self) -> MediaUnit {
        match self.0 >> KIND_SHIFT {
            COUNTER => MediaUnit::Counter(CounterBlock(self.0 & NUMBER_MASK)),
            MAC => MediaUnit::Mac(MacBlock(self.0 & NUMBER_MASK)),
            NODE => MediaUnit::Node(TreeNode {
                level: (self.0 >> LEVEL_SHIFT & LEVEL_MASK) as u8,
                index: self.0 & INDEX_MASK,
            }),
            TABLE => MediaUnit::Table(self.0 & NUMBER_MASK),
            _ => MediaUnit::Data(Line(self.0)),
        }
    }
    /// A number unique to this unit.
    pub fn code(self) -> u64 {
        self.0
    }
    /// The unit with this number.
    pub fn with_code(code: u64) -> Self {
        MediaLine(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_unit_has_a_code_of_its_own(number in 0..1u64 << 50, level in 1..20u8) {
            let node = TreeNode { level, index: number };
            let units = [
                (MediaLine::data(Line(number)), MediaUnit::Data(Line(number))),
                (MediaLine::counter(CounterBlock(number)), MediaUnit::Counter(CounterBlock(number))),
                (MediaLine::mac(MacBlock(number)), MediaUnit::Mac(MacBlock(number))),
                (MediaLine::node(node), MediaUnit::Node(node)),
                (MediaLine::table(number), MediaUnit::Table(number)),
            ];
            for (media, unit) in units {
                prop_assert_eq!(media.unit(), unit);
                prop_assert_eq!(media.is_counter(), matches!(unit, MediaUnit::Counter(_)));
                prop_assert_eq!(media.as_line().is_none(), media.is_metadata());
                prop_assert_eq!(units.iter().filter(|(other, _)| other.code() == media.code()).count(), 1);
            }
        }

        #[test]
        fn a_line_of_macs_keeps_each_mac_apart(
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
