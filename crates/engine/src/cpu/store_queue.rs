//! Stores and flushes between dispatch and the cache, in program order (TSO), and the write-combining buffers of
//! non-temporal stores.

use crate::message::{FlushKind, Line, NO_SITE, Site};
use std::collections::VecDeque;

/// What an entry does when its turn comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Write bytes into the cache.
    Store,
    /// Write bytes of a variable that is declared `CounterAtomic` into the cache.
    CounterAtomicStore,
    /// Write bytes into a write-combining buffer.
    NonTemporal,
    /// Write the line back. `ordered`: nothing younger overtakes it (clflush).
    Flush { kind: FlushKind, ordered: bool },
    /// Write the line's counter block back.
    CounterWriteback,
    /// Shred the page whose first line this is.
    ZeroPage,
    /// Write the line back with its counter, and write its counter block back.
    FlushData,
    /// Begin a transaction that hardware logs; the entry has no line.
    BeginTransaction,
    /// Tell the other cores that everything before is done; the entry has no line.
    Report,
}

impl Action {
    /// Whether the action writes bytes into the cache.
    pub fn writes_the_cache(self) -> bool {
        matches!(self, Action::Store | Action::CounterAtomicStore)
    }

    /// Whether the action is a flush, which is acknowledged when what it wrote back is durable.
    pub fn flushes(self) -> bool {
        matches!(self, Action::Flush { .. } | Action::CounterWriteback | Action::ZeroPage | Action::FlushData)
    }

    /// Whether the action stores bytes, in the cache or elsewhere.
    pub fn stores(self) -> bool {
        self.writes_the_cache() || self == Action::NonTemporal
    }
}

/// One store or flush.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What the entry does.
    pub action: Action,
    /// The line that the entry accesses.
    pub line: Line,
    /// First byte in the line.
    pub offset: u8,
    /// Number of bytes.
    pub length: u8,
    /// The bytes, from index 0.
    pub bytes: [u8; 64],
    /// Tick from which the entry may leave; known once it has committed.
    pub committed: Option<u64>,
    /// The site of the operation in its program.
    pub site: Site,
}

/// What the store at the head of the store buffer waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StoreWait {
    No,
    /// The line of the store.
    Line,
    /// A miss register.
    Register,
    /// The log manager, or a counter.
    Preparation,
}

/// The queue of stores and flushes. Its committed part, at the front, is usually called the store buffer.
#[derive(Clone)]
pub struct StoreQueue {
    entries: VecDeque<Entry>,
    committed: usize,
    /// Number of queued stores for each bucket of lines: most loads need no search.
    lines: [u16; Line::BUCKETS],
}

impl Default for StoreQueue {
    fn default() -> Self {
        Self { entries: VecDeque::with_capacity(64), committed: 0, lines: [0; Line::BUCKETS] }
    }
}

impl StoreQueue {
    /// Number of entries, committed or not.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no committed entry is left.
    pub fn drained(&self) -> bool {
        self.committed == 0
    }

    /// Appends an entry at dispatch.
    pub fn push(&mut self, entry: Entry) {
        self.count(&entry, true);
        self.entries.push_back(entry);
    }

    /// Puts an already committed entry before all others: what a write-combining buffer left.
    pub fn push_front(&mut self, entry: Entry) {
        self.count(&entry, true);
        self.entries.push_front(entry);
        self.committed += 1;
    }

    /// Commits the oldest entry that has not committed.
    pub fn commit_next(&mut self, tick: u64) {
        self.entries[self.committed].committed = Some(tick);
        self.committed += 1;
    }

    /// The oldest committed entry.
    pub fn front(&self) -> Option<&Entry> {
        self.entries.front().filter(|_| self.committed > 0)
    }

    /// Removes the oldest entry.
    pub fn pop(&mut self) {
        let entry = self.entries.pop_front().expect("an entry left the store buffer");
        self.committed -= 1;
        self.count(&entry, false);
    }

