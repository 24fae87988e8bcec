//! Which cores' private caches hold a line, and which of them alone may write it. Consulted on misses, upgrades and
//! evictions only: the right to write also lies beside the line itself. A machine with one core has no directory.

use crate::message::Line;
use rustc_hash::FxHashMap;

/// Cores a directory can tell apart: one bit each.
pub(super) const CORES_MAX: u16 = 64;
const NO_OWNER: u8 = u8::MAX;

#[derive(Clone, Copy)]
struct Entry {
    sharers: u64,
    owner: u8,
}

/// The directory.
#[derive(Default)]
pub(super) struct Directory {
    entries: FxHashMap<u64, Entry>,
}

impl Directory {
    /// The cores that hold `line`, one bit each.
    pub(super) fn sharers(&self, line: Line) -> u64 {
        self.entries.get(&line.0).map_or(0, |entry| entry.sharers)
    }

    /// The core that alone may write `line`.
    pub(super) fn owner(&self, line: Line) -> Option<usize> {
        self.entries.get(&line.0).filter(|entry| entry.owner != NO_OWNER).map(|entry| usize::from(entry.owner))
    }

    /// `core` holds `line` from now on; `alone` if it may write it, which nobody else then holds.
    pub(super) fn add(&mut self, line: Line, core: usize, alone: bool) {
        let entry = self.entries.entry(line.0).or_insert(Entry { sharers: 0, owner: NO_OWNER });
        entry.sharers |= 1 << core;
        debug_assert!(!alone || entry.sharers == 1 << core);
        entry.owner = if alone { core as u8 } else { NO_OWNER };
    }

    /// The owner of `line` may no longer write it.
    pub(super) fn disown(&mut self, line: Line) {
        if let Some(entry) = self.entries.get_mut(&line.0) {
            entry.owner = NO_OWNER;
        }
    }

    /// `core` holds `line` no longer.
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
    fn an_entry_lives_as_long_as_somebody_holds_the_line() {
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
