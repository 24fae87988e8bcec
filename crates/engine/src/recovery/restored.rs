//! Counter blocks and tree nodes that a boot has restored to the metadata caches: from a shadow table with their contents, or
//! computed from what is below them. As in a run, a change of one of them goes to its entry of the table, or to the root over
//! what is newer in the caches than in memory.

use super::media_writer::MediaWriter;
use super::{Alarm, CountersInTable, TreeCodec};
use crate::layout::{LineHash, LineTree, StaleBit, StaleBits, TableEntry, TreePlace};
use crate::message::{Content, CounterBlock, LineBytes, MediaLine, MediaUnit, Observer, TreeNode};
use crate::parts::LowBitsScheme;
use std::collections::BTreeMap;

/// What is in the metadata caches.
#[derive(Default)]
pub(super) struct Restored {
    /// Each block or node, and the entry or the set of a cache that has it, in the order of places: what is below comes
    /// first.
    blocks: BTreeMap<TreePlace, (u64, LineBytes)>,
    /// The register of the root of the tree over the table or the sets, as it was found; `None` if there is no such tree.
    register: Option<LineBytes>,
    /// The tree, once the blocks are restored.
    tree: Option<LineTree>,
}

impl Restored {
    /// What is restored, in the order of places.
    pub fn places(&self) -> impl Iterator<Item = TreePlace> + '_ {
        self.blocks.keys().copied()
    }

    /// The restored copy of what is at `place`.
    pub fn get(&self, place: TreePlace) -> Option<&LineBytes> {
        self.blocks.get(&place).map(|(_, block)| block)
    }
}

