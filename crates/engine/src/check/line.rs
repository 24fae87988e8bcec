//! What is pending of one line: its stores that are not durable, and the flushes that no fence has completed.
//!
//! Stores are kept in groups, because a program may store to a line for ever. Stores to a line become durable in their
//! order, so a flush covers all of them: a store after a flush begins a new batch, and a flush covers every batch up to
//! the newest.

use crate::message::{LINE_BYTES, Site};
use crate::trace::FileLine;
use std::ops::Range;

/// An operation, for a finding to point at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Moment {
    /// Number of the step, which orders all of them.
    pub step: u64,
    pub record: u64,
    pub thread: u64,
    pub address: u64,
    /// `None` if no file is mapped at the address, or the operation has none.
    pub line: Option<FileLine>,
}

/// A word of a store that holds the address of a byte to which something was stored that was not flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub word: u8,
    pub to: FileLine,
    pub offset: u8,
    /// The step of the store.
    pub step: u64,
}

/// Stores of one place and thread to a line that are in the same state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stores {
    pub site: Site,
    pub thread: u64,
    pub past_caches: bool,
    pub batch: u64,
    /// After a flush of the line by the same thread that no fence had completed.
    pub late: bool,
    /// A mark has reported them.
    pub told: bool,
    /// The program has declared that they need not become durable.
    pub scratch: bool,
    pub count: u64,
    /// The bytes of the line that they change.
    pub mask: u64,
    pub first: Moment,
    pub links: Vec<Link>,
    /// The thread has executed a fence after another thread flushed the line, and has not flushed it itself.
    pub relied_at: Option<u64>,
    /// A later store of the thread that became durable while these were not.
    pub overtaken: Option<(Site, Moment)>,
    /// Where a locked instruction has done by chance what a fence of the program would have had to do.
    pub by_chance: Option<Site>,
}

impl Stores {
    /// Whether they change a byte of this range of addresses.
    pub fn meets(&self, range: &Range<u64>) -> bool {
        let line = self.first.address - self.first.address % LINE_BYTES;
        let from = range.start.max(line) - line;
        let until = range.end.clamp(line, line + LINE_BYTES) - line;
        from < until && self.mask & (u64::MAX >> (LINE_BYTES - (until - from)) << from) != 0
    }

    fn joins(&self, other: &Stores) -> bool {
        let key = |stores: &Stores| {
            let Stores { site, thread, past_caches, batch, late, told, scratch, by_chance, .. } = *stores;
            (site, thread, past_caches, batch, late, told, scratch, by_chance)
        };
        key(self) == key(other) && self.relied_at.is_none() && other.relied_at.is_none()
    }

    /// Adds later stores.
    fn join(&mut self, other: Stores) {
        debug_assert!(self.first < other.first);
        self.count += other.count;
        self.mask |= other.mask;
        self.links.extend(other.links);
    }
}

/// The pending state of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    batch: u64,
    /// A flush has followed the newest store: the next one begins a new batch.
    closed: bool,
    pub stores: Vec<Stores>,
    /// Threads that have flushed the line without a fence afterwards, and up to which batch.
    flushes: Vec<(u64, u64)>,
}

impl Pending {
    /// The bytes `declared` of the line need not become durable.
    pub fn declare_scratch(&mut self, declared: u64) {
        for stores in &mut self.stores {
            if stores.mask & !declared == 0 {
                stores.scratch = true;
            } else {
                stores.mask &= !declared;
            }
        }
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.flushes.is_empty()
    }

    /// Adds a store; sets its batch and whether it is late.
    pub fn store(&mut self, mut stored: Stores) {
        if self.closed {
            self.batch += 1;
            self.closed = false;
        }
        stored.batch = self.batch;
        stored.late = !stored.past_caches && self.flushes.iter().any(|(thread, _)| *thread == stored.thread);
        for old in &mut self.stores {
            old.links.retain(|link| stored.mask & 0xff << (8 * link.word) == 0);
        }
        match self.stores.iter_mut().rev().find(|old| old.joins(&stored)) {
            Some(old) => old.join(stored),
            None => self.stores.push(stored),
        }
    }

    /// Whether a flush by `thread` would cover a store that its earlier flushes do not cover.
    pub fn needs_flush(&self, thread: u64) -> bool {
        let covered = self.flushed_by(thread);
        self.stores.iter().any(|stores| !stores.past_caches && covered.is_none_or(|batch| batch < stores.batch))
    }

    fn flushed_by(&self, thread: u64) -> Option<u64> {
        self.flushes.iter().find(|(by, _)| *by == thread).map(|(_, batch)| *batch)
    }

    /// Whether a flush covers `stores`, and its fence has not come.
    pub fn is_flushed(&self, stores: &Stores) -> bool {
        !stores.past_caches && self.flushes.iter().any(|(_, batch)| *batch >= stores.batch)
    }

    /// A flush by `thread` that its next fence completes.
    pub fn flush(&mut self, thread: u64) {
        self.closed = true;
        match self.flushes.iter_mut().find(|(by, _)| *by == thread) {
            Some((_, batch)) => {
                let was = std::mem::replace(batch, self.batch);
                if was != self.batch {
                    self.compact();
                }
            }
            None => self.flushes.push((thread, self.batch)),
        }
    }

    /// A flush that needs no fence. Returns what it makes durable.
    pub fn flush_at_once(&mut self) -> Vec<Stores> {
        self.closed = true;
        self.flushes.clear();
        self.take(|stores| !stores.past_caches)
    }

    /// A fence of `thread`. Returns what it makes durable.
    pub fn fence(&mut self, thread: u64) -> Vec<Stores> {
        let covered = self.flushed_by(thread);
        // What other flushes cover up to there is durable as well.
        self.flushes.retain(|(by, batch)| *by != thread && covered.is_none_or(|covered| *batch > covered));
        self.take(|stores| match stores.past_caches {
            true => stores.thread == thread,
            false => covered.is_some_and(|batch| stores.batch <= batch),
        })
    }

    /// A locked instruction of `thread` at `site` has completed by chance what a fence would complete.
    pub fn fence_by_chance(&mut self, thread: u64, site: Site) {
        let covered = self.flushed_by(thread);
        let completes = |stores: &Stores| match stores.past_caches {
            true => stores.thread == thread,
            false => covered.is_some_and(|batch| stores.batch <= batch),
        };
        for stores in self.stores.iter_mut().filter(|stores| completes(stores)) {
            stores.by_chance.get_or_insert(site);
        }
    }

    fn take(&mut self, durable: impl Fn(&Stores) -> bool) -> Vec<Stores> {
        self.stores.extract_if(.., |stores| durable(stores)).collect()
    }

    /// Puts batches together that no flush tells apart any more, so that a line that is stored to and flushed for ever
    /// without a fence does not grow.
    fn compact(&mut self) {
        let Pending { flushes, stores, batch: newest, .. } = self;
        for group in stores.iter_mut() {
            let until = flushes.iter().map(|(_, batch)| *batch).filter(|batch| *batch >= group.batch).min();
            group.batch = until.unwrap_or(*newest);
        }
        let mut kept: Vec<Stores> = Vec::with_capacity(stores.len());
        for group in stores.drain(..) {
            match kept.iter_mut().find(|old| old.joins(&group)) {
                Some(old) => old.join(group),
                None => kept.push(group),
            }
        }
        *stores = kept;
    }
}
