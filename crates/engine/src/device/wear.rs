//! The lines that were written most often.

use crate::message::{MediaLine, MediaUnit};

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

    /// Takes note that `media` was written for the time `writes`.
    pub(super) fn note(&mut self, media: MediaLine, writes: u32) {
        let most = match media.unit() {
            MediaUnit::Data(_) | MediaUnit::Modified(_) => &mut self.data,
            MediaUnit::Counter(_) => &mut self.counter,
            MediaUnit::Mac(_) => &mut self.mac,
            MediaUnit::Node(_) => &mut self.tree,
            MediaUnit::Table(_) => &mut self.table,
        };
        *most = writes.max(*most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{CounterBlock, Line, MacBlock};

    #[test]
    fn each_kind_of_line_has_its_most() {
        let mut most = MostWrites::default();
        most.note(MediaLine::data(Line(7)), 2);
        most.note(MediaLine::data(Line(8)), 1);
        most.note(MediaLine::counter(CounterBlock(7)), 3);
        most.note(MediaLine::mac(MacBlock(7)), 1);
        assert_eq!(most, MostWrites { data: 2, counter: 3, mac: 1, tree: 0, table: 0 });
        assert_eq!(most.of_all(), 3);
    }
}
