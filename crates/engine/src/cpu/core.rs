//! Dispatch: the front of a core.

use super::clock::Clock;
use super::operations::Operations;
use super::stats::CoreStats;
use super::store_queue::{Action, CombiningBuffer, StoreQueue, StoreWait};
use crate::config;
use crate::kernel::{Ps, Queue, Slab, ns_to_ps};
use crate::message::{
    CachePort, CoreEvent, CoreId, Event, FlushKind, Line, News, Observer, Op, OpBuffer, OpSource, Site, Wake,
};
use std::collections::VecDeque;

/// What a core works with: time, caches and observer.
pub struct CoreContext<'a, C, O: ?Sized> {
    /// The event queue, which also holds the time.
    pub queue: &'a mut Queue<Event>,
    /// The caches.
    pub cache: &'a mut C,
    /// The observer of what the core does.
    pub observer: &'a mut O,
}

/// What an entry of the reorder buffer stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Compute,
    Load,
    /// A store or flush: it commits into the store buffer.
    Store,
    Fence,
    /// A fence that ends a transaction which hardware has logged.
    LoggedTxEnd,
    /// A fence that younger operations wait for (mfence).
    FullFence,
    TxBegin,
    TxEnd,
    Mark,
    Report,
}

/// An operation that has been dispatched and not committed.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub kind: Kind,
    pub instructions: u32,
    /// Instructions dispatched up to and including this operation.
    pub through: u64,
    /// The tick at which it has executed, once known. For a load, `load` names its slot until then. For a fence, the
    /// tick of its dispatch, before which it cannot complete.
    pub complete: Option<u64>,
    pub load: u32,
    /// The site of the operation in its program.
    pub site: Site,
}

/// A load between dispatch and its data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub line: Line,
    pub offset: u8,
    /// Number of bytes to compare; 0 if the value is not known.
    pub length: u8,
    pub expected: [u8; 8],
    /// When the load first asked the first level.
    pub asked_at: Option<Ps>,
    pub complete: Option<u64>,
    /// The dependent load that waits for this one's value.
    pub successor: Option<u32>,
    pub committed: bool,
}

/// A core.
#[derive(Clone)]
pub struct Core {
    pub(super) id: CoreId,
    pub(super) clock: Clock,
    pub(super) config: config::Core,
    pub(super) check_loads: bool,
    /// [`config::Core::flush_answer_ns`] in picoseconds.
    pub(super) flush_answer: Ps,
    source: Operations,
    pub(super) buffer: OpBuffer,
    pub(super) next_op: usize,
    compute_left: u32,
    /// Whether the controller shreds pages.
    pub(super) shreds: bool,
    /// Parts of the present [`Op::ZeroPage`] that have been dispatched, while some have not.
    pub(super) zeroing: u64,
    exhausted: bool,
    /// Tick of the next dispatch slot.
    pub(super) front: u64,
    pub(super) dispatched: u64,
    pub(super) window: VecDeque<InFlight>,
    /// Committed entries by last instruction and commit tick, until they have left the reorder buffer.
    pub(super) retired: VecDeque<(u64, u64)>,
    pub(super) last_commit: u64,
    pub(super) loads: Slab<Load>,
    pub(super) loads_in_window: u32,
    /// Commit ticks of loads that were handled ahead of time and keep their load queue entries until then.
    pub(super) load_commits: VecDeque<u64>,
    pub(super) last_load: Option<u32>,
    /// Loads that found no miss register free, in the order in which they asked.
    pub(super) blocked_loads: Vec<(u32, News)>,
    pub(super) stores: StoreQueue,
    pub(super) combining: VecDeque<CombiningBuffer>,
    /// Whether the core is between the begin and the end of a transaction that hardware logs.
    pub(super) logging: bool,
    pub(super) flushes_outstanding: u32,
    pub(super) store_step_scheduled: bool,
    pub(super) store_waits: StoreWait,
    /// When the store at the head of the store buffer first asked the first level.
    pub(super) store_asked_at: Option<Ps>,
    pub(super) transaction_end: TransactionEnd,
    /// Whether the store buffer is stopped until every flush is acknowledged: a clflush, or any flush if they are sent
    /// one at a time, waits for earlier flushes; or younger stores wait for a clflush.
    pub(super) ordered_flush_waits: bool,
    /// Tick from which the first level accepts the next entry of the store buffer.
    pub(super) next_drain: u64,
    step_scheduled: bool,
    pub(super) fence_blocks_dispatch: bool,
    pub(super) transactions_begun: u64,
    pub(super) transactions_ended: u64,
    pub(super) begun_at: u64,
    pub(super) marks_passed: u64,
    /// How often this core has reported, and how often it has heard each of the others; empty if none has.
    pub(super) reported: u64,
    pub(super) heard: Vec<u64>,
    pub(super) stats: CoreStats,
}

