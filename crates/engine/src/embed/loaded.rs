//! The memory that a run starts from, loaded by the other simulator in advance.

use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes, Page, mask_from_pages, pieces, ranges_from_pages};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A page of lines, and which of them have been loaded.
#[derive(Clone)]
struct LoadedPage {
    lines: [LineBytes; 64],
    present: u64,
}

/// Lines by page; sparse.
#[derive(Clone)]
pub(super) struct Loaded {
    pages: FxHashMap<u64, Box<LoadedPage>>,
    /// One past the last loaded byte, rounded up to a whole line.
    end: u64,
}

impl Loaded {
    /// Empty memory.
    pub fn new() -> Self {
        Self { pages: FxHashMap::default(), end: 0 }
    }

    /// Whether any line of `page` is loaded.
    pub fn has_page(&self, page: Page) -> bool {
        self.pages.contains_key(&page.0)
    }

    /// Puts `bytes` at `address`.
    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        for (line, offset, piece) in pieces(address, bytes.len()) {
            let blank = || Box::new(LoadedPage { lines: [[0; 64]; 64], present: 0 });
            let page = self.pages.entry(line.page().0).or_insert_with(blank);
            let index = line.index_in_page();
            page.present |= 1 << index;
            page.lines[index][offset..offset + piece.len()].copy_from_slice(&bytes[piece]);
            self.end = self.end.max(line.address() + LINE_BYTES);
        }
    }
}

impl BaseImage for Loaded {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        let page = self.pages.get(&line.page().0)?;
        let index = line.index_in_page();
        (page.present >> index & 1 == 1).then(|| &page.lines[index])
    }

    fn populated(&self, line: Line) -> bool {
        self.line(line).is_some()
    }

    fn populated_mask(&self, lines: Range<u64>) -> u64 {
        mask_from_pages(lines, |page| self.pages.get(&page.0).map_or(0, |page| page.present))
    }

    fn populated_lines(&self) -> Vec<Range<u64>> {
        ranges_from_pages(self.pages.iter().map(|(number, page)| (*number, page.present)))
    }

    fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_which_a_part_is_loaded_is_zero_elsewhere() {
        let mut loaded = Loaded::new();
        loaded.put(4096 + 60, &[7; 8]);
        let (last, first) = (Line(64), Line(65));
        let mut expected = [[0; 64]; 2];
        expected[0][60..].fill(7);
        expected[1][..4].fill(7);
        assert_eq!(loaded.line(last), Some(&expected[0]));
        assert_eq!(loaded.line(first), Some(&expected[1]));
        assert!(!loaded.populated(Line(66)) && !loaded.populated(Line(1)));
        assert_eq!([loaded.populated_mask(64..128), loaded.populated_mask(2..66)], [0b11, 0b11 << 62]);
        assert_eq!(loaded.end(), 4096 + 128);
    }
}
