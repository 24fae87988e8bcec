//! What a power failure leaves: the media, what the persistence domain drains to them, and registers that survive.

use crate::message::{
    Content, CounterBlock, Line, LineBytes, LogSnapshot, MediaLine, MediaUnit, OnChipLine, Page, ShadowRegisters,
};
use rustc_hash::FxHashMap;

/// The media, as they are when power fails. Read only: a boot keeps what it writes to itself, so that one image serves
/// every crash point.
pub trait Media {
    /// What is stored for `media`.
    fn content(&self, media: MediaLine) -> Content<'_>;
    /// Shows every counter block that is stored, in whatever order.
    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes));
    /// What boots have stored for `media` over what a device holds, if they have.
    fn changed(&self, _media: MediaLine) -> Option<&LineBytes> {
        None
    }
    /// Shows what the last of them has stored, in whatever order.
    fn last_changes(&self, _show: &mut dyn FnMut(MediaLine, &LineBytes)) {}
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

    /// The major counter of `line`, if the page is its own: the old one until the line has been encrypted anew, then the
    /// next. Its counter block may be from before, should the write that had the new one have been lost.
    pub fn major_of(&self, line: Line) -> Option<u64> {
        (line.page() == self.page).then(|| self.old_major + u64::from(!self.awaits(line)))
    }
}

/// What a boot finds of the global counter's register (counter-atomicity section 5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GlobalCounter {
    /// Nothing: counting begins anew. Also without global counters.
    #[default]
    Lost,
    /// The last value that was given out.
    Kept(u64),
    /// Nothing: the register is set to the largest counter on the media after the drain.
    Scanned,
}

/// What the persistence domain holds when power fails.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AdrSnapshot {
    /// What is drained to the media, in order: the write pending queue in the order of admission, issued writes included
    /// that no bank has accepted; under eADR dirty counter blocks and what leaves the caches, too.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// The status register, if it is in use and in the ADR domain.
    pub status: Option<ReencryptionStatus>,
    /// The global counter's register.
    pub global_counter: GlobalCounter,
    /// The log metadata registers, if they are in the ADR domain.
    pub log: Vec<LogSnapshot>,
    /// The lines that lie in the clear after the drain although memory is encrypted, and are flagged so.
    pub plain: Vec<Line>,
    /// The registers of the eADR designs.
    pub registers: ShadowRegisters,
}

/// What a machine holds in the instant in which power is lost, whatever of it survives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeldState {
    /// What lies ready in the write pending queue, in the order of admission.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// Dirty counter blocks, newer than the queue and the media.
    pub counters: Vec<(CounterBlock, LineBytes)>,
    /// The status register, if it is in use.
    pub status: Option<ReencryptionStatus>,
    /// The last value that the global counter's register gave out, if counters are global and it was not lost before.
    pub global_counter: Option<u64>,
    /// The log metadata registers.
    pub log: Vec<LogSnapshot>,
    /// The dirty lines of the caches, in the order of their slots.
    pub lines: Vec<OnChipLine>,
    /// The lines of the memory that lie in the clear although it is encrypted, and are flagged so.
    pub plain: Vec<Line>,
    /// The registers of the eADR designs.
    pub registers: ShadowRegisters,
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

    pub fn store(&mut self, media: MediaLine, bytes: &LineBytes) {
        self.written.insert(media, *bytes);
    }
}

impl Media for Memory<'_> {
    fn changed(&self, media: MediaLine) -> Option<&LineBytes> {
        self.written.get(&media).or_else(|| self.media.changed(media))
    }

    fn last_changes(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.written.iter().for_each(|(media, bytes)| show(*media, bytes));
    }

    fn content(&self, media: MediaLine) -> Content<'_> {
        self.written.get(&media).map_or_else(|| self.media.content(media), Content::Stored)
    }

    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes)) {
        self.media.counter_blocks(&mut |block, bytes| {
            if !self.written.contains_key(&MediaLine::counter(block)) {
                show(block, bytes);
            }
        });
        for (media, bytes) in &self.written {
            if let MediaUnit::Counter(block) = media.unit() {
                show(block, bytes);
            }
        }
    }
}
