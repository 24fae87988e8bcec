//! The place of a media line: data lines by the address mapping, counter blocks by the counter placement (model.md
//! section 5). Pure arithmetic, no state.

use crate::config::{AddressMapping, CounterPlacement, Geometry, Machine};
use crate::layout::{MediaLayout, TreeShape};
use crate::message::{CounterBlock, LINES_PER_PAGE, Location, MacBlock, MediaLine, MediaUnit, Page};

/// The exact place of a media line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub bank: u64,
    pub row: u64,
    /// Line within the row.
    pub column: u64,
}

/// Divides by a number that most often is a power of two: then the host needs no division.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u64,
    /// Its logarithm, if it is a power of two.
    shift: Option<u32>,
}

impl Divisor {
    fn new(by: u64) -> Self {
        Self { by, shift: by.is_power_of_two().then(|| by.ilog2()) }
    }

    /// Quotient and remainder.
    #[inline]
    fn split(self, number: u64) -> (u64, u64) {
        match self.shift {
            Some(shift) => (number >> shift, number & (self.by - 1)),
            None => (number / self.by, number % self.by),
        }
    }
}

/// The address mapping of a device, and the placement of its counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    geometry: Geometry,
    kind: AddressMapping,
    placement: CounterPlacement,
    layout: MediaLayout,
    /// Parts of a row, and lines in each.
    segments: u64,
    segment_lines: Divisor,
    /// Lines of a bank that follow one another in the address space, if those of a page lie in several.
    stripe: Divisor,
    banks: Divisor,
    pages_per_row: Divisor,
}

