//! Encrypted lines, and caches in the persistence domain, at their exact edges. Clock: 2 GHz.

use super::edges::{fill, fill_dirty, line, store, wakes};
use super::machine;
use super::on_chip::{pad_of_slot, parts};
use crate::cache::{Hierarchy, check, data_slots};
use crate::config::{AesOccupancy, Machine};
use crate::message::{Access, CachePort, Line, MemoryRequest, Wake, WriteToken, xor};
use crate::parts::CachePads;
use std::collections::HashSet;

/// One set in each level; the third holds two lines of data without pads.
const TIGHT: [(u32, u64, u32, bool); 3] = [(1, 1, 4, false), (1, 1, 4, false), (2, 1, 4, true)];
/// One set in each level, with two ways in the second level.
const WIDER: [(u32, u64, u32, bool); 3] = [(1, 1, 4, false), (2, 1, 4, false), (2, 1, 4, true)];

fn encrypting(levels: [(u32, u64, u32, bool); 3], cme_levels: u32) -> Machine {
    let mut machine = machine(levels, true);
    machine.controller.aes_latency_ns = 40.0;
    machine.eadr.cme_levels = cme_levels;
    machine.eadr.xor_cycles = 1;
    machine
}

fn caches(levels: [(u32, u64, u32, bool); 3], cores: u16, pads: CachePads) -> Hierarchy {
    Hierarchy::new(&encrypting(levels, 3), cores, parts(pads, true)).unwrap()
}

/// Makes `core` store `value` at the start of `l`, which must be possible at once, including the counter.
fn store_at_once(c: &mut Hierarchy, now: u64, core: u16, l: Line, value: u8) {
    assert!(matches!(c.own(now, core, l, false), Access::At(_)));
    assert_eq!(c.prepare_store(now, core, l), Access::At(now));
    c.write(now, core, l, 0, &[value]);
}

/// The only request, which must be for a counter.
fn increment(c: &mut Hierarchy) -> (u64, u16, Line) {
    let requests: Vec<_> = c.requests().collect();
    match requests[..] {
        [MemoryRequest::IncrementCounter { at, core, line }] => (at, core, line),
        _ => panic!("one counter expected, got {requests:?}"),
    }
}

/// Makes `core` store `value` to a line that needs a counter, which comes at once.
fn store_after_increment(c: &mut Hierarchy, now: u64, core: u16, l: Line, value: u8) {
    assert!(matches!(c.own(now, core, l, false), Access::At(_)));
    assert_eq!(c.prepare_store(now, core, l), Access::Pending);
    assert_eq!(increment(c).2, l);
    c.counter_incremented(now, core);
    assert_eq!(wakes(c), [(core, Wake::Prepared { at: now })]);
    store_at_once(c, now, core, l, value);
}

/// Starts a load that misses: its token, and the write-back that makes room for it.
fn miss(c: &mut Hierarchy, now: u64, core: u16, l: Line) -> (u32, Option<(Line, WriteToken)>) {
    assert_eq!(c.load(now, core, l, 0), Access::Pending);
    let requests: Vec<_> = c.requests().collect();
    match requests[..] {
        [MemoryRequest::Read { token, .. }] => (token, None),
        [MemoryRequest::Read { token, .. }, MemoryRequest::Write { line, token: write, .. }] => {
            (token, Some((line, write)))
        }
        _ => panic!("a read expected, got {requests:?}"),
    }
}

fn places(c: &Hierarchy) -> Vec<(u64, u8, Line, bool)> {
    c.on_chip().iter().map(|of| (of.slot, of.level, of.line, of.newest)).collect()
}

