//! Counters that a boot finds by trial: it tries one after another against the MAC of a line (Ye et al., MICRO 2018, Osiris).

use super::media_writer::MediaWriter;
use super::{IntegrityCodec, LineCodec};
use crate::layout::TreePlace;
use crate::message::{Content, CounterBlock, Line, LineBytes, MediaLine};
use crate::parts::Counter;
use std::collections::BTreeMap;

impl MediaWriter<'_> {
    /// The counter blocks whose counters are behind their lines, in order, with the counters that the MACs of the lines
    /// belong to: recovery tries one counter after another. A line that no counter fits keeps its counter. The block of a
    /// page under re-encryption has the new major counter, as the status register says.
    pub fn recovered_blocks(&self) -> Vec<(MediaLine, LineBytes)> {
        let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) else {
            return Vec::new();
        };
        let mut blocks: BTreeMap<CounterBlock, Vec<Line>> = BTreeMap::new();
        self.memory().stored(&mut |media, _| {
            if let Some(line) = media.as_line() {
                blocks.entry(codec.coverage().block(line)).or_default().push(line);
            }
        });
        if let Some(status) = self.status {
            // None of the page's lines may have been written yet.
            blocks.entry(codec.coverage().block(status.group.line(0))).or_default();
        }
        if integrity.tree.as_ref().is_some_and(|tree| tree.has_table) {
            let listed = self.listed();
            blocks.retain(|id, _| listed.contains(&TreePlace::leaf(*id)));
        }
        let recovered = blocks.into_iter().filter_map(|(id, mut lines)| {
            // Lines that share a line of MACs come one after another.
            lines.sort_unstable();
            let first = codec.coverage().line(id, 0);
            self.tally.borrow_mut().needs_counter(MediaLine::counter(id));
            let before = self.block(first, codec);
            let mut block = before;
            if let Some(status) = self.status.filter(|status| status.group.contains(first)) {
                codec.increment_major(status.old_major, &mut block);
            }
            self.try_lines(lines, &mut block);
            (block != before).then_some((MediaLine::counter(id), block))
        });
        recovered.collect()
    }

    /// The counter block `id`, which is stored as `stored`, with the counters that the MACs of its lines belong to.
    pub(super) fn with_tried_counters(&self, id: CounterBlock, stored: &LineBytes) -> LineBytes {
        let mut block = *stored;
        let lines = self
            .codec()
            .map(|codec| codec.coverage())
            .into_iter()
            .flat_map(|coverage| (0..coverage.lines()).map(move |index| coverage.line(id, index)));
        let is_stored = |line: &Line| matches!(self.memory().content(MediaLine::data(*line)), Content::Stored(_));
        self.try_lines(lines.filter(is_stored), &mut block);
        block
    }

    /// Gives `block` the counters that the MACs of `lines` belong to.
    fn try_lines(&self, lines: impl IntoIterator<Item = Line>, block: &mut LineBytes) {
        let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) else { return };
        for line in lines {
            if let Some(found) = self.tried(line, block, codec, integrity) {
                *block = found;
            }
        }
    }

    /// `block` with the counter that the MAC of `line` belongs to, if it is among the next ones.
    fn tried(
        &self,
        line: Line,
        block: &LineBytes,
        codec: &dyn LineCodec,
        integrity: &IntegrityCodec,
    ) -> Option<LineBytes> {
        let status = self.status.as_ref().filter(|status| status.group.contains(line));
        self.tally.borrow_mut().read(MediaLine::data(line));
        let stored = self.stored_mac(line, codec, integrity);
        let (mut block, mut register) = (*block, 0);
        for _ in 0..=integrity.stop_loss {
            let counter = codec.counter(line, &block, status);
            if counter != Counter::NEVER {
                self.tally.borrow_mut().work.trials += 1;
                if self.mac_of(line, counter, codec, integrity) == stored {
                    return Some(block);
                }
            }
            if !codec.increment(line, &mut block, &mut register) {
                return None;
            }
        }
        None
    }
}
