//! Cores on scripted programs in front of a scripted cache: every edge to the picosecond.

mod computation;
mod edges;
mod joined;
mod logged;
mod order;
mod reports;
mod sites;
mod zero_page;

use super::{Core, CoreContext};
use crate::attribution::SiteWatch;
use crate::config::{FlushOverlap, Machine};
use crate::kernel::{Ps, Queue};
use crate::message::{
    Access, CachePort, ControllerEvent, CoreEvent, CoreId, Event, FlushKind, Line, LineBytes, News, Observer, Op,
    OpBuffer, OpSource, Wake,
};
use std::collections::{BTreeMap, BTreeSet};

/// One cycle of the cores here, in picoseconds.
const CYCLE: Ps = 1_000;
/// Latency of a hit, in picoseconds.
const HIT: Ps = 3_000;

/// What happened, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Load(u64),
    Write(u64),
    Flush(u64),
    /// A flush of a line together with its counter.
    Data(u64),
    Around(u64),
    Counters(u64),
    /// A page is shredded.
    Page(u64),
    Marked(u64),
    Begun,
    Log(u64),
    End,
    Acknowledged(u64),
    CountersAcknowledged(u64),
    Fenced,
    Reported,
}

/// A program of one transaction after another.
struct Script(std::vec::IntoIter<OpBuffer>);

impl OpSource for Script {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        self.0.next().map(|next| *buffer = next).is_some()
    }
}

/// Answers to give later; the event's slot is the index.
enum Later {
    Wake(Wake),
    Acknowledge { line: u64, bytes: LineBytes },
    AcknowledgeCounters { line: u64 },
}

/// A cache in which lines hit unless they are listed as misses; all hits take [`HIT`].
#[derive(Default)]
struct Stub {
    load_misses: BTreeMap<u64, Ps>,
    store_misses: BTreeMap<u64, Ps>,
    /// Latency of a flush, by line; other lines have nothing to write and complete after a hit's latency.
    flushes: BTreeMap<u64, Ps>,
    /// Latency of a write-back of counters, by line; others take a hit's latency.
    counters: BTreeMap<u64, Ps>,
    /// Latency of the log manager, by line; others take a hit's latency.
    logs: BTreeMap<u64, Ps>,
    /// Latency of the end of a transaction in which something was logged.
    end: Ps,
    /// What has been logged in the transaction that is open.
    logged: Option<BTreeSet<u64>>,
    /// How long the first level accepts no other store after one.
    store_occupancy: Ps,
    /// Whether what is visible is durable.
    persistent: bool,
    /// Number of loads that are refused before one is served.
    refusals: u32,
    owned: BTreeSet<u64>,
    /// Lines that were requested ahead of their stores.
    prefetched: Vec<u64>,
    asked: Vec<(Ps, u64)>,
    log: Vec<(Ps, Seen)>,
    later: Vec<(Ps, Later)>,
    visible: BTreeMap<u64, LineBytes>,
    durable: BTreeMap<u64, LineBytes>,
}

impl CachePort for Stub {
    fn begin_transaction(&mut self, _now: Ps, _core: CoreId) {
        // This call has no time; its place in the log is what counts.
        self.log.push((0, Seen::Begun));
        self.logged = Some(BTreeSet::new());
    }

    fn prepare_store(&mut self, now: Ps, _core: CoreId, line: Line) -> Access {
        if !self.logged.as_mut().is_some_and(|logged| logged.insert(line.0)) {
            return Access::At(now);
        }
        self.log.push((now, Seen::Log(line.0)));
        let at = now + self.logs.get(&line.0).copied().unwrap_or(HIT);
        self.later.push((at, Later::Wake(Wake::Prepared { at })));
        Access::Pending
    }

    fn end_transaction(&mut self, now: Ps, _core: CoreId) -> Access {
        self.log.push((now, Seen::End));
        if self.logged.take().is_none_or(|logged| logged.is_empty()) {
            return Access::At(now);
        }
        let at = now + self.end;
        self.later.push((at, Later::Wake(Wake::TransactionEnded { at })));
        Access::Pending
    }

