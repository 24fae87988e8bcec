//! Start-Gap wear levelling (Qureshi et al., MICRO 2009): the lines of a region rotate through one place more than there are
//! lines. The place that is free is the gap. After every so many writes of the region the line before the gap moves into
//! it; when the gap has gone through the region, every line is one place further.
//!
//! Decisions:
//! - A region is a part of a bank, so that a move stays in it. Each of the rows beyond the capacity, which hold MACs and
//!   tree nodes, belongs to a region of the same size.
//! - A move is a read and a write of a line, which follow the write that causes it, in the same bank and over its bus.
//! - The registers of gap and start change when the line has moved, and survive a power failure, so that a line is where
//!   they say at every instant.

use super::mapping::Place;
use crate::config::{Geometry, Leveling, Machine, Scatter};
use crate::kernel::Shuffle;
use crate::message::LINES_PER_PAGE;

/// The order of scattered lines is a key of the module.
const SCATTER_SEED: u64 = 0x5ca7_7e4e_d11e;

/// Where the lines of a region are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    /// By how many places the lines are further than at first.
    start: u64,
    /// The free place.
    gap: u64,
    /// Writes since the gap moved.
    writes: u32,
}

impl Region {
    /// A region of so many lines in which nothing has moved.
    fn untouched(lines: u64) -> Self {
        Self { start: 0, gap: lines, writes: 0 }
    }
}

/// A line goes from one place to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub from: Place,
    pub to: Place,
    /// The line: the number of its region in the bank, and its own number there.
    pub line: (u64, u64),
}

/// The regions of a device.
#[derive(Clone, Debug)]
pub(super) struct StartGap {
    /// Lines that a region stores.
    lines: u64,
    interval: u32,
    scatter: Option<Shuffle>,
    lines_per_row: u64,
    /// The row of the first region's line that is more.
    spare_row: u64,
    /// By bank. Those that were never written are not there.
    banks: Vec<Vec<Region>>,
}

impl StartGap {
    /// The regions of `machine`, nothing moved; `None` if it has none.
    pub fn of(machine: &Machine) -> Option<Self> {
        let wear = &machine.wear;
        let Geometry { banks, rows, pages_per_row, .. } = Geometry::of(machine);
        let lines_per_row = pages_per_row * LINES_PER_PAGE;
        let lines = (rows * lines_per_row).div_ceil(u64::from(wear.regions_per_bank));
        match wear.leveling {
            Leveling::None => None,
            Leveling::StartGap => Some(Self {
                lines,
                interval: wear.gap_interval,
                scatter: match wear.scatter {
                    Scatter::InOrder => None,
                    Scatter::Random => Some(Shuffle::new(lines, SCATTER_SEED)),
                },
                lines_per_row,
                // The last rows that have a number; rows below these are numbered from zero.
                spare_row: (u64::from(u32::MAX) / u64::from(machine.device.row_segments)) - 1,
                banks: vec![Vec::new(); banks as usize],
            }),
        }
    }

    /// Lines that a region stores.
    pub fn region_lines(&self) -> u64 {
        self.lines
    }

    /// The region of a line whose place by the address mapping is `home`, and its number there before anything moves.
    pub fn number(&self, home: Place) -> (u64, u64) {
        let (region, within) = self.in_order(home);
        (region, self.scatter.as_ref().map_or(within, |shuffle| shuffle.forward(within)))
    }

    /// The same before lines are scattered.
    fn in_order(&self, home: Place) -> (u64, u64) {
        let number = home.row * self.lines_per_row + home.column;
        (number / self.lines, number % self.lines)
    }

    /// Where a line is whose place by the address mapping is `home`.
    pub fn place(&self, home: Place) -> Place {
        let (region, number) = self.number(home);
        let Region { start, gap, .. } = self.region(home.bank, region);
        let turned = (number + start) % self.lines;
        self.place_of(home.bank, region, turned + u64::from(turned >= gap))
    }

    /// A line was written whose place by the address mapping is `home`: what moves because of it.
    pub fn wrote(&mut self, home: Place) -> Option<Move> {
        let (at, _) = self.in_order(home);
        let regions = &mut self.banks[home.bank as usize];
        if regions.len() <= at as usize {
            regions.resize(at as usize + 1, Region::untouched(self.lines));
        }
        let region = &mut regions[at as usize];
        region.writes += 1;
        if region.writes < self.interval {
            return None;
        }
        region.writes = 0;
        let (to, before) = (region.gap, region.start);
        if to == 0 {
            region.gap = self.lines;
            region.start = (region.start + 1) % self.lines;
        } else {
            region.gap -= 1;
        }
        let from = region.gap;
        // What lies behind the gap is one place further than its number and the start say.
        let number = (from.min(self.lines - 1) + self.lines - before) % self.lines;
        let place = |slot| self.place_of(home.bank, at, slot);
        Some(Move { from: place(from), to: place(to), line: (at, number) })
    }

