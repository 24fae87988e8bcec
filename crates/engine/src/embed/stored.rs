//! What was stored without taking time: the functional accesses of another simulator, its fast-forwarding, its virtual
//! processors. The model has no such access, so these bytes lie over it: reads find them, and at a power failure the
//! boot writes them. A later write of the line takes their place, at the latest when it is durable.

use crate::message::{Line, LineBytes};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy)]
struct StoredLine {
    bytes: LineBytes,
    /// The number of the store.
    number: u64,
    /// Whether a write has been sent since.
    overwritten: bool,
}

/// Lines that were stored without taking time and that no later write has made durable.
#[derive(Clone, Default)]
pub(super) struct Stored {
    lines: FxHashMap<Line, StoredLine>,
    /// What reads in flight will find that were sent while such a line was the newest, by token.
    reads: FxHashMap<u32, LineBytes>,
}

impl Stored {
    /// Stores `bytes`. Writes and stores are numbered together, in the order of sending.
    pub fn put(&mut self, line: Line, bytes: LineBytes, number: u64) {
        self.lines.insert(line, StoredLine { bytes, number, overwritten: false });
    }

    /// The bytes of `line`, if nothing newer has been sent.
    pub fn newest(&self, line: Line) -> Option<&LineBytes> {
        self.lines.get(&line).filter(|stored| !stored.overwritten).map(|stored| &stored.bytes)
    }

    /// A read of `line` is sent.
    pub fn read_sent(&mut self, line: Line, token: u32) {
        if let Some(bytes) = self.newest(line).copied() {
            self.reads.insert(token, bytes);
        }
    }

    /// What the read `token` finds, if not what the model answers.
    pub fn read_answered(&mut self, token: u32) -> Option<LineBytes> {
        if self.reads.is_empty() { None } else { self.reads.remove(&token) }
    }

    /// A write of `line` is sent.
    pub fn write_sent(&mut self, line: Line) {
        if let Some(stored) = self.lines.get_mut(&line) {
            stored.overwritten = true;
        }
    }

    /// The write of `line` with this number is durable.
    pub fn write_persisted(&mut self, line: Line, number: u64) {
        if self.lines.get(&line).is_some_and(|stored| stored.number < number) {
            self.lines.remove(&line);
        }
    }

    /// Forgets everything, and returns what a power failure must not lose, by line.
    pub fn take(&mut self) -> Vec<(Line, LineBytes)> {
        self.reads.clear();
        let mut lines: Vec<_> = self.lines.drain().map(|(line, stored)| (line, stored.bytes)).collect();
        lines.sort_unstable_by_key(|(line, _)| *line);
        lines
    }
}
