//! The media after a power failure, with what the attacker has changed.

use super::Changes;
use crate::message::{Content, LineBytes, MediaLine};
use crate::recovery::{AdrSnapshot, Media, Memory};
use rustc_hash::FxHashMap;

/// What is stored for `unit`; `None` if it was never written.
pub(super) fn stored(media: &dyn Media, unit: MediaLine) -> Option<LineBytes> {
    match media.content(unit) {
        Content::Stored(bytes) => Some(*bytes),
        Content::Base(_) | Content::Never => None,
    }
}

/// `media` with everything that the persistence domain drains to them.
pub(super) fn drained<'a>(media: &'a dyn Media, snapshot: &AdrSnapshot) -> Memory<'a> {
    let mut memory = Memory::new(media);
    snapshot.wpq.iter().for_each(|(media, bytes)| memory.store(*media, bytes));
    memory
}

/// The media with the attacker's changes.
pub(super) struct Tampered<'a> {
    media: &'a dyn Media,
    changes: FxHashMap<MediaLine, Option<LineBytes>>,
}

impl<'a> Tampered<'a> {
    pub fn new(media: &'a dyn Media, changes: &Changes) -> Self {
        Self { media, changes: changes.iter().copied().collect() }
    }
}

impl Media for Tampered<'_> {
    fn content(&self, media: MediaLine) -> Content<'_> {
        match self.changes.get(&media) {
            Some(Some(bytes)) => Content::Stored(bytes),
            Some(None) => Content::Never,
            None => self.media.content(media),
        }
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.media.stored(&mut |media, bytes| {
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
