//! What is known about one line and one counter block. Each auditor owns one part of a [`Record`]; the record only stores
//! the parts together, and [`super::lines`] has all records.

use super::hashes::{mix, unit_hash};
use crate::message::{CoreId, CounterBlock, CounterGroup, DrainedWrite, GroupMask, Line, LineBytes};
use std::collections::VecDeque;

/// A line that is in no list of the judge of transactions.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Index of a line's record.
pub(super) type Id = u32;

/// To which core a line belongs, and its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Heap(CoreId),
    Log(CoreId),
    /// Data that the program needs no more after a power failure.
    Volatile(CoreId),
    /// The undo log that hardware writes, which belongs to no core.
    HardwareLog,
    Other,
}

/// What is known about one line.
pub(super) struct Record {
    pub line: Line,
    pub role: Role,
    pub durable: DurableLine,
    pub history: History,
    pub golden: GoldenLine,
    /// What a boot writes there, from the hardware's log or from the shadow cache.
    pub restored: Option<LineBytes>,
    /// The power loss since which the shadow cache holds the line.
    pub shadowed: u64,
    /// The walks of the hardware's log that have read the line.
    pub undo_readers: u64,
}

impl Record {
    /// What the line holds when the program's own recovery begins, as of the last settling.
    pub fn booted(&self) -> &LineBytes {
        self.restored.as_ref().unwrap_or(&self.durable.plain)
    }
}

/// What would survive of one line.
pub(super) struct DurableLine {
    /// What the line decrypts to, as of the last settling.
    pub plain: LineBytes,
    /// The bytes on the media or in the persistence domain; `None` if the run has not written the line.
    pub stored: Option<LineBytes>,
    /// The bits of its words, if these have one of two counters and the bits survive.
    pub modified: u64,
    /// What replaces those bytes if power is lost now.
    pub left: Option<Left>,
    /// The event in which the bytes persisted.
    pub persisted_at: Option<u64>,
    pub hash: u64,
    pub stale: bool,
}

impl DurableLine {
    pub fn new(plain: LineBytes) -> Self {
        Self { plain, stored: None, modified: 0, left: None, persisted_at: None, hash: 0, stale: false }
    }

    /// The bytes that a boot finds; `None` if they are from before the run.
    pub fn found(&self) -> Option<&LineBytes> {
        self.left.as_ref().map(|left| &left.bytes).or(self.stored.as_ref())
    }

    /// Whether the bytes are flagged as unencrypted.
    pub fn in_the_clear(&self) -> bool {
        self.left.as_ref().is_some_and(|left| left.in_the_clear)
    }
}

/// What leaves on battery for one unit.
pub(super) struct Left {
    pub bytes: LineBytes,
    pub in_the_clear: bool,
    /// Contribution to the hash of the durable state.
    pub hash: u64,
    /// The latest power loss in which it left.
    pub loss: u64,
}

impl Left {
    pub fn new(write: &DrainedWrite, loss: u64) -> Self {
        let hash = unit_hash(write.media, &write.bytes);
        let hash = if write.in_the_clear { mix(hash, 1) } else { hash };
        Self { bytes: write.bytes, in_the_clear: write.in_the_clear, hash, loss }
    }

    pub fn is(&self, write: &DrainedWrite) -> bool {
        self.bytes == write.bytes && self.in_the_clear == write.in_the_clear
    }
}

/// The versions of one line that a crash may show.
pub(super) struct History {
    /// The newest version that a completed fence covers; the base until then.
    pub covered: LineBytes,
    /// Everything stored since that fence, in order.
    pub later: Vec<LineBytes>,
    /// Number of the covered version: versions count from 0, which is the base.
    pub number: u64,
    /// The event of the last store.
    pub stored_at: Option<u64>,
    /// The event of the fence that covers `covered`.
    pub covered_at: Option<u64>,
    /// If the line is marked, the number of the version that it held at that time.
    pub marked: Option<u64>,
    pub queued: bool,
    pub bad: bool,
}

impl History {
    pub fn new(base: LineBytes) -> Self {
        Self {
            covered: base,
            later: Vec::new(),
            number: 0,
            stored_at: None,
            covered_at: None,
            marked: None,
            queued: false,
            bad: false,
        }
    }

    /// Whether the line breaks the rule, as of the last judgement.
    pub fn is_bad(&self) -> bool {
        self.bad
    }

    /// The line's contents as the program sees them.
    pub fn latest(&self) -> &LineBytes {
        self.later.last().unwrap_or(&self.covered)
    }
}

/// The golden state of one line and its place in the judge's lists.
pub(super) struct GoldenLine {
    /// Its bytes after the committed transactions.
    pub bytes: LineBytes,
    /// Whether the line belongs to the domain of the committed state.
    pub in_domain: bool,
    pub diff_slot: u32,
    pub read_stamp: u32,
    pub overlay_stamp: u32,
    pub overlay_slot: u32,
}

impl GoldenLine {
    pub fn new(bytes: LineBytes, in_domain: bool) -> Self {
        Self { bytes, in_domain, diff_slot: NOWHERE, read_stamp: 0, overlay_stamp: 0, overlay_slot: 0 }
    }
}

/// What is known about one counter block.
pub(super) struct BlockRow {
    pub block: CounterBlock,
    /// Contribution of the stored block to the hash of the durable state.
    pub hash: u64,
    /// The event that persisted the block last; `None` if it never was.
    pub persisted_at: Option<u64>,
    /// The block as it last persisted.
    pub stored: Option<LineBytes>,
    /// The queued copies of the block, oldest first; the last one equals `stored`.
    pub queued: VecDeque<LineBytes>,
    /// The block on the media, which remains if the queued copies are removed.
    pub written: Option<LineBytes>,
    /// What replaces the block if power is lost now.
    pub left: Option<Left>,
    /// Whether counters may have changed since the effective ones were computed.
    pub stale: bool,
}

/// The re-encryption status register as last reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub group: CounterGroup,
    pub old_major: u64,
    pub done: GroupMask,
}

impl Status {
    /// Whether `line` is under re-encryption and has not been re-encrypted.
    pub fn awaits(&self, line: Line) -> bool {
        self.group.lacks(self.done, line)
    }
}

/// One line after a power failure now, as of the last judgement. Counters are major and minor; a global counter, or a
/// line's own 8-byte counter, is all major.
#[derive(Clone, Copy, Debug)]
pub struct LineView<'a> {
    /// The line's number.
    pub line: Line,
    /// What a boot finds for the line: what it decrypts to, or what the shadow cache holds.
    pub found: &'a LineBytes,
    /// The version that the newest completed fence covers.
    pub covered: &'a LineBytes,
    /// Whether that version is from before the run.
    pub covered_is_base: bool,
    /// Everything stored since that fence, in order.
    pub later: &'a [LineBytes],
    /// Whether the boot restores the line, from the shadow cache or from the hardware's log.
    pub restored: bool,
    /// Whether the line is flagged as unencrypted.
    pub in_the_clear: bool,
    /// The counter that decrypts the line: the durable one, adjusted by the status register. `None` if it has none.
    pub counter: Option<(u64, u16)>,
    /// Whether the line breaks the line rule.
    pub wrong: bool,
}
