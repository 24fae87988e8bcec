//! Where the lines of litmus programs lie, and what memory holds before them.

use crate::message::{BaseImage, LINES_PER_PAGE, Line, LineBytes};

/// One line of litmus programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its name.
    pub name: &'static str,
    /// The line.
    pub line: Line,
    /// What it has in common with line A.
    pub meaning: &'static str,
}

/// The lines of litmus programs.
pub const PLACES: [Place; 6] = [
    place("A", 0, 0, "the first line of the first page"),
    place("B", 0, 1, "the line after A: same page, bank, counter block, line of MACs and tree nodes"),
    place("C", 1, 0, "the page after that of A: another counter block and bank, the same tree node"),
    place("D", 0, 8, "the page of A: another counter block where a block has eight counters"),
    place("E", 2, 0, "two pages after that of A: another counter block, the same bank of two and the same tree node"),
    place("F", 64, 0, "64 pages after that of A: another counter block and other tree nodes up to the third level"),
];

const fn place(name: &'static str, page: u64, index: u64, meaning: &'static str) -> Place {
    Place { name, line: Line(page * LINES_PER_PAGE + index), meaning }
}

/// One past the last byte that litmus programs may use: beyond their lines lie those that take their places in caches.
pub(super) const END: u64 = 64 << 20;

/// What memory holds before a litmus program: its lines are populated.
pub struct LitmusBase {
    bytes: [LineBytes; PLACES.len()],
}

impl Default for LitmusBase {
    fn default() -> Self {
        let byte = |place: usize, at: usize| (place as u8).wrapping_mul(29) ^ (at as u8).wrapping_mul(7) ^ 0x5b;
        Self { bytes: std::array::from_fn(|place| std::array::from_fn(|at| byte(place, at))) }
    }
}

impl BaseImage for LitmusBase {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        PLACES.iter().position(|place| place.line == line).map(|place| &self.bytes[place])
    }

    fn populated(&self, line: Line) -> bool {
        PLACES.iter().any(|place| place.line == line)
    }

    fn populated_lines(&self) -> Vec<std::ops::Range<u64>> {
        let mut lines = PLACES.map(|place| place.line.0);
        lines.sort_unstable();
        crate::message::ranges(lines.into_iter())
    }

    fn end(&self) -> u64 {
        END
    }
}
