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
    /// Bit `i`: the page's line `i` has the property.
    pub fn mask(self, property: impl Fn(Line) -> bool) -> u64 {
        let having = (0..LINES_PER_PAGE as usize).filter(|&index| property(self.line(index)));
        having.fold(0, |mask, index| mask | 1 << index)
    }
}

/// A 64-byte unit on the media: a data line, or the counter block of a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MediaLine(u64);

/// The two kinds of media line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MediaUnit {
    /// A data line.
    Data(Line),
    /// The counter block of a page.
    Counter(Page),
}

const COUNTER_FLAG: u64 = 1 << 63;

impl MediaLine {
    /// The data line `line`.
    pub fn data(line: Line) -> Self {
        debug_assert!(line.0 < COUNTER_FLAG);
        MediaLine(line.0)
    }
    /// The counter block of `page`.
    pub fn counter(page: Page) -> Self {
        MediaLine(page.0 | COUNTER_FLAG)
    }
    /// The one-bit flag that tells counter entries from data entries in the write pending queue.
    pub fn is_counter(self) -> bool {
        self.0 & COUNTER_FLAG != 0
    }
    /// The data line, if it is one.
    pub fn as_line(self) -> Option<Line> {
        (!self.is_counter()).then_some(Line(self.0))
    }
    /// What it is, for code that treats the two apart.
    pub fn unit(self) -> MediaUnit {
        match self.0 & COUNTER_FLAG {
            0 => MediaUnit::Data(Line(self.0)),
            _ => MediaUnit::Counter(Page(self.0 & !COUNTER_FLAG)),
        }
    }
    /// A number unique to this unit.
    pub fn code(self) -> u64 {
        self.0
    }
}
