//! The bytes that survive a power failure: what was written to the media, over the populated base.
//!
//! Memory use follows the lines that are accessed. A populated line that nothing has accessed stays plaintext in the
//! shared base; it gets a place here when it is written, or when its ciphertext is needed. Cloning an image copies only
//! these lines.

use super::table::{PageTable, Slab};
use crate::message::{BaseImage, Content, CounterBlock, Line, LineBytes, MediaLine, MediaUnit, Page};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

static ZERO: LineBytes = [0; 64];

/// The contents of the media.
#[derive(Clone)]
pub struct Image {
    base: Arc<dyn BaseImage>,
    /// For each page its entry in `slots`, plus one.
    pages: PageTable,
    /// For each line of an accessed page its index in `lines`, plus one.
    slots: Slab<[u32; 64]>,
    lines: Slab<LineBytes>,
    /// For each counter block its index in `counter_blocks`, plus one.
    counter_slots: PageTable,
    counter_blocks: Slab<LineBytes>,
    /// For each line of MACs and tree node its index in `integrity`.
    integrity_slots: BTreeMap<MediaLine, u32>,
    integrity: Slab<LineBytes>,
    bytes: bool,
}

impl Image {
    /// Media that hold only `base`. With `bytes` off, only the fact that a data line was written is kept, not its
    /// bytes. Counter blocks are always kept, because a counter overflow takes time.
    pub fn new(base: Arc<dyn BaseImage>, bytes: bool) -> Self {
        let mut lines = Slab::default();
        if !bytes {
            // The one line that all written lines share.
            lines.push(ZERO);
        }
        Self {
            base,
            pages: PageTable::default(),
            slots: Slab::default(),
            lines,
            counter_slots: PageTable::default(),
            counter_blocks: Slab::default(),
            integrity_slots: BTreeMap::new(),
            integrity: Slab::default(),
            bytes,
        }
    }

    /// What is stored for `media`.
    pub fn content(&self, media: MediaLine) -> Content<'_> {
        match media.unit() {
            MediaUnit::Data(line) => match self.slot(line) {
                0 => self.base_content(line),
                slot => Content::Stored(self.lines.get(slot - 1)),
            },
            MediaUnit::Counter(block) => match self.counter_slots.get(block.0) {
                0 => Content::Never,
                slot => Content::Stored(self.counter_blocks.get(slot - 1)),
            },
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => match self.integrity_slots.get(&media) {
                None => Content::Never,
                Some(slot) => Content::Stored(self.integrity.get(*slot)),
            },
        }
    }

    /// Writes `bytes` to `media`.
    pub fn store(&mut self, media: MediaLine, bytes: &LineBytes) {
        match media.unit() {
            MediaUnit::Data(line) => self.store_line(line, bytes),
            MediaUnit::Counter(block) => {
                store_in(self.counter_slots.get_mut(block.0), &mut self.counter_blocks, bytes);
            }
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => match self.integrity_slots.entry(media) {
                Entry::Vacant(slot) => drop(slot.insert(self.integrity.push(*bytes))),
                Entry::Occupied(slot) => *self.integrity.get_mut(*slot.get()) = *bytes,
            },
        }
    }

    /// Makes `media` look as if it had never been written. Its place is not used again.
    pub fn forget(&mut self, media: MediaLine) {
        match media.unit() {
            MediaUnit::Data(line) => {
                let entry = self.pages.get(line.page().0);
                if entry != 0 {
                    self.slots.get_mut(entry - 1)[line.index_in_page()] = 0;
                }
            }
            MediaUnit::Counter(block) => *self.counter_slots.get_mut(block.0) = 0,
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => drop(self.integrity_slots.remove(&media)),
        }
    }

    /// Whether `line` belongs to the populated base.
    pub fn populated(&self, line: Line) -> bool {
        self.base.populated(line)
    }

    /// What `line` held before the run, if it was populated.
    pub fn base(&self, line: Line) -> Option<&LineBytes> {
        self.base.line(line)
    }

    /// Everything stored, in address order: data lines, counter blocks, lines of MACs, tree nodes. Does not include lines
    /// that are still in the base.
    pub fn iter_stored(&self) -> impl Iterator<Item = (MediaLine, &LineBytes)> + '_ {
        let data = self.pages.iter().flat_map(move |(page, entry)| {
            let slots = self.slots.get(entry - 1).iter().enumerate();
            slots.filter(|(_, slot)| **slot != 0).map(move |(index, slot)| {
                let line = Page(page).line(index);
                (MediaLine::data(line), self.lines.get(slot - 1))
            })
        });
        let counters = self
            .counter_slots
            .iter()
            .map(move |(block, slot)| (MediaLine::counter(CounterBlock(block)), self.counter_blocks.get(slot - 1)));
        let integrity = self.integrity_slots.iter().map(move |(media, slot)| (*media, self.integrity.get(*slot)));
        data.chain(counters).chain(integrity)
    }

    fn slot(&self, line: Line) -> u32 {
        match self.pages.get(line.page().0) {
            0 => 0,
            entry => self.slots.get(entry - 1)[line.index_in_page()],
        }
    }

    fn base_content(&self, line: Line) -> Content<'_> {
        let found = if self.bytes { self.base.line(line) } else { self.base.populated(line).then_some(&ZERO) };
        found.map_or(Content::Never, Content::Base)
    }

    fn store_line(&mut self, line: Line, bytes: &LineBytes) {
        let entry = self.pages.get_mut(line.page().0);
        if *entry == 0 {
            *entry = self.slots.push([0; 64]) + 1;
        }
        let slot = &mut self.slots.get_mut(*entry - 1)[line.index_in_page()];
        if self.bytes {
            store_in(slot, &mut self.lines, bytes);
        } else {
            *slot = 1;
        }
    }
}

