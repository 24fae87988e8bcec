//! When x86 makes stores to a line of persistent memory surely durable: the one model of it, for the findings of a check and
//! for the states that a power failure may leave (`recorded_states/`).
//!
//! Cached stores to a line become durable in their order, because the line may be evicted after any of them; so a flush
//! covers all that came before it. `clwb` and `clflushopt` cover them once a fence of the thread that flushed has
//! completed, `clflush` covers them at once. What is stored past the caches becomes durable in any order, and surely with
//! the next fence of its thread.

use crate::message::Site;

/// A store to the line; or several, with no flush of the line between them.
pub(crate) trait Store {
    /// Number of the step, which orders stores and flushes; of several stores, that of one.
    fn step(&self) -> u64;
    fn thread(&self) -> u64;
    fn past_caches(&self) -> bool;
}

/// A flush of the line that the next fence of its thread completes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flush {
    pub thread: u64,
    pub site: Site,
    /// The step of the flush. It covers the earlier stores.
    pub step: u64,
    /// The step of the newest of them, or 0.
    pub newest: u64,
    /// Where a locked instruction completes it by chance.
    pub by_chance: Option<Site>,
}

/// The flushes of a line that no fence has completed, at most one for each thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flushes(Vec<Flush>);

impl Flushes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of `thread`.
    pub fn of(&self, thread: u64) -> Option<&Flush> {
        self.0.iter().find(|flush| flush.thread == thread)
    }

    /// The newest that covers `stored`.
    pub fn covering(&self, stored: &impl Store) -> Option<&Flush> {
        self.0.iter().filter(|flush| stored.step() < flush.step).max_by_key(|flush| flush.step)
    }

    /// The newest before `stored`.
    pub fn before(&self, stored: &impl Store) -> Option<&Flush> {
        self.0.iter().filter(|flush| flush.step < stored.step()).max_by_key(|flush| flush.step)
    }

    /// Whether some flush covers only one of two stores.
    pub fn separate<S: Store>(&self, one: &S, other: &S) -> bool {
        self.0.iter().any(|flush| (one.step() < flush.step) != (other.step() < flush.step))
    }

    /// Adds a flush, in place of an earlier one of its thread, which it returns.
    pub fn add(&mut self, flush: Flush) -> Option<Flush> {
        let old = self.0.iter_mut().find(|old| old.thread == flush.thread);
        match old {
            Some(old) => Some(std::mem::replace(old, flush)),
            None => {
                self.0.push(flush);
                None
            }
        }
    }

    /// A `clflush`. Returns which stores it makes durable.
    pub fn at_once<S: Store>(&mut self) -> impl Fn(&S) -> bool + use<S> {
        self.0.clear();
        |stored: &S| !stored.past_caches()
    }

    /// Which stores a fence of `thread` makes durable.
    pub fn completed_by<S: Store>(&self, thread: u64) -> impl Fn(&S) -> bool + use<S> {
        let flushed = self.of(thread).map(|flush| flush.step);
        move |stored: &S| match stored.past_caches() {
            true => stored.thread() == thread,
            false => flushed.is_some_and(|at| stored.step() < at),
        }
    }

    /// A fence of `thread`. Returns which stores it makes durable. Flushes of other threads that cover nothing else are over,
    /// too.
    pub fn fence<S: Store>(&mut self, thread: u64) -> impl Fn(&S) -> bool + use<S> {
        let completed = self.completed_by(thread);
        if let Some(newest) = self.of(thread).map(|flush| flush.newest) {
            self.0.retain(|flush| flush.newest > newest);
        }
        completed
    }

    /// A locked instruction at `site` completes by chance what a fence of `thread` would complete.
    pub fn fence_by_chance(&mut self, thread: u64, site: Site) {
        for flush in self.0.iter_mut().filter(|flush| flush.thread == thread) {
            flush.by_chance.get_or_insert(site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its step, its thread, and whether it is past the caches.
    type Stored = (u64, u64, bool);

    impl Store for Stored {
        fn step(&self) -> u64 {
            self.0
        }
        fn thread(&self) -> u64 {
            self.1
        }
        fn past_caches(&self) -> bool {
            self.2
        }
    }

    /// Flushes by threads 0 and 1, each with its step and that of the newest store before it.
    fn flushes(steps: [(u64, u64); 2]) -> Flushes {
        let mut flushes = Flushes::default();
        for (thread, (step, newest)) in (0..).zip(steps) {
            assert!(flushes.add(Flush { thread, site: 0, step, newest, by_chance: None }).is_none());
        }
        flushes
    }

    #[test]
    fn fence_makes_durable_what_its_thread_flushed_and_what_it_stored_past_the_caches() {
        let mut flushes = flushes([(5, 4), (9, 6)]);
        let durable = flushes.fence(0);
        let cached = |step, thread| durable(&(step, thread, false));
        assert_eq!([cached(4, 0), cached(4, 1), cached(6, 0)], [true, true, false]);
        let past = |step, thread| durable(&(step, thread, true));
        assert_eq!([past(4, 0), past(6, 0), past(4, 1)], [true, true, false]);
        assert!(flushes.of(0).is_none() && flushes.of(1).is_some());
    }

    #[test]
    fn flush_whose_stores_are_durable_by_another_threads_fence_is_over() {
        for other in [5, 10] {
            let mut flushes = flushes([(9, 4), (other, 4)]);
            let _ = flushes.fence::<Stored>(0);
            assert!(flushes.is_empty());
        }
    }
}