    fn load(&mut self, now: Ps, _core: CoreId, line: Line, token: u32) -> Access {
        if self.refusals > 0 {
            self.refusals -= 1;
            self.later.push((now + 5 * CYCLE, Later::Wake(Wake::Retry { at: now + 5 * CYCLE })));
            return Access::Blocked(News::Unknown);
        }
        self.log.push((now, Seen::Load(line.0)));
        let Some(latency) = self.load_misses.get(&line.0) else { return Access::At(now + HIT) };
        let at = now + latency;
        self.later.push((at, Later::Wake(Wake::Load { token, at })));
        Access::Pending
    }

    fn load_again(&mut self, now: Ps, core: CoreId, line: Line, token: u32, _news: News) -> Access {
        self.load(now, core, line, token)
    }

    fn own(&mut self, now: Ps, _core: CoreId, line: Line, prefetch: bool) -> Access {
        if prefetch {
            self.prefetched.push(line.0);
            return Access::Pending;
        }
        self.asked.push((now, line.0));
        let Some(latency) = self.store_misses.get(&line.0).filter(|_| !self.owned.contains(&line.0)) else {
            return Access::At(now + HIT);
        };
        let at = now + latency;
        self.owned.insert(line.0);
        self.later.push((at, Later::Wake(Wake::Store { line, at })));
        Access::Pending
    }

    fn write(&mut self, now: Ps, _core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.log.push((now, Seen::Write(line.0)));
        self.visible.entry(line.0).or_insert([0; 64])[offset..offset + data.len()].copy_from_slice(data);
    }

    fn flush(&mut self, now: Ps, _core: CoreId, line: Line, kind: FlushKind) -> Access {
        self.log.push((now, if kind == FlushKind::KeepWithCounter { Seen::Data(line.0) } else { Seen::Flush(line.0) }));
        let Some(latency) = self.flushes.get(&line.0) else { return Access::At(now + HIT) };
        let bytes = self.visible.get(&line.0).copied().unwrap_or([0; 64]);
        self.later.push((now + latency, Later::Acknowledge { line: line.0, bytes }));
        Access::Pending
    }

    fn persistent(&self) -> bool {
        self.persistent
    }

    fn write_around(&mut self, now: Ps, _core: CoreId, line: Line, data: &LineBytes) {
        self.log.push((now, Seen::Around(line.0)));
        self.visible.insert(line.0, *data);
        let latency = self.flushes.get(&line.0).copied().unwrap_or(HIT);
        self.later.push((now + latency, Later::Acknowledge { line: line.0, bytes: *data }));
    }

    fn mark_counter_atomic(&mut self, line: Line) {
        // This call has no time; the place of the mark in the log is what counts.
        self.log.push((0, Seen::Marked(line.0)));
    }

    fn counter_writeback(&mut self, now: Ps, _core: CoreId, line: Line) {
        self.log.push((now, Seen::Counters(line.0)));
        let latency = self.counters.get(&line.0).copied().unwrap_or(HIT);
        self.later.push((now + latency, Later::AcknowledgeCounters { line: line.0 }));
    }

    fn zero_page(&mut self, now: Ps, _core: CoreId, line: Line) {
        self.log.push((now, Seen::Page(line.0)));
        let latency = self.counters.get(&line.0).copied().unwrap_or(HIT);
        self.later.push((now + latency, Later::AcknowledgeCounters { line: line.0 }));
    }

    fn first_level_latency(&self) -> Ps {
        HIT
    }

    fn store_occupancy(&self) -> Ps {
        self.store_occupancy
    }

    fn peek(&self, _core: CoreId, line: Line) -> Option<LineBytes> {
        Some(self.visible.get(&line.0).copied().unwrap_or([0; 64]))
    }
}

#[derive(Default)]
struct Watch {
    fences: Vec<Ps>,
    /// Fences completed before the end of each transaction.
    fences_before_ends: Vec<usize>,
    /// Lines flushed and lines whose counters were, in order.
    flushed: Vec<u64>,
    counters_flushed: Vec<u64>,
    /// Lines in the order in which they were marked or stored to; true for marks.
    told: Vec<(u64, bool)>,
}

