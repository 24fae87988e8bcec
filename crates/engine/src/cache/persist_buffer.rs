//! Persist buffers: for each core, the lines that it wrote last, which a battery saves when the caches are lost (secpb).
//!
//! A store takes an entry for its line and waits until one is free; a line that is there already needs no other. More than a
//! watermark of lines, and the oldest is sent to memory: its copies in the caches are clean from then on. An entry is free when
//! memory has acknowledged its line. A line that is evicted before its turn takes its entry along. A line is in the buffer of
//! the core that wrote it last.
//!
//! The bytes of a line that has not been sent are those of its newest copy in the caches, which hold it dirty.

use super::hierarchy::Hierarchy;
use super::level::Resting;
use crate::kernel::Ps;
use crate::message::{Access, CoreId, Line, LineBytes, OnChipLine, Wake};
use crate::parts::BufferRelease;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The persist buffers of a design.
#[derive(Clone, Copy, Debug)]
pub struct BufferParts {
    /// Entries of the buffer of a core.
    pub entries: u32,
    /// The most lines in it that are not on their way to memory; below `entries`.
    pub watermark: u32,
    /// When an entry is free again.
    pub release: BufferRelease,
}

/// An entry in use.
#[derive(Clone)]
struct Entry {
    line: Line,
    /// `None` if it waits for its turn.
    sent: Option<Sent>,
}

/// A line on its way to memory.
#[derive(Clone)]
struct Sent {
    /// The write that takes it there.
    token: u32,
    /// How many lines were sent before it.
    order: u64,
    bytes: LineBytes,
}

/// The persist buffers of all cores.
#[derive(Clone)]
pub(super) struct PersistBuffers {
    parts: BufferParts,
    /// The entries of each core, the oldest first.
    cores: Vec<VecDeque<Entry>>,
    /// Cores whose store waits for an entry.
    waiting: Vec<bool>,
    /// How many lines have been sent.
    order: u64,
}

impl PersistBuffers {
    pub(super) fn new(parts: BufferParts, cores: u16) -> Self {
        let entries = VecDeque::with_capacity(parts.entries as usize);
        let cores = usize::from(cores);
        Self { parts, cores: vec![entries; cores], waiting: vec![false; cores], order: 0 }
    }

    /// Whether `core` can store to `line` now. If not, it waits.
    fn takes(&mut self, core: usize, line: Line) -> bool {
        let entries = &self.cores[core];
        let takes = entries.len() < self.parts.entries as usize || entries.iter().any(|entry| entry.holds(line));
        self.waiting[core] = !takes;
        takes
    }

    /// `core` has stored to `line`. Returns the other core whose entry is free from now on, if one is.
    fn stored(&mut self, core: usize, line: Line) -> Option<usize> {
        if self.cores[core].iter().any(|entry| entry.holds(line)) {
            return None;
        }
        let before = self.find(|entry| entry.holds(line)).inspect(|&(other, place)| {
            self.cores[other].remove(place);
        });
        self.cores[core].push_back(Entry { line, sent: None });
        before.map(|(other, _)| other)
    }

    /// The oldest line of `core`, if too many wait for their turn.
    fn due(&self, core: usize) -> Option<Line> {
        let mut waiting = self.cores[core].iter().filter(|entry| entry.sent.is_none());
        let oldest = waiting.next()?;
        (waiting.count() >= self.parts.watermark as usize).then_some(oldest.line)
    }

    /// `line` is on its way to memory with write `token`. Returns the core whose entry is free, if one is.
    fn sent(&mut self, line: Line, token: u32, bytes: &LineBytes) -> Option<usize> {
        let (core, place) = self.find(|entry| entry.holds(line))?;
        if self.parts.release == BufferRelease::WhenSent {
            self.cores[core].remove(place);
            return Some(core);
        }
        self.order += 1;
        self.cores[core][place].sent = Some(Sent { token, order: self.order, bytes: *bytes });
        None
    }

    /// Memory has acknowledged write `token`. Returns the core whose entry is free, if it was the write of one.
    fn acknowledged(&mut self, token: u32) -> Option<usize> {
        let (core, place) = self.find(|entry| entry.sent.as_ref().is_some_and(|sent| sent.token == token))?;
        self.cores[core].remove(place);
        Some(core)
    }

