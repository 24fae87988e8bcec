//! What memory has promised: the last acknowledged bytes of each line, as digests. After a power failure they tell which
//! lines hold something else, without any knowledge of how the design recovers.

use super::request::{Kind, UnderWay};
use crate::kernel::keyed_digest;
use crate::message::{BaseImage, Line, LineBytes, Page};
use rustc_hash::{FxHashMap, FxHashSet};

/// A digest of the bytes of a line.
pub(super) fn digest(bytes: &LineBytes) -> u64 {
    keyed_digest(0, bytes) as u64
}

/// What may be read of each line after a power failure, and which lines are damaged.
#[derive(Clone)]
pub(super) struct Promised {
    /// Pages whose lines may share a counter block.
    block_pages: u64,
    /// Number and digest of the last acknowledged write, or of what a power failure has left of those after it.
    lines: FxHashMap<Line, (u64, u64)>,
    /// The pages that something was in flight to, or acknowledged, when power failed.
    pages: FxHashSet<Page>,
    damaged: FxHashSet<Line>,
}

/// The pages whose lines may share a counter block with those of the page of `line`.
pub(super) fn pages_beside(line: Line, block_pages: u64) -> impl Iterator<Item = Page> {
    let first = line.page().0 / block_pages * block_pages;
    (first..first + block_pages).map(Page)
}

impl Promised {
    /// Nothing is promised of a memory whose counter blocks cover the lines of so many pages at most.
    pub fn new(block_pages: u64) -> Self {
        Self { block_pages, lines: FxHashMap::default(), pages: FxHashSet::default(), damaged: FxHashSet::default() }
    }

    /// The write of `line` with this number and digest is acknowledged.
    pub fn acknowledged(&mut self, line: Line, number: u64, digest: u64) {
        let promised = self.lines.entry(line).or_default();
        // Acknowledgements of one line may come in another order than its writes.
        if promised.0 <= number {
            *promised = (number, digest);
        }
    }

    /// Something new is sent for the whole of `line`.
    pub fn overwritten(&mut self, line: Line) {
        if !self.damaged.is_empty() {
            self.damaged.remove(&line);
        }
    }

    /// Whether `line` is damaged.
    pub fn is_damaged(&self, line: Line) -> bool {
        !self.damaged.is_empty() && self.damaged.contains(&line)
    }

    /// The damaged lines.
    pub fn damaged(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.damaged.iter().copied().collect();
        lines.sort_unstable();
        lines
    }

    /// Power has failed with `lost` in flight, and memory over `base` now reads as `find` says. A line is damaged if it holds
    /// neither the last acknowledged bytes nor those of a later write. If no write of it was ever acknowledged, the former are
    /// what was loaded, or zeros: every line of a page is looked at, and of those with which it shares a counter block,
    /// because what happens to one may cost the others their counters. What a damaged line has lost stays promised until
    /// something else is acknowledged: a write that power failure overtakes does not mend it.
    pub fn power_failed<'r>(
        &mut self,
        lost: impl Iterator<Item = &'r UnderWay>,
        base: &dyn BaseImage,
        find: impl Fn(Line) -> LineBytes,
    ) {
        let mut later: FxHashMap<Line, Vec<(u64, u64)>> = FxHashMap::default();
        for write in lost.filter(|request| request.kind == Kind::Write) {
            later.entry(write.line).or_default().push((write.number, write.digest));
        }
        let Self { block_pages, lines, pages, damaged } = self;
        pages.extend(lines.keys().chain(later.keys()).flat_map(|&line| pages_beside(line, *block_pages)));
        for line in pages.iter().flat_map(|page| (0..64).map(|index| page.line(index))) {
            if damaged.contains(&line) {
                continue;
            }
            let (found, first) = (find(line), base.line(line).copied().unwrap_or([0; 64]));
            let promised = lines.get(&line).copied();
            if promised.is_none() && found == first {
                continue;
            }
            let (number, promised) = promised.unwrap_or_else(|| (0, digest(&first)));
            let found = digest(&found);
            let mut since = later.get(&line).into_iter().flatten().filter(|(later, _)| *later > number);
            if since.any(|(_, digest)| *digest == found) {
                lines.insert(line, (number, found));
            } else if found != promised {
                damaged.insert(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::loaded::Loaded;

    fn write(line: Line, number: u64, bytes: &LineBytes) -> UnderWay {
        let (id, requestor, kind, channel, sent, damaged, period) = (number, 0, Kind::Write, 0, 0, false, 0);
        UnderWay { id, requestor, line, kind, channel, sent, number, digest: digest(bytes), damaged, period }
    }

    #[test]
    fn write_in_flight_that_is_older_than_the_acknowledged_one_may_not_be_found() {
        for (found, is_damaged) in [(1, true), (2, false), (3, false), (4, true)] {
            let mut promised = Promised::new(1);
            promised.acknowledged(Line(0), 2, digest(&[2; 64]));
            let lost = [1, 3].map(|number| write(Line(0), number, &[number as u8; 64]));
            promised.power_failed(lost.iter(), &Loaded::new(), |_| [found; 64]);
            assert_eq!(promised.is_damaged(Line(0)), is_damaged, "write {found} is found");
        }
    }

    #[test]
    fn pages_that_share_a_counter_block_are_looked_at_together() {
        for (block_pages, damaged) in [(1, vec![]), (2, vec![Line(5)])] {
            let mut promised = Promised::new(block_pages);
            promised.acknowledged(Line(64), 1, digest(&[1; 64]));
            let find = |line: Line| [if line == Line(64) { 1 } else { u8::from(line == Line(5)) }; 64];
            promised.power_failed([].iter(), &Loaded::new(), find);
            assert_eq!(promised.damaged(), damaged, "{block_pages} pages");
        }
    }

    #[test]
    fn line_that_power_failure_has_left_as_it_was_first_is_looked_at_after_the_next_one() {
        let mut promised = Promised::new(1);
        promised.power_failed([write(Line(0), 1, &[1; 64])].iter(), &Loaded::new(), |_| [0; 64]);
        assert_eq!(promised.damaged(), []);
        let find = |line: Line| if line == Line(0) { [9; 64] } else { [0; 64] };
        promised.power_failed([].iter(), &Loaded::new(), find);
        assert_eq!(promised.damaged(), [Line(0)]);
    }

    #[test]
    fn write_that_power_failure_overtakes_mends_no_damage() {
        for (found, is_damaged) in [(0, true), (1, false), (2, false), (9, true)] {
            let mut promised = Promised::new(1);
            promised.acknowledged(Line(0), 1, digest(&[1; 64]));
            promised.power_failed([].iter(), &Loaded::new(), |_| [9; 64]);
            assert!(promised.is_damaged(Line(0)));
            promised.overwritten(Line(0));
            promised.power_failed([write(Line(0), 2, &[2; 64])].iter(), &Loaded::new(), |_| [found; 64]);
            assert_eq!(promised.is_damaged(Line(0)), is_damaged, "{found} is found");
        }
    }
}
