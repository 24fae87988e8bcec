//! What is pending of one line: its stores that are not durable, and the flushes that no fence has completed.
//!
//! Stores are kept in groups, because a program may store to a line for ever. No flush lies between the stores of a group.

use crate::message::{LINE_BYTES, Site};
use crate::trace::FileLine;
use crate::trace::pending::{Flush, Flushes, Store};
use std::ops::Range;

/// An operation, for a finding to point at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Moment {
    /// Number of the step, which orders all of them.
    pub step: u64,
    pub record: u64,
    pub thread: u64,
    pub site: Site,
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

impl Store for Stores {
    fn step(&self) -> u64 {
        self.first.step
    }
    fn thread(&self) -> u64 {
        self.thread
    }
    fn past_caches(&self) -> bool {
        self.past_caches
    }
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
            let Stores { site, thread, past_caches, late, told, scratch, by_chance, .. } = *stores;
            (site, thread, past_caches, late, told, scratch, by_chance)
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
    pub stores: Vec<Stores>,
    /// The step of the newest store, or 0.
    newest: u64,
    flushes: Flushes,
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

    /// Adds a store, and sets whether it is late.
    pub fn store(&mut self, mut stored: Stores) {
        stored.late = !stored.past_caches && self.flushes.of(stored.thread).is_some();
        for old in &mut self.stores {
            old.links.retain(|link| stored.mask & 0xff << (8 * link.word) == 0);
        }
        self.newest = stored.step();
        add(&mut self.stores, &self.flushes, stored);
    }

    /// Whether a flush by `thread` would cover a store that its earlier flushes do not cover.
    pub fn needs_flush(&self, thread: u64) -> bool {
        let covered = self.flushes.of(thread).map(|flush| flush.step);
        self.stores.iter().any(|stores| !stores.past_caches && covered.is_none_or(|step| step < stores.step()))
    }

    /// Whether a flush covers `stores`, and its fence has not come.
    pub fn is_flushed(&self, stores: &Stores) -> bool {
        !stores.past_caches && self.flushes.covering(stores).is_some()
    }

    /// A flush by `thread` at this step and `site` that its next fence completes.
    pub fn flush(&mut self, thread: u64, step: u64, site: Site) {
        let old = self.flushes.add(Flush { thread, site, step, newest: self.newest, by_chance: None });
        // Groups that no flush separates any more become one, so that a line that is stored to and flushed for ever without
        // a fence does not grow.
        if old.is_some_and(|old| self.stores.iter().any(|stores| old.step < stores.step())) {
            for group in std::mem::take(&mut self.stores) {
                add(&mut self.stores, &self.flushes, group);
            }
        }
    }

    /// A flush that needs no fence. Returns what it makes durable.
    pub fn flush_at_once(&mut self) -> Vec<Stores> {
        let durable = self.flushes.at_once();
        self.take(durable)
    }

    /// A fence of `thread`. Returns what it makes durable.
    pub fn fence(&mut self, thread: u64) -> Vec<Stores> {
        let durable = self.flushes.fence(thread);
        self.take(durable)
    }

    /// A locked instruction of `thread` at `site` has completed by chance what a fence would complete.
    pub fn fence_by_chance(&mut self, thread: u64, site: Site) {
        let completed = self.flushes.completed_by::<Stores>(thread);
        for stores in self.stores.iter_mut().filter(|stores| completed(stores)) {
            stores.by_chance.get_or_insert(site);
        }
    }

    fn take(&mut self, durable: impl Fn(&Stores) -> bool) -> Vec<Stores> {
        self.stores.extract_if(.., |stores| durable(stores)).collect()
    }
}

/// Adds a store or a group of them to `stores`, in the newest group that it belongs to.
fn add(stores: &mut Vec<Stores>, flushes: &Flushes, added: Stores) {
    match stores.iter_mut().rev().find(|old| old.joins(&added) && !flushes.separate(&**old, &added)) {
        Some(old) => old.join(added),
        None => stores.push(added),
    }
}