/// The state of the end of a logged transaction at the head of the reorder buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransactionEnd {
    /// Not sent: something before it is not complete.
    No,
    /// Sent, not answered yet.
    Sent,
    /// Answered: the transaction completes at this time, in picoseconds.
    Answered(Ps),
}

pub(super) enum Dispatch {
    Done,
    /// Nothing can be dispatched until something else happens.
    Stall,
    /// The reorder buffer has room at this tick.
    At(u64),
}

impl Core {
    /// Core `id`, which runs `source`.
    pub fn new(id: CoreId, machine: &config::Machine, source: Box<dyn OpSource>) -> Self {
        let config = machine.core.clone();
        let check_loads = machine.engine.check_loads && machine.engine.bytes;
        Self {
            id,
            clock: Clock::new(1_000_000 / u64::from(config.clock_mhz), u64::from(config.width)),
            check_loads,
            flush_answer: ns_to_ps(config.flush_answer_ns),
            source: Operations::new(source),
            buffer: OpBuffer {
                without_values: !check_loads,
                access_bytes: config.access_bytes as usize,
                ..OpBuffer::default()
            },
            next_op: 0,
            compute_left: 0,
            shreds: false,
            zeroing: 0,
            exhausted: false,
            front: 0,
            dispatched: 0,
            window: VecDeque::with_capacity(config.rob_entries as usize),
            retired: VecDeque::with_capacity(config.rob_entries as usize),
            last_commit: 0,
            loads: Slab::default(),
            loads_in_window: 0,
            load_commits: VecDeque::new(),
            last_load: None,
            blocked_loads: Vec::new(),
            stores: StoreQueue::default(),
            combining: VecDeque::new(),
            logging: false,
            flushes_outstanding: 0,
            store_step_scheduled: false,
            store_waits: StoreWait::No,
            store_asked_at: None,
            transaction_end: TransactionEnd::No,
            ordered_flush_waits: false,
            next_drain: 0,
            step_scheduled: false,
            fence_blocks_dispatch: false,
            transactions_begun: 0,
            transactions_ended: 0,
            begun_at: 0,
            marks_passed: 0,
            reported: 0,
            heard: Vec::new(),
            stats: CoreStats::default(),
            config,
        }
    }

    /// Whether the program has ended and everything it did has left the core.
    pub fn finished(&self) -> bool {
        self.exhausted && self.window.is_empty() && self.stores.len() == 0 && self.flushes_outstanding == 0
    }

    /// Counts of the current measurement period.
    pub fn stats(&self) -> &CoreStats {
        &self.stats
    }

    /// When the core's last commit happened, in picoseconds.
    pub fn last_commit(&self) -> Ps {
        self.clock.time(self.last_commit)
    }

    /// Begins a new measurement period.
    pub fn reset_stats(&mut self) {
        self.stats =
            CoreStats { transaction_ps: std::mem::take(&mut self.stats.transaction_ps), ..CoreStats::default() };
        self.stats.transaction_ps.clear();
    }

    /// Schedules the first step.
    pub fn start(&mut self, queue: &mut Queue<Event>) {
        self.step_scheduled = true;
        queue.schedule(queue.now(), CoreEvent::Step { core: self.id });
    }