    /// Whether a store to `line` is queued, so that a load is answered from here.
    pub fn holds(&self, line: Line) -> bool {
        let stores = |entry: &Entry| entry.line == line && entry.action.stores();
        self.lines[line.bucket()] > 0 && {
            let (older, newer) = self.entries.as_slices();
            older.iter().any(stores) || newer.iter().any(stores)
        }
    }

    /// The line of the newest queued store.
    pub fn newest_store_line(&self) -> Option<Line> {
        self.entries.back().filter(|entry| entry.action.writes_the_cache()).map(|entry| entry.line)
    }

    fn count(&mut self, entry: &Entry, add: bool) {
        if entry.action.stores() {
            let count = &mut self.lines[entry.line.bucket()];
            *count = if add { *count + 1 } else { *count - 1 };
        }
    }
}

/// One write-combining buffer: a line being filled by non-temporal stores.
#[derive(Clone, Copy, Debug)]
pub struct CombiningBuffer {
    /// The line that is being filled.
    pub line: Line,
    /// The bytes written so far.
    pub bytes: [u8; 64],
    /// Bit `i`: byte `i` has been written.
    pub mask: u64,
    /// The site of the newest store in the buffer.
    pub site: Site,
}

impl CombiningBuffer {
    /// An empty buffer for `line`.
    pub fn new(line: Line) -> Self {
        Self { line, bytes: [0; 64], mask: 0, site: NO_SITE }
    }

    /// Merges a store.
    pub fn merge(&mut self, offset: u8, data: &[u8], site: Site) {
        self.site = site;
        let offset = offset as usize;
        self.bytes[offset..offset + data.len()].copy_from_slice(data);
        for byte in offset..offset + data.len() {
            self.mask |= 1 << byte;
        }
    }

    /// Whether every byte has been written.
    pub fn full(&self) -> bool {
        self.mask == u64::MAX
    }

    /// The written ranges of bytes, as ordinary stores.
    pub fn stretches(&self) -> impl Iterator<Item = Entry> + '_ {
        let mut at = 0u32;
        std::iter::from_fn(move || {
            if at >= 64 {
                return None;
            }
            at += (self.mask >> at).trailing_zeros().min(64 - at);
            if at >= 64 {
                return None;
            }
            let length = (self.mask >> at).trailing_ones();
            let mut bytes = [0; 64];
            bytes[..length as usize].copy_from_slice(&self.bytes[at as usize..(at + length) as usize]);
            let entry = Entry {
                action: Action::Store,
                line: self.line,
                offset: at as u8,
                length: length as u8,
                bytes,
                committed: Some(0),
                site: self.site,
            };
            at += length;
            Some(entry)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(line: u64) -> Entry {
        let (action, line) = (Action::Store, Line(line));
        Entry { action, line, offset: 0, length: 8, bytes: [1; 64], committed: None, site: NO_SITE }
    }

    #[test]
    fn only_committed_entries_leave_and_loads_see_all_stores() {
        let mut queue = StoreQueue::default();
        queue.push(store(7));
        assert!(queue.front().is_none() && queue.holds(Line(7)) && !queue.holds(Line(8)));
        queue.commit_next(5);
        assert_eq!(queue.front().unwrap().committed, Some(5));
        queue.pop();
        assert!(!queue.holds(Line(7)) && queue.drained());
    }

    #[test]
    fn partly_filled_buffer_becomes_its_stretches() {
        let mut buffer = CombiningBuffer::new(Line(1));
        buffer.merge(0, &[1, 2], 4);
        buffer.merge(60, &[3, 4, 5, 6], 5);
        let pieces: Vec<(u8, u8, u8)> = buffer.stretches().map(|e| (e.offset, e.length, e.bytes[0])).collect();
        assert_eq!(pieces, [(0, 2, 1), (60, 4, 3)]);
        assert!(buffer.stretches().all(|entry| entry.site == 5));
        buffer.merge(2, &[0; 58], 5);
        assert!(buffer.full());
        assert_eq!(buffer.stretches().count(), 1);
    }
}
