//! What a power failure leaves: the media, what the persistence domain drains to them, and registers that survive.

use crate::message::{Content, Line, LineBytes, MediaLine, Page};
use rustc_hash::FxHashMap;

/// The media, as they are when power fails. Read only: a boot keeps what it writes to itself, so that one image serves
/// every crash point.
pub trait Media {
    /// What is stored for `media`.
    fn content(&self, media: MediaLine) -> Content<'_>;
}

/// The re-encryption status register (secpm section 3.5): 20 bytes of page number, old major counter and done bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReencryptionStatus {
    /// The page.
    pub page: Page,
    /// Its major counter before the overflow.
    pub old_major: u64,
    /// Bit n: line n has been encrypted anew.
    pub done: u64,
}

impl ReencryptionStatus {
    /// Whether `line` belongs to the page and has not been encrypted anew.
    pub fn awaits(&self, line: Line) -> bool {
        line.page() == self.page && self.done >> line.index_in_page() & 1 == 0
    }
}

/// What the ADR domain holds when power fails.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AdrSnapshot {
    /// The write pending queue in the order of admission, issued writes included that no bank has accepted.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// The status register, if it is in use and in the ADR domain.
    pub status: Option<ReencryptionStatus>,
}

/// The media with everything that was written since on top.
pub(super) struct Memory<'a> {
    media: &'a dyn Media,
    written: FxHashMap<MediaLine, LineBytes>,
}

impl<'a> Memory<'a> {
    pub fn new(media: &'a dyn Media) -> Self {
        Self { media, written: FxHashMap::default() }
    }

    pub fn content(&self, media: MediaLine) -> Content<'_> {
        self.written.get(&media).map_or_else(|| self.media.content(media), Content::Stored)
    }

    pub fn store(&mut self, media: MediaLine, bytes: &LineBytes) {
        self.written.insert(media, *bytes);
    }
}