impl Observer for Watch {
    fn stored(&mut self, _now: Ps, _core: CoreId, line: Line, _offset: usize, _data: &[u8]) {
        self.told.push((line.0, false));
    }

    fn marked_counter_atomic(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.told.push((line.0, true));
    }

    fn flushed(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.flushed.push(line.0);
    }

    fn counters_flushed(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.counters_flushed.push(line.0);
    }

    fn fenced(&mut self, now: Ps, _core: CoreId) {
        self.fences.push(now);
    }

    fn transaction_ended(&mut self, _now: Ps, _core: CoreId, _number: u64) {
        self.fences_before_ends.push(self.fences.len());
    }
}

/// A finished run.
struct Run {
    core: Core,
    cache: Stub,
    fences: Vec<Ps>,
    told: Vec<(u64, bool)>,
    watch: Watch,
    /// What operations cost; the site of each is its number, from 1.
    sites: SiteWatch,
    /// What memory held durably at each fence.
    durable_at_fences: Vec<BTreeMap<u64, LineBytes>>,
    events: usize,
}

impl Run {
    fn times(&self, seen: Seen) -> Vec<Ps> {
        self.cache.log.iter().filter(|(_, what)| *what == seen).map(|(at, _)| *at).collect()
    }

    fn latencies(&self) -> &[Ps] {
        &self.core.stats().transaction_ps
    }
}

/// One instruction per cycle, a buffer of eight instructions, two loads, three stores, two combining buffers.
fn small() -> Machine {
    let mut machine: Machine =
        toml::from_str(include_str!("../../config/presets/secpm.toml")).expect("the preset parses");
    machine.core.clock_mhz = 1_000;
    machine.core.width = 1;
    machine.core.rob_entries = 8;
    machine.core.load_queue_entries = 2;
    machine.core.store_queue_entries = 3;
    machine.core.write_combining_buffers = 2;
    machine.core.flush_overlap = FlushOverlap::Overlapped;
    machine.engine.check_loads = true;
    machine
}

/// Runs `program`, one transaction, on `machine`'s core in front of `cache`. The bytes of an operation are its number,
/// from 1.
fn run_on(machine: &Machine, cache: Stub, program: &[Op]) -> Run {
    run_all(machine, cache, &[program])
}

fn run_all(machine: &Machine, cache: Stub, transactions: &[&[Op]]) -> Run {
    run_script(machine, cache, transactions.iter().map(|ops| buffer(ops)).collect())
}

fn run_script(machine: &Machine, cache: Stub, script: Vec<OpBuffer>) -> Run {
    run_core(Core::new(0, machine, Box::new(Script(script.into_iter()))), cache)
}

fn run_core(core: Core, cache: Stub) -> Run {
    run_hearing(core, cache, &[])
}

