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
    most: MostWrites,
}

/// For each kind of media line, the number of writes of the one that was written most often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MostWrites {
    /// Data lines.
    pub data: u32,
    /// Counter blocks.
    pub counter: u32,
    /// Lines of MACs.
    pub mac: u32,
    /// Nodes of the integrity tree.
    pub tree: u32,
    /// Lines of the shadow table.
    pub table: u32,
}

impl MostWrites {
    /// Over all kinds.
    pub fn of_all(&self) -> u32 {
        let MostWrites { data, counter, mac, tree, table } = *self;
        data.max(counter).max(mac).max(tree).max(table)
    }

    fn of_kind(&mut self, media: MediaLine) -> &mut u32 {
        match media.unit() {
            MediaUnit::Data(_) => &mut self.data,
            MediaUnit::Counter(_) => &mut self.counter,
            MediaUnit::Mac(_) => &mut self.mac,
            MediaUnit::Node(_) => &mut self.tree,
            MediaUnit::Table(_) => &mut self.table,
        }
    }
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
        let writes = *writes;
        let most = self.most.of_kind(media);
        *most = writes.max(*most);
    }

    /// The numbers of writes of the lines that were written most often.
    pub fn most(&self) -> MostWrites {
        self.most
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
        assert_eq!(wear.most(), MostWrites { data: 2, counter: 3, mac: 1, tree: 0, table: 0 });
        assert_eq!(wear.most().of_all(), 3);
    }
}
