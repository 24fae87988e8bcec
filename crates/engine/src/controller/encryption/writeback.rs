//! `counter_cache_writeback` (counter-atomicity sections 4.3 and 5.2.2): a dirty block of the counter cache is copied
//! to the counter write queue, ready, and stays in the cache. A page that is shredded (Awad et al., ASPLOS 2016) is the write-back
//! of a block that changes in the event that queues it.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{CounterClaim, CounterWaiter, Writeback};
use super::super::interface::Response;
use super::super::queues::memory::Memory;
use crate::kernel::Slab;
use crate::message::{CounterBlock, DevicePort, LINES_PER_PAGE, Line, MediaLine, Observer, WriteToken};
use crate::parts::WritebackOrder;
use std::collections::VecDeque;

/// Write-backs in flight.
#[derive(Clone, Default)]
pub(in crate::controller) struct Writebacks {
    pub slots: Slab<Writeback>,
    /// Write-backs that wait for earlier writes.
    waiting: VecDeque<u32>,
    /// The pages that are about to be shredded, by their first lines, from when the caches have dropped them.
    shredding: Vec<Line>,
}

impl Writebacks {
    /// Registers a write-back of the counters around `line` that will arrive later, or of its page that it shreds. Returns its
    /// slot.
    pub fn add(&mut self, line: Line, token: WriteToken, shreds: bool) -> u32 {
        if shreds {
            self.shredding.push(line);
        }
        self.slots.insert(Writeback { line, token, after: 0, shreds })
    }

    /// Whether the page of `line` is about to be shredded, so that the caches must not get the line as it is.
    pub fn shreds(&self, line: Line) -> bool {
        self.shredding.iter().any(|first| (first.0..first.0 + LINES_PER_PAGE).contains(&line.0))
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Memory<'_, D, O> {
    /// Acknowledges the write-back in `slot`, which has nothing left to write.
    pub fn acknowledge_writeback(&mut self, slot: u32) {
        let Writeback { line, token, shreds, .. } = self.writebacks.slots[slot];
        if shreds {
            self.writebacks.shredding.retain(|first| *first != line);
        }
        self.responses.push(Response::Written { token });
        self.writebacks.slots.release(slot);
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// `ControllerEvent::CounterWritebackArrives`: tries to write the block back.
    pub fn counter_writeback_arrives(&mut self, slot: u32) {
        let writeback = &mut self.memory.writebacks.slots[slot];
        writeback.after = self.memory.writes.arrivals();
        if writeback.shreds {
            let lines = writeback.line.0..writeback.line.0 + LINES_PER_PAGE;
            lines.for_each(|line| self.memory.observer.write_arrived(self.memory.queue.now(), Line(line), &[0; 64]));
        }
        self.try_writeback(slot);
    }

    /// Finds what the write-back must write, or makes it wait for earlier writes.
    pub fn try_writeback(&mut self, slot: u32) {
        let Writeback { line, after, shreds, .. } = self.memory.writebacks.slots[slot];
        let counters = &mut self.engine.counters;
        let id = counters.block(line);
        if shreds && self.engine.rsr.active && self.engine.rsr.group.contains(line) {
            self.memory.writebacks.waiting.push_back(slot);
            return;
        }
        if shreds || self.engine.rules.writeback_order == WritebackOrder::AfterData {
            let writes = &self.memory.writes;
            let earlier = |write: u32| counters.block(writes[write].line) == id && writes[write].arrival <= after;
            let evicted =
                self.memory.admission.evictions.iter().any(|eviction| eviction.media == MediaLine::counter(id));
            if writes.active().any(earlier) || evicted {
                self.memory.writebacks.waiting.push_back(slot);
                return;
            }
            let fetch = counters.fetch_of(id).filter(|&fetch| !counters.fetches[fetch].updates.is_empty());
            if let Some(fetch) = fetch {
                counters.fetches[fetch].waiters.push(CounterWaiter::Writeback(slot));
                return;
            }
        }
        if shreds && !counters.cache.contains(MediaLine::counter(id)) {
            self.fetch_counter(id, Some(CounterWaiter::Writeback(slot)));
        } else if shreds || counters.cache.is_dirty(MediaLine::counter(id)) {
            self.memory.admission.claim_counter(CounterClaim::Writeback(slot));
        } else {
            self.memory.acknowledge_writeback(slot);
        }
    }

    /// Retries the write-backs of block `id` that may have waited for a write or an eviction of it that is now
    /// complete.
    pub fn retry_writebacks(&mut self, id: CounterBlock) {
        for _ in 0..self.memory.writebacks.waiting.len() {
            let Some(slot) = self.memory.writebacks.waiting.pop_front() else { return };
            if self.engine.counters.block(self.memory.writebacks.slots[slot].line) == id {
                self.try_writeback(slot);
            } else {
                self.memory.writebacks.waiting.push_back(slot);
            }
        }
    }

    /// Completes write-back `slot`, for whose block there is an entry.
    pub fn complete_writeback(&mut self, slot: u32) {
        let Writeback { line, shreds, .. } = self.memory.writebacks.slots[slot];
        if shreds {
            return self.shred(slot, line);
        }
        let counters = &mut self.engine.counters;
        let id = counters.block(line);
        // The block was evicted, or written with a pair, while the write-back waited: there is nothing left to write.
        if counters.cache.is_dirty(MediaLine::counter(id)) {
            let block = *counters.cache.peek(MediaLine::counter(id)).expect("a dirty block is in the cache");
            self.counter_clean(id);
            let increment = self.memory.writes.next_increment();
            self.append_newest_counter(id, block, increment);
            self.block_went_alone(id, increment);
        }
        self.memory.acknowledge_writeback(slot);
    }

    /// Shreds the page of `line` for the command in `slot`, for whose block there is an entry: from this event on all its lines
    /// are zeros, also after a power failure.
    fn shred(&mut self, slot: u32, line: Line) {
        let counters = &mut self.engine.counters;
        let id = counters.block(line);
        let Some(block) = counters.cache.get_mut(MediaLine::counter(id)) else {
            // It has been evicted since.
            return self.try_writeback(slot);
        };
        counters.scheme.shred(block);
        let block = *block;
        if self.engine.rules.keeps_shredded {
            self.counter_dirty(id);
        } else {
            self.counter_clean(id);
            let increment = self.memory.writes.next_increment();
            self.append_newest_counter(id, block, increment);
            self.block_went_alone(id, increment);
        }
        self.major_incremented(id, &block);
        self.memory.acknowledge_writeback(slot);
    }
}
