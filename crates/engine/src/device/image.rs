//! The bytes that survive a power failure: what was written to the media, over the populated base.
//!
//! Memory use follows the lines that are accessed. A populated line that nothing has accessed stays plaintext in the
//! shared base; it gets a place here when it is written, or when its ciphertext is needed. Cloning an image copies only
//! these lines.

use super::line_states::{LineState, LineStates};
use super::table::Slab;
use crate::kernel::prefetch;
use crate::message::{BaseImage, Content, Line, LineBytes, MediaLine};
use std::ops::Range;
use std::sync::Arc;

static ZERO: LineBytes = [0; 64];

/// The contents of the media, and how often each line was written.
#[derive(Clone)]
pub struct Image {
    base: Arc<dyn BaseImage>,
    states: LineStates,
    /// The bytes of the lines that were stored.
    lines: Slab<LineBytes>,
    bytes: bool,
    /// How often what is stored has changed.
    changes: u64,
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
        Self { base, states: LineStates::default(), lines, bytes, changes: 0 }
    }

    /// What is stored for `media`.
    pub fn content(&self, media: MediaLine) -> Content<'_> {
        match (self.states.get(media).place, media.as_line()) {
            (0, Some(line)) => self.base_content(line),
            (0, None) => Content::Never,
            (place, _) => Content::Stored(self.lines.get(place - 1)),
        }
    }

    /// Has the host bring what it knows of `media` near, because it will be used soon.
    pub fn prefetch(&self, media: MediaLine) {
        self.states.prefetch(media);
    }

    /// Writes `bytes` to `media`; returns how many bits this changes. Lines that were never written hold zeros, and a line
    /// of the populated base is compared with its plaintext; where it is encrypted half of the bits differ, as between any
    /// two ciphertexts. Without bytes nothing is known to change.
    pub fn store(&mut self, media: MediaLine, bytes: &LineBytes) -> u32 {
        if !self.bytes {
            self.put(media, bytes);
            return 0;
        }
        self.changes += 1;
        let place = &mut self.states.get_mut(media).place;
        if *place == 0 {
            *place = self.lines.push(*bytes) + 1;
            let before = media.as_line().and_then(|line| self.base.line(line));
            return changed_bits(before.unwrap_or(&ZERO), bytes);
        }
        let stored = self.lines.get_mut(*place - 1);
        let flipped = changed_bits(stored, bytes);
        *stored = *bytes;
        flipped
    }

    /// Replaces what is stored for `media`, which is no write.
    pub fn put(&mut self, media: MediaLine, bytes: &LineBytes) {
        self.changes += 1;
        let place = &mut self.states.get_mut(media).place;
        if !self.bytes && media.as_line().is_some() {
            *place = 1;
        } else if *place == 0 {
            *place = self.lines.push(*bytes) + 1;
        } else {
            *self.lines.get_mut(*place - 1) = *bytes;
        }
    }

    /// Makes what is stored for `media` what it was: `bytes`, or nothing.
    pub fn restore(&mut self, media: MediaLine, bytes: Option<&LineBytes>) {
        match bytes {
            Some(bytes) => self.put(media, bytes),
            None => self.forget(media),
        }
    }

    /// Makes `media` look as if it had never been written. Its place is not used again.
    pub fn forget(&mut self, media: MediaLine) {
        self.changes += 1;
        if self.states.get(media).place != 0 {
            self.states.get_mut(media).place = 0;
        }
    }

    /// How often what is stored may have changed since the beginning.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Counts one write of `media`; returns its number of writes since the last reset.
    pub fn count_write(&mut self, media: MediaLine) -> u32 {
        let LineState { place, writes } = self.states.get_mut(media);
        *writes = writes.saturating_add(1);
        if *place != 0 {
            // The bytes follow.
            prefetch(self.lines.get(*place - 1));
        }
        *writes
    }

    /// The number of writes of `media` since the last reset.
    pub fn writes(&self, media: MediaLine) -> u32 {
        self.states.get(media).writes
    }

    /// Every line that was written since the last reset, with its number of writes.
    pub fn iter_writes(&self) -> impl Iterator<Item = (MediaLine, u32)> + '_ {
        self.states.all().filter(|(_, state)| state.writes != 0).map(|(media, state)| (media, state.writes))
    }

    /// Sets all numbers of writes to zero.
    pub fn reset_writes(&mut self) {
        self.states.reset_writes();
    }

    /// Which of 1 to 64 neighbouring lines belong to the populated base, as [`BaseImage::populated_mask`].
    pub fn populated_mask(&self, lines: Range<u64>) -> u64 {
        self.base.populated_mask(lines)
    }

    /// What `line` held before the run, if it was populated.
    pub fn base(&self, line: Line) -> Option<&LineBytes> {
        self.base.line(line)
    }

    /// Everything stored, in address order: data lines, counter blocks, lines of MACs, tree nodes. Does not include lines
    /// that are still in the base.
    pub fn iter_stored(&self) -> impl Iterator<Item = (MediaLine, &LineBytes)> + '_ {
        self.states.stored().map(|(media, place)| (media, self.lines.get(place - 1)))
    }

    fn base_content(&self, line: Line) -> Content<'_> {
        let found = if self.bytes { self.base.line(line) } else { self.base.populated(line).then_some(&ZERO) };
        found.map_or(Content::Never, Content::Base)
    }
}

