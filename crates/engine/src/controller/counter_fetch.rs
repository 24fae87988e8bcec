//! Counter blocks on their way from the media into the counter cache, and the question where the newest copy of a
//! block is.

use super::state::{BankRead, Context, Controller, CounterEviction, CounterWaiter, Fetch, Stage};
use crate::message::{Content, CounterBlock, DevicePort, LineBytes, MediaLine, Observer};

impl Controller {
    /// Has the block `id` brought into the counter cache and `waiter` told.
    pub(super) fn fetch_counter<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        id: CounterBlock,
        waiter: CounterWaiter,
    ) {
        let under_way = self.fetching.iter().copied().find(|&slot| self.fetches[slot].id == id);
        if let Some(slot) = under_way {
            self.fetches[slot].waiters.push(waiter);
            return;
        }
        let mut waiters = self.new_waiters();
        waiters.push(waiter);
        let slot = self.fetches.insert(Fetch { id, waiters });
        self.fetching.push(slot);
        if self.on_chip_block(id).is_some() {
            // Served from the write pending queue (model.md section 4) or from a staging register.
            let at = cx.queue.now() + self.timing.counter_cache;
            cx.queue.schedule(at, crate::message::Event::CounterFetched { slot });
        } else {
            self.stats.counter_reads += 1;
            let bank = cx.device.locate(MediaLine::counter(id)).bank;
            self.banks[bank as usize].reads.push_back(BankRead::Counter(slot));
            self.serve(cx, bank);
        }
    }

    /// `Event::CounterFetched`.
    pub(super) fn counter_fetched<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let id = self.fetches[slot].id;
        let at = self.fetching.iter().position(|&other| other == slot).expect("a fetch under way");
        self.fetching.remove(at);
        if !self.counters.contains(id) {
            let block = self.newest_block(cx.device, id);
            if let Some(evicted) = self.counters.insert(id, block) {
                self.stats.counter_evictions += 1;
                if evicted.dirty {
                    let bump = self.bumps;
                    self.evictions.push_back(CounterEviction { id: evicted.id, block: evicted.block, bump });
                }
            }
        }
        let waiters = std::mem::take(&mut self.fetches[slot].waiters);
        self.fetches.release(slot);
        for waiter in &waiters {
            match *waiter {
                CounterWaiter::Write(write) => {
                    self.writes[write].stage = Stage::WantsUnit;
                    self.wants_unit.push_back(write);
                }
                CounterWaiter::Read(read) => self.counter_known(cx, read),
            }
        }
        self.recycle_waiters(waiters);
        self.hand_out_units(cx);
        self.admit(cx);
    }

    /// The newest block `id` that has not reached the media, outside the counter cache: in the staging register
    /// of a write that bumped it, evicted and waiting for a slot, or queued.
    fn on_chip_block(&self, id: CounterBlock) -> Option<LineBytes> {
        let queued = self.wpq.newest(MediaLine::counter(id)).map(|entry| (entry.bump, entry.bytes));
        let evicted = self.evictions.iter().rev().find(|eviction| eviction.id == id);
        let evicted = evicted.map(|eviction| (eviction.bump, eviction.block));
        let staged = self.in_units.iter().map(|&slot| &self.writes[slot]);
        let staged = staged.filter(|write| self.coverage.block(write.line) == id).max_by_key(|write| write.bump);
        let staged = staged.map(|write| (write.bump, write.block));
        [queued, staged, evicted].into_iter().flatten().max_by_key(|(bump, _)| *bump).map(|(_, block)| block)
    }

    /// The newest block `id` outside the counter cache, wherever it lies.
    pub(super) fn newest_block<D: DevicePort>(&self, device: &D, id: CounterBlock) -> LineBytes {
        if let Some(block) = self.on_chip_block(id) {
            return block;
        }
        let scheme = &self.encryption.as_ref().expect("only encrypting designs have counters").scheme;
        match device.content(MediaLine::counter(id)) {
            Content::Stored(block) => *block,
            Content::Base(_) | Content::Never => scheme.initial(self.coverage.mask(id, |line| device.populated(line))),
        }
    }
}
