//! The store buffer: committed stores and flushes go to the cache in program order.

use super::core::{Core, CoreContext};
use super::store_queue::StoreWait;
use super::store_queue::{Action, CombiningBuffer, Entry};
use crate::config::FlushOverlap;
use crate::kernel::{Ps, Queue};
use crate::message::{
    Access, COUNTER_WRITEBACK_BYTES, CachePort, CoreEvent, Event, FlushKind, LINE_BYTES, LINES_PER_PAGE, Line, Observer,
};

/// Lines whose counters one `counter_cache_writeback` writes back.
const COUNTER_WRITEBACK_LINES: u64 = COUNTER_WRITEBACK_BYTES / LINE_BYTES;

impl Core {
    /// Whether stores or flushes hold up what follows them, as they have no buffer.
    pub(super) fn waits_for_stores(&self) -> bool {
        !self.config.store_buffer && (self.stores.len() > 0 || self.flushes_outstanding > 0)
    }

    pub(super) fn stores_full(&self) -> bool {
        self.stores.len() >= self.config.store_queue_entries as usize
    }

    pub(super) fn schedule_store_step(&mut self, queue: &mut Queue<Event>, at: Ps) {
        if !self.store_step_scheduled && self.store_waits == StoreWait::No && !self.ordered_flush_waits {
            self.store_step_scheduled = true;
            let at = at.max(self.clock.time(self.next_drain)).max(queue.now());
            queue.schedule(at, CoreEvent::StoreBufferStep { core: self.id });
        }
    }

