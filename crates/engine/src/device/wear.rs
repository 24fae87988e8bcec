//! How often each media line was written.

use super::table::{PageTable, Slab};
use crate::message::{MediaLine, MediaUnit};
use rustc_hash::FxHashMap;

/// Write counts per media line. Memory use follows the pages that are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Wear {
    /// For each page its entry in `data`, plus one.
    pages: PageTable,
    data: Slab<[u32; 64]>,
    /// For each counter block its number of writes.
    counters: PageTable,
    /// For each line of MACs and tree node its number of writes.
    integrity: FxHashMap<MediaLine, u32>,
    max: u32,
}

impl Wear {
    /// Counts one write.
    pub fn count(&mut self, media: MediaLine) {
        let writes = match media.unit() {
            MediaUnit::Data(line) => {
                let entry = self.pages.get_mut(line.page().0);
                if *entry == 0 {
                    *entry = self.data.push([0; 64]) + 1;
                }
                &mut self.data.get_mut(*entry - 1)[line.index_in_page()]
            }
            MediaUnit::Counter(block) => self.counters.get_mut(block.0),
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => self.integrity.entry(media).or_default(),
        };
        *writes = writes.saturating_add(1);
        self.max = self.max.max(*writes);
    }

    /// The number of writes of the line that was written most often.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The number of writes of `media`.
    pub fn of(&self, media: MediaLine) -> u32 {
        match media.unit() {
            MediaUnit::Data(line) => match self.pages.get(line.page().0) {
                0 => 0,
                entry => self.data.get(entry - 1)[line.index_in_page()],
            },
            MediaUnit::Counter(block) => self.counters.get(block.0),
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => {
                self.integrity.get(&media).copied().unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{CounterBlock, Line, MacBlock};

    #[test]
    fn lines_and_counter_blocks_are_counted_apart() {
        let mut wear = Wear::default();
        let (line, next, block) =
            (MediaLine::data(Line(7)), MediaLine::data(Line(8)), MediaLine::counter(CounterBlock(7)));
        let mac = MediaLine::mac(MacBlock(7));
        for media in [line, next, line, block, mac, block, block] {
            wear.count(media);
        }
        assert_eq!([line, next, block, mac].map(|media| wear.of(media)), [2, 1, 3, 1]);
        assert_eq!(wear.of(MediaLine::counter(CounterBlock(0))), 0);
        assert_eq!(wear.max(), 3);
    }
}
