//! Which cores' private caches hold a line, and which core alone may write it. Used only on misses, upgrades and
//! evictions, because the right to write is also stored with the line itself. A machine with one core has no directory.

use crate::message::Line;
use rustc_hash::FxHashMap;

/// The most cores of a directory: one bit for each.
pub(super) const CORES_MAX: u16 = 64;
const NO_OWNER: u8 = u8::MAX;

#[derive(Clone, Copy)]
struct Entry {
    sharers: u64,
    owner: u8,
}

/// The directory of all private caches.
#[derive(Clone, Default)]
pub(super) struct Directory {
    entries: FxHashMap<u64, Entry>,
}

impl Directory {
    /// The cores that hold `line`, one bit each.
    pub(super) fn sharers(&self, line: Line) -> u64 {
        self.entries.get(&line.0).map_or(0, |entry| entry.sharers)
    }

    /// The core that has the exclusive right to write `line`.
    pub(super) fn owner(&self, line: Line) -> Option<usize> {
        self.entries.get(&line.0).filter(|entry| entry.owner != NO_OWNER).map(|entry| usize::from(entry.owner))
    }

    /// Records that `core` holds `line`; `alone` if it may write it and no other core holds it.
    pub(super) fn add(&mut self, line: Line, core: usize, alone: bool) {
        let entry = self.entries.entry(line.0).or_insert(Entry { sharers: 0, owner: NO_OWNER });
        entry.sharers |= 1 << core;
        debug_assert!(!alone || entry.sharers == 1 << core);
        entry.owner = if alone { core as u8 } else { NO_OWNER };
    }

    /// Ends the right of `line`'s owner to write it.
    pub(super) fn disown(&mut self, line: Line) {
        if let Some(entry) = self.entries.get_mut(&line.0) {
            entry.owner = NO_OWNER;
        }
    }

    /// Records that `core` no longer holds `line`.
    pub(super) fn remove(&mut self, line: Line, core: usize) {
        if let Some(entry) = self.entries.get_mut(&line.0) {
            entry.sharers &= !(1 << core);
            if usize::from(entry.owner) == core {
                entry.owner = NO_OWNER;
            }
            if entry.sharers == 0 {
                self.entries.remove(&line.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_lives_as_long_as_somebody_holds_the_line() {
        let (mut directory, line) = (Directory::default(), Line(9));
        directory.add(line, 3, true);
        assert_eq!((directory.sharers(line), directory.owner(line)), (8, Some(3)));
        directory.add(line, 63, false);
        assert_eq!((directory.sharers(line), directory.owner(line)), (8 | 1 << 63, None));
        directory.remove(line, 3);
        directory.remove(line, 63);
        assert!(directory.entries.is_empty());
    }
}