    /// `CoreEvent::StoreBufferStep`: performs the oldest committed entry.
    #[inline(never)]
    pub fn store_step<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        self.store_step_scheduled = false;
        let now = cx.queue.now();
        if self.ordered_flush_waits {
            return;
        }
        let Some(entry) = self.stores.front().copied() else { return };
        let ready = self.clock.time(entry.committed.unwrap_or(0));
        if ready > now {
            self.schedule_store_step(cx.queue, ready);
            return;
        }
        let one_at_a_time = self.config.flush_overlap == FlushOverlap::OneAtATime;
        if one_at_a_time && entry.action.flushes() && self.flushes_outstanding > 0 {
            // The last acknowledgement will resume the store buffer.
            self.ordered_flush_waits = true;
            return;
        }
        let done = match entry.action {
            Action::Store | Action::CounterAtomicStore => self.drain_store(cx, &entry),
            Action::NonTemporal => self.drain_non_temporal(cx, &entry),
            Action::Flush { kind, ordered } => self.drain_flush(cx, &entry, kind, ordered),
            Action::CounterWriteback => {
                // Else the counters would leave before the data that increments them.
                let block = |line: Line| line.0 / COUNTER_WRITEBACK_LINES;
                let waits = self.writes_combined_first(cx, |line| block(line) == block(entry.line));
                if !waits {
                    self.drain_counter_writeback(cx, &entry);
                }
                !waits
            }
            Action::ZeroPage => {
                let page = entry.line..Line(entry.line.0 + LINES_PER_PAGE);
                let waits = self.writes_combined_first(cx, |line| page.contains(&line));
                if !waits {
                    self.drain_zero_page(cx, &entry);
                }
                !waits
            }
            Action::FlushData => {
                self.drain_flush(cx, &entry, FlushKind::KeepWithCounter, false);
                self.drain_counter_writeback(cx, &entry);
                true
            }
            Action::Report => {
                self.reported += 1;
                cx.queue.schedule(now, CoreEvent::Reported { core: self.id });
                true
            }
            Action::BeginTransaction => {
                self.logging = true;
                cx.cache.begin_transaction(now, self.id);
                true
            }
        };
        if done {
            self.stores.pop();
            if entry.action == Action::NonTemporal {
                self.write_full(cx, entry.line);
            }
            self.next_store_step(cx.queue, entry.action);
            self.retire(cx);
            self.resume(cx.queue);
        }
    }

    fn next_store_step(&mut self, queue: &mut Queue<Event>, done: Action) {
        let cycles = if done.writes_the_cache() { u64::from(self.config.store_cycles) } else { 1 };
        self.next_drain = self.next_drain.max(self.clock.tick(queue.now()) + cycles * self.clock.width);
        if let Some(next) = self.stores.front() {
            let at = self.clock.time(next.committed.unwrap_or(0));
            self.schedule_store_step(queue, at);
        }
    }

    fn drain_store<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        entry: &Entry,
    ) -> bool {
        let now = cx.queue.now();
        if self.writes_combined_first(cx, |line| line == entry.line) {
            return false;
        }
        let asked_at = *self.store_asked_at.get_or_insert(now);
        let hit = now + cx.cache.first_level_latency();
        match cx.cache.own(now, self.id, entry.line, false) {
            // A hit in the first level is pipelined: one store in so many cycles.
            Access::At(at) if at <= hit => {
                if let Access::Pending = cx.cache.prepare_store(now, self.id, entry.line) {
                    self.store_waits = StoreWait::Preparation;
                    return false;
                }
                let there = if asked_at == now { at } else { now };
                self.count_l1_access(asked_at, there);
                self.store_asked_at = None;
                let (from, length) = (entry.offset as usize, entry.length as usize);
                if entry.action == Action::CounterAtomicStore {
                    cx.observer.marked_counter_atomic(now, self.id, entry.line);
                    cx.cache.mark_counter_atomic(entry.line);
                }
                cx.cache.write(now, self.id, entry.line, from, &entry.bytes[..length]);
                cx.observer.stored(now, self.id, entry.line, from, &entry.bytes[..length]);
                cx.observer.store_left(now, self.id, entry.site);
                self.next_drain = self.clock.tick(now + cx.cache.store_occupancy());
                true
            }
            Access::At(at) => {
                self.schedule_store_step(cx.queue, at);
                false
            }
            Access::Pending => {
                self.store_waits = StoreWait::Line;
                false
            }
            Access::Blocked(_) => {
                self.store_waits = StoreWait::Register;
                false
            }
        }
    }

    /// Counts an access of the first level that was first requested at `asked_at` and has its line at `there`.
    pub(super) fn count_l1_access(&mut self, asked_at: Ps, there: Ps) {
        self.stats.l1_accesses += 1;
        self.stats.l1_latency_ps += there - asked_at;
        self.stats.l1_latencies.add(there - asked_at);
    }

    /// Writes a write-combining buffer whose line is one of some, because earlier non-temporal stores go first; false if
    /// there is none. Otherwise the store buffer tries its oldest entry again behind it.
    fn writes_combined_first<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        is_one: impl Fn(Line) -> bool,
    ) -> bool {
        let Some(at) = self.combining.iter().position(|buffer| is_one(buffer.line)) else { return false };
        let buffer = self.combining.remove(at).expect("found above");
        self.write_combined(cx, &buffer);
        self.schedule_store_step(cx.queue, cx.queue.now());
        true
    }

    fn drain_counter_writeback<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        entry: &Entry,
    ) {
        let now = cx.queue.now();
        cx.observer.counters_flushed(now, self.id, entry.line);
        self.flushes_outstanding += 1;
        cx.cache.counter_writeback(now, self.id, entry.line);
        cx.observer.flush_sent(now, self.id, entry.site, entry.line, true, None);
    }

    /// All lines of the page are zeros from now on, for whoever reads them, and durable when the command is acknowledged.
    fn drain_zero_page<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>, entry: &Entry) {
        let now = cx.queue.now();
        for index in 0..LINES_PER_PAGE {
            let line = Line(entry.line.0 + index);
            cx.observer.stored(now, self.id, line, 0, &[0; 64]);
            cx.observer.flushed(now, self.id, line);
        }
        self.flushes_outstanding += 1;
        cx.cache.zero_page(now, self.id, entry.line);
        cx.observer.flush_sent(now, self.id, entry.site, entry.line, true, None);
    }

    fn drain_flush<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        entry: &Entry,
        kind: FlushKind,
        ordered: bool,
    ) -> bool {
        let now = cx.queue.now();
        if ordered && self.flushes_outstanding > 0 {
            // The acknowledgement will resume the store buffer.
            self.ordered_flush_waits = true;
            return false;
        }
        cx.observer.flushed(now, self.id, entry.line);
        self.flushes_outstanding += 1;
        self.ordered_flush_waits = ordered;
        let mut done = None;
        if let Access::At(at) = cx.cache.flush(now, self.id, entry.line, kind) {
            let at = at + self.flush_answer;
            cx.queue.schedule(at, CoreEvent::FlushDone { core: self.id });
            done = Some(at);
        }
        cx.observer.flush_sent(now, self.id, entry.site, entry.line, false, done);
        true
    }

    fn drain_non_temporal<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        entry: &Entry,
    ) -> bool {
        let length = entry.length as usize;
        let at = match self.combining.iter().position(|buffer| buffer.line == entry.line) {
            Some(at) => at,
            None => {
                if self.combining.len() >= self.config.write_combining_buffers as usize {
                    let oldest = self.combining.pop_front().expect("at least one buffer");
                    self.write_combined(cx, &oldest);
                    self.schedule_store_step(cx.queue, cx.queue.now());
                    return false;
                }
                self.combining.push_back(CombiningBuffer::new(entry.line));
                self.combining.len() - 1
            }
        };
        self.combining[at].merge(entry.offset, &entry.bytes[..length], entry.site);
        true
    }

    /// Writes the write-combining buffer of `line` if it is full.
    fn write_full<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>, line: Line) {
        let full = |buffer: &CombiningBuffer| buffer.line == line && buffer.full();
        if let Some(at) = self.combining.iter().position(full).filter(|_| !self.logging) {
            let buffer = self.combining.remove(at).expect("found above");
            self.write_combined(cx, &buffer);
        }
    }

    /// A fence empties the write-combining buffers.
    pub(super) fn flush_combining<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        while let Some(buffer) = self.combining.pop_front() {
            self.write_combined(cx, &buffer);
        }
        self.schedule_store_step(cx.queue, cx.queue.now());
    }

    /// Writes a write-combining buffer. A full buffer goes past the caches. A partly filled buffer becomes ordinary
    /// stores and a flush that drops the line, because the controller encrypts whole lines (decision). In a transaction
    /// that hardware logs, a full buffer is also written that way, with flush_data, because the log trigger is in the
    /// first level. Where caches are in the persistence domain the buffer is not, and what leaves it for them is durable: it
    /// becomes ordinary stores (decision).
    fn write_combined<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        buffer: &CombiningBuffer,
    ) {
        let now = cx.queue.now();
        let persistent = cx.cache.persistent();
        if buffer.full() && !self.logging && !persistent {
            cx.observer.stored(now, self.id, buffer.line, 0, &buffer.bytes);
            cx.observer.flushed(now, self.id, buffer.line);
            self.flushes_outstanding += 1;
            cx.cache.write_around(now, self.id, buffer.line, &buffer.bytes);
            cx.observer.flush_sent(now, self.id, buffer.site, buffer.line, false, None);
            return;
        }
        let flush = Entry {
            action: if self.logging {
                Action::FlushData
            } else {
                Action::Flush { kind: FlushKind::Invalidate, ordered: false }
            },
            line: buffer.line,
            offset: 0,
            length: 0,
            bytes: [0; 64],
            committed: Some(0),
            site: buffer.site,
        };
        if !persistent {
            self.stores.push_front(flush);
        }
        for stretch in buffer.stretches() {
            self.stores.push_front(stretch);
        }
    }
}
