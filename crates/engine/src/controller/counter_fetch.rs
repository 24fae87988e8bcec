//! Counter blocks that are fetched from the media into the counter cache, and new counters that are written to their
//! blocks.

use super::encrypted::Encrypted;
use super::request::{BankRead, CounterEviction, CounterWaiter};
use crate::message::{CounterBlock, CounterCacheAct, DevicePort, Event, Line, LineBytes, Observer};
use crate::parts::{Counter, CounterStore};

impl<D: DevicePort, O: Observer> Encrypted<'_, D, O> {
    /// Fetches the block `id` into the counter cache and then informs `waiter`.
    pub fn fetch_counter(&mut self, id: CounterBlock, waiter: Option<CounterWaiter>) -> u32 {
        if let Some(slot) = self.engine.counters.fetch_of(id) {
            self.engine.counters.fetches[slot].waiters.extend(waiter);
            return slot;
        }
        let slot = self.engine.counters.begin_fetch(id);
        self.engine.counters.fetches[slot].waiters.extend(waiter);
        if self.view().on_chip_block(id).is_some() {
            // Served from the write pending queue (model.md section 4) or from a staging register.
            let at = self.memory.now() + self.engine.counters.latency;
            self.memory.queue.schedule(at, Event::CounterFetched { slot });
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
        match (counters.cache.peek_mut(id), counters.store) {
            (Some(block), _) => {
                counters.scheme.set(block, index, counter);
                if defers {
                    counters.cache.set_dirty(id);
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

    /// Puts a block into the counter cache. An evicted dirty block requests an entry of the queue.
    fn put_in_cache(&mut self, id: CounterBlock, block: LineBytes) {
        let now = self.memory.now();
        self.memory.observer.counter_cache(now, id, CounterCacheAct::Filled);
        if let Some(evicted) = self.engine.counters.cache.insert(id, block) {
            self.memory.meter.stats.counter_evictions += 1;
            let act = CounterCacheAct::Evicted { dirty: evicted.dirty };
            self.memory.observer.counter_cache(now, evicted.id, act);
            if evicted.dirty {
                let bump = self.memory.writes.last_bump();
                self.memory.admission.evict(CounterEviction { id: evicted.id, block: evicted.block, bump });
            }
        }
    }

    /// `Event::CounterFetched`: a counter block has arrived.
    pub fn counter_fetched(&mut self, slot: u32) {
        let fetch = self.engine.counters.end_fetch(slot);
        if !self.engine.counters.cache.contains(fetch.id) {
            let block = self.view().newest_block(self.memory.device, fetch.id);
            self.put_in_cache(fetch.id, block);
        }
        for &(line, counter) in &fetch.updates {
            self.update_counter(line, counter, true);
        }
        for waiter in &fetch.waiters {
            match *waiter {
                CounterWaiter::Write(write) => self.counter_ready(write),
                CounterWaiter::Append(write) => self.memory.admission.ask(write),
                CounterWaiter::Read(read) => self.counter_known(read),
                CounterWaiter::Pair(write) => self.want_counter_entry(write),
                CounterWaiter::Writeback(writeback) => self.try_writeback(writeback),
            }
        }
        self.engine.counters.recycle(fetch);
    }
}