impl Mapping {
    /// The mapping of `machine`, whose values must be within their bounds.
    pub fn new(machine: &Machine, layout: MediaLayout) -> Self {
        let geometry = Geometry::of(machine);
        let segments = u64::from(machine.device.row_segments);
        let segment_lines = geometry.pages_per_row * LINES_PER_PAGE / segments;
        Self {
            geometry,
            kind: machine.device.mapping,
            placement: match machine.controller.counter_placement {
                CounterPlacement::SameBank if layout.cross_bank => CounterPlacement::CrossBank,
                placement => placement,
            },
            layout,
            segments,
            segment_lines: Divisor::new(segment_lines),
            stripe: Divisor::new(if machine.device.mapping == AddressMapping::LineInterleaved {
                1
            } else {
                segment_lines
            }),
            banks: Divisor::new(geometry.banks),
            pages_per_row: Divisor::new(geometry.pages_per_row),
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub fn layout(&self) -> MediaLayout {
        self.layout
    }

    /// The bank of `place` and its row, or its part of a row that the row buffer holds.
    pub fn location(&self, place: Place) -> Location {
        let row = place.row * self.segments + self.segment_lines.split(place.column).0;
        Location { bank: place.bank as u16, row: row as u32 }
    }

    /// The number of the line at `place` in its bank.
    pub fn number(&self, place: Place) -> u64 {
        place.row * self.geometry.pages_per_row * LINES_PER_PAGE + place.column
    }

    /// The exact place of `media`.
    pub fn place(&self, media: MediaLine) -> Place {
        match media.unit() {
            MediaUnit::Data(line) | MediaUnit::Modified(line) => self.in_page(line.page(), line.index_in_page() as u64),
            MediaUnit::Counter(block) => self.counter_block(block),
            MediaUnit::Mac(block) => self.mac_block(block),
            MediaUnit::Node(node) => self.in_tree_region(self.tree().number(node)),
            MediaUnit::Table(number) => self.in_tree_region(self.tree().nodes_below_root() + number),
        }
    }

    /// Lines of MACs are in the bank of their page, in rows after those of the counters (decision: the capacity is that
    /// of data and counters, and what protects their integrity is beyond it). A MAC beside its line is where the line is.
    fn mac_block(&self, block: MacBlock) -> Place {
        let Geometry { banks, rows, pages_per_row, .. } = self.geometry;
        let macs = self.layout.macs.expect("only a layout with MACs has lines of them");
        let first = macs.coverage.line(CounterBlock(block.0), 0);
        let home = self.in_page(first.page(), first.index_in_page() as u64);
        if macs.beside() {
            return home;
        }
        let per_page = LINES_PER_PAGE / macs.coverage.lines() as u64;
        let (bank, index) = if self.kind.divides_pages() {
            (block.0 % banks, block.0 / banks)
        } else {
            let page_of_bank = home.row * pages_per_row + home.column / LINES_PER_PAGE;
            (home.bank, page_of_bank * per_page + block.0 % per_page)
        };
        let blocks_per_row = pages_per_row * LINES_PER_PAGE;
        Place { bank, row: rows + index / blocks_per_row, column: index % blocks_per_row }
    }

    fn tree(&self) -> TreeShape {
        self.layout.tree.expect("only a layout with a tree has nodes and a shadow table")
    }

    /// Tree nodes and then the shadow table are after the lines of MACs, neighbours in neighbouring banks (decision).
    fn in_tree_region(&self, number: u64) -> Place {
        let Geometry { banks, rows, pages_per_row, .. } = self.geometry;
        let lines_per_block = self.layout.macs.map_or(u64::MAX, |macs| macs.coverage.lines() as u64);
        let rows_of_macs = if lines_per_block > 1 { rows.div_ceil(lines_per_block) } else { 0 };
        let (bank, index) = (number % banks, number / banks);
        let blocks_per_row = pages_per_row * LINES_PER_PAGE;
        Place { bank, row: rows + rows_of_macs + index / blocks_per_row, column: index % blocks_per_row }
    }

    fn counter_block(&self, block: CounterBlock) -> Place {
        let Geometry { banks, pages_per_row, data_pages, .. } = self.geometry;
        let coverage = self.layout.coverage;
        let first = coverage.line(block, 0);
        let page = first.page();
        debug_assert!(page.0 < data_pages, "page {} is beyond the device's {data_pages} data pages", page.0);
        if self.layout.inline {
            return self.in_page(page, first.index_in_page() as u64);
        }
        // A block of two pages is where that of the first would be.
        let per_page = (LINES_PER_PAGE / coverage.lines() as u64).max(1);
        let in_bank =
            |home: &Place| (home.row * pages_per_row + home.column / LINES_PER_PAGE) * per_page + block.0 % per_page;
        match self.placement {
            CounterPlacement::Interleaved => {
                self.in_page(Page(data_pages + block.0 / LINES_PER_PAGE), block.0 % LINES_PER_PAGE)
            }
            CounterPlacement::SingleBank => self.reserved(0, block.0),
            // Both use the bank of the page. The bounds allow them only with mappings that give a page one bank.
            CounterPlacement::SameBank => {
                let home = self.in_page(page, 0);
                self.reserved(home.bank, in_bank(&home))
            }
            CounterPlacement::CrossBank => {
                let home = self.in_page(page, 0);
                self.reserved((home.bank + banks / 2) % banks, in_bank(&home))
            }
        }
    }

    /// Block `index` of the reserved rows of `bank`, which come after the mapped rows.
    fn reserved(&self, bank: u64, index: u64) -> Place {
        let blocks_per_row = self.geometry.pages_per_row * LINES_PER_PAGE;
        Place { bank, row: self.geometry.mapped_rows + index / blocks_per_row, column: index % blocks_per_row }
    }

    /// Line `index` of a page of the mapped rows. Consecutive pages of a bank share a row if they fit.
    fn in_page(&self, page: Page, index: u64) -> Place {
        let Geometry { banks, mapped_rows, pages_per_row, .. } = self.geometry;
        debug_assert!(page.0 < banks * mapped_rows * pages_per_row, "page {} is beyond the device", page.0);
        if self.kind.divides_pages() {
            let (part, within) = self.stripe.split(page.0 * LINES_PER_PAGE + index);
            let (part_of_bank, bank) = self.banks.split(part);
            let (of_bank, lines_per_row) = (part_of_bank * self.stripe.by + within, pages_per_row * LINES_PER_PAGE);
            return Place { bank, row: of_bank / lines_per_row, column: of_bank % lines_per_row };
        }
        let (bank, page_of_bank) = match self.kind {
            AddressMapping::LineInterleaved | AddressMapping::SegmentInterleaved => unreachable!("handled above"),
            AddressMapping::RowInterleaved => {
                let (row, page_of_row) = self.pages_per_row.split(page.0);
                let (row_of_bank, bank) = self.banks.split(row);
                (bank, row_of_bank * pages_per_row + page_of_row)
            }
            AddressMapping::PageInterleaved => {
                let (page_of_bank, bank) = self.banks.split(page.0);
                (bank, page_of_bank)
            }
            // Exclusive-or with a row number is a permutation of the banks only if their number is a power of two,
            // which the bounds require.
            AddressMapping::PageXor => {
                let (page_of_bank, bank) = self.banks.split(page.0);
                let (row, _) = self.pages_per_row.split(page_of_bank);
                (bank ^ self.banks.split(row).1, page_of_bank)
            }
            AddressMapping::BankContiguous => {
                let pages_per_bank = mapped_rows * pages_per_row;
                (page.0 / pages_per_bank, page.0 % pages_per_bank)
            }
        };
        let (row, page_of_row) = self.pages_per_row.split(page_of_bank);
        Place { bank, row, column: page_of_row * LINES_PER_PAGE + index }
    }
}

#[cfg(test)]
mod tests;
