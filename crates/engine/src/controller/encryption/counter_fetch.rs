//! Counter blocks that are fetched from the media into the counter cache, and new counters that are written to their
//! blocks.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{BankRead, CounterWaiter, Fetch, MetadataWaiter};
use super::super::integrity::shadow_table::Noted;
use crate::layout::TreePlace;
use crate::message::{
    ControllerEvent, CounterBlock, CounterCacheAct, DevicePort, Line, LineBytes, MediaLine, Observer,
};
use crate::parts::{Counter, CounterStore};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Fetches the block `id` into the counter cache and then informs `waiter`.
    pub fn fetch_counter(&mut self, id: CounterBlock, waiter: Option<CounterWaiter>) -> u32 {
        if let Some(slot) = self.engine.counters.fetch_of(id) {
            self.engine.counters.fetches[slot].waiters.extend(waiter);
            return slot;
        }
        let slot = self.engine.counters.begin_fetch(id);
        let from_media = self.view().on_chip_block(id).is_none();
        let fetch = &mut self.engine.counters.fetches[slot];
        fetch.waiters.extend(waiter);
        fetch.from_media = from_media;
        if !from_media {
            // Served from the write pending queue (model.md section 4) or from a staging register.
            let at = self.memory.now() + self.engine.counters.latency;
            self.memory.queue.schedule(at, ControllerEvent::CounterFetched { slot });
        } else {
            self.memory.meter.stats.counter_reads += 1;
            self.memory.ask_bank(BankRead::Counter(slot, id));
        }
        slot
    }

    /// Writes the new counter of `line` to the counter cache. `defers`: the cache has the only copy. A block that is
    /// not cached is fetched if necessary, and takes the counter when it arrives (counter-atomicity section 5.2.1).
    pub fn update_counter(&mut self, line: Line, counter: Counter, defers: bool) {
        let counters = &mut self.engine.counters;
        let (id, index) = (counters.block(line), counters.index(line));
        match (counters.cache.peek_mut(MediaLine::counter(id)), counters.store) {
            (Some(block), _) => {
                counters.scheme.set(block, index, counter);
                if defers {
                    self.counter_dirty(id);
                }
            }
            (None, CounterStore::Region) if defers => {
                let fetch = self.fetch_counter(id, None);
                self.engine.counters.fetches[fetch].updates.push((line, counter));
            }
            (None, CounterStore::InlineCached) => {
                let mut block = [0; 64];
                counters.scheme.set(&mut block, index, counter);
                self.put_in_cache(id, block);
            }
            (None, CounterStore::Region | CounterStore::Inline) => {}
        }
    }

    /// Puts a block into the counter cache.
    fn put_in_cache(&mut self, id: CounterBlock, block: LineBytes) {
        let now = self.memory.now();
        self.memory.observer.counter_cache(now, id, CounterCacheAct::Filled);
        let evicted = self.engine.counters.cache.insert(MediaLine::counter(id), block);
        self.evicted(evicted);
        self.note(MediaLine::counter(id), Noted::Filled);
    }

    /// The counter block `id`, which is in the counter cache, is newer than memory from now on.
    pub fn counter_dirty(&mut self, id: CounterBlock) {
        let media = MediaLine::counter(id);
        let was_dirty = self.engine.counters.cache.is_dirty(media);
        self.engine.counters.cache.set_dirty(media);
        self.note(media, if was_dirty { Noted::ChangedAgain } else { Noted::FirstChanged });
    }

    /// The counter block `id`, if it is in the counter cache, enters the persistence domain as it is.
    pub fn counter_clean(&mut self, id: CounterBlock) {
        let media = MediaLine::counter(id);
        if self.engine.counters.cache.is_dirty(media) {
            self.engine.counters.cache.set_clean(media);
            self.note(media, Noted::Written);
        }
    }

    /// `ControllerEvent::CounterFetched`: a counter block has arrived. If there is a tree, it is verified first.
    pub fn counter_arrived(&mut self, slot: u32) {
        let &Fetch { id, from_media, .. } = &self.engine.counters.fetches[slot];
        if !from_media || !self.engine.verifies_counters() {
            return self.counter_fetched(slot);
        }
        let (parent, _) = self.engine.parent_of(TreePlace::leaf(id)).expect("a counter block is not the root");
        if self.vouching_node(parent, MetadataWaiter::Counter(slot)) {
            self.verify_counter(slot);
        }
    }

    /// Verifies the counter block of the fetch in `slot`, which has arrived.
    pub fn verify_counter(&mut self, slot: u32) {
        let at = self.engine.hash_done(self.memory.now());
        self.memory.queue.schedule(at, ControllerEvent::CounterVerified { slot });
    }

    /// A counter block has arrived, and is verified if there is a tree.
    pub fn counter_fetched(&mut self, slot: u32) {
        let fetch = self.engine.counters.end_fetch(slot);
        if !self.engine.counters.cache.contains(MediaLine::counter(fetch.id)) {
            let block = self.view().newest_block(self.memory.device, fetch.id);
            if self.view().on_chip_block(fetch.id).is_none() && self.engine.verifies_counters() {
                self.check_vouched(TreePlace::leaf(fetch.id), &block, fetch.from_media);
            }
            self.put_in_cache(fetch.id, block);
        }
        for &(line, counter) in &fetch.updates {
            self.update_counter(line, counter, true);
        }
        for waiter in &fetch.waiters {
            match *waiter {
                CounterWaiter::Write(write) => self.counter_ready(write),
                CounterWaiter::Append(write) => self.memory.admission.claim(write),
                CounterWaiter::Read(read) => self.counter_known(read),
                CounterWaiter::Pair(write) => self.claim_counter_entry(write),
                CounterWaiter::Writeback(writeback) => self.try_writeback(writeback),
            }
        }
        self.engine.counters.recycle(fetch);
    }
}
