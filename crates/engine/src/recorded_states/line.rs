//! What is pending of one line of a recorded program: its stores that are not surely durable, and the flushes that no
//! fence has completed.
//!
//! The rules are those of x86. Cached stores to a line become durable in their order, because the line may be evicted
//! after any of them. `clwb` and `clflushopt` cover them once a fence of the thread that flushed has completed, `clflush`
//! covers them at once. What is stored past the caches becomes durable word by word, in any order, and surely with the
//! next fence of its thread. Eight aligned bytes become durable together, and nothing larger does.
//!
//! Where caches persist, cached stores become durable in the order of the program, each before the next; flushes do nothing.
//! What is stored past the caches lies in a write-combining buffer, which does not persist.

use super::contents::Contents;
use crate::message::{LineBytes, Site};
use std::rc::Rc;

/// Most stores of a line that are kept apart; of a line with more, earlier ones are taken together.
const STORES_MAX: usize = 64;
/// Bytes that become durable together.
const WORD: usize = 8;

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

/// A flush of the line that the next fence of its thread completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub thread: u64,
    pub site: Site,
    /// The step of the flush. It covers the earlier stores.
    pub step: u64,
    /// Where a locked instruction completes it by chance.
    pub by_chance: Option<Site>,
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
    /// At most one for each thread.
    pub marks: Vec<Mark>,
    /// Whether stores have been taken together since the line was last durable.
    pub joined: bool,
    /// Whether the caches persist, so that a cached store is lost only if it has not been executed.
    pub caches_persist: bool,
    contents: Option<Rc<Contents>>,
}

impl Pending {
    pub fn new(base: LineBytes, caches_persist: bool) -> Self {
        let (stores, marks) = (Vec::new(), Vec::new());
        Self { base, newest: base, stores, marks, joined: false, caches_persist, contents: None }
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
            let apart = |mark: &Mark| one.step < mark.step && mark.step < other.step;
            let free = !one.covered && !other.covered && one.past_caches == other.past_caches;
            free && if one.past_caches { one.thread == other.thread } else { !self.marks.iter().any(apart) }
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
        self.marks.iter().any(|mark| mark.thread == thread) || self.stores.iter().any(past)
    }

    /// A flush that needs a fence of its thread.
    pub fn flush(&mut self, mark: Mark) {
        self.marks.retain(|old| old.thread != mark.thread);
        self.marks.push(mark);
    }

    /// Every cached store is durable: by a flush that needs no fence, or because it is visible and caches persist.
    pub fn flush_at_once(&mut self) {
        self.cover(|stored| !stored.past_caches);
        self.marks.clear();
    }

    /// A fence of `thread`.
    pub fn fence(&mut self, thread: u64) {
        let flushed = self.marks.iter().find(|mark| mark.thread == thread).map(|mark| mark.step);
        self.marks.retain(|mark| mark.thread != thread);
        self.cover(|stored| match stored.past_caches {
            true => stored.thread == thread,
            false => flushed.is_some_and(|at| stored.step < at),
        });
    }

    /// A locked instruction at `site` does by chance what a fence of `thread` would do.
    pub fn fence_by_chance(&mut self, thread: u64, site: Site) {
        for mark in self.marks.iter_mut().filter(|mark| mark.thread == thread) {
            mark.by_chance.get_or_insert(site);
        }
        let past = |stored: &&mut Stored| stored.past_caches && stored.thread == thread;
        for stored in self.stores.iter_mut().filter(past) {
            stored.by_chance.get_or_insert(site);
        }
    }

    /// Whether a `clflush` or, with its thread, a fence would make something surely durable.
    pub fn would_cover(&self, by: Option<u64>) -> bool {
        let flushed = |thread: u64| self.marks.iter().find(|mark| mark.thread == thread).map(|mark| mark.step);
        let free = |stored: &&Stored| !stored.covered;
        self.stores.iter().filter(free).any(|stored| match by {
            None => !stored.past_caches,
            Some(thread) if stored.past_caches => stored.thread == thread,
            Some(thread) => flushed(thread).is_some_and(|at| stored.step < at),
        })
    }

    fn cover(&mut self, covers: impl Fn(&Stored) -> bool) {
        for stored in self.stores.iter_mut().filter(|stored| covers(stored)) {
            stored.covered = true;
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