    fn find(&self, wanted: impl Fn(&Entry) -> bool) -> Option<(usize, usize)> {
        let of = |(core, entries): (usize, &VecDeque<Entry>)| Some((core, entries.iter().position(&wanted)?));
        self.cores.iter().enumerate().find_map(of)
    }

    /// Entries in use, and all entries.
    pub(super) fn used(&self) -> (u64, u64) {
        let used = self.cores.iter().map(VecDeque::len).sum::<usize>();
        (used as u64, u64::from(self.parts.entries) * self.cores.len() as u64)
    }
}

impl Entry {
    /// Whether it has what is newest of `line`.
    fn holds(&self, line: Line) -> bool {
        self.line == line && self.sent.is_none()
    }
}

impl Hierarchy {
    /// Whether `core` can store to `line` now, as far as its persist buffer goes.
    pub(super) fn take_entry(&mut self, now: Ps, core: CoreId, line: Line) -> Access {
        let c = usize::from(core);
        if self.buffers.as_mut().is_some_and(|buffers| !buffers.takes(c, line)) {
            self.ask_again(c);
            return Access::Pending;
        }
        Access::At(now)
    }

    /// `core` has stored to `line`, which is dirty in its first level.
    #[cold]
    pub(super) fn note_in_buffer(&mut self, now: Ps, core: usize, line: Line) {
        let Some(buffers) = &mut self.buffers else { return };
        let free = buffers.stored(core, line);
        self.entry_is_free(now, free);
        while let Some(oldest) = self.buffers.as_ref().and_then(|buffers| buffers.due(core)) {
            let resting = self.clean(core, oldest);
            let resting = resting.unwrap_or_else(|| panic!("no cache has {oldest:?} of a persist buffer dirty"));
            let token = self.send_write(now, oldest, resting, None, None, false);
            self.leave_buffer(now, oldest, token, &resting);
        }
    }

    /// The newest bytes of `line` are on their way to memory with write `token`.
    pub(super) fn leave_buffer(&mut self, now: Ps, line: Line, token: u32, resting: &Resting) {
        if let Some(buffers) = &mut self.buffers {
            let free = buffers.sent(line, token, &resting.plaintext());
            self.entry_is_free(now, free);
        }
    }

    /// Memory has acknowledged write `token`.
    pub(super) fn free_entry(&mut self, now: Ps, token: u32) {
        if let Some(buffers) = &mut self.buffers {
            let free = buffers.acknowledged(token);
            self.entry_is_free(now, free);
        }
    }

    /// Has the store of `core` go on that waits for an entry, if there is one.
    fn entry_is_free(&mut self, now: Ps, core: Option<usize>) {
        if let (Some(buffers), Some(core)) = (&mut self.buffers, core)
            && std::mem::take(&mut buffers.waiting[core])
        {
            self.wakes.push((core as CoreId, Wake::Prepared { at: now }));
        }
    }

    /// What the persist buffers hold, as [`Hierarchy::on_chip`] tells it; slots are their entries. What has not been sent comes
    /// first, then what has been sent, the last first.
    pub(super) fn in_buffers(&self, buffers: &PersistBuffers) -> Vec<OnChipLine> {
        let mut lines = Vec::new();
        for (core, entries) in buffers.cores.iter().enumerate() {
            for (place, Entry { line, sent }) in entries.iter().enumerate() {
                let (order, bytes) = match sent {
                    Some(sent) => (sent.order, sent.bytes),
                    None => (u64::MAX, self.newest_for(core, *line).unwrap_or_else(|| panic!("{line:?} is lost"))),
                };
                let slot = (core * buffers.parts.entries as usize + place) as u64;
                let (line, core, resident, plaintext) = (*line, core as CoreId, bytes, bytes);
                lines.push((order, OnChipLine { slot, level: 1, core, line, resident, plaintext, newest: false }));
            }
        }
        lines.sort_by_key(|(order, _)| Reverse(*order));
        let mut seen = FxHashSet::default();
        lines.into_iter().map(|(_, held)| OnChipLine { newest: seen.insert(held.line), ..held }).collect()
    }
}