#[test]
fn each_level_takes_its_exclusive_or_or_its_decryption_once() {
    let levels = [(2, 1, 4, false), (4, 1, 4, false), (8, 1, 4, true)];
    let of = |pads, cme_levels| {
        let machine = encrypting(levels, cme_levels);
        let mut c = Hierarchy::new(&machine, 2, parts(pads, true)).unwrap();
        let filled = if pads == CachePads::BootPads { 4 } else { 8 };
        for n in 1..=filled {
            fill(&mut c, 0, 0, line(n));
        }
        let at = |access| if let Access::At(at) = access { at - 1_000_000 } else { panic!("a hit expected") };
        let in_l2 = if pads == CachePads::BootPads { filled - 1 } else { filled - 2 };
        let l1 = at(c.load(1_000_000, 0, line(filled), 0));
        let l2 = at(c.load(1_000_000, 0, line(in_l2), 0));
        let l3 = at(c.load(1_000_000, 0, line(1), 0));
        store(&mut c, 900_000, 0, line(1), 7);
        let other = at(c.load(1_000_000, 1, line(1), 0));
        assert_eq!(c.load(2_000_000, 1, line(99), 0), Access::Pending);
        let request = c.requests().next();
        let Some(MemoryRequest::Read { at: arrives, .. }) = request else { panic!("a read expected: {request:?}") };
        assert_eq!((c.first_level_latency(), arrives - 2_000_000), (l1, l3));
        ([l1, l2, l3, other - l3], c.store_occupancy())
    };
    assert_eq!(of(CachePads::None, 3), ([1_000, 5_000, 20_000, 4_000], 0));
    assert_eq!(of(CachePads::BootPads, 3), ([1_500, 6_000, 21_500, 4_500], 0));
    assert_eq!(of(CachePads::AesAtAccess, 1), ([41_000, 45_000, 60_000, 4_000], 40_000));
    assert_eq!(of(CachePads::AesAtAccess, 2), ([41_000, 85_000, 100_000, 44_000], 40_000));
    assert_eq!(of(CachePads::AesAtAccess, 3), ([41_000, 85_000, 140_000, 44_000], 40_000));
}

#[test]
fn level_takes_as_long_for_a_line_as_a_circuit_of_the_controller() {
    let of = |occupancy, pipelined| {
        let mut machine = encrypting(WIDER, 1);
        (machine.controller.aes_occupancy, machine.controller.aes_pipelined) = (occupancy, pipelined);
        let c = Hierarchy::new(&machine, 1, parts(CachePads::AesAtAccess, true)).unwrap();
        (c.first_level_latency(), c.store_occupancy())
    };
    assert_eq!([false, true].map(|pipelined| of(AesOccupancy::Line, pipelined)), [(41_000, 40_000); 2]);
    assert_eq!(
        [false, true].map(|pipelined| of(AesOccupancy::Block, pipelined)),
        [(161_000, 160_000), (53_000, 52_000)]
    );
}

#[test]
fn pads_take_half_the_ways_of_every_level() {
    let levels = [(2, 2, 4, false), (4, 2, 4, true), (8, 4, 4, true)];
    for cores in [1, 3, 64] {
        let mut machine = machine(levels, false);
        machine.l2.size_per_core = true;
        for (pads, part) in [(CachePads::None, 1), (CachePads::AesAtAccess, 1), (CachePads::BootPads, 2)] {
            let c = Hierarchy::new(&machine, cores, parts(pads, true)).unwrap();
            let n = usize::from(cores);
            assert_eq!([c.lines(1), c.lines(2), c.lines(3)], [4 * n / part, 8 * n / part, 32 / part]);
            assert_eq!(data_slots(&machine, cores, pads), (12 * n as u64 + 32) / part as u64);
            assert_eq!(
                c.dirty_per_level().map(|(_, slots)| slots).iter().sum::<u64>(),
                data_slots(&machine, cores, pads)
            );
        }
    }
    let mut c = caches([(2, 1, 4, false), (4, 1, 4, false), (8, 1, 4, true)], 1, CachePads::BootPads);
    for n in 1..=5 {
        fill(&mut c, 0, 0, line(n));
    }
    assert_eq!(c.peek(0, line(1)), None, "four ways of eight hold data");
    assert_eq!(c.peek(0, line(2)), Some([2; 64]));
}

