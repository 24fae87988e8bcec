//! What is pending of one line of a recorded program: its stores that are not surely durable, and the flushes that no
//! fence has completed.
//!
//! The rules are those of x86 (`trace/pending.rs`). Eight aligned bytes become durable together, and nothing larger does.
//!
//! Where caches persist, cached stores become durable in the order of the program, each before the next; flushes do nothing.
//! What is stored past the caches lies in a write-combining buffer, which does not persist.

use super::contents::Contents;
use crate::message::{LINE_BYTES, LineBytes, Site};
use crate::trace::pending::{Flush, Flushes, Store};
use std::rc::Rc;

/// Most stores of a line that are kept apart; of a line with more, earlier ones are taken together.
const STORES_MAX: usize = 64;
/// Bytes that become durable together.
const WORD: usize = 8;

/// A store to a line, by whom and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    pub step: u64,
    pub thread: u64,
    pub site: Site,
}

impl By {
    pub fn of(stored: &Stored) -> Self {
        Self { step: stored.step, thread: stored.thread, site: stored.site }
    }
}

/// A store to the line, or the part of one that lies in it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Number of the step, which orders the stores of all lines.
    pub step: u64,
    pub thread: u64,
    pub site: Site,
    pub past_caches: bool,
    /// Bit `n`: byte `n` is stored.
    pub mask: u64,
    /// The stored bytes, each at its place.
    pub bytes: LineBytes,
    /// Several stores taken together: all of them or none is durable.
    pub joined: bool,
    /// It is surely durable, but not all that was stored to the line before it.
    pub covered: bool,
    /// Of one past the caches: where a locked instruction fences it by chance.
    pub by_chance: Option<Site>,
}

impl Stored {
    /// A store of `data` at an offset in its line.
    pub fn of(by: By, past_caches: bool, offset: usize, data: &[u8]) -> Self {
        let By { step, thread, site } = by;
        let mut bytes = [0; LINE_BYTES as usize];
        bytes[offset..offset + data.len()].copy_from_slice(data);
        let mask = (u64::MAX >> (LINE_BYTES as usize - data.len())) << offset;
        Self { step, thread, site, past_caches, mask, bytes, joined: false, covered: false, by_chance: None }
    }

    /// The words that it changes.
    pub fn words(&self) -> u8 {
        (0..WORD).fold(0, |words, word| words | u8::from(self.mask >> (WORD * word) & 0xff != 0) << word)
    }

    /// Puts those of its bytes that lie in `words` over `line`.
    pub fn put(&self, line: &mut LineBytes, words: u8) {
        for (word, (old, new)) in line.chunks_exact_mut(WORD).zip(self.bytes.chunks_exact(WORD)).enumerate() {
            let mask = (self.mask >> (WORD * word)) as u8;
            match (words >> word & 1, mask) {
                (0, _) | (_, 0) => {}
                (_, u8::MAX) => old.copy_from_slice(new),
                _ => (0..WORD).filter(|byte| mask >> byte & 1 == 1).for_each(|byte| old[byte] = new[byte]),
            }
        }
    }

    fn join(&mut self, later: &Stored) {
        later.put(&mut self.bytes, u8::MAX);
        self.mask |= later.mask;
        (self.step, self.site, self.joined) = (later.step, later.site, true);
    }
}

impl Store for Stored {
    fn step(&self) -> u64 {
        self.step
    }
    fn thread(&self) -> u64 {
        self.thread
    }
    fn past_caches(&self) -> bool {
        self.past_caches
    }
}

/// The line.
#[derive(Debug)]
pub(super) struct Pending {
    /// What it surely holds.
    base: LineBytes,
    /// What it holds if every store is durable.
    pub newest: LineBytes,
    /// In the order of the program.
    pub stores: Vec<Stored>,
    pub flushes: Flushes,
    /// The step of the newest store that is surely durable.
    pub durable: u64,
    /// Whether stores have been taken together since the line was last durable.
    pub joined: bool,
    /// Whether the caches persist, so that a cached store is lost only if it has not been executed.
    pub caches_persist: bool,
    contents: Option<Rc<Contents>>,
}

