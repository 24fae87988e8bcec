//! Addresses. The program sees one flat space of bytes; caches and controller see 64-byte lines of it; the media
//! also holds counter blocks, which have names of their own and no program address.

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
    /// A mask of the block's lines: bit `i` is set if line `i` has the property.
    pub fn mask(self, block: CounterBlock, property: impl Fn(Line) -> bool) -> u64 {
        let having = (0..self.lines()).filter(|&index| property(self.line(block, index)));
        having.fold(0, |mask, index| mask | 1 << index)
    }
}

/// How a design lays counters on the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MediaLayout {
    /// Lines per counter block.
    pub coverage: Coverage,
    /// Whether each counter is stored beside its line and moves with it.
    pub inline: bool,
}

impl MediaLayout {
    /// Memory without counters. It reserves the same space for counters as every other layout.
    pub const PLAIN: MediaLayout = MediaLayout { coverage: Coverage::PAGE, inline: false };

    /// Bytes that one access moves: a line, and its 8-byte counter if that is stored beside it.
    pub fn transfer_bytes(self) -> u64 {
        if self.inline { LINE_BYTES + 8 } else { LINE_BYTES }
    }
}

/// A unit on the media: a data line or a counter block, 64 bytes each. A counter that is stored beside its line is also
/// a block here, of which only the counter's bytes exist.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MediaLine(u64);

/// The two kinds of media line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MediaUnit {
    /// A data line.
    Data(Line),
    /// A counter block.
    Counter(CounterBlock),
}

const COUNTER_FLAG: u64 = 1 << 63;

impl MediaLine {
    /// The data line `line`.
    pub fn data(line: Line) -> Self {
        debug_assert!(line.0 < COUNTER_FLAG);
        MediaLine(line.0)
    }
    /// The counter block `block`.
    pub fn counter(block: CounterBlock) -> Self {
        MediaLine(block.0 | COUNTER_FLAG)
    }
    /// The one-bit flag that distinguishes counter entries from data entries in the write pending queue.
    pub fn is_counter(self) -> bool {
        self.0 & COUNTER_FLAG != 0
    }
    /// The data line, if it is one.
    pub fn as_line(self) -> Option<Line> {
        (!self.is_counter()).then_some(Line(self.0))
    }
    /// The data line or counter block, for code that handles the two differently.
    pub fn unit(self) -> MediaUnit {
        match self.0 & COUNTER_FLAG {
            0 => MediaUnit::Data(Line(self.0)),
            _ => MediaUnit::Counter(CounterBlock(self.0 & !COUNTER_FLAG)),
        }
    }
    /// A number unique to this unit.
    pub fn code(self) -> u64 {
        self.0
    }
}