#[test]
fn level_without_a_half_is_refused() {
    for (level, name) in ["l1", "l2", "l3"].into_iter().enumerate() {
        let mut levels = [(2, 1, 4, false), (4, 1, 4, false), (8, 1, 4, true)];
        levels[level].0 = 3;
        let machine = machine(levels, true);
        assert_eq!(check(&machine, CachePads::None).and(check(&machine, CachePads::AesAtAccess)), Ok(()));
        let error = check(&machine, CachePads::BootPads).unwrap_err().to_string();
        assert_eq!(error, format!("{name}.ways = 3 must be even, because the pads of cached lines take half the ways"));
        let refused = Hierarchy::new(&machine, 1, parts(CachePads::BootPads, true)).err().expect("refused");
        assert_eq!(refused.to_string(), error);
    }
}

#[test]
fn line_rests_under_the_pad_of_its_slot_and_leaves_with_it() {
    let pads: HashSet<_> = (0..64).map(pad_of_slot).collect();
    assert_eq!(pads.len(), 64, "no two slots share a pad");
    let mut c = caches([(2, 1, 4, false), (2, 1, 4, false), (4, 1, 4, true)], 2, CachePads::BootPads);
    // Data slots: 0 and 1 are the first levels, 2 and 3 the second ones, 4 and 5 the third.
    fill_dirty(&mut c, 0, 1, line(1));
    let mut stored = [1; 64];
    stored[0] = 0xff;
    let check = |c: &Hierarchy, slots: &[u64]| {
        let on_chip = c.on_chip();
        assert_eq!(on_chip.iter().map(|of| of.slot).collect::<Vec<_>>(), slots);
        for of in on_chip.iter().filter(|of| of.line == line(1)) {
            assert_eq!(of.resident, xor(&stored, &pad_of_slot(of.slot)));
            assert_eq!(of.plaintext, stored);
        }
    };
    check(&c, &[1]);
    assert_eq!(c.dirty_lines(), (1, 1), "its clean copies below are the same line");
    assert_eq!((c.on_chip()[0].core, c.on_chip()[0].level), (1, 1));
    fill(&mut c, 100, 1, line(2));
    check(&c, &[4]);
    assert_eq!(c.dirty_per_level(), [(0, 2), (0, 2), (1, 2)]);
    assert_eq!(c.dirty_lines(), (1, 2), "line 2 is clean");
    assert_eq!(c.load(200, 1, line(3), 0), Access::Pending);
    let requests: Vec<_> = c.requests().collect();
    let [_, MemoryRequest::Write { line: gone, bytes, cache_pad, token, .. }] = requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!((gone, cache_pad, bytes), (line(1), pad_of_slot(4), xor(&stored, &pad_of_slot(4))));
    check(&c, &[4]);
    c.write_acked(500, token);
    check(&c, &[]);
}

#[test]
fn line_turns_dirty_under_its_next_counter_once() {
    let mut c = caches(WIDER, 1, CachePads::AesAtAccess);
    fill(&mut c, 0, 0, line(1));
    assert!(matches!(c.own(1_000, 0, line(1), false), Access::At(_)));
    let hits = c.counts().l1.hits;
    assert_eq!(c.prepare_store(1_000, 0, line(1)), Access::Pending);
    assert_eq!(increment(&mut c), (1_000 + 140_000, 0, line(1)));
    assert!(c.on_chip().is_empty());
    c.counter_incremented(2_000, 0);
    assert_eq!(places(&c), [(0, 1, line(1), true)], "memory has it under the counter before");
    assert_eq!(wakes(&mut c), [(0, Wake::Prepared { at: 2_000 })]);
    store_at_once(&mut c, 2_000, 0, line(1), 0xa1);
    assert_eq!(c.counts().l1.hits, hits, "to ask again is no access");
    store_at_once(&mut c, 3_000, 0, line(1), 0xa2);
    // The second level also holds it dirty, and then only the third: no counter is missing.
    fill(&mut c, 4_000, 0, line(2));
    assert_eq!(places(&c), [(1, 2, line(1), true)]);
    store_at_once(&mut c, 5_000, 0, line(1), 0xa3);
    assert_eq!(places(&c), [(0, 1, line(1), true), (1, 2, line(1), false)]);
    fill(&mut c, 6_000, 0, line(3));
    fill(&mut c, 6_000, 0, line(4));
    assert_eq!(places(&c).iter().map(|of| of.1).collect::<Vec<_>>(), [3]);
    store_at_once(&mut c, 7_000, 0, line(1), 0xa4);
    assert_eq!(places(&c).iter().map(|of| of.1).collect::<Vec<_>>(), [1], "the older copy stays, and is never written");
    assert_eq!(c.requests().count(), 0);
}

