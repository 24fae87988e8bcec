//! Which request enters the write pending queue next, and what must be free for it. No event is handled, so nothing leaves
//! the queue.

use super::*;
use crate::assembly::LineSystem;
use crate::config::{Variant, load_machine};
use crate::controller::{Context, Controller};
use crate::design::{self, faults::Fault};
use crate::device::Device;
use crate::kernel::Queue;
use crate::message::{Event, NoObserver, Page};
use crate::parts::Design;
use crate::trace::EmptyBase;
use proptest::prelude::*;
use std::sync::Arc;

/// A controller whose writes are encrypted by hand.
struct Bench {
    controller: Controller,
    device: Device,
    queue: Queue<Event>,
}

impl Bench {
    /// The hardened `name` with so many entries in its queue, or in each of its two.
    fn new(name: &str, entries: usize) -> Self {
        Self::of(&design::find(name, Variant::Hardened).unwrap(), entries)
    }

    fn of(design: &Design, entries: usize) -> Self {
        let mut sets = vec!["controller.aes_units=16".to_owned(), "controller.wpq_issue_when_idle=false".to_owned()];
        for queue in ["wpq", "counter_wpq"] {
            sets.push(format!("controller.{queue}_entries={entries}"));
            sets.push(format!("controller.{queue}_high_watermark={entries}"));
            sets.push(format!("controller.{queue}_low_watermark=0"));
        }
        let machine = load_machine("small", &sets).unwrap();
        let system = LineSystem::new(&machine, design, Arc::new(EmptyBase { end: 0 }), 1, NoObserver).unwrap();
        Self { controller: system.controller, device: system.device, queue: Queue::new() }
    }

