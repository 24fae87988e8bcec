//! What survives a power failure: the media, what the persistence domain drains to them, and registers.

use crate::layout::{LogSnapshot, ShadowRegisters, TreePlace};
use crate::message::{
    Content, CounterBlock, CounterGroup, Found, GroupMask, Line, LineBytes, MediaLine, MediaUnit, OnChipLine,
};
use rustc_hash::FxHashMap;

/// The media at a power failure. Read-only: a boot keeps its writes separately, so that one image serves every crash
/// point.
pub trait Media: Sync {
    /// What is stored for `media`.
    fn content(&self, media: MediaLine) -> Content<'_>;
    /// What boots have stored for `media` on top of the device's contents, if anything.
    fn changed(&self, _media: MediaLine) -> Option<&LineBytes> {
        None
    }
    /// Calls `show` for everything that is stored, in any order.
    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes));
    /// Calls `show` for every stored counter block, in any order.
    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes)) {
        self.stored(&mut |media, bytes| {
            if let MediaUnit::Counter(block) = media.unit() {
                show(block, bytes);
            }
        });
    }
    /// Calls `show` for everything that the last boot has stored, in any order.
    fn last_changes(&self, _show: &mut dyn FnMut(MediaLine, &LineBytes)) {}
}

/// The re-encryption status register (secpm section 3.5): page number, old major counter and done bits. Where a counter block
/// covers other lines than those of a page, it is about these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReencryptionStatus {
    /// The lines under re-encryption.
    pub group: CounterGroup,
    /// Their major counter before the overflow.
    pub old_major: u64,
    /// Bit n: line n has been re-encrypted.
    pub done: GroupMask,
}

impl ReencryptionStatus {
    /// Whether `line` is one of them and has not been re-encrypted.
    pub fn awaits(&self, line: Line) -> bool {
        self.group.lacks(self.done, line)
    }

    /// The major counter of `line`, if it is one of them: the old one until the line has been re-encrypted, then
    /// the next. The line's counter block may be older, if the write with the new one was lost.
    pub fn major_of(&self, line: Line) -> Option<u64> {
        self.group.contains(line).then(|| self.old_major + u64::from(!self.awaits(line)))
    }
}

/// What a boot finds of the global counter's register (counter-atomicity section 5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GlobalCounter {
    /// Nothing: counting starts again. Also used without global counters.
    #[default]
    Lost,
    /// The last value that was used.
    Kept(u64),
    /// Nothing: after the drain, the register is set to the largest counter on the media.
    Scanned,
}

/// The contents of the persistence domain when power fails.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AdrSnapshot {
    /// What is drained to the media, in order: the write pending queue in the order of admission, including issued
    /// writes that no bank has accepted; with eADR, also dirty counter blocks, lines of MACs and nodes, and what leaves the
    /// caches.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// The status register, if it is in use and in the ADR domain.
    pub status: Option<ReencryptionStatus>,
    /// The global counter's register.
    pub global_counter: GlobalCounter,
    /// The log metadata registers, if they are in the ADR domain.
    pub log: Vec<LogSnapshot>,
    /// The lines that are unencrypted after the drain although memory is encrypted, and are flagged so.
    pub plain: Vec<Line>,
    /// The registers of the eADR designs.
    pub registers: ShadowRegisters,
    /// The register of the root of the integrity tree; `None` if there is no tree.
    pub root: Option<LineBytes>,
    /// The roots, if the tree has several, in the order of their places.
    pub roots: Vec<(TreePlace, LineBytes)>,
    /// The register of the root of the tree over the shadow table, or over what was newer in the metadata caches; `None` if
    /// there is no such tree.
    pub table_root: Option<LineBytes>,
}

/// The complete state of a machine when power is lost, whether it survives or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeldState {
    /// The ready entries of the write pending queue, in the order of admission.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// Dirty counter blocks, which are newer than the queue and the media.
    pub counters: Vec<(CounterBlock, LineBytes)>,
    /// Dirty lines of MACs and tree nodes, which are newer than the queue and the media, if a battery drains them.
    pub metadata: Vec<(MediaLine, LineBytes)>,
    /// The status register, if it is in use.
    pub status: Option<ReencryptionStatus>,
    /// The last value of the global counter that was used; `None` if counters are not global or it was lost before.
    pub global_counter: Option<u64>,
    /// The log metadata registers.
    pub log: Vec<LogSnapshot>,
    /// The dirty lines of the caches, in the order of their slots.
    pub lines: Vec<OnChipLine>,
    /// The lines of memory that are unencrypted although memory is encrypted, and are flagged so.
    pub plain: Vec<Line>,
    /// The registers of the eADR designs.
    pub registers: ShadowRegisters,
    /// The register of the root of the integrity tree; `None` if there is no tree.
    pub root: Option<LineBytes>,
    /// The roots, if the tree has several, in the order of their places.
    pub roots: Vec<(TreePlace, LineBytes)>,
    /// The register of the root of the tree over the shadow table, or over what was newer in the metadata caches; `None` if
    /// there is no such tree.
    pub table_root: Option<LineBytes>,
    /// The lines on the chip with bits for what is newer there than in memory, or with partial updates.
    pub chip_lines: Vec<(MediaLine, LineBytes)>,
    /// The lines that read as something else once wear levelling has lost its registers, with what that is.
    pub misread: Vec<(MediaLine, Found)>,
    /// The lines that modules which encrypt have in their buffers and not on their media.
    pub buffered: Vec<MediaLine>,
}

/// The media with everything that was written since.
#[derive(Clone)]
pub struct Memory<'a> {
    media: &'a dyn Media,
    written: FxHashMap<MediaLine, LineBytes>,
}

impl<'a> Memory<'a> {
    /// `media` with nothing written.
    pub fn new(media: &'a dyn Media) -> Self {
        Self { media, written: FxHashMap::default() }
    }

    /// Writes `bytes` to `media`.
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

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.media.stored(&mut |media, bytes| {
            if !self.written.contains_key(&media) {
                show(media, bytes);
            }
        });
        self.written.iter().for_each(|(media, bytes)| show(*media, bytes));
    }
}