    /// The lowest number in a region of a line that is not where it was at first; `None` if there is none.
    pub fn first_moved(&self, (bank, region): (u64, u64)) -> Option<u64> {
        match self.region(bank, region) {
            Region { start: 0, gap, .. } => (gap < self.lines).then_some(gap),
            _ => Some(0),
        }
    }

    /// The number of the line in place `slot` of a region; `None`: it is the gap.
    pub fn number_at(&self, (bank, region): (u64, u64), slot: u64) -> Option<u64> {
        let Region { start, gap, .. } = self.region(bank, region);
        let turned = slot - u64::from(slot > gap);
        (slot != gap).then(|| (turned + self.lines - start) % self.lines)
    }

    fn region(&self, bank: u64, at: u64) -> Region {
        let known = self.banks[bank as usize].get(at as usize);
        known.copied().unwrap_or_else(|| Region::untouched(self.lines))
    }

    /// Place `slot` of a region. The last one, which the region has more than it stores, is in a row at the end.
    fn place_of(&self, bank: u64, region: u64, slot: u64) -> Place {
        let per_row = self.lines_per_row;
        if slot == self.lines {
            return Place { bank, row: self.spare_row - region / per_row, column: region % per_row };
        }
        let number = region * self.lines + slot;
        Place { bank, row: number / per_row, column: number % per_row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_machine;
    use std::collections::BTreeMap;

    fn regions(sets: &[&str]) -> StartGap {
        let small = ["wear.leveling=start-gap", "device.capacity=1MiB", "log.buckets=1"];
        let sets: Vec<String> = small.iter().chain(sets).map(|set| (*set).to_owned()).collect();
        StartGap::of(&load_machine("small", &sets).unwrap()).unwrap()
    }

    /// Bytes that really move, as the paper has it: an array with one element more than lines.
    #[test]
    fn a_line_is_where_its_bytes_have_gone() {
        for scatter in ["in-order", "random"] {
            let scatter = format!("wear.scatter={scatter}");
            let mut regions = regions(&["wear.gap_interval=1", "wear.regions_per_bank=64", &scatter]);
            let count = regions.region_lines();
            let homes: Vec<Place> = (0..2 * count)
                .map(|n| Place { bank: 1, row: n / regions.lines_per_row, column: n % regions.lines_per_row })
                .collect();
            let mut cells: BTreeMap<Place, usize> =
                homes.iter().enumerate().map(|(line, home)| (regions.place(*home), line)).collect();
            assert_eq!(cells.len(), homes.len(), "no two lines are at one place");
            for step in 0..3 * count {
                let Move { from, to, line: (at, number) } = regions.wrote(homes[(step % count) as usize]).unwrap();
                let moved = cells.remove(&from).expect("what moves is a line");
                assert_eq!(regions.number(homes[moved]), (at, number));
                assert_eq!(cells.insert(to, moved), None, "it moves where nothing is");
                if step % 17 == 0 {
                    let all = homes.iter().enumerate();
                    assert!(all.into_iter().all(|(line, home)| cells[&regions.place(*home)] == line), "step {step}");
                    for slot in 0..count {
                        let there = cells.get(&regions.place_of(1, 0, slot)).map(|line| regions.number(homes[*line]).1);
                        assert_eq!(regions.number_at((1, 0), slot), there, "step {step}, place {slot}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_gap_moves_at_its_interval_and_comes_back_one_line_further() {
        let mut regions = regions(&["wear.gap_interval=3", "wear.regions_per_bank=64", "wear.scatter=in-order"]);
        let (count, home) = (regions.region_lines(), Place { bank: 0, row: 0, column: 0 });
        let moves = |regions: &mut StartGap, writes: u64| (0..writes).filter_map(|_| regions.wrote(home)).count();
        assert_eq!([moves(&mut regions, 2), moves(&mut regions, 1), moves(&mut regions, 2)], [0, 1, 0]);
        assert_eq!(regions.place(home), home, "the gap has not reached it");
        moves(&mut regions, 3 * count + 1);
        let next = Place { column: 1, ..home };
        assert_eq!(regions.place(home), next);
        assert_eq!(regions.place(Place { bank: 1, ..home }), Place { bank: 1, ..home }, "another bank has its own gap");
    }
}
