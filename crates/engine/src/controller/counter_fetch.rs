//! Counter blocks on their way from the media into the counter cache, and the question where the newest copy of a
//! block is.

use super::state::{BankRead, Context, Controller, CounterEviction, CounterWaiter, Fetch, Stage};
use crate::message::{Content, DevicePort, LineBytes, MediaLine, Observer, Page};

impl Controller {
    /// Has the block of `page` brought into the counter cache and `waiter` told.
    pub(super) fn fetch_counter<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        page: Page,
        waiter: CounterWaiter,
    ) {
        let under_way = self.fetching.iter().copied().find(|&slot| self.fetches[slot].page == page);
        if let Some(slot) = under_way {
            self.fetches[slot].waiters.push(waiter);
            return;
        }
        let mut waiters = self.new_waiters();
        waiters.push(waiter);
        let slot = self.fetches.insert(Fetch { page, waiters });
        self.fetching.push(slot);
        if self.on_chip_block(page).is_some() {
            // Served from the write pending queue (model.md section 4) or from a staging register.
            let at = cx.queue.now() + self.timing.counter_cache;
            cx.queue.schedule(at, crate::message::Event::CounterFetched { slot });
        } else {
            self.stats.counter_reads += 1;
            let bank = cx.device.locate(MediaLine::counter(page)).bank;
            self.banks[bank as usize].reads.push_back(BankRead::Counter(slot));
            self.serve(cx, bank);
        }
    }

    /// `Event::CounterFetched`.
    pub(super) fn counter_fetched<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let page = self.fetches[slot].page;
        let at = self.fetching.iter().position(|&other| other == slot).expect("a fetch under way");
        self.fetching.remove(at);
        if !self.counters.contains(page) {
            let block = self.newest_block(cx.device, page);
            if let Some(evicted) = self.counters.insert(page, block) {
                self.stats.counter_evictions += 1;
                if evicted.dirty {
                    let bump = self.bumps;
                    self.evictions.push_back(CounterEviction { page: evicted.page, block: evicted.block, bump });
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

    /// The newest block of `page` that has not reached the media, outside the counter cache: in the staging register
    /// of a write that bumped it, evicted and waiting for a slot, or queued.
    fn on_chip_block(&self, page: Page) -> Option<LineBytes> {
        let queued = self.wpq.newest(MediaLine::counter(page)).map(|entry| (entry.bump, entry.bytes));
        let evicted = self.evictions.iter().rev().find(|eviction| eviction.page == page);
        let evicted = evicted.map(|eviction| (eviction.bump, eviction.block));
        let staged = self.in_units.iter().map(|&slot| &self.writes[slot]);
        let staged = staged.filter(|write| write.line.page() == page).max_by_key(|write| write.bump);
        let staged = staged.map(|write| (write.bump, write.block));
        [queued, staged, evicted].into_iter().flatten().max_by_key(|(bump, _)| *bump).map(|(_, block)| block)
    }

    /// The newest block of `page` outside the counter cache, wherever it lies.
    pub(super) fn newest_block<D: DevicePort>(&self, device: &D, page: Page) -> LineBytes {
        if let Some(block) = self.on_chip_block(page) {
            return block;
        }
        let scheme = &self.encryption.as_ref().expect("only encrypting designs have counters").scheme;
        match device.content(MediaLine::counter(page)) {
            Content::Stored(block) => *block,
            Content::Base(_) | Content::Never => scheme.initial(page.mask(|line| device.populated(line))),
        }
    }
}