impl Pending {
    pub fn new(base: LineBytes, caches_persist: bool) -> Self {
        let (stores, flushes) = (Vec::new(), Flushes::default());
        Self { base, newest: base, stores, flushes, durable: 0, joined: false, caches_persist, contents: None }
    }

    pub fn base(&self) -> &LineBytes {
        &self.base
    }

    pub fn store(&mut self, stored: Stored) {
        stored.put(&mut self.newest, u8::MAX);
        self.stores.push(stored);
        if self.stores.len() > STORES_MAX {
            self.join_earliest();
        }
        self.contents = None;
    }

    /// Takes the two earliest neighbours together between which nothing distinguishes.
    fn join_earliest(&mut self) {
        let alike = |pair: &[Stored]| {
            let [one, other] = [&pair[0], &pair[1]];
            let free = !one.covered && !other.covered && one.past_caches == other.past_caches;
            free && if one.past_caches { one.thread == other.thread } else { !self.flushes.separate(one, other) }
        };
        if let Some(at) = self.stores.windows(2).position(alike) {
            let later = self.stores.remove(at + 1);
            self.stores[at].join(&later);
            self.joined = true;
        }
    }

    /// Whether the next fence of `thread` makes something of the line durable, as far as it has not been already.
    pub fn waits_for(&self, thread: u64) -> bool {
        let past = |stored: &Stored| stored.past_caches && !stored.covered && stored.thread == thread;
        self.flushes.of(thread).is_some() || self.stores.iter().any(past)
    }

    /// A flush by `thread` at this step and `site` that needs a fence of it.
    pub fn flush(&mut self, thread: u64, step: u64, site: Site) {
        let newest = self.stores.last().map_or(0, |stored| stored.step);
        self.flushes.add(Flush { thread, site, step, newest, by_chance: None });
    }

    /// Every cached store is durable: by a flush that needs no fence, or because it is visible and caches persist.
    pub fn flush_at_once(&mut self) {
        let durable = self.flushes.at_once();
        self.cover(durable);
    }

    /// A fence of `thread`.
    pub fn fence(&mut self, thread: u64) {
        let durable = self.flushes.fence(thread);
        self.cover(durable);
    }

    /// A locked instruction at `site` does by chance what a fence of `thread` would do.
    pub fn fence_by_chance(&mut self, thread: u64, site: Site) {
        self.flushes.fence_by_chance(thread, site);
        let past = |stored: &&mut Stored| stored.past_caches && stored.thread == thread;
        for stored in self.stores.iter_mut().filter(past) {
            stored.by_chance.get_or_insert(site);
        }
    }

    /// Whether a `clflush` or, with its thread, a fence would make something surely durable.
    pub fn would_cover(&self, by: Option<u64>) -> bool {
        let mut free = self.stores.iter().filter(|stored| !stored.covered);
        match by {
            None => free.any(|stored| !stored.past_caches),
            Some(thread) => free.any(self.flushes.completed_by(thread)),
        }
    }

    fn cover(&mut self, covers: impl Fn(&Stored) -> bool) {
        for stored in self.stores.iter_mut().filter(|stored| covers(stored)) {
            stored.covered = true;
            self.durable = self.durable.max(stored.step);
        }
        let durable = self.stores.iter().take_while(|stored| stored.covered).count();
        for stored in self.stores.drain(..durable) {
            stored.put(&mut self.base, u8::MAX);
        }
        self.stores.dedup_by(|later, earlier| {
            let same = earlier.covered && later.covered && earlier.past_caches == later.past_caches;
            if same {
                earlier.join(later);
            }
            same
        });
        if self.stores.is_empty() {
            self.joined = false;
        }
        self.contents = None;
    }

    /// Whether a store that a state does not have, or not wholly, is lost, and not yet to come.
    pub fn can_lose(&self, stored: &Stored) -> bool {
        stored.past_caches || !self.caches_persist
    }

    /// All that the line may hold now.
    pub fn contents(&mut self) -> Rc<Contents> {
        match &self.contents {
            Some(contents) => Rc::clone(contents),
            None => {
                let contents = Rc::new(Contents::of(self));
                self.contents = Some(Rc::clone(&contents));
                contents
            }
        }
    }
}
