//! Admission to the write pending queue: who goes next, how many slots that takes, what happens in that one event.
//! From here on a line survives a power failure.

use super::request::{Cipher, CounterRequest, CounterWaiter, Source, Stage, Write};
use super::state::{Context, Controller, Response};
use super::wpq::{Arrival, Entry};
use crate::message::{CounterBlock, DevicePort, Event, Line, LineBytes, MediaLine, Observer, WriteToken};
use crate::parts::{Admit, AppendOrder, Counter, CounterCoalescing, CounterStore, CounterUpdate};

/// What asks for entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    /// The counter block of a write whose data is still being encrypted.
    CounterOf(u32),
    /// The data of a write whose counter needs nothing more, or goes beside it.
    Data(u32),
    /// The data of a write whose counter block follows; `ready`: its ready bit does not wait for that.
    CounterFollows { slot: u32, ready: bool },
    /// Both in one event.
    Pair(u32),
    /// A dirty block that left the counter cache.
    Eviction,
    /// A block for the counter write queue.
    Counter(CounterRequest),
}

impl Controller {
    /// Admits whatever fits, in the design's order. Each admission here belongs to the event being handled. Where
    /// counters have a queue of their own, neither queue waits for the other's room.
    pub(super) fn admit<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        let mut stalled = false;
        loop {
            let counters = self.next_counter_request();
            if let Some(request) = counters.filter(|&request| self.fits(request)) {
                self.grant(cx, request);
                continue;
            }
            // In one queue nobody passes an eviction.
            let data = if counters.is_some() && !self.wpq.apart() { None } else { self.next_data_request() };
            if let Some(request) = data.filter(|&request| self.fits(request)) {
                self.grant(cx, request);
                continue;
            }
            stalled |= counters.is_some() || data.is_some();
            break;
        }
        self.set_stalled(cx.queue.now(), stalled);
        if stalled {
            self.start_draining(cx);
        }
        self.hand_out_units(cx);
    }

    fn fits(&self, request: Request) -> bool {
        match request {
            Request::Data(_) | Request::CounterFollows { .. } => self.wpq.free(false) >= 1,
            Request::CounterOf(_) => self.wpq.free(true) >= 1,
            Request::Pair(_) if self.wpq.apart() => self.wpq.free(false) >= 1 && self.wpq.free(true) >= 1,
            Request::Pair(_) => self.wpq.free(false) >= 2,
            Request::Eviction => {
                self.wpq.free(true) >= 1 || self.evictions.front().is_some_and(|block| self.merges(block.id).is_some())
            }
            Request::Counter(request) => {
                let id = self.block_asked(request);
                let nothing_to_write = matches!(request, CounterRequest::Writeback(_)) && !self.counters.is_dirty(id);
                self.wpq.free(true) >= 1 || self.merges(id).is_some() || nothing_to_write
            }
        }
    }

    /// The block `id` has entered its queue alone, as it was after bump `bump`: the block that a staged pair of an earlier
    /// bump holds is older, and must not be put over it.
    pub(super) fn block_went_alone(&mut self, id: CounterBlock, bump: u64) {
        for &slot in &self.in_units {
            let write = &mut self.writes[slot];
            write.counter_admitted |= write.bump <= bump && self.coverage.block(write.line) == id;
        }
    }

    fn block_asked(&self, request: CounterRequest) -> CounterBlock {
        match request {
            CounterRequest::Pair(slot) => self.coverage.block(self.writes[slot].line),
            CounterRequest::Writeback(slot) => self.writebacks[slot].id,
        }
    }

    fn grant<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, request: Request) {
        match request {
            Request::CounterOf(slot) => {
                let Write { line, block, bump, .. } = self.writes[slot];
                self.append_counter(cx, self.coverage.block(line), block, bump);
                let write = &mut self.writes[slot];
                write.owes_counter = false;
                write.counter_admitted = true;
                if write.stage != Stage::WantsSlots {
                    self.asking.retain(|&other| other != slot);
                }
            }
            Request::Data(slot) if self.lacks_block(slot) => {
                // It has been evicted since; the write asks again when it is back.
                self.asking.retain(|&other| other != slot);
                let id = self.coverage.block(self.writes[slot].line);
                self.fetch_counter(cx, id, Some(CounterWaiter::Append(slot)));
            }
            Request::Data(slot) => {
                self.append_data(cx, slot, true);
                self.finish_write(cx, slot);
            }
            Request::CounterFollows { slot, ready } => {
                self.append_data(cx, slot, ready);
                self.want_counter_entry(cx, slot);
            }
            Request::Pair(slot) => {
                let Write { line, block, bump, .. } = self.writes[slot];
                self.append_counter(cx, self.coverage.block(line), block, bump);
                self.append_data(cx, slot, true);
                self.finish_write(cx, slot);
            }
            Request::Eviction => {
                let eviction = self.evictions.pop_front().expect("it asked");
                self.append_counter(cx, eviction.id, eviction.block, eviction.bump);
                self.block_went_alone(eviction.id, eviction.bump);
                self.retry_writebacks(eviction.id);
            }
            Request::Counter(request) => {
                self.counter_asking.pop_front();
                match request {
                    CounterRequest::Pair(slot) => self.complete_pair(cx, slot),
                    CounterRequest::Writeback(slot) => self.complete_writeback(cx, slot),
                }
            }
        }
    }

    /// Evicted counter blocks first: a fetch may be waiting for what they overwrite. Then in the order of asking.
    fn next_counter_request(&self) -> Option<Request> {
        if !self.evictions.is_empty() {
            return Some(Request::Eviction);
        }
        self.counter_asking.front().copied().map(Request::Counter)
    }

    /// The write that goes next.
    fn next_data_request(&self) -> Option<Request> {
        let order = self.encryption.as_ref().map_or(AppendOrder::BumpOrder, |encryption| encryption.parts.append_order);
        let ready = self.asking.iter().copied();
        let chosen = match order {
            // A write whose pad is not done holds back the later ones of its page.
            AppendOrder::BumpOrder => ready
                .filter(|&slot| {
                    let write = &self.writes[slot];
                    write.owes_counter
                        || !self.in_units.iter().any(|&other| {
                            let other = &self.writes[other];
                            other.stage == Stage::Encrypting
                                && other.bump < write.bump
                                && other.line.page() == write.line.page()
                                && !other.counter_admitted
                        })
                })
                .min_by_key(|&slot| self.writes[slot].bump),
            AppendOrder::UnitOrder => ready.min_by_key(|&slot| self.writes[slot].unit),
        };
        chosen.and_then(|slot| self.request_of(slot))
    }

    fn request_of(&self, slot: u32) -> Option<Request> {
        let write = &self.writes[slot];
        if write.owes_counter {
            return Some(Request::CounterOf(slot));
        }
        if write.stage != Stage::WantsSlots {
            return None;
        }
        let admit = match self.cipher_of(write.source) {
            Cipher::None | Cipher::Feedback | Cipher::Resident | Cipher::Turn => Admit::Data,
            Cipher::Counter => self.write_path_of(write.source).at_encrypted(write.counter_atomic),
        };
        Some(match admit {
            Admit::Pair if write.counter_admitted => Request::Data(slot),
            Admit::Pair => Request::Pair(slot),
            Admit::Unready => Request::CounterFollows { slot, ready: false },
            Admit::DataThenCounter => Request::CounterFollows { slot, ready: true },
            Admit::Nothing | Admit::Counter | Admit::Data | Admit::Inline => Request::Data(slot),
        })
    }

    /// The queued counter entry whose place a new block `id` takes.
    fn merges(&self, id: CounterBlock) -> Option<u32> {
        let ready = self.coalescing() == Some(CounterCoalescing::ReadyEntries) && self.config.counter_wpq_merging;
        if ready { self.wpq.superseded(MediaLine::counter(id)) } else { None }
    }

    /// The queued counter entry that a new one for `media` removes.
    fn removed_by(&self, media: MediaLine) -> Option<u32> {
        match self.coalescing()? {
            CounterCoalescing::Off | CounterCoalescing::ReadyEntries => None,
            CounterCoalescing::InWpq => self.wpq.superseded(media),
            CounterCoalescing::AnyInWpq => self.wpq.oldest_counter(),
        }
    }

    fn coalescing(&self) -> Option<CounterCoalescing> {
        self.encryption.as_ref().map(|encryption| encryption.parts.coalescing)
    }

    /// A counter block enters its queue.
    pub(super) fn append_counter<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        id: CounterBlock,
        block: LineBytes,
        bump: u64,
    ) {
        let media = MediaLine::counter(id);
        let now = cx.queue.now();
        self.account_occupancy(now);
        self.stats.counter_writes_asked += 1;
        if let Some(older) = self.merges(id) {
            if self.wpq.entry(older).epoch == self.epoch {
                self.stats.counter_writes_coalesced += 1;
            }
            self.stats.admitted += 1;
            cx.observer.coalesced(now, media, &self.wpq.entry(older).bytes);
            self.wpq.replace(older, &block, bump);
            cx.observer.persisted(now, media, &block);
            return;
        }
        if let Some(older) = self.removed_by(media) {
            let Entry { epoch, media: removed, bytes, .. } = *self.wpq.remove(older);
            if epoch == self.epoch {
                self.stats.counter_writes_coalesced += 1;
            }
            cx.observer.coalesced(now, removed, &bytes);
        }
        self.append(cx, media, block, bump, true, None);
    }

    /// The data of write `slot` enters its queue, and its circuit is free.
    fn append_data<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32, ready: bool) {
        self.account_occupancy(cx.queue.now());
        let cipher = self.cipher_of(self.writes[slot].source);
        if cipher == Cipher::Resident {
            self.take_from_caches(slot);
        }
        let Write { line, ciphertext, unit, counter, counter_atomic, renews, source, .. } = self.writes[slot];
        let parts = self.encryption.as_ref().map(|encryption| encryption.parts);
        let inline = parts.is_some_and(|parts| parts.store != CounterStore::Region);
        let beside = inline.then_some(counter);
        self.writes[slot].entry = self.append(cx, MediaLine::data(line), ciphertext, 0, ready, beside);
        if renews {
            self.line_renewed(cx, line);
        }
        if !matches!(cipher, Cipher::None | Cipher::Resident) {
            self.units_free.push(unit);
            self.in_units.retain(|&other| other != slot);
        }
        let updates = parts.is_some_and(|parts| parts.update == CounterUpdate::WithData);
        if ready && updates && cipher == Cipher::Counter {
            let counter = self.under_present_major(line, counter);
            self.update_counter(cx, line, counter, self.write_path_of(source).defers_counter(counter_atomic));
        }
        self.asking.retain(|&other| other != slot);
    }

    /// The counter cache takes a counter of the write in `slot` with its data, the block is the only place that has the
    /// line's page, and it is not there.
    fn lacks_block(&self, slot: u32) -> bool {
        let Write { line, source, .. } = self.writes[slot];
        self.encryption.as_ref().is_some_and(|encryption| {
            encryption.parts.update == CounterUpdate::WithData
                && !encryption.scheme.global()
                && self.cipher_of(source) == Cipher::Counter
                && !self.counters.contains(self.coverage.block(line))
        })
    }

    /// The counter of a line as its block takes it. The page's major counter may have advanced since the line was
    /// encrypted: until the line's done bit is set, its minor belongs to the old major counter, for which re-encryption keeps
    /// a copy of the block.
    fn under_present_major(&mut self, line: Line, counter: Counter) -> Counter {
        let encryption = self.encryption.as_ref().expect("it has a counter");
        if encryption.scheme.global() || !self.rsr.pending(line) || counter.major != self.rsr.old_major {
            return counter;
        }
        if let Some(old) = &mut self.rsr.old_block {
            encryption.scheme.set(old, self.coverage.index(line), counter);
        }
        Counter { major: counter.major + 1, ..counter }
    }

    /// The write in `slot` is in the persistence domain.
    pub(super) fn finish_write<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let Write { line, source, .. } = self.writes[slot];
        self.leave_active(slot);
        match source {
            Source::Caches(token) | Source::Rested(token) => {
                self.responses.push(Response::Written { token: WriteToken(token) })
            }
            Source::Reencryption(_) => {
                self.rsr.under_way -= 1;
                cx.queue.schedule(cx.queue.now(), Event::ReencryptStep);
            }
            Source::Log(_) | Source::Turn(_) => {}
        }
        self.start_next_of_line(cx, slot);
        self.retry_writebacks(self.coverage.block(line));
        if let Source::Log(write) = source {
            self.log_persisted(cx, write);
        }
    }

    pub(super) fn leave_active(&mut self, slot: u32) {
        let at = self.active.iter().position(|&other| other == slot).expect("what ends was active");
        self.active.remove(at);
    }

    /// What was in `slot` is over, and the next of its line may begin.
    pub(super) fn start_next_of_line<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let line = self.writes[slot].line;
        self.writes.release(slot);
        if let Some(next) = self.next_of_line(line) {
            self.start_write(cx, next);
        }
    }

    /// The write of `line` that starts when another one of that line has been appended: re-encryption first, then
    /// the oldest, unless that one waits for something else.
    fn next_of_line(&self, line: Line) -> Option<u32> {
        let behind = |&slot: &u32| self.writes[slot].stage == Stage::BehindSameLine;
        let mut of_line = self.active.iter().copied().filter(|&slot| self.writes[slot].line == line);
        let oldest = of_line.clone().next()?;
        let reencryption = of_line.find(|slot| matches!(self.writes[*slot].source, Source::Reencryption(_)));
        reencryption.or(Some(oldest)).filter(behind)
    }

    fn append<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        media: MediaLine,
        bytes: LineBytes,
        bump: u64,
        ready: bool,
        beside: Option<Counter>,
    ) -> u32 {
        let now = cx.queue.now();
        let location = cx.device.locate(media);
        self.stats.admitted += 1;
        let slot = self.wpq.push(Arrival { media, location, bytes, ready, epoch: self.epoch, bump, beside });
        self.drain_if_high(cx);
        if ready {
            for (unit, bytes) in self.units_of(media, bytes, beside) {
                cx.observer.persisted(now, unit, &bytes);
            }
            self.serve(cx, location.bank);
        }
        slot
    }

    /// To be called when an entry has become ready.
    pub(super) fn drain_if_high<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        if self.wpq.is_high() {
            self.start_draining(cx);
        }
    }

    fn start_draining<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        if !self.draining {
            self.draining = true;
            self.serve_all(cx);
        }
    }

    fn set_stalled(&mut self, now: crate::kernel::Ps, stalled: bool) {
        match (self.stalled_since, stalled) {
            (None, true) => {
                self.stalled_since = Some(now);
                self.stats.full_events += 1;
            }
            (Some(since), false) => {
                self.stats.full_stall_ps += now - since;
                self.stalled_since = None;
            }
            _ => {}
        }
    }
}
