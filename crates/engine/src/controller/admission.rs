//! Admission to the write pending queue: who goes next, how many slots that takes, what happens in that one event.
//! From here on a line survives a power failure.

use super::state::{Context, Controller, Response, Source, Stage, Write};
use crate::design::parts::{Admit, AppendOrder, CounterCoalescing};
use crate::message::{CounterBlock, DevicePort, Event, Line, LineBytes, MediaLine, Observer, WriteToken};

/// What asks for slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    /// The counter block of a write whose data is still being encrypted.
    CounterOf(u32),
    /// The data of a write whose counter needs nothing more.
    Data(u32),
    /// Both in one event.
    Pair(u32),
    /// A dirty block that left the counter cache.
    Eviction,
}

impl Request {
    fn slots(self) -> usize {
        if matches!(self, Request::Pair(_)) { 2 } else { 1 }
    }
}

impl Controller {
    /// Admits whatever fits, in the design's order. Each admission here belongs to the event being handled.
    pub(super) fn admit<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        let now = cx.queue.now();
        loop {
            let Some(request) = self.next_request() else {
                self.set_stalled(now, false);
                break;
            };
            if self.wpq.free() < request.slots() {
                self.set_stalled(now, true);
                self.start_draining(cx);
                break;
            }
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
                Request::Data(slot) => self.append_data(cx, slot),
                Request::Pair(slot) => {
                    let Write { line, block, bump, .. } = self.writes[slot];
                    self.append_counter(cx, self.coverage.block(line), block, bump);
                    self.append_data(cx, slot);
                }
                Request::Eviction => {
                    let eviction = self.evictions.pop_front().expect("it asked");
                    self.append_counter(cx, eviction.id, eviction.block, eviction.bump);
                }
            }
        }
        self.hand_out_units(cx);
    }

    /// The request that goes next. Evicted counter blocks first: a fetch may be waiting for what they overwrite.
    fn next_request(&self) -> Option<Request> {
        if !self.evictions.is_empty() {
            return Some(Request::Eviction);
        }
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
        let at_encrypted = self
            .encryption
            .as_ref()
            .map_or(Admit::Data, |encryption| encryption.parts.write_path.at_encrypted(write.counter_atomic));
        Some(if at_encrypted == Admit::Pair { Request::Pair(slot) } else { Request::Data(slot) })
    }

    fn append_counter<D: DevicePort, O: Observer>(
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
        let coalescing = self.encryption.as_ref().map(|encryption| encryption.parts.coalescing);
        if coalescing == Some(CounterCoalescing::InWpq)
            && let Some(older) = self.wpq.superseded(media)
        {
            let epoch = self.wpq.remove(older).epoch;
            if epoch == self.epoch {
                self.stats.counter_writes_coalesced += 1;
            }
            cx.observer.coalesced(now, media);
        }
        self.append(cx, media, block, bump);
    }

    fn append_data<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let now = cx.queue.now();
        self.account_occupancy(now);
        let Write { line, ciphertext, source, unit, renews, .. } = self.writes[slot];
        self.append(cx, MediaLine::data(line), ciphertext, 0);
        if renews {
            self.line_renewed(cx, line);
        }
        if self.encryption.is_some() {
            self.units_free.push(unit);
            self.in_units.retain(|&other| other != slot);
        }
        self.asking.retain(|&other| other != slot);
        let at = self.active.iter().position(|&other| other == slot).expect("an admitted write was active");
        self.active.remove(at);
        match source {
            Source::Caches(token) => self.responses.push(Response::Written { token: WriteToken(token) }),
            Source::Reencryption(_) => {
                self.rsr.under_way -= 1;
                cx.queue.schedule(now, Event::ReencryptStep);
            }
        }
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
    ) {
        let now = cx.queue.now();
        let location = cx.device.locate(media);
        self.stats.admitted += 1;
        self.wpq.push(media, location, bytes, self.epoch, bump);
        cx.observer.persisted(now, media, &bytes);
        if self.wpq.len() >= self.config.wpq_high_watermark as usize {
            self.start_draining(cx);
        }
        self.serve(cx, location.bank);
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
