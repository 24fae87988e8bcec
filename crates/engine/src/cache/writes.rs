//! Writes that memory has not acknowledged yet: evictions, flushes, non-temporal stores and write-backs of counters,
//! with the cores that wait for each.

use crate::message::{CoreId, Line};
use rustc_hash::FxHashMap;

/// One write in flight.
#[derive(Clone, Default)]
pub(super) struct InFlight {
    /// The line that is written; with `counters`, the line whose counters alone are written.
    pub(super) line: Line,
    pub(super) counters: bool,
    /// The third-level cache and slot that become free when the write is acknowledged.
    pub(super) place: Option<(usize, usize)>,
    /// Cores whose flush completes with this write.
    pub(super) waiters: Vec<CoreId>,
}

/// All writes in flight.
#[derive(Clone, Default)]
pub(super) struct Writes {
    records: Vec<InFlight>,
    free: Vec<u32>,
    /// For each line: its newest write and the number of its writes. The controller keeps the writes of one line in the
    /// order in which they were sent, so the newest is acknowledged last.
    by_line: FxHashMap<u64, (u32, u32)>,
}

impl Writes {
    /// Registers a write and gives it a token.
    pub(super) fn send(&mut self, line: Line, place: Option<(usize, usize)>, waiter: Option<CoreId>) -> u32 {
        let token = self.register(line, false, place, waiter);
        let newest = self.by_line.entry(line.0).or_insert((token, 0));
        *newest = (token, newest.1 + 1);
        token
    }

    /// Registers a write-back of the counters of `line` alone, for which `waiter` waits, and gives it a token. Flushes
    /// of the line do not wait for it.
    pub(super) fn send_counters(&mut self, line: Line, waiter: CoreId) -> u32 {
        self.register(line, true, None, Some(waiter))
    }

    fn register(&mut self, line: Line, counters: bool, place: Option<(usize, usize)>, waiter: Option<CoreId>) -> u32 {
        let token = self.free.pop().unwrap_or_else(|| {
            self.records.push(InFlight::default());
            (self.records.len() - 1) as u32
        });
        let record = &mut self.records[token as usize];
        (record.line, record.counters) = (line, counters);
        record.place = place;
        record.waiters.clear();
        record.waiters.extend(waiter);
        token
    }

    /// Whether a write of `line` is in flight.
    pub(super) fn contains(&self, line: Line) -> bool {
        self.by_line.contains_key(&line.0)
    }

    /// Makes `core` wait for the newest write of `line`; returns false if none is in flight.
    pub(super) fn join(&mut self, line: Line, core: CoreId) -> bool {
        let Some(&(token, _)) = self.by_line.get(&line.0) else { return false };
        self.records[token as usize].waiters.push(core);
        true
    }

    /// Handles the acknowledgement of `token` and returns the record, which is valid until the next write is sent.
    pub(super) fn acknowledge(&mut self, token: u32) -> &InFlight {
        let record = &self.records[token as usize];
        if !record.counters {
            let Line(line) = record.line;
            let Some(newest) = self.by_line.get_mut(&line) else {
                panic!("write {token} of line {line:#x} was acknowledged twice");
            };
            newest.1 -= 1;
            if newest.1 == 0 {
                self.by_line.remove(&line);
            }
        }
        self.free.push(token);
        record
    }

    /// Number of writes in flight.
    pub(super) fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }
}