    fn with<R>(&mut self, act: impl FnOnce(&mut Encrypted<'_, Device, NoObserver>) -> R) -> R {
        let mut context = Context { queue: &mut self.queue, device: &mut self.device, observer: &mut NoObserver };
        let (memory, engine, _) = self.controller.at_work(&mut context);
        act(&mut Encrypted { memory, engine: engine.expect("the design encrypts") })
    }

    /// A write with a circuit whose counter was advanced as number `increment`, and that is in `stage`.
    fn write(&mut self, line: u64, increment: u64, stage: Stage) {
        self.with(|at| {
            let slot = at.memory.writes.add(Line(line), &[1; 64], Origin::Caches(0));
            at.memory.writes.start_own(slot);
            at.memory.writes.take_starting();
            let (circuit, _) = at.engine.circuits.occupy(slot);
            let write = &mut at.memory.writes[slot];
            (write.circuit, write.increment, write.stage) = (circuit, increment, stage);
            if stage == Stage::ClaimsEntry {
                at.memory.admission.claim(slot);
            }
        });
    }

    fn evict(&mut self, id: u64, waits_for_parent: bool) {
        let media = MediaLine::counter(CounterBlock(id));
        self.with(|at| at.memory.admission.evict(Eviction { media, block: [2; 64], increment: 0, waits_for_parent }));
    }

    /// Admits what fits; returns what is queued then, in order.
    fn admitted(&mut self) -> Vec<MediaLine> {
        self.with(|at| {
            let something = at.something_fits();
            assert_eq!(at.admit_next(), something);
            while at.admit_next() {}
            assert!(!at.something_fits());
            at.memory.banks.wpq.in_order().iter().map(|entry| entry.media).collect()
        })
    }

    /// The bank takes the entry in `slot`.
    fn leaves(&mut self, slot: u32) {
        self.with(|at| {
            if !at.memory.banks.wpq.entry(slot).issued {
                at.memory.banks.wpq.mark_issued(slot, 8);
            }
            at.memory.write_accepted(slot);
        });
    }
}

fn data(line: u64) -> MediaLine {
    MediaLine::data(Line(line))
}

fn block(page: u64) -> MediaLine {
    MediaLine::counter(CounterBlock(page))
}

#[test]
fn pair_enters_with_both_lines_or_waits() {
    let mut bench = Bench::new("secpm-no-cwr", 4);
    for (page, increment) in [(0, 1), (1, 2), (2, 3)] {
        bench.write(page * 64, increment, Stage::ClaimsEntry);
    }
    let first = [block(0), data(0), block(1), data(64)];
    assert_eq!(bench.admitted(), first);
    bench.leaves(0);
    assert_eq!(bench.admitted(), first[1..], "one free entry is not enough");
    bench.leaves(1);
    assert_eq!(bench.admitted(), [block(1), data(64), block(2), data(128)]);
}

#[test]
fn line_without_counter_enters_alone() {
    let mut bench = Bench::new("write-back", 2);
    for increment in 1..4 {
        bench.write(increment, increment, Stage::ClaimsEntry);
    }
    bench.admitted();
    let queued = bench.with(|at| at.memory.banks.wpq.len());
    assert_eq!(queued, 2);
}

#[test]
fn earlier_write_of_the_page_holds_a_later_one_back_until_it_is_encrypted() {
    for (stage, held) in [(Stage::Encrypting, true), (Stage::Authenticating, true), (Stage::Waiting, false)] {
        let mut bench = Bench::new("secpm-no-cwr", 8);
        bench.write(0, 1, stage);
        bench.write(1, 2, Stage::ClaimsEntry);
        bench.write(64, 3, Stage::ClaimsEntry);
        let other = [block(1), data(64)];
        let both = [block(0), data(1), block(1), data(64)];
        assert_eq!(bench.admitted(), if held { &other[..] } else { &both }, "{stage:?}");
    }
    // A later one holds nothing back.
    let mut bench = Bench::new("secpm-no-cwr", 8);
    bench.write(0, 2, Stage::Encrypting);
    bench.write(1, 1, Stage::ClaimsEntry);
    assert_eq!(bench.admitted(), [block(0), data(1)]);
}

#[test]
fn writes_enter_in_the_order_of_their_counters_or_of_their_circuits() {
    let hardened = design::find("secpm-no-cwr", Variant::Hardened).unwrap();
    let by_circuit = Fault::AppendOrder.apply(&hardened).unwrap();
    for (design, order) in [(&hardened, [2, 0, 1]), (&by_circuit, [0, 1, 2])] {
        let mut bench = Bench::of(design, 8);
        // Circuits are given in ascending order.
        for (page, increment) in [(0, 6), (1, 7), (2, 5)] {
            bench.write(page * 64, increment, Stage::ClaimsEntry);
        }
        assert_eq!(bench.admitted(), order.map(|page| [block(page), data(page * 64)]).concat());
    }
}

#[test]
fn full_queue_of_one_kind_does_not_stop_the_other_kind() {
    // In one queue, data waits for the counter block before it.
    let mut shared = Bench::new("secpm-no-cwr", 2);
    shared.evict(7, false);
    shared.write(0, 1, Stage::ClaimsEntry);
    assert_eq!(shared.admitted(), [block(7)]);
    let mut apart = Bench::new("sca", 2);
    for id in [7, 8, 9] {
        apart.evict(id, false);
    }
    assert_eq!(apart.admitted(), [block(7), block(8)]);
    for increment in 1..4 {
        apart.write(increment, increment, Stage::ClaimsEntry);
    }
    apart.admitted();
    let free = apart.with(|at| [false, true].map(|counter| at.memory.banks.free(counter)));
    assert_eq!(free, [0, 0], "data has come in beside counters that wait");
}

/// What enters a queue of so many entries in one go: blocks that were evicted, in order; then pairs, by the numbers of their
/// counters, unless an earlier write of their page is being encrypted.
fn expected(entries: usize, evictions: &[bool], writes: &[(u64, bool)]) -> Vec<MediaLine> {
    let groups = (0..).zip(evictions).filter(|(_, waits)| !**waits).map(|(id, _)| vec![block(100 + id)]);
    let pairs = writes.iter().enumerate().filter(|(increment, (line, encrypted))| {
        let page = Line(*line).page();
        let earlier = writes[..*increment].iter().any(|(other, encrypted)| Line(*other).page() == page && !encrypted);
        *encrypted && !earlier
    });
    let pairs = pairs.map(|(_, (line, _))| {
        let Page(page) = Line(*line).page();
        vec![block(page), data(*line)]
    });
    let mut free = entries;
    let fits = |group: &Vec<MediaLine>| {
        let fits = group.len() <= free;
        free -= if fits { group.len() } else { 0 };
        fits
    };
    groups.chain(pairs).take_while(fits).flatten().collect()
}

proptest! {
    #[test]
    fn requests_enter_in_order_as_long_as_they_fit(
        entries in 2..12usize,
        evictions in prop::collection::vec(any::<bool>(), 0..4),
        writes in prop::collection::vec((0..200u64, prop::bool::weighted(0.8)), 0..8),
        turned in 0..8usize,
    ) {
        let mut bench = Bench::new("secpm-no-cwr", entries);
        for (id, &waits) in (0..).zip(&evictions) {
            bench.evict(100 + id, waits);
        }
        // In whatever order they ask.
        let mut asking: Vec<_> = (0..).zip(&writes).collect();
        asking.rotate_left(turned.min(writes.len()));
        for (increment, (line, encrypted)) in asking {
            bench.write(*line, increment, if *encrypted { Stage::ClaimsEntry } else { Stage::Encrypting });
        }
        prop_assert_eq!(bench.admitted(), expected(entries, &evictions, &writes));
    }
}