#[test]
fn line_that_is_leaving_needs_a_counter_to_turn_dirty_again() {
    let mut c = caches(TIGHT, 1, CachePads::AesAtAccess);
    fill(&mut c, 0, 0, line(1));
    store_after_increment(&mut c, 100, 0, line(1), 0xa1);
    fill(&mut c, 200, 0, line(2));
    let (_, gone) = miss(&mut c, 300, 0, line(3));
    let (gone, token) = gone.expect("a write-back");
    assert_eq!(gone, line(1));
    store_after_increment(&mut c, 400, 0, line(1), 0xa2);
    assert_eq!(places(&c), [(0, 1, line(1), true), (2, 3, line(1), false)]);
    c.write_acked(500, token);
    assert_eq!(places(&c), [(0, 1, line(1), true)]);
    assert_eq!(c.on_chip()[0].plaintext[0], 0xa2);
}

#[test]
fn line_read_by_another_core_while_its_counter_comes_is_dirty_with_its_writer() {
    let mut c = caches([(2, 1, 4, false), (2, 1, 4, false), (4, 1, 4, true)], 2, CachePads::AesAtAccess);
    fill(&mut c, 0, 0, line(1));
    assert!(matches!(c.own(100, 0, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(100, 0, line(1)), Access::Pending);
    assert_eq!(increment(&mut c).1, 0);
    assert!(matches!(c.load(200, 1, line(1), 0), Access::At(_)));
    c.counter_incremented(300, 0);
    let on_chip = c.on_chip();
    assert_eq!((on_chip.len(), on_chip[0].core, on_chip[0].level), (1, 0, 1));
    drop(wakes(&mut c));
    // The reader comes again: the line moves down, dirty, and its counter is still valid.
    assert!(matches!(c.load(400, 1, line(1), 0), Access::At(_)));
    assert_eq!(c.on_chip()[0].level, 3);
    store_at_once(&mut c, 500, 0, line(1), 0xa1);
    assert_eq!(places(&c).len(), 1);
    // The same for another writer.
    store_at_once(&mut c, 600, 1, line(1), 0xb1);
    assert_eq!(c.requests().count(), 0);
    assert_eq!(c.peek(0, line(1)).unwrap()[0], 0xb1);
}

#[test]
fn line_that_leaves_another_cores_third_level_is_taken_when_it_has_left() {
    let levels = [(1, 1, 4, false), (1, 1, 4, false), (2, 1, 4, false)];
    let mut c = caches(levels, 2, CachePads::AesAtAccess);
    fill(&mut c, 0, 0, line(1));
    store_after_increment(&mut c, 100, 0, line(1), 0xa1);
    fill(&mut c, 200, 0, line(2));
    let (_, gone) = miss(&mut c, 300, 0, line(3));
    let (gone, token) = gone.expect("a write-back");
    assert_eq!(gone, line(1));
    assert_eq!(c.own(400, 1, line(1), false), Access::Pending);
    assert_eq!(c.requests().count(), 0, "it is still on the chip");
    c.write_acked(500, token);
    let requests: Vec<_> = c.requests().collect();
    assert!(
        matches!(requests[..], [MemoryRequest::Read { line: Line(1), .. }]),
        "memory has what left, under the counter that went with it: {requests:?}"
    );
}

/// Core 0 has line 1 dirty and both cores have line 2, whose dirty copy is leaving the only way of the third level.
fn no_room_below(pads: CachePads, persistent: bool) -> Hierarchy {
    let factor = if pads == CachePads::BootPads { 2 } else { 1 };
    let levels = [(factor, 1, 4, false), (2 * factor, 1, 4, false), (factor, 1, 4, true)];
    let mut c = Hierarchy::new(&encrypting(levels, 3), 2, parts(pads, persistent)).unwrap();
    for (core, n) in [(0, 1), (1, 2)] {
        fill(&mut c, 0, core, line(n));
        match pads {
            CachePads::AesAtAccess => store_after_increment(&mut c, 100, core, line(n), 0xa1),
            _ => store_at_once(&mut c, 100, core, line(n), 0xa1),
        }
    }
    assert!(matches!(c.load(200, 0, line(2), 0), Access::At(_)));
    let (_, gone) = miss(&mut c, 300, 1, line(3));
    assert_eq!(gone.map(|(line, _)| line), Some(line(2)));
    c.evicted.clear();
    assert_eq!(
        c.on_chip().iter().map(|of| (of.line, of.level, of.core)).collect::<Vec<_>>(),
        [(line(1), 2, 0), (line(2), 3, 0)]
    );
    c
}

const ALL: [CachePads; 3] = [CachePads::None, CachePads::BootPads, CachePads::AesAtAccess];

#[test]
fn dirty_line_that_finds_no_room_below_moves_to_its_reader() {
    for pads in ALL {
        let mut c = no_room_below(pads, true);
        assert!(matches!(c.load(400, 1, line(1), 0), Access::At(_)));
        let of = c.on_chip()[0];
        assert_eq!((of.line, of.level, of.core, of.newest, of.plaintext[0]), (line(1), 2, 1, true, 0xa1));
        assert_eq!((c.on_chip().len(), c.requests().count(), &c.evicted[..]), (2, 0, &[][..]));
        // The reader owns it now, and its counter is still valid.
        let later = 1_000_000;
        assert_eq!(c.own(later, 1, line(1), false), Access::At(later + c.first_level_latency()));
        store_at_once(&mut c, later, 1, line(1), 0xb1);
        assert_eq!(c.peek(0, line(1)).unwrap()[0], 0xb1);
    }
}

#[test]
fn reader_of_such_a_line_waits_while_its_owner_is_about_to_write_it() {
    for pads in ALL {
        let mut c = no_room_below(pads, true);
        assert!(matches!(c.own(400, 0, line(1), false), Access::At(_)));
        assert_eq!(c.load(450, 1, line(1), 5), Access::Pending);
        assert_eq!((c.requests().count(), wakes(&mut c)), (0, vec![]));
        assert_eq!(c.prepare_store(500, 0, line(1)), Access::At(500));
        c.write(500, 0, line(1), 0, &[0xc1]);
        let at = if let [(1, Wake::Load { token: 5, at })] = wakes(&mut c)[..] { at } else { panic!("{pads:?}") };
        assert!(at > 500);
        let of = c.on_chip()[0];
        assert_eq!((of.line, of.core, of.plaintext[0], c.requests().count()), (line(1), 1, 0xc1, 0));
    }
}

#[test]
fn caches_that_are_lost_with_power_let_such_a_line_out() {
    for pads in [CachePads::None, CachePads::BootPads] {
        let mut c = no_room_below(pads, false);
        let place = c.on_chip()[0].slot;
        assert!(matches!(c.load(400, 1, line(1), 0), Access::At(_)));
        let requests: Vec<_> = c.requests().collect();
        let [MemoryRequest::Write { line: Line(1), bytes, cache_pad, .. }] = requests[..] else {
            panic!("{requests:?}")
        };
        assert_eq!(xor(&bytes, &cache_pad)[..2], [0xa1, 1]);
        assert_eq!(cache_pad, if pads == CachePads::BootPads { pad_of_slot(place) } else { [0; 64] });
        assert!(c.on_chip().iter().all(|of| of.line != line(1)));
    }
}