fn changed_bits(before: &LineBytes, after: &LineBytes) -> u32 {
    let (before, after) = (before.as_chunks::<8>().0, after.as_chunks::<8>().0);
    let changed = |(before, after): (&[u8; 8], &[u8; 8])| u64::from_ne_bytes(*before) ^ u64::from_ne_bytes(*after);
    before.iter().zip(after).map(|words| changed(words).count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::TestBase;
    use crate::message::{CounterBlock, MacBlock, Page, TreeNode};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

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
        fn image_is_a_sorted_map_over_its_base(
            stores in prop::collection::vec((media(), 1..255u8), 0..200), probes in prop::collection::vec(media(), 50),
            bytes: bool,
        ) {
            // Lines 0 to 99 are populated.
            let base = Arc::new(TestBase { lines: 100, bytes: [0xbb; 64] });
            let mut image = Image::new(base, bytes);
            let mut model = BTreeMap::<MediaLine, LineBytes>::new();
            for (media, value) in stores {
                if value % 8 == 7 {
                    image.forget(media);
                    model.remove(&media);
                    continue;
                }
                let populated = media.as_line().is_some_and(|line| line.0 < 100);
                let before = model.get(&media).map_or(if populated { 0xbb } else { 0 }, |bytes| bytes[0]);
                let flipped = if bytes { (before ^ value).count_ones() * 64 } else { 0 };
                prop_assert_eq!(image.store(media, &[value; 64]), flipped);
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
    fn clone_lives_its_own_life() {
        let mut image = Image::new(Arc::new(TestBase { lines: 1, bytes: [1; 64] }), true);
        let line = MediaLine::data(Line(0));
        let before = image.clone();
        image.store(line, &[2; 64]);
        let after = image.clone();
        image.store(line, &[3; 64]);
        assert_eq!(before.content(line), Content::Base(&[1; 64]));
        assert_eq!(after.content(line), Content::Stored(&[2; 64]));
    }

    #[test]
    fn writes_of_lines_and_counter_blocks_are_counted_apart() {
        let mut image = Image::new(Arc::new(TestBase { lines: 1, bytes: [1; 64] }), true);
        let (line, next, block) =
            (MediaLine::data(Line(7)), MediaLine::data(Line(8)), MediaLine::counter(CounterBlock(7)));
        let mac = MediaLine::mac(MacBlock(7));
        let counts = [line, next, line, block, mac, block, block].map(|media| image.count_write(media));
        assert_eq!(counts, [1, 1, 2, 1, 1, 2, 3]);
        assert_eq!([line, next, block, mac].map(|media| image.writes(media)), [2, 1, 3, 1]);
        assert_eq!(image.writes(MediaLine::counter(CounterBlock(0))), 0);
        assert_eq!(image.iter_stored().count(), 0, "a write that is counted is not yet stored");
        image.reset_writes();
        assert_eq!([line, next, block, mac].map(|media| image.writes(media)), [0; 4]);
    }
}