impl MediaWriter<'_> {
    /// Loads the register of the root of the table's tree.
    pub(super) fn load_table(&mut self, root: Option<LineBytes>) {
        self.restored.register = root;
    }

    /// The register of the root of the table's tree.
    pub(super) fn table_root(&self) -> Option<LineBytes> {
        self.restored.tree.as_ref().map(LineTree::root).or(self.restored.register)
    }

    /// Restores the counter blocks and nodes that the shadow table has, from its entries and from what of them is stored. Those
    /// of blocks that are only named are found by trial.
    /// Nothing is written, so power may fail again at any time.
    ///
    /// # Errors
    /// The table, with the counters that were found, does not have the root that the register holds, or an entry does not belong
    /// to what is stored.
    pub(super) fn restore_contents(&mut self) -> Result<(), Alarm> {
        let Some(codec) = self.tree_codec() else { return Ok(()) };
        let Some((scheme, slots)) = &codec.table else { return Ok(()) };
        let mut entries: BTreeMap<u64, LineBytes> = BTreeMap::new();
        self.memory().stored(&mut |media, bytes| {
            // What lies beyond the last slot is not under the tree.
            if let MediaUnit::Table(slot) = media.unit()
                && slot < *slots
            {
                entries.insert(slot, *bytes);
            }
        });
        let named = self.named_blocks(codec, &entries);
        let mut tree = LineTree::new(*slots, scheme.as_ref());
        for (slot, bytes) in &entries {
            let checked = codec.counters_in_table == CountersInTable::Names { checked: true };
            let counters = named.get(slot).filter(|_| checked).map(|(place, block)| scheme.entry(*place, block));
            tree.set(*slot, &counters.unwrap_or(*bytes), scheme.as_ref());
        }
        if self.restored.register.is_some_and(|register| register != tree.root()) {
            return Err(Alarm::TableRoot);
        }
        self.tally.get_mut().work.hashes += LineTree::hashes(*slots);
        (0..*slots).for_each(|slot| self.tally.get_mut().read(MediaLine::table(slot)));
        for (slot, bytes) in &entries {
            if let Some((place, block)) = named.get(slot) {
                self.restored.blocks.insert(*place, (*slot, *block));
                continue;
            }
            let Some(entry) = TableEntry::unpack(bytes) else { continue };
            let place = TreePlace::of(entry.media).filter(|place| codec.shape.has(*place));
            let place = place.ok_or(Alarm::Table(*slot))?;
            self.tally.get_mut().read(place.media());
            self.tally.get_mut().work.hashes += 1;
            let block = scheme.restored(&entry, place, &self.stored_block(codec, place)).ok_or(Alarm::Table(*slot))?;
            // Only if entries stay when their block leaves can there be two: the newer one counts.
            let older = self.restored.get(place).is_some_and(|other| scheme.is_older(&block, other));
            if !older {
                self.restored.blocks.insert(place, (*slot, block));
            }
        }
        self.restored.tree = Some(tree);
        Ok(())
    }

    /// The counter blocks that `entries` name, by slot, with counters found by trial; none in a table with their contents.
    fn named_blocks(
        &self,
        codec: &TreeCodec,
        entries: &BTreeMap<u64, LineBytes>,
    ) -> BTreeMap<u64, (TreePlace, LineBytes)> {
        if codec.counters_in_table == CountersInTable::Contents {
            return BTreeMap::new();
        }
        let named = entries.iter().filter_map(|(slot, bytes)| {
            let place = TreePlace::of(TableEntry::unpack(bytes)?.media)?;
            (place.level == 0 && codec.shape.has(place)).then_some((place, *slot))
        });
        let mut named: Vec<(TreePlace, u64)> = named.collect();
        // Blocks that share a line of MACs come one after another.
        named.sort_unstable();
        let found = named.into_iter().map(|(place, slot)| {
            self.tally.borrow_mut().needs_counter(place.media());
            // Its entry in the tree over the table.
            self.tally.borrow_mut().work.hashes += 1;
            let stored = self.stored_block(codec, place);
            (slot, (place, self.with_tried_counters(CounterBlock(place.index), &stored)))
        });
        found.collect()
    }

    /// Computes the counter blocks and nodes whose bit says that they were newer on the chip from the lowest bits of their
    /// counters in what is below them. Nothing is written, so power may fail again at any time.
    ///
    /// # Errors
    /// The blocks do not have the root that the register holds.
    pub(super) fn restore_stale(&mut self) -> Result<(), Alarm> {
        let Some(codec) = self.tree_codec() else { return Ok(()) };
        let Some((scheme, caches)) = &codec.low_bits else { return Ok(()) };
        let mut tree = LineTree::new(caches.sets(), scheme.as_ref());
        for place in self.marked_stale(StaleBits::new(codec.shape)) {
            let stored = self.stored_block(codec, place);
            self.tally.get_mut().read(place.media());
            self.tally.get_mut().work.hashes += 2;
            let block = scheme.restored(&stored, &self.low_bits_below(codec, scheme.as_ref(), place));
            self.restored.blocks.insert(place, (caches.set(place.media()), block));
        }
        self.tally.get_mut().work.hashes += LineTree::hashes(caches.sets());
        let mut sets: BTreeMap<u64, Vec<(TreePlace, LineBytes)>> = BTreeMap::new();
        for (place, (set, block)) in &self.restored.blocks {
            sets.entry(*set).or_default().push((*place, *block));
        }
        for (set, blocks) in sets {
            tree.set(set, &scheme.set(&mut blocks.into_iter()), scheme.as_ref());
        }
        if self.restored.register.is_some_and(|register| register != tree.root()) {
            return Err(Alarm::TableRoot);
        }
        self.restored.tree = Some(tree);
        Ok(())
    }

    /// The places whose bit is set, found from the top layer down.
    fn marked_stale(&self, bits: StaleBits) -> Vec<TreePlace> {
        let (mut places, mut lines) = (Vec::new(), vec![bits.top()]);
        while let Some(number) = lines.pop() {
            self.tally.borrow_mut().read(MediaLine::table(number));
            let Content::Stored(bytes) = self.memory().content(MediaLine::table(number)) else { continue };
            for bit in (0..512).filter(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1) {
                match bits.meaning(number, bit) {
                    Some(StaleBit::Place(place)) => places.push(place),
                    Some(StaleBit::Line(line)) => lines.push(line),
                    None => {}
                }
            }
        }
        places
    }

    /// The lowest bits of the counters of `place`, from what is below it in memory: data lines with their MACs, or nodes and
    /// counter blocks.
    fn low_bits_below(&self, tree: &TreeCodec, scheme: &dyn LowBitsScheme, place: TreePlace) -> [u64; 8] {
        let mut low = [0; 8];
        if place.level > 0 {
            let children = tree.shape.children(TreeNode { level: place.level, index: place.index });
            for (low, child) in low.iter_mut().zip(children) {
                self.tally.borrow_mut().read(child.media());
                *low = scheme.of_child(&self.stored_block(tree, child));
            }
        } else if let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) {
            for (index, low) in low.iter_mut().enumerate() {
                let line = codec.coverage().line(CounterBlock(place.index), index);
                if integrity.mac_layout.beside() {
                    self.tally.borrow_mut().read(MediaLine::data(line));
                }
                *low = scheme.of_mac(self.stored_mac(line, codec, integrity));
            }
        }
        low
    }

    /// What protects the restored blocks of `set`.
    fn set_line(&self, scheme: &dyn LowBitsScheme, set: u64) -> LineBytes {
        let of_set = self.restored.blocks.iter().filter(|(_, (other, _))| *other == set);
        scheme.set(&mut of_set.map(|(place, (_, block))| (*place, *block)))
    }

    /// The counter block or node at `place` as it is in memory.
    pub(super) fn stored_block(&self, codec: &TreeCodec, place: TreePlace) -> LineBytes {
        match self.memory().content(place.media()) {
            Content::Stored(bytes) => *bytes,
            Content::Base(_) | Content::Never => codec.scheme.initial(place),
        }
    }

    /// The counter block `id` is now `block`: in its cache, or in memory.
    pub(super) fn put_counter(&mut self, id: CounterBlock, block: &LineBytes, observer: &mut impl Observer) {
        if !self.change_restored(TreePlace::leaf(id), block, observer) {
            self.put(MediaLine::counter(id), block);
            observer.persisted(0, MediaLine::counter(id), block);
        }
    }

    /// What is at `place` is now `block`: if it is in its cache, its entry of the table or the root over its set follows. Returns
    /// whether it is.
    pub(super) fn change_restored(
        &mut self,
        place: TreePlace,
        block: &LineBytes,
        observer: &mut impl Observer,
    ) -> bool {
        let Some((at, copy)) = self.restored.blocks.get_mut(&place) else { return false };
        let at = *at;
        *copy = *block;
        let Some(codec) = self.tree_codec() else { return true };
        if let Some((scheme, _)) = &codec.table {
            let entry = scheme.entry(place, block);
            match codec.counters_in_table {
                // Its entry names it already. In memory, so that no trial is needed.
                CountersInTable::Names { checked } if place.level == 0 => {
                    self.put(place.media(), block);
                    observer.persisted(0, place.media(), block);
                    if checked {
                        self.protect_restored(at, &entry, scheme.as_ref());
                    }
                }
                CountersInTable::Names { .. } | CountersInTable::Contents => {
                    self.put(MediaLine::table(at), &entry);
                    observer.persisted(0, MediaLine::table(at), &entry);
                    self.protect_restored(at, &entry, scheme.as_ref());
                }
            }
        }
        if let Some((scheme, _)) = &codec.low_bits {
            // With all its bits, in case that the lowest have wrapped.
            self.put(place.media(), block);
            observer.persisted(0, place.media(), block);
            let line = self.set_line(scheme.as_ref(), at);
            self.protect_restored(at, &line, scheme.as_ref());
        }
        true
    }

    fn protect_restored(&mut self, at: u64, line: &LineBytes, hash: &dyn LineHash) {
        if let Some(tree) = &mut self.restored.tree {
            tree.set(at, line, hash);
        }
    }

    /// Writes everything in the metadata caches back to memory, and clears what memory has about them, so that a machine with
    /// empty caches can take over. Power must not fail meanwhile.
    pub(super) fn write_back_restored(&mut self, observer: &mut impl Observer) {
        let Some(codec) = self.tree_codec() else { return };
        while let Some((place, (_, block))) = self.restored.blocks.pop_first() {
            self.put(place.media(), &block);
            self.climb(codec, place, observer);
        }
        let mut lines = Vec::new();
        self.memory()
            .stored(&mut |media, _| lines.extend(matches!(media.unit(), MediaUnit::Table(_)).then_some(media)));
        lines.into_iter().for_each(|media| self.put(media, &[0; 64]));
    }
}