    /// `CoreEvent::Step`: dispatches one cycle's operations. Returns when the next cycle's group can be dispatched.
    #[inline(never)]
    pub fn step<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) -> Option<Ps> {
        self.step_scheduled = false;
        self.front = self.front.max(self.clock.tick(cx.queue.now()));
        let end = self.clock.next_cycle(self.front);
        while self.front < end || self.buffer.is_joined(self.next_op) {
            match self.dispatch(cx) {
                Dispatch::Done => {}
                Dispatch::Stall => {
                    // Executed operations may commit now and free entries.
                    let before = self.window.len();
                    self.retire(cx);
                    if self.window.len() == before {
                        return None;
                    }
                }
                Dispatch::At(tick) => {
                    self.front = tick;
                    break;
                }
            }
        }
        self.retire(cx);
        if self.step_scheduled {
            return None;
        }
        self.step_scheduled = true;
        Some(self.clock.time(self.front).max(cx.queue.now()))
    }

    /// The same core with a controller that shreds pages, if it does.
    pub fn with_shredding(self, shreds: bool) -> Self {
        Self { shreds, ..self }
    }

    /// The same core, which does not check what its loads find.
    pub fn unchecked(mut self) -> Self {
        self.check_loads = false;
        self
    }

    /// Resumes a stalled front end after a change.
    pub(super) fn resume(&mut self, queue: &mut Queue<Event>) {
        if !self.step_scheduled && !self.exhausted {
            self.step_scheduled = true;
            let at = self.clock.time(self.front).max(queue.now());
            queue.schedule(at, CoreEvent::Step { core: self.id });
        }
    }

    fn dispatch<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) -> Dispatch {
        if self.next_op == self.buffer.ops.len() {
            self.buffer.clear();
            self.next_op = 0;
            if self.exhausted || !self.source.next_transaction(&mut self.buffer) {
                self.exhausted = true;
                return Dispatch::Stall;
            }
            return Dispatch::Done;
        }
        if self.fence_blocks_dispatch || self.waits_for_stores() {
            return Dispatch::Stall;
        }
        let op = self.buffer.ops[self.next_op];
        if let Op::Mark | Op::Await { .. } = op {
            return self.pass(cx, op);
        }
        // A block larger than the reorder buffer passes through it in parts.
        let part = (self.config.rob_entries / 2).max(1);
        let instructions = match op {
            Op::TxBegin | Op::TxEnd | Op::Report => 0,
            Op::Compute { instructions } => {
                if self.compute_left == 0 {
                    self.compute_left = instructions;
                }
                if self.computes_alone(part) {
                    (self.compute_left - 1) / part * part
                } else {
                    self.compute_left.min(part)
                }
            }
            // An instruction with several operands takes one slot and one entry of the reorder buffer.
            _ => u32::from(!self.buffer.is_joined(self.next_op)),
        };
        if let Some(wait) = self.room_in_rob(u64::from(instructions.min(part))) {
            return wait;
        }
        if let Op::Load { .. } = op
            && let Some(wait) = self.room_in_load_queue()
        {
            return wait;
        }
        let full = match op {
            Op::Store { .. } | Op::CounterAtomicStore { .. } | Op::NonTemporalStore { .. } => self.stores_full(),
            Op::Clwb { .. } | Op::Clflushopt { .. } | Op::Clflush { .. } | Op::CounterCacheWriteback { .. } => {
                self.stores_full()
            }
            Op::LoggedTxBegin | Op::FlushData { .. } | Op::ZeroPage { .. } | Op::Report => self.stores_full(),
            _ => false,
        };
        if full {
            return Dispatch::Stall;
        }
        self.dispatched += u64::from(instructions);
        self.execute(cx, op, instructions);
        self.front += u64::from(instructions);
        if let Op::Compute { .. } = op {
            self.compute_left -= instructions;
            if self.compute_left > 0 {
                return Dispatch::Done;
            }
        }
        if self.zeroing > 0 {
            return Dispatch::Done;
        }
        self.next_op += 1;
        Dispatch::Done
    }

    /// Whether several parts of a block have no influence on anything but their own time: each is a step of its own,
    /// nothing else is in flight, and commit follows dispatch so closely that no part waits for room. Each then takes
    /// as long as it has instructions, and all but the last are one.
    fn computes_alone(&self, part: u32) -> bool {
        self.compute_left > 2 * part
            && u64::from(part) >= self.clock.width
            && self.window.is_empty()
            && self.stores.len() == 0
            && self.flushes_outstanding == 0
            && self.last_commit + u64::from(part) <= self.front + u64::from(self.config.rob_entries)
    }

    /// Checks for room in the reorder buffer at the front tick: `None` if `instructions` more fit.
    fn room_in_rob(&mut self, instructions: u64) -> Option<Dispatch> {
        let rob = u64::from(self.config.rob_entries);
        let must_have_committed = (self.dispatched + instructions).saturating_sub(rob);
        if must_have_committed == 0 {
            return None;
        }
        while let Some(&(through, tick)) = self.retired.front() {
            if through < must_have_committed {
                self.retired.pop_front();
                continue;
            }
            let tick = tick - (through - must_have_committed).min(tick);
            return (tick > self.front).then_some(Dispatch::At(tick));
        }
        // Everything known to have committed is older than what must commit first: wait, unless nothing is in flight.
        (!self.window.is_empty()).then_some(Dispatch::Stall)
    }

    fn execute<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        op: Op,
        instructions: u32,
    ) {
        let done = self.front + u64::from(instructions);
        let (site, through) = (self.site(), self.dispatched);
        cx.observer.dispatched(self.id, site, &op, instructions);
        let mut entry = InFlight { kind: Kind::Compute, instructions, through, complete: Some(done), load: 0, site };
        match op {
            Op::Compute { .. } | Op::Mark | Op::Await { .. } => {}
            Op::Report => {
                self.queue_unstored(0, Action::Report);
                entry.kind = Kind::Report;
            }
            Op::TxBegin => (entry.kind, entry.complete) = (Kind::TxBegin, Some(self.front)),
            Op::TxEnd => (entry.kind, entry.complete) = (Kind::TxEnd, Some(self.front)),
            Op::LoggedTxBegin => {
                self.queue_unstored(0, Action::BeginTransaction);
                entry.kind = Kind::Store;
            }
            Op::LoggedTxEnd => (entry.kind, entry.complete) = (Kind::LoggedTxEnd, Some(self.front)),
            Op::FlushData { address } => {
                self.queue_unstored(address, Action::FlushData);
                entry.kind = Kind::Store;
            }
            Op::Sfence => (entry.kind, entry.complete) = (Kind::Fence, Some(self.front)),
            Op::Mfence => {
                (entry.kind, entry.complete) = (Kind::FullFence, Some(self.front));
                self.fence_blocks_dispatch = true;
            }
            Op::Store { address, length, bytes } => {
                self.queue_store(cx, Action::Store, address, length, bytes);
                entry.kind = Kind::Store;
            }
            Op::CounterAtomicStore { address, length, bytes } => {
                self.queue_store(cx, Action::CounterAtomicStore, address, length, bytes);
                entry.kind = Kind::Store;
            }
            Op::CounterCacheWriteback { address } => {
                self.queue_unstored(address, Action::CounterWriteback);
                entry.kind = Kind::Store;
            }
            Op::NonTemporalStore { address, length, bytes } => {
                self.queue_store(cx, Action::NonTemporal, address, length, bytes);
                entry.kind = Kind::Store;
            }
            Op::ZeroPage { address } => {
                entry.kind = self.zero_page(address);
            }
            Op::Clwb { address } => {
                self.queue_clwb(address);
                entry.kind = Kind::Store;
            }
            Op::Clflushopt { address } => {
                self.queue_flush(address, FlushKind::Invalidate, false);
                entry.kind = Kind::Store;
            }
            Op::Clflush { address } => {
                self.queue_flush(address, FlushKind::Invalidate, true);
                entry.kind = Kind::Store;
            }
            Op::Load { address, length, dependent, bytes } => {
                entry.kind = Kind::Load;
                self.dispatch_load(cx, &mut entry, address, length, dependent, bytes);
            }
        }
        self.window.push_back(entry);
    }

    /// The site of the operation that is being dispatched.
    pub(super) fn site(&self) -> Site {
        self.buffer.site(self.next_op)
    }

    /// Handles a message of the caches.
    #[inline(never)]
    pub fn wake<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>, wake: Wake) {
        match wake {
            Wake::Load { token, at } => {
                if !self.holds_store(self.loads[token].line) {
                    self.check_load(cx, token);
                }
                if let Some(asked_at) = self.loads[token].asked_at {
                    self.count_l1_access(asked_at, at);
                }
                let tick = self.clock.tick(at);
                self.load_completes(cx, token, tick);
            }
            Wake::Store { at, .. } | Wake::Prepared { at } => {
                self.store_waits = StoreWait::No;
                self.schedule_store_step(cx.queue, at);
            }
            Wake::TransactionEnded { at } => self.transaction_end = TransactionEnd::Answered(at),
            Wake::Flush { line, counters, .. } => {
                cx.observer.flush_acknowledged(cx.queue.now(), self.id, line, counters);
                if self.flush_answer > 0 {
                    cx.queue.schedule(cx.queue.now() + self.flush_answer, CoreEvent::FlushDone { core: self.id });
                    return;
                }
                self.flush_acknowledged(cx.queue);
            }
            Wake::Retry { .. } => {
                self.issue_blocked_loads(cx);
                if self.store_waits == StoreWait::Register {
                    self.store_waits = StoreWait::No;
                    self.schedule_store_step(cx.queue, cx.queue.now());
                }
            }
        }
        self.retire(cx);
        self.resume(cx.queue);
    }

    /// `CoreEvent::FlushDone`: a flush that had nothing to write is complete.
    pub fn flush_done<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        self.flush_acknowledged(cx.queue);
        self.retire(cx);
        self.resume(cx.queue);
    }

    fn flush_acknowledged(&mut self, queue: &mut Queue<Event>) {
        self.flushes_outstanding -= 1;
        if self.ordered_flush_waits && self.flushes_outstanding == 0 {
            self.ordered_flush_waits = false;
            self.schedule_store_step(queue, queue.now());
        }
    }
}