/// Runs a core that hears at these times that others have reported.
fn run_hearing(mut core: Core, mut cache: Stub, heard: &[(Ps, CoreId)]) -> Run {
    let mut queue = Queue::new();
    let mut reports = [0; 4];
    for &(at, other) in heard {
        queue.schedule(at, CoreEvent::Reported { core: other });
    }
    let mut watch = (Watch::default(), SiteWatch::default());
    let mut durable_at_fences = Vec::new();
    core.start(&mut queue);
    let mut slots: Vec<Option<Later>> = Vec::new();
    let mut events = 0;
    while let Some(event) = queue.pop() {
        events += 1;
        let now = queue.now();
        let answer = match event {
            Event::Controller(ControllerEvent::ReadReady { slot }) => slots[slot as usize].take(),
            _ => None,
        };
        let wake = match answer {
            Some(Later::Wake(wake)) => Some(wake),
            Some(Later::Acknowledge { line, bytes }) => {
                cache.log.push((now, Seen::Acknowledged(line)));
                cache.durable.insert(line, bytes);
                Some(Wake::Flush { line: Line(line), counters: false, at: now })
            }
            Some(Later::AcknowledgeCounters { line }) => {
                cache.log.push((now, Seen::CountersAcknowledged(line)));
                Some(Wake::Flush { line: Line(line), counters: true, at: now })
            }
            None => None,
        };
        let mut cx = CoreContext { queue: &mut queue, cache: &mut cache, observer: &mut watch };
        match event {
            Event::Core(CoreEvent::Step { core: id }) => {
                if let Some(at) = core.step(&mut cx) {
                    queue.schedule(at, CoreEvent::Step { core: id });
                }
            }
            Event::Core(CoreEvent::LoadIssue { slot, .. }) => core.load_issue(&mut cx, slot.into()),
            Event::Core(CoreEvent::StoreBufferStep { .. }) => core.store_step(&mut cx),
            Event::Core(CoreEvent::FlushDone { .. }) => core.flush_done(&mut cx),
            // Of this core, or of one that the test stands for.
            Event::Core(CoreEvent::Reported { core: 0 }) => cx.cache.log.push((now, Seen::Reported)),
            Event::Core(CoreEvent::Reported { core: other }) => {
                reports[usize::from(other)] += 1;
                core.hear(cx.queue, other, reports[usize::from(other)]);
            }
            Event::Controller(_) => core.wake(&mut cx, wake.expect("an answer is given once")),
        }
        for (at, later) in cache.later.drain(..) {
            queue.schedule(at, ControllerEvent::ReadReady { slot: slots.len() as u32 });
            slots.push(Some(later));
        }
        while durable_at_fences.len() < watch.0.fences.len() {
            cache.log.push((now, Seen::Fenced));
            durable_at_fences.push(cache.durable.clone());
        }
        assert!(now < 1_000_000_000, "the core goes on for ever");
    }
    assert!(core.finished(), "the core waits for something that never comes");
    let (watch, sites) = watch;
    let (fences, told) = (watch.fences.clone(), watch.told.clone());
    Run { core, cache, fences, told, watch, sites, durable_at_fences, events }
}

fn buffer(ops: &[Op]) -> OpBuffer {
    let mut buffer = OpBuffer { ops: ops.to_vec(), ..OpBuffer::default() };
    for (index, op) in buffer.ops.iter_mut().enumerate() {
        if let Op::Load { length, bytes, .. }
        | Op::Store { length, bytes, .. }
        | Op::CounterAtomicStore { length, bytes, .. }
        | Op::NonTemporalStore { length, bytes, .. } = op
        {
            *bytes = buffer.bytes.len() as u32;
            buffer.bytes.extend(std::iter::repeat_n((index as u8).wrapping_add(1), *length as usize));
        }
    }
    buffer.sites = (1..=ops.len() as u32).collect();
    buffer
}

fn run(cache: Stub, program: &[Op]) -> Run {
    run_on(&small(), cache, program)
}

/// A load of a line that expects zeros, which it finds.
fn load(line: u64) -> Op {
    Op::Load { address: line * 64, length: 0, dependent: false, bytes: 0 }
}

fn dependent(line: u64) -> Op {
    Op::Load { address: line * 64, length: 0, dependent: true, bytes: 0 }
}

fn store(line: u64) -> Op {
    Op::Store { address: line * 64, length: 8, bytes: 0 }
}

fn marked_store(line: u64) -> Op {
    Op::CounterAtomicStore { address: line * 64, length: 8, bytes: 0 }
}

fn counters(line: u64) -> Op {
    Op::CounterCacheWriteback { address: line * 64 }
}

fn around(line: u64, offset: u64, length: u8) -> Op {
    Op::NonTemporalStore { address: line * 64 + offset, length, bytes: 0 }
}

fn clwb(line: u64) -> Op {
    Op::Clwb { address: line * 64 }
}

fn clflush(line: u64) -> Op {
    Op::Clflush { address: line * 64 }
}

fn flush_data(line: u64) -> Op {
    Op::FlushData { address: line * 64 }
}

fn compute(instructions: u32) -> Op {
    Op::Compute { instructions }
}
