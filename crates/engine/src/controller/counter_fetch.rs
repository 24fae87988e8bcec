//! Counter blocks on their way from the media into the counter cache, new counters on their way into their blocks, and
//! the question where the newest copy of a block is.

use super::request::{BankRead, CounterEviction, CounterWaiter, Fetch, Source, Stage};
use super::state::{Context, Controller};
use crate::message::{Content, CounterBlock, CounterCacheAct, DevicePort, Line, LineBytes, MediaLine, Observer};
use crate::parts::{Counter, CounterStore, CounterUpdate};

impl Controller {
    /// Has the block `id` brought into the counter cache and `waiter` told.
    pub(super) fn fetch_counter<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        id: CounterBlock,
        waiter: Option<CounterWaiter>,
    ) -> u32 {
        if let Some(slot) = self.fetch_of(id) {
            self.fetches[slot].waiters.extend(waiter);
            return slot;
        }
        let mut waiters = self.new_waiters();
        waiters.extend(waiter);
        let slot = self.fetches.insert(Fetch { id, waiters, updates: Vec::new() });
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
        slot
    }

    /// The fetch of the block `id` that is under way.
    pub(super) fn fetch_of(&self, id: CounterBlock) -> Option<u32> {
        self.fetching.iter().copied().find(|&slot| self.fetches[slot].id == id)
    }

    /// The counter cache takes the new counter of `line`. `defers`: it is the only copy. A block that is not there is
    /// fetched if need be, and takes the counter when it arrives (counter-atomicity section 5.2.1).
    pub(super) fn update_counter<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        line: Line,
        counter: Counter,
        defers: bool,
    ) {
        let (id, index) = (self.coverage.block(line), self.coverage.index(line));
        let scheme = &self.encryption.as_ref().expect("only encrypted writes have counters").scheme;
        match (self.counters.peek_mut(id), self.store) {
            (Some(block), _) => {
                scheme.set(block, index, counter);
                if defers {
                    self.counters.set_dirty(id);
                }
            }
            (None, CounterStore::Region) if defers => {
                let fetch = self.fetch_counter(cx, id, None);
                self.fetches[fetch].updates.push((line, counter));
            }
            (None, CounterStore::InlineCached) => {
                let mut block = [0; 64];
                scheme.set(&mut block, index, counter);
                self.put_in_cache(cx, id, block);
            }
            (None, CounterStore::Region | CounterStore::Inline) => {}
        }
    }

    /// Puts a block into the counter cache; a dirty one that makes room asks for an entry.
    fn put_in_cache<D, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, id: CounterBlock, block: LineBytes) {
        let now = cx.queue.now();
        cx.observer.counter_cache(now, id, CounterCacheAct::Filled);
        if let Some(evicted) = self.counters.insert(id, block) {
            self.stats.counter_evictions += 1;
            cx.observer.counter_cache(now, evicted.id, CounterCacheAct::Evicted { dirty: evicted.dirty });
            if evicted.dirty {
                let bump = self.bumps;
                self.evictions.push_back(CounterEviction { id: evicted.id, block: evicted.block, bump });
            }
        }
    }

    /// `Event::CounterFetched`.
    pub(super) fn counter_fetched<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let id = self.fetches[slot].id;
        let at = self.fetching.iter().position(|&other| other == slot).expect("a fetch under way");
        self.fetching.remove(at);
        if !self.counters.contains(id) {
            let block = self.newest_block(cx.device, id);
            self.put_in_cache(cx, id, block);
        }
        for (line, counter) in std::mem::take(&mut self.fetches[slot].updates) {
            self.update_counter(cx, line, counter, true);
        }
        let waiters = std::mem::take(&mut self.fetches[slot].waiters);
        self.fetches.release(slot);
        for waiter in &waiters {
            match *waiter {
                CounterWaiter::Write(write) if let Source::Turn(turn) = self.writes[write].source => {
                    self.turn(cx, write, turn);
                }
                CounterWaiter::Write(write) => {
                    self.writes[write].stage = Stage::WantsUnit;
                    self.wants_unit.push_back(write);
                }
                CounterWaiter::Append(write) => self.asking.push(write),
                CounterWaiter::Read(read) => self.counter_known(cx, read),
                CounterWaiter::Pair(write) => self.want_counter_entry(cx, write),
                CounterWaiter::Writeback(writeback) => self.try_writeback(writeback),
            }
        }
        self.recycle_waiters(waiters);
        self.hand_out_units(cx);
        self.admit(cx);
    }

    /// The newest block `id` that has not reached the media, outside the counter cache: in the staging register of a
    /// write that bumped it, evicted and waiting for a slot, or queued.
    pub(super) fn on_chip_block(&self, id: CounterBlock) -> Option<LineBytes> {
        if self.store != CounterStore::Region {
            let entry = self.wpq.newest(MediaLine::data(self.coverage.line(id, 0)));
            return entry.and_then(|entry| entry.beside).map(|counter| self.block_of_one(counter));
        }
        let queued = self.wpq.newest(MediaLine::counter(id)).map(|entry| (entry.bump, entry.bytes));
        let evicted = self.evictions.iter().rev().find(|eviction| eviction.id == id);
        let evicted = evicted.map(|eviction| (eviction.bump, eviction.block));
        // A write under a global counter has no copy of the block, and one whose counter goes with its data none that is
        // newer.
        let stage = self
            .encryption
            .as_ref()
            .is_some_and(|encryption| !encryption.scheme.global() && encryption.parts.update == CounterUpdate::AtBump);
        let staged = self.in_units.iter().filter(|_| stage).map(|&slot| &self.writes[slot]);
        let staged = staged.filter(|write| self.coverage.block(write.line) == id);
        let staged = staged.max_by_key(|write| write.bump).map(|write| (write.bump, write.block));
        [queued, staged, evicted].into_iter().flatten().max_by_key(|(bump, _)| *bump).map(|(_, block)| block)
    }

    /// What a queued write puts on the media: itself, and the counter beside it as a block of its own.
    pub(super) fn units_of(
        &self,
        media: MediaLine,
        bytes: LineBytes,
        beside: Option<Counter>,
    ) -> impl Iterator<Item = (MediaLine, LineBytes)> + use<> {
        let counter = beside
            .zip(media.as_line())
            .map(|(counter, line)| (MediaLine::counter(self.coverage.block(line)), self.block_of_one(counter)));
        [Some((media, bytes)), counter].into_iter().flatten()
    }

    /// The block, as the media know it, of a counter that lies beside its line.
    pub(super) fn block_of_one(&self, counter: Counter) -> LineBytes {
        let mut block = [0; 64];
        let scheme = &self.encryption.as_ref().expect("only encrypted lines have counters").scheme;
        scheme.set(&mut block, 0, counter);
        block
    }

    /// The counter under which the newest queued or stored copy of `line` is encrypted.
    pub(super) fn counter_of<D: DevicePort>(&self, device: &D, line: Line) -> Counter {
        let id = self.coverage.block(line);
        let scheme = &self.encryption.as_ref().expect("only encrypted lines have counters").scheme;
        let updates = self.fetch_of(id).map(|fetch| &self.fetches[fetch].updates);
        if let Some((_, counter)) = updates.and_then(|updates| updates.iter().rev().find(|(other, _)| *other == line)) {
            return *counter;
        }
        match self.counters.peek(id) {
            Some(block) => scheme.counter(block, self.coverage.index(line)),
            None => scheme.counter(&self.newest_block(device, id), self.coverage.index(line)),
        }
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
