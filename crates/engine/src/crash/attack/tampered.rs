//! The media after a power failure, with what the attacker has changed.

use super::Changes;
use crate::message::{Content, CounterBlock, LineBytes, MediaLine, MediaUnit};
use crate::recovery::{AdrSnapshot, Media};
use rustc_hash::FxHashMap;

/// What is stored for `unit`; `None` if it was never written.
pub(super) fn stored(media: &dyn Media, unit: MediaLine) -> Option<LineBytes> {
    match media.content(unit) {
        Content::Stored(bytes) => Some(*bytes),
        Content::Base(_) | Content::Never => None,
    }
}

/// The media with everything that the persistence domain has drained to them.
pub(super) struct Drained<'a> {
    media: &'a dyn Media,
    drained: FxHashMap<MediaLine, LineBytes>,
}

impl<'a> Drained<'a> {
    /// `media` with what the persistence domain drains to them.
    pub fn new(media: &'a dyn Media, snapshot: &AdrSnapshot) -> Self {
        Self { media, drained: snapshot.wpq.iter().copied().collect() }
    }
}

impl Media for Drained<'_> {
    fn content(&self, media: MediaLine) -> Content<'_> {
        self.drained.get(&media).map_or_else(|| self.media.content(media), Content::Stored)
    }

    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes)) {
        Media::stored(self, &mut |media, bytes| {
            if let MediaUnit::Counter(block) = media.unit() {
                show(block, bytes);
            }
        });
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.media.stored(&mut |media, bytes| {
            if !self.drained.contains_key(&media) {
                show(media, bytes);
            }
        });
        self.drained.iter().for_each(|(media, bytes)| show(*media, bytes));
    }
}

/// The same with the attacker's changes.
pub(super) struct Tampered<'a> {
    drained: &'a Drained<'a>,
    changes: FxHashMap<MediaLine, Option<LineBytes>>,
}

impl<'a> Tampered<'a> {
    pub fn new(drained: &'a Drained<'a>, changes: &Changes) -> Self {
        Self { drained, changes: changes.iter().copied().collect() }
    }
}

impl Media for Tampered<'_> {
    fn content(&self, media: MediaLine) -> Content<'_> {
        match self.changes.get(&media) {
            Some(Some(bytes)) => Content::Stored(bytes),
            Some(None) => Content::Never,
            None => self.drained.content(media),
        }
    }

    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes)) {
        Media::stored(self, &mut |media, bytes| {
            if let MediaUnit::Counter(block) = media.unit() {
                show(block, bytes);
            }
        });
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        Media::stored(self.drained, &mut |media, bytes| {
            if !self.changes.contains_key(&media) {
                show(media, bytes);
            }
        });
        for (media, bytes) in &self.changes {
            if let Some(bytes) = bytes {
                show(*media, bytes);
            }
        }
    }
}