fn store_in(slot: &mut u32, slab: &mut Slab<LineBytes>, bytes: &LineBytes) {
    match *slot {
        0 => *slot = slab.push(*bytes) + 1,
        slot => *slab.get_mut(slot - 1) = *bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::TestBase;
    use crate::message::{MacBlock, TreeNode};
    use proptest::prelude::*;

    fn media() -> impl Strategy<Value = MediaLine> {
        // Few pages, some of them far apart, so that lines are accessed repeatedly and several leaves of the table are
        // used.
        (prop_oneof![0..3u64, 1_022..1_026u64, Just(4_000_000)], 0..64usize, 0..4u8).prop_map(|(page, index, kind)| {
            match kind {
                0 => MediaLine::counter(CounterBlock(page)),
                1 => MediaLine::mac(MacBlock(page)),
                2 => MediaLine::node(TreeNode { level: 1 + index as u8 % 3, index: page }),
                _ => MediaLine::data(Page(page).line(index)),
            }
        })
    }

    proptest! {
        #[test]
        fn an_image_is_a_sorted_map_over_its_base(
            stores in prop::collection::vec((media(), 1..255u8), 0..200), probes in prop::collection::vec(media(), 50),
            bytes: bool,
        ) {
            // Lines 0 to 99 are populated.
            let base = Arc::new(TestBase { lines: 100, bytes: [0xbb; 64] });
            let mut image = Image::new(base, bytes);
            let mut model = BTreeMap::new();
            for (media, value) in stores {
                if value % 8 == 7 {
                    image.forget(media);
                    model.remove(&media);
                    continue;
                }
                image.store(media, &[value; 64]);
                let kept = if bytes || media.is_metadata() { value } else { 0 };
                model.insert(media, [kept; 64]);
            }
            prop_assert_eq!(
                image.iter_stored().map(|(media, bytes)| (media, *bytes)).collect::<Vec<_>>(),
                model.clone().into_iter().collect::<Vec<_>>()
            );
            for media in probes.into_iter().chain(model.keys().copied()) {
                let populated = media.as_line().is_some_and(|line| line.0 < 100);
                let expected = match model.get(&media) {
                    Some(stored) => Content::Stored(stored),
                    None if populated => Content::Base(if bytes { &[0xbb; 64] } else { &ZERO }),
                    None => Content::Never,
                };
                prop_assert_eq!(image.content(media), expected);
            }
        }
    }

    #[test]
    fn a_clone_lives_its_own_life() {
        let mut image = Image::new(Arc::new(TestBase { lines: 1, bytes: [1; 64] }), true);
        let line = MediaLine::data(Line(0));
        let before = image.clone();
        image.store(line, &[2; 64]);
        let after = image.clone();
        image.store(line, &[3; 64]);
        assert_eq!(before.content(line), Content::Base(&[1; 64]));
        assert_eq!(after.content(line), Content::Stored(&[2; 64]));
    }
}
