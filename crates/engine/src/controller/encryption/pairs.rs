//! Counter-atomic writes with two queues (counter-atomicity section 5.2.2). The data of a write enters the data write
//! queue with its ready bit clear. When its counter block enters the counter write queue, the same event sets both
//! ready bits, and the write is complete.
//!
//! Decision: a counter block enters only after its data. Otherwise there could be a deadlock: a counter queue full of
//! counters whose data finds no room, and a data queue full of data whose counters find no room.
//!
//! If the machine says so, the pairs of a core, or of all cores, go one after another: each begins when both parts of the
//! one before are queued, from when on they survive (sections 3.2.2 and 4.1, Figure 8a). The first is the oldest write of
//! its line, and those behind it hold no circuit and no entry, so it never waits for one of them.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{Cipher, CounterClaim, CounterWaiter, Origin, Stage, Write};
use crate::config::CounterAtomicOrder;
use crate::message::{CoreId, DevicePort, Line, LineBytes, MediaLine, Observer};
use crate::parts::{Admit, Counter};
use std::collections::VecDeque;

/// The pairs of each core, or of all cores in one list, in the order in which their turns in their lines came. The first of
/// a list is on its way, the others wait for it. No list if pairs overlap.
#[derive(Clone)]
pub(in crate::controller) struct PairOrder {
    order: CounterAtomicOrder,
    lists: Vec<VecDeque<u32>>,
}

impl PairOrder {
    pub fn new(order: CounterAtomicOrder, cores: u16) -> Self {
        let lists = match order {
            CounterAtomicOrder::Overlapped => 0,
            CounterAtomicOrder::PerCore => usize::from(cores),
            CounterAtomicOrder::Global => 1,
        };
        Self { order, lists: vec![VecDeque::new(); lists] }
    }

    /// The list that has the pairs of `core`, if they do not overlap.
    fn list_of(&mut self, core: CoreId) -> Option<&mut VecDeque<u32>> {
        let list = if self.order == CounterAtomicOrder::Global { 0 } else { usize::from(core) };
        self.lists.get_mut(list)
    }

    /// Whether the pair of `core` in `slot`, whose turn in its line has come, must wait for another one.
    fn waits(&mut self, core: CoreId, slot: u32) -> bool {
        let Some(pairs) = self.list_of(core) else { return false };
        if !pairs.contains(&slot) {
            pairs.push_back(slot);
        }
        pairs.front() != Some(&slot)
    }

    /// Handles that the write of `core` in `slot` is queued. Returns the pair that was waiting for it.
    pub fn queued(&mut self, core: CoreId, slot: u32) -> Option<u32> {
        let pairs = self.list_of(core)?;
        if pairs.front() != Some(&slot) {
            return None;
        }
        pairs.pop_front();
        pairs.front().copied()
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Whether the write in `slot` is a pair that must wait for an earlier one.
    pub fn waits_for_pair(&mut self, slot: u32) -> bool {
        let Write { origin, core, counter_atomic, .. } = self.memory.writes[slot];
        let Some(core) = core else { return false };
        let is_pair = self.engine.cipher_of(origin) == Cipher::Counter
            && matches!(origin, Origin::Caches(_))
            && self.engine.write_path_of(origin).at_encrypted(counter_atomic) == Admit::Unready;
        is_pair && self.engine.pair_order.waits(core, slot)
    }

    /// Claims an entry for the counter block of write `slot`, whose data is queued.
    pub fn claim_counter_entry(&mut self, slot: u32) {
        self.memory.writes[slot].stage = Stage::Unready;
        let id = self.engine.counters.block(self.memory.writes[slot].line);
        if self.engine.counters.cache.contains(MediaLine::counter(id)) || self.view().on_chip_block(id).is_some() {
            self.memory.admission.claim_counter(CounterClaim::Pair(slot));
        } else {
            self.fetch_counter(id, Some(CounterWaiter::Pair(slot)));
        }
    }

    /// Completes the pair of write `slot`, for whose counter block there is an entry.
    pub fn complete_pair(&mut self, slot: u32) {
        let Write { line, counter, entry, origin, counter_atomic, .. } = self.memory.writes[slot];
        let id = self.engine.counters.block(line);
        let Some(block) = self.block_with(line, counter) else {
            // The block has left the chip while this write waited for an entry.
            self.fetch_counter(id, Some(CounterWaiter::Pair(slot)));
            return;
        };
        // No earlier counter of this line is still to be written to the block, where it would overwrite this one: see
        // `Fetch::updates`.
        debug_assert!({
            let counters = &self.engine.counters;
            let updates = counters.fetch_of(id).map(|fetch| &counters.fetches[fetch].updates);
            updates.is_none_or(|updates| updates.iter().all(|(other, _)| *other != line))
        });
        let increment = self.memory.writes.next_increment();
        self.append_newest_counter(id, block, increment);
        if self.engine.write_path_of(origin).at_encrypted(counter_atomic) != Admit::Unready {
            // The data has left separately.
            return self.finish_write(slot);
        }
        self.memory.banks.wpq.set_ready(entry, self.memory.queue.now());
        self.memory.entry_ready();
        self.memory.queued(entry);
        self.commit_metadata(slot);
        let bank = self.memory.banks.wpq.entry(entry).location.bank;
        self.finish_write(slot);
        self.memory.serve(bank);
    }

    /// The newest block on the chip, with `counter` as the counter of `line`; `None` if no block is on the chip.
    fn block_with(&mut self, line: Line, counter: Counter) -> Option<LineBytes> {
        let counters = &mut self.engine.counters;
        let (id, index) = (counters.block(line), counters.index(line));
        if let Some(block) = counters.cache.peek_mut(MediaLine::counter(id)) {
            counters.scheme.set(block, index, counter);
            let block = *block;
            // Everything that the cache knows about the block is durable with it.
            self.counter_clean(id);
            return Some(block);
        }
        let mut block = self.view().on_chip_block(id)?;
        self.engine.counters.scheme.set(&mut block, index, counter);
        Some(block)
    }
}
