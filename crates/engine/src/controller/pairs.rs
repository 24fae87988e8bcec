//! Counter-atomic writes with two queues (counter-atomicity section 5.2.2). The data of a write enters the data write
//! queue with its ready bit clear; when its counter block enters the counter write queue, the same event sets both
//! ready bits, and the write is complete.
//!
//! Decision: a counter block enters only after its data. A queue full of counters whose data finds no room, before a
//! queue full of data whose counters find none, would wait for ever.

use super::request::{CounterRequest, CounterWaiter, Stage, Write};
use super::state::{Context, Controller};
use crate::message::{DevicePort, MediaLine, Observer};
use crate::parts::Admit;

impl Controller {
    /// The data of write `slot` is queued: its counter block is wanted.
    pub(super) fn want_counter_entry<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        self.writes[slot].stage = Stage::Unready;
        let id = self.coverage.block(self.writes[slot].line);
        if self.counters.contains(id) || self.on_chip_block(id).is_some() {
            self.counter_asking.push_back(CounterRequest::Pair(slot));
        } else {
            self.fetch_counter(cx, id, Some(CounterWaiter::Pair(slot)));
        }
    }

    /// There is an entry for the counter block of write `slot`: the pair becomes ready.
    pub(super) fn complete_pair<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let now = cx.queue.now();
        let Write { line, ciphertext, counter, entry, source, counter_atomic, .. } = self.writes[slot];
        let id = self.coverage.block(line);
        let scheme = &self.encryption.as_ref().expect("only encrypted writes have counters").scheme;
        let block = match self.counters.peek_mut(id) {
            Some(block) => {
                scheme.set(block, self.coverage.index(line), counter);
                let block = *block;
                // All that the cache knows of the block is durable with it.
                self.counters.set_clean(id);
                block
            }
            None => match self.on_chip_block(id) {
                Some(mut block) => {
                    scheme.set(&mut block, self.coverage.index(line), counter);
                    block
                }
                None => {
                    // It has left the chip while this write waited for an entry.
                    self.fetch_counter(cx, id, Some(CounterWaiter::Pair(slot)));
                    return;
                }
            },
        };
        // No earlier counter of this line is on its way into the block, to be put over this one: see `Fetch::updates`.
        debug_assert!(
            self.fetch_of(id).is_none_or(|fetch| self.fetches[fetch].updates.iter().all(|(other, _)| *other != line))
        );
        self.bumps += 1;
        self.append_counter(cx, id, block, self.bumps);
        if self.write_path_of(source).at_encrypted(counter_atomic) != Admit::Unready {
            // The data went its own way.
            return self.finish_write(cx, slot);
        }
        self.wpq.set_ready(entry);
        self.drain_if_high(cx);
        cx.observer.persisted(now, MediaLine::data(line), &ciphertext);
        let bank = self.wpq.entry(entry).location.bank;
        self.finish_write(cx, slot);
        self.serve(cx, bank);
    }
}
