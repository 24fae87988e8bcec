//! Addresses. The program sees one flat space of bytes; caches and controller see 64-byte lines of it; the media
//! also holds counter blocks, which have names of their own and no program address.

/// Bytes in a line.
pub const LINE_BYTES: u64 = 64;
/// Words of 8 bytes in a line.
pub const LINE_WORDS: u8 = 8;
/// Bytes in a page: the unit in which programs get memory.
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

/// The lines that share a counter block: neighbours, a power of two of them, 128 at most. As published, a split counter block
/// covers the 64 lines of a page (secpm section 3.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct CounterGroup {
    first: u64,
    lines: u64,
}

/// A bit for each line of a [`CounterGroup`], from the least significant one.
pub type GroupMask = u128;

impl CounterGroup {
    /// The `lines` lines from `first` on.
    pub fn new(first: Line, lines: usize) -> Self {
        debug_assert!(lines.is_power_of_two() && lines <= GroupMask::BITS as usize);
        debug_assert!(first.0.is_multiple_of(lines as u64));
        Self { first: first.0, lines: lines as u64 }
    }
    /// Number of lines.
    pub fn lines(self) -> usize {
        self.lines as usize
    }
    /// What texts call it: the 64 lines are those of a page.
    pub fn name(self) -> &'static str {
        if self.lines == LINES_PER_PAGE { "page" } else { "group" }
    }
    /// Whether `line` is one of them.
    #[inline]
    pub fn contains(self, line: Line) -> bool {
        line.0.wrapping_sub(self.first) < self.lines
    }
    /// Line `index` of the group.
    pub fn line(self, index: usize) -> Line {
        debug_assert!(index < self.lines());
        Line(self.first + index as u64)
    }
    /// Position of `line`, which is in the group.
    pub fn index(self, line: Line) -> usize {
        debug_assert!(self.contains(line));
        (line.0 - self.first) as usize
    }
    /// The bits of all lines.
    pub fn all(self) -> GroupMask {
        GroupMask::MAX >> (GroupMask::BITS - self.lines as u32)
    }
    /// Whether `line` is in the group and its bit of `mask` is not set.
    #[inline]
    pub fn lacks(self, mask: GroupMask, line: Line) -> bool {
        self.contains(line) && mask >> self.index(line) & 1 == 0
    }
}

/// Number of a counter block: the lines that it covers come one after another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct CounterBlock(pub u64);

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

/// A unit on the media, 64 bytes: a data line, a counter block, a line of MACs, a node of the integrity tree or a line of the
/// shadow table. A counter, a MAC or modified bits that are stored beside their line are also a unit here, of which only their
/// own bytes exist.
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
    /// The modified bits of a line, which lie beside it.
    Modified(Line),
}

/// The bit that all kinds but data have.
const METADATA_FLAG: u64 = 1 << 63;
const KIND_SHIFT: u32 = 61;
const COUNTER: u64 = 0b100;
const MAC: u64 = 0b101;
const NODE: u64 = 0b110;
const TABLE: u64 = 0b111;
/// The bit that modified bits have and MACs do not.
const MODIFIED_FLAG: u64 = 1 << 60;
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
    /// The modified bits of `line`.
    pub fn modified(line: Line) -> Self {
        MediaLine(line.0 | MODIFIED_FLAG | MAC << KIND_SHIFT)
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
            MediaUnit::Data(line) | MediaUnit::Modified(line) => line.0,
            MediaUnit::Counter(block) => block.0,
            MediaUnit::Mac(block) => block.0,
            MediaUnit::Table(number) => number,
            // The first nodes of all levels are used most; they go to different sets.
            MediaUnit::Node(node) => node.index + u64::from(node.level),
        };
        if sets.is_power_of_two() { number & (sets - 1) } else { number % sets }
    }
    /// The name of its kind: "data", "counter", "MAC", "tree", "table" or "modified bits".
    pub fn kind(self) -> &'static str {
        match self.unit() {
            MediaUnit::Data(_) => "data",
            MediaUnit::Counter(_) => "counter",
            MediaUnit::Mac(_) => "MAC",
            MediaUnit::Node(_) => "tree",
            MediaUnit::Table(_) => "table",
            MediaUnit::Modified(_) => "modified bits",
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
            MAC if self.0 & MODIFIED_FLAG != 0 => MediaUnit::Modified(Line(self.0 & NUMBER_MASK & !MODIFIED_FLAG)),
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
                (MediaLine::modified(Line(number)), MediaUnit::Modified(Line(number))),
            ];
            for (media, unit) in units {
                prop_assert_eq!(media.unit(), unit);
                prop_assert_eq!(media.is_counter(), matches!(unit, MediaUnit::Counter(_)));
                prop_assert_eq!(media.as_line().is_none(), media.is_metadata());
                prop_assert_eq!(units.iter().filter(|(other, _)| other.code() == media.code()).count(), 1);
            }
        }
    }
}
