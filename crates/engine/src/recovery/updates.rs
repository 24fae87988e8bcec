//! Partial updates of counter blocks and lines of MACs that a boot finds in the ring, and writes to the blocks that they are
//! newer than (Han et al., HPCA 2023, Thoth).

use super::LineCodec;
use super::media_writer::MediaWriter;
use crate::layout::{PartialUpdate, TreePlace, UpdateRing};
use crate::message::{CounterBlock, Line, LineBytes, MacBlock, MediaLine, MediaUnit};
use crate::parts::Counter;
use std::collections::BTreeMap;

/// The blocks that updates speak of, as they are stored and as they will be.
struct Updated {
    blocks: BTreeMap<CounterBlock, [LineBytes; 2]>,
    macs: BTreeMap<MacBlock, [LineBytes; 2]>,
}

impl MediaWriter<'_> {
    /// The counter blocks and lines of MACs in memory that partial updates are newer than, with these updates. An update is
    /// newer than a counter that is smaller; one of the same counter has the MAC that belongs to it. What says nothing sensible
    /// is passed over, and what it should have said is missed when the root is compared.
    ///
    /// The block of a page under re-encryption also has the new major counter, as the status register says.
    pub(super) fn updated_blocks(&self) -> Vec<(MediaLine, LineBytes)> {
        let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) else {
            return Vec::new();
        };
        let Some((ring, tree)) = integrity.ring.zip(integrity.tree.as_ref()) else { return Vec::new() };
        let mut updated = Updated { blocks: BTreeMap::new(), macs: BTreeMap::new() };
        let mut updates = self.updates_in(ring);
        updates.retain(|line, _| tree.shape.has(TreePlace::leaf(codec.coverage().block(*line))));
        for (line, updates) in updates {
            self.apply(line, &updates, (codec, ring), &mut updated);
        }
        if let Some(status) = self.status {
            let id = codec.coverage().block(status.group.line(0));
            let [_, block] = self.counter_block(id, codec, &mut updated);
            codec.increment_major(status.old_major, block);
        }
        let blocks = updated.blocks.into_iter().map(|(id, block)| (MediaLine::counter(id), block));
        let macs = updated.macs.into_iter().map(|(id, block)| (MediaLine::mac(id), block));
        let newer = blocks.chain(macs).filter_map(|(media, [stored, now])| (stored != now).then_some((media, now)));
        newer.collect()
    }

    /// The updates in the ring, by line.
    fn updates_in(&self, ring: UpdateRing) -> BTreeMap<Line, Vec<PartialUpdate>> {
        let mut updates: BTreeMap<Line, Vec<PartialUpdate>> = BTreeMap::new();
        self.memory().stored(&mut |media, bytes| {
            if let MediaUnit::Table(number) = media.unit()
                && number < ring.lines
            {
                ring.updates(bytes).for_each(|update| updates.entry(update.line).or_default().push(update));
            }
        });
        (0..ring.lines).for_each(|number| self.tally.borrow_mut().read(MediaLine::table(number)));
        updates
    }

    /// The newest of the `updates` of `line` goes to its blocks, unless memory is newer.
    fn apply(
        &self,
        line: Line,
        updates: &[PartialUpdate],
        (codec, ring): (&dyn LineCodec, UpdateRing),
        updated: &mut Updated,
    ) {
        let status = self.status.filter(|status| status.group.contains(line));
        let [_, block] = self.counter_block(codec.coverage().block(line), codec, updated);
        let stored = codec.counter(line, block, status.as_ref());
        let stored = ring.number(stored.major, stored.minor);
        let newest = updates.iter().filter_map(|update| Some((update.number(stored)?, update.mac))).max();
        let Some((number, mac)) = newest.filter(|(number, _)| *number >= stored) else { return };
        let (major, minor) = ring.counter(number);
        codec.set_counter(line, block, Counter { major, minor });
        let Some(layout) = codec.integrity().map(|integrity| integrity.mac_layout).filter(|macs| !macs.beside()) else {
            return;
        };
        let id = layout.block(line);
        let [_, macs] = updated.macs.entry(id).or_insert_with(|| {
            let media = MediaLine::mac(id);
            self.tally.borrow_mut().read(media);
            [self.line_of_macs(media, layout, codec); 2]
        });
        layout.set(macs, line, mac);
    }

    /// The counter block `id`, as it is stored and with the updates so far.
    fn counter_block<'u>(
        &self,
        id: CounterBlock,
        codec: &dyn LineCodec,
        updated: &'u mut Updated,
    ) -> &'u mut [LineBytes; 2] {
        updated.blocks.entry(id).or_insert_with(|| {
            self.tally.borrow_mut().read(MediaLine::counter(id));
            [self.block(codec.coverage().line(id, 0), codec); 2]
        })
    }
}
