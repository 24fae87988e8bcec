//! `counter_cache_writeback` (counter-atomicity sections 4.3 and 5.2.2): a dirty block of the counter cache goes to the
//! counter write queue, ready, and stays in the cache.

use super::request::{CounterRequest, CounterWaiter, Writeback};
use super::state::{Context, Controller, Response};
use crate::kernel::Ps;
use crate::message::{CounterBlock, DevicePort, Event, Line, Observer, WriteToken};
use crate::parts::WritebackOrder;

impl Controller {
    /// Takes a `counter_cache_writeback` that reaches the controller at `at`; `token` comes back when the counters are
    /// in the persistence domain.
    pub fn accept_counter_writeback<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        line: Line,
        token: WriteToken,
    ) {
        let slot = self.writebacks.insert(Writeback { id: self.coverage.block(line), token, after: 0 });
        cx.queue.schedule(at, Event::CounterWritebackArrives { slot });
    }

    /// `Event::CounterWritebackArrives`.
    pub(super) fn counter_writeback_arrives<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        slot: u32,
    ) {
        self.writebacks[slot].after = self.arrivals;
        self.try_writeback(slot);
        self.admit(cx);
    }

    /// The write-back looks for what it has to write, or waits for what must come before it.
    pub(super) fn try_writeback(&mut self, slot: u32) {
        let Writeback { id, after, .. } = self.writebacks[slot];
        let order = self.encryption.as_ref().map_or(WritebackOrder::AtOnce, |parts| parts.parts.writeback_order);
        if order == WritebackOrder::AfterData {
            let earlier = |&write: &u32| {
                self.coverage.block(self.writes[write].line) == id && self.writes[write].arrival <= after
            };
            if self.active.iter().any(earlier) || self.evictions.iter().any(|eviction| eviction.id == id) {
                self.writebacks_waiting.push_back(slot);
                return;
            }
            let fetch = self.fetch_of(id).filter(|&fetch| !self.fetches[fetch].updates.is_empty());
            if let Some(fetch) = fetch {
                self.fetches[fetch].waiters.push(CounterWaiter::Writeback(slot));
                return;
            }
        }
        if self.counters.is_dirty(id) {
            self.counter_asking.push_back(CounterRequest::Writeback(slot));
        } else {
            self.acknowledge_writeback(slot);
        }
    }

    /// A write of the block `id`, or its eviction, is over: its write-backs may have waited for that.
    pub(super) fn retry_writebacks(&mut self, id: CounterBlock) {
        for _ in 0..self.writebacks_waiting.len() {
            let Some(slot) = self.writebacks_waiting.pop_front() else { return };
            if self.writebacks[slot].id == id {
                self.try_writeback(slot);
            } else {
                self.writebacks_waiting.push_back(slot);
            }
        }
    }

    /// There is an entry for the block of write-back `slot`.
    pub(super) fn complete_writeback<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let id = self.writebacks[slot].id;
        // Evicted, or written with a pair, while it waited for the entry: then there is nothing left to write.
        if self.counters.is_dirty(id) {
            let block = *self.counters.peek(id).expect("a dirty block is in the cache");
            self.counters.set_clean(id);
            self.bumps += 1;
            self.append_counter(cx, id, block, self.bumps);
            self.block_went_alone(id, self.bumps);
        }
        self.acknowledge_writeback(slot);
    }

    fn acknowledge_writeback(&mut self, slot: u32) {
        self.responses.push(Response::Written { token: self.writebacks[slot].token });
        self.writebacks.release(slot);
    }
}
