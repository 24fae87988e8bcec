//! Latencies and waits at their exact edges. Clock: 2 GHz, so L1 = 1 ns, L2 = 5 ns, L3 = 20 ns in total.

use super::machine;
use crate::cache::{CacheParts, Hierarchy};
use crate::message::{Access, CachePort, FlushKind, Line, LineBytes, MemoryRequest, News, Wake, WriteToken};

pub(super) const SMALL: [(u32, u64, u32, bool); 3] = [(1, 1, 4, false), (2, 1, 4, false), (4, 1, 4, true)];

pub(super) fn caches(levels: [(u32, u64, u32, bool); 3], cores: u16) -> Hierarchy {
    Hierarchy::new(&machine(levels, true), cores, CacheParts::PLAIN).unwrap()
}

pub(super) fn line(n: u64) -> Line {
    Line(n)
}

/// The only request, which must be a read.
fn read_token(caches: &mut Hierarchy) -> (u64, u32) {
    let requests: Vec<_> = caches.requests().collect();
    match requests[..] {
        [MemoryRequest::Read { at, token, .. }] => (at, token),
        _ => panic!("one read expected, got {requests:?}"),
    }
}

/// The only request, which must be a write.
pub(super) fn write(caches: &mut Hierarchy) -> (u64, Line, LineBytes, WriteToken) {
    let requests: Vec<_> = caches.requests().collect();
    match requests[..] {
        [MemoryRequest::Write { at, line, bytes, token, .. }] => (at, line, bytes, token),
        _ => panic!("one write expected, got {requests:?}"),
    }
}

pub(super) fn wakes(caches: &mut Hierarchy) -> Vec<(u16, Wake)> {
    let mut wakes = Vec::new();
    caches.take_wakes(&mut wakes);
    wakes
}

/// Brings a line in from memory, for loading.
pub(super) fn fill(caches: &mut Hierarchy, now: u64, core: u16, l: Line) {
    assert_eq!(caches.load(now, core, l, 0), Access::Pending);
    let (_, token) = read_token(caches);
    caches.read_done(now, token, &[l.0 as u8; 64]);
    assert_eq!(wakes(caches), [(core, Wake::Load { token: 0, at: now })]);
}

/// Brings a line in from memory and stores 0xff into its first byte.
pub(super) fn fill_dirty(caches: &mut Hierarchy, now: u64, core: u16, l: Line) {
    fill(caches, now, core, l);
    store(caches, now, core, l, 0xff);
}

pub(super) fn store(caches: &mut Hierarchy, now: u64, core: u16, l: Line, value: u8) {
    assert!(matches!(caches.own(now, core, l, false), Access::At(_)));
    caches.write(now, core, l, 0, &[value]);
}

#[test]
fn hit_in_each_level_takes_exactly_the_sum_of_latencies() {
    let mut c = caches(SMALL, 1);
    for n in 1..=4 {
        fill(&mut c, 0, 0, line(n));
    }
    // L1 holds 4; L2 holds 3 and 4; L3 holds all.
    assert_eq!(c.load(100_000, 0, line(4), 0), Access::At(101_000));
    assert_eq!(c.load(200_000, 0, line(3), 0), Access::At(205_000));
    assert_eq!(c.load(300_000, 0, line(1), 0), Access::At(320_000));
    assert_eq!(c.own(400_000, 0, line(1), false), Access::At(401_000));
    let counts = *c.counts();
    assert_eq!((counts.l1.hits, counts.l2.hits, counts.l3.hits), (2, 1, 1));
    assert_eq!((counts.l1.misses, counts.l2.misses, counts.l3.misses), (4 + 2, 4 + 1, 4));
    assert_eq!((counts.l1.latency_ps, counts.l2.latency_ps, counts.l3.latency_ps), (2_000, 5_000, 20_000));
    c.reset_counts();
    assert_eq!(c.counts().l1.hits, 0);
}

#[test]
fn hit_under_a_fill_waits_for_the_line() {
    let mut c = caches(SMALL, 1);
    for n in 1..=3 {
        fill(&mut c, 0, 0, line(n));
    }
    assert_eq!(c.load(100_000, 0, line(1), 0), Access::At(120_000), "from L3");
    assert_eq!(c.load(105_000, 0, line(1), 1), Access::At(120_000), "not earlier than it arrives");
    assert_eq!(c.own(118_999, 0, line(1), false), Access::At(120_000));
    assert_eq!(c.load(119_001, 0, line(1), 2), Access::At(120_001), "from then on an ordinary hit");
}

#[test]
fn miss_reaches_memory_after_all_levels_and_ends_when_memory_answers() {
    let mut c = caches(SMALL, 1);
    assert_eq!(c.own(7, 0, line(9), false), Access::Pending);
    let (at, token) = read_token(&mut c);
    assert_eq!(at, 20_007);
    c.read_done(90_000, token, &[3; 64]);
    assert_eq!(wakes(&mut c), [(0, Wake::Store { line: line(9), at: 90_000 })]);
    c.write(90_000, 0, line(9), 63, &[8]);
    let mut expected = [3; 64];
    expected[63] = 8;
    assert_eq!(c.peek(0, line(9)), Some(expected));
    assert_eq!(
        c.on_chip().iter().map(|d| (d.line, d.level, d.plaintext)).collect::<Vec<_>>(),
        [(line(9), 1, expected)]
    );
    assert_eq!((c.lines(1), c.lines(2), c.lines(3)), (1, 2, 4));
}

#[test]
fn misses_of_one_line_share_a_register_and_a_full_file_blocks_until_one_is_free() {
    let mut c = caches([(4, 1, 2, false), (4, 1, 4, false), (4, 1, 4, true)], 1);
    assert_eq!(c.load(0, 0, line(1), 10), Access::Pending);
    assert_eq!(c.load(0, 0, line(1), 11), Access::Pending);
    assert_eq!(c.own(0, 0, line(1), false), Access::Pending);
    let (_, first) = read_token(&mut c);
    assert_eq!(c.load(0, 0, line(2), 12), Access::Pending);
    let (_, second) = read_token(&mut c);
    assert!(matches!(c.load(0, 0, line(3), 13), Access::Blocked(_)));
    assert!(matches!(c.load(0, 0, line(3), 13), Access::Blocked(_)));
    assert_eq!(c.load(0, 0, line(2), 14), Access::Pending, "joining needs no register");
    c.read_done(50, first, &[1; 64]);
    let told = wakes(&mut c);
    assert_eq!(
        told,
        [
            (0, Wake::Load { token: 10, at: 50 }),
            (0, Wake::Load { token: 11, at: 50 }),
            (0, Wake::Store { line: line(1), at: 50 }),
            (0, Wake::Retry { at: 50 }),
        ]
    );
    c.read_done(60, second, &[2; 64]);
    assert_eq!(wakes(&mut c).len(), 2, "nobody is blocked any more");
    assert!(c.idle());
}

#[test]
fn free_register_is_for_the_core_that_has_waited_longest_and_for_no_other() {
    let mut c = caches([(4, 1, 2, false), (4, 1, 4, false), (4, 1, 1, true)], 4);
    let ask = |c: &mut Hierarchy, core: u16| c.load(0, core, line(u64::from(core)), u32::from(core));
    assert_eq!(ask(&mut c, 3), Access::Pending);
    let (_, token) = read_token(&mut c);
    for core in [2, 0, 1, 2] {
        assert!(matches!(ask(&mut c, core), Access::Blocked(_)));
    }
    c.read_done(50, token, &[0; 64]);
    let load = |token, at| (token as u16, Wake::Load { token, at });
    // No register was in use, so that all had to be woken: none of them is certain to take one.
    assert_eq!(
        wakes(&mut c),
        [load(3, 50), (2, Wake::Retry { at: 50 }), (0, Wake::Retry { at: 50 }), (1, Wake::Retry { at: 50 })]
    );

    let mut c = caches([(4, 1, 2, false), (4, 1, 4, false), (4, 1, 2, true)], 4);
    assert_eq!(ask(&mut c, 3), Access::Pending);
    let (_, first) = read_token(&mut c);
    assert_eq!(ask(&mut c, 2), Access::Pending);
    let (_, second) = read_token(&mut c);
    assert!(matches!((ask(&mut c, 1), ask(&mut c, 0)), (Access::Blocked(_), Access::Blocked(_))));
    c.read_done(50, first, &[0; 64]);
    assert_eq!(wakes(&mut c), [load(3, 50), (1, Wake::Retry { at: 50 })]);
    assert_eq!(ask(&mut c, 1), Access::Pending);
    c.read_done(60, second, &[0; 64]);
    assert_eq!(wakes(&mut c), [load(2, 60), (0, Wake::Retry { at: 60 })]);
}

#[test]
fn blocked_load_notices_a_register_that_another_core_takes_for_its_line() {
    let mut c = caches([(4, 1, 2, false), (4, 1, 4, false), (4, 1, 1, true)], 2);
    assert_eq!(c.load(0, 0, line(1), 10), Access::Pending);
    let (_, first) = read_token(&mut c);
    let Access::Blocked(news) = c.load(0, 1, line(2), 20) else { panic!("the only register is taken") };
    assert_ne!(news, News::Unknown);
    assert_eq!(c.load_again(10, 1, line(2), 20, news), Access::Blocked(news));
    c.read_done(50, first, &[1; 64]);
    assert_eq!(c.load(50, 0, line(2), 11), Access::Pending);
    assert_eq!(c.load_again(50, 1, line(2), 20, news), Access::Pending, "joining needs no register");
}

#[test]
fn prefetch_leaves_two_registers_for_demand() {
    let mut c = caches([(4, 1, 3, false), (4, 1, 4, false), (4, 1, 4, true)], 1);
    assert_eq!(c.own(0, 0, line(1), true), Access::Pending);
    let (_, token) = read_token(&mut c);
    assert!(matches!(c.own(0, 0, line(2), true), Access::Blocked(_)));
    assert_eq!(c.load(0, 0, line(2), 0), Access::Pending);
    assert_eq!(c.load(0, 0, line(3), 0), Access::Pending);
    c.read_done(5, token, &[0; 64]);
    assert_eq!(wakes(&mut c), [], "nobody waited");
    assert!(matches!(c.own(6, 0, line(1), false), Access::At(_)));
}

#[test]
fn write_back_keeps_its_place_until_acknowledged() {
    let mut c = caches([(1, 1, 4, false), (1, 1, 4, false), (2, 1, 4, true)], 1);
    fill_dirty(&mut c, 0, 0, line(1));
    fill(&mut c, 0, 0, line(2));
    // L3: 1 (dirty, moved down) and 2. The miss of 3 starts 1's write-back at once, in parallel to the read.
    assert_eq!(c.load(100, 0, line(3), 7), Access::Pending);
    let requests: Vec<_> = c.requests().collect();
    let [MemoryRequest::Read { token, .. }, MemoryRequest::Write { at, line: gone, bytes, token: write, .. }] =
        requests[..]
    else {
        panic!("read and write-back expected, got {requests:?}")
    };
    assert_eq!((at, gone, bytes[0], &c.evicted[..]), (20_100, line(1), 0xff, &[line(1)][..]));
    assert_eq!(c.on_chip().iter().map(|d| d.line).collect::<Vec<_>>(), [line(1)], "not safe before the ack");
    c.read_done(200, token, &[3; 64]);
    assert_eq!(wakes(&mut c), [], "the way is not free yet");
    assert_eq!(c.peek(0, line(1)).unwrap()[0], 0xff, "still readable");
    assert_eq!(c.flush(250, 0, line(1), FlushKind::Keep), Access::Pending, "a flush waits for the eviction");
    c.write_acked(300, write);
    assert_eq!(
        wakes(&mut c),
        [(0, Wake::Flush { line: line(1), counters: false, at: 300 }), (0, Wake::Load { token: 7, at: 300 })]
    );
    assert_eq!(c.peek(0, line(1)), None);
    assert_eq!(c.flush(400, 0, line(1), FlushKind::Keep), Access::At(20_400), "nothing left to wait for");
    assert!(c.idle());
}

#[test]
fn misses_wait_while_every_way_of_the_only_set_is_leaving() {
    let mut c = caches([(1, 1, 8, false), (1, 1, 8, false), (2, 1, 8, true)], 1);
    for n in 1..=3 {
        assert_eq!(c.load(0, 0, line(n), 0), Access::Pending);
        let requests: Vec<_> = c.requests().collect();
        for request in requests {
            if let MemoryRequest::Read { token, .. } = request {
                c.read_done(0, token, &[0; 64]);
            }
            if let MemoryRequest::Write { token, .. } = request {
                c.write_acked(0, token);
            }
        }
        store(&mut c, 0, 0, line(n), 0xff);
    }
    drop(wakes(&mut c));
    // Lines 2 and 3 are dirty, 3 above the third level; it holds 2 and an old copy of 3.
    let mut reads = Vec::new();
    let mut writes = Vec::new();
    for n in 4..=6 {
        assert_eq!(c.load(100, 0, line(n), n as u32), Access::Pending);
        for request in c.requests() {
            match request {
                MemoryRequest::Read { token, .. } => reads.push(token),
                MemoryRequest::Write { token, .. } => writes.push(token),
                _ => panic!("nobody asked for {request:?}"),
            }
        }
    }
    reads.into_iter().for_each(|token| c.read_done(200, token, &[0; 64]));
    let mut now = 300;
    let mut told = Vec::new();
    while !c.idle() {
        writes.extend(c.requests().filter_map(|request| match request {
            MemoryRequest::Write { token, .. } => Some(token),
            _ => None,
        }));
        c.write_acked(now, writes.remove(0));
        told.extend(wakes(&mut c));
        now += 100;
    }
    assert_eq!(told.len(), 3, "every miss ends: {told:?}");
}

#[test]
fn leaving_line_that_is_written_again_stays() {
    let mut c = caches([(1, 1, 4, false), (1, 1, 4, false), (2, 1, 4, true)], 1);
    fill_dirty(&mut c, 0, 0, line(1));
    fill(&mut c, 0, 0, line(2));
    assert_eq!(c.load(100, 0, line(3), 7), Access::Pending);
    let requests: Vec<_> = c.requests().collect();
    let [MemoryRequest::Read { token, .. }, MemoryRequest::Write { token: first, .. }] = requests[..] else {
        panic!("{requests:?}")
    };
    store(&mut c, 150, 0, line(1), 0xee);
    // The fill of 3 pushes 1 out of L2 onto its own leaving way.
    c.read_done(200, token, &[3; 64]);
    c.write_acked(300, first);
    assert_eq!(c.peek(0, line(1)).unwrap()[0], 0xee, "the newer bytes are not lost with the old write's ack");
}

#[test]
fn flush_writes_once_and_the_line_stays_or_goes() {
    let mut c = caches(SMALL, 1);
    fill_dirty(&mut c, 0, 0, line(5));
    assert_eq!(c.flush(1_000, 0, line(5), FlushKind::Keep), Access::Pending);
    let (at, flushed, bytes, token) = write(&mut c);
    assert_eq!((at, flushed, bytes[0], bytes[1]), (21_000, line(5), 0xff, 5));
    assert_eq!(c.evicted, [], "a flush is no eviction");
    assert_eq!(c.flush(1_500, 0, line(5), FlushKind::Keep), Access::Pending, "clean, but not safe yet");
    assert_eq!(c.requests().count(), 0);
    c.write_acked(30_000, token);
    assert_eq!(wakes(&mut c), [(0, Wake::Flush { line: line(5), counters: false, at: 30_000 }); 2]);
    assert_eq!(c.load(31_000, 0, line(5), 0), Access::At(32_000), "clwb keeps the line");
    assert_eq!(c.flush(40_000, 0, line(5), FlushKind::Invalidate), Access::At(60_000));
    assert_eq!(c.peek(0, line(5)), None);
}

#[test]
fn non_temporal_store_overtakes_a_read_on_its_way() {
    let mut c = caches(SMALL, 1);
    assert_eq!(c.load(0, 0, line(5), 1), Access::Pending);
    let (_, read) = read_token(&mut c);
    c.write_around(10, 0, line(5), &[9; 64]);
    let (_, _, _, token) = write(&mut c);
    c.read_done(50, read, &[1; 64]);
    assert_eq!(c.peek(0, line(5)), Some([9; 64]), "memory's answer is older");
    c.write_around(60, 0, line(5), &[10; 64]);
    assert_eq!(c.peek(0, line(5)), None, "copies are dropped");
    c.write_acked(70, token);
    assert_eq!(wakes(&mut c).len(), 2);
}

#[test]
fn dirty_line_moves_between_cores() {
    let mut c = caches([(2, 1, 4, false), (2, 1, 4, false), (4, 1, 4, true)], 2);
    fill_dirty(&mut c, 0, 0, line(5));
    assert_eq!(c.load(1_000, 1, line(5), 0), Access::At(1_000 + 20_000 + 4_000), "L3 and the owner's L2");
    assert_eq!(c.peek(1, line(5)).unwrap()[0], 0xff);
    assert_eq!(c.on_chip().iter().map(|d| d.level).collect::<Vec<_>>(), [3], "readers hold clean copies");
    assert_eq!(c.own(30_000, 0, line(5), false), Access::At(50_000), "an upgrade asks the directory");
    assert_eq!(c.own(30_000, 1, line(5), false), Access::Pending, "one writer at a time");
    c.write(50_000, 0, line(5), 0, &[0xaa]);
    assert_eq!(wakes(&mut c), [(1, Wake::Store { line: line(5), at: 74_000 })]);
    c.write(74_000, 1, line(5), 1, &[0xbb]);
    assert_eq!(c.peek(0, line(5)).unwrap()[..3], [0xaa, 0xbb, 5]);
    assert_eq!(c.flush(80_000, 0, line(5), FlushKind::Keep), Access::Pending, "anybody may flush it");
    assert_eq!(write(&mut c).2[..3], [0xaa, 0xbb, 5]);
}

#[test]
fn line_read_for_reencryption_only_takes_what_nobody_needs() {
    let mut c = caches([(1, 1, 4, false), (1, 1, 4, false), (1, 1, 4, true)], 1);
    c.install_clean(0, line(1), &[1; 64]);
    assert_eq!(c.load(0, 0, line(1), 0), Access::At(20_000));
    c.install_clean(30_000, line(1), &[2; 64]);
    assert_eq!(c.peek(0, line(1)), Some([1; 64]), "cached lines are left alone");
    assert_eq!(c.load(30_000, 0, line(3), 0), Access::Pending);
    c.install_clean(30_000, line(3), &[2; 64]);
    assert_eq!(c.peek(0, line(3)), None, "so are lines somebody waits for");
    c.write_around(30_000, 0, line(4), &[4; 64]);
    c.install_clean(30_000, line(4), &[2; 64]);
    assert_eq!(c.peek(0, line(4)), None, "and lines on their way to memory");
}

/// Line and mark of every requested write.
fn marks(caches: &mut Hierarchy) -> Vec<(u64, bool)> {
    let writes = caches.requests().filter_map(|request| match request {
        MemoryRequest::Write { line, counter_atomic, .. } => Some((line.0, counter_atomic)),
        _ => None,
    });
    writes.collect()
}

#[test]
fn marked_line_says_so_whichever_way_it_leaves() {
    let mut c = caches([(4, 1, 4, false), (4, 1, 4, false), (4, 1, 4, true)], 1);
    fill_dirty(&mut c, 0, 0, line(1));
    c.flush(100, 0, line(1), FlushKind::Keep);
    c.mark_counter_atomic(line(1));
    assert_eq!(marks(&mut c), [(1, false)], "what was sent before stays as it was");
    for (n, value) in [(1, 2), (2, 2), (1, 3)] {
        if n == 2 {
            fill(&mut c, 200, 0, line(2));
        }
        store(&mut c, 200, 0, line(n), value);
        c.flush(300, 0, line(n), FlushKind::Keep);
        assert_eq!(marks(&mut c), [(n, n == 1)], "a flush, and a later one: the mark stays");
    }
    c.write_around(400, 0, line(1), &[4; 64]);
    c.write_around(400, 0, line(2), &[4; 64]);
    assert_eq!(marks(&mut c), [(1, true), (2, false)], "a non-temporal store");
    for n in [1, 2] {
        fill_dirty(&mut c, 500, 0, line(n));
    }
    for n in 10..20 {
        assert_eq!(c.load(600, 0, line(n), 0), Access::Pending);
        let requests: Vec<_> = c.requests().collect();
        for request in requests {
            match request {
                MemoryRequest::Read { token, .. } => c.read_done(600, token, &[0; 64]),
                MemoryRequest::Write { line, token, counter_atomic, .. } => {
                    assert_eq!(counter_atomic, line.0 == 1, "an eviction");
                    c.write_acked(600, token);
                }
                _ => panic!("nobody asked for {request:?}"),
            }
        }
    }
    assert_eq!(c.evicted, [line(1), line(2)]);
}

#[test]
fn counter_write_back_follows_an_earlier_flush_and_is_acknowledged_on_its_own() {
    let mut c = caches(SMALL, 1);
    fill_dirty(&mut c, 0, 0, line(5));
    assert_eq!(c.flush(1_000, 0, line(5), FlushKind::Keep), Access::Pending);
    c.counter_writeback(1_000, 0, line(5));
    let requests: Vec<_> = c.requests().collect();
    let [
        MemoryRequest::Write { at: first, token: data, .. },
        MemoryRequest::CounterWriteback { at, line: of, token: counters },
    ] = requests[..]
    else {
        panic!("the flush first, then the counters, got {requests:?}")
    };
    assert_eq!((first, at, of), (21_000, 21_000, line(5)));
    c.write_acked(30_000, counters);
    assert_eq!(wakes(&mut c), [(0, Wake::Flush { line: line(5), counters: true, at: 30_000 })]);
    assert!(!c.idle());
    assert_eq!(c.flush(31_000, 0, line(5), FlushKind::Keep), Access::Pending, "the data is still on its way");
    c.write_acked(40_000, data);
    assert_eq!(wakes(&mut c), [(0, Wake::Flush { line: line(5), counters: false, at: 40_000 }); 2]);
    c.counter_writeback(50_000, 0, line(5));
    assert_eq!(c.flush(50_000, 0, line(5), FlushKind::Keep), Access::At(70_000), "counters are no data to wait for");
}

#[test]
fn third_level_without_latency_answers_like_the_second() {
    let mut machine = machine(SMALL, true);
    machine.l3.latency_cycles = 0;
    let mut c = Hierarchy::new(&machine, 1, CacheParts::PLAIN).unwrap();
    for n in 1..=3 {
        fill(&mut c, 0, 0, line(n));
    }
    assert_eq!(c.load(100_000, 0, line(1), 0), Access::At(105_000), "from the third level");
    assert_eq!(c.load(200_000, 0, line(9), 0), Access::Pending);
    assert_eq!(read_token(&mut c).0, 205_000);
}

#[test]
fn shared_level_has_its_size_once_or_for_each_core() {
    for cores in 1..=64 {
        let mut machine = machine([(1, 1, 4, false), (2, 4, 4, true), (4, 2, 4, true)], false);
        machine.l2.size_per_core = true;
        let c = Hierarchy::new(&machine, cores, CacheParts::PLAIN).unwrap();
        let n = usize::from(cores);
        assert_eq!([c.lines(1), c.lines(2), c.lines(3)], [n, 8 * n, 8]);
        // The size of a private cache is for each core already.
        (machine.l2.shared, machine.l3.size_per_core) = (false, true);
        let c = Hierarchy::new(&machine, cores, CacheParts::PLAIN).unwrap();
        assert_eq!([c.lines(1), c.lines(2), c.lines(3)], [n, 8 * n, 8 * n]);
    }
}

#[test]
fn impossible_machines_are_refused() {
    let refused = |levels, cores| {
        Hierarchy::new(&machine(levels, true), cores, CacheParts::PLAIN).err().expect("refused").to_string()
    };
    assert!(refused(SMALL, 0).starts_with("cores is 0"));
    assert!(refused(SMALL, 65).starts_with("cores is 65"));
    assert!(refused([(1, 1, 1, true), SMALL[1], SMALL[2]], 1).starts_with("l1.shared"));
    assert!(refused([SMALL[0], (1, 1, 1, true), (1, 1, 1, false)], 2).starts_with("l3.shared"));
    assert!(refused([SMALL[0], (1, 3, 1, false), SMALL[2]], 1).starts_with("l2: "));
    assert!(refused([SMALL[0], SMALL[1], (1, 1, 0, true)], 1).starts_with("l3.mshrs"));
}

/// Nothing of a page that is shredded is written back any more, whichever level held it.
#[test]
fn a_shredded_page_leaves_nothing_in_the_caches() {
    let mut c = caches(SMALL, 1);
    for l in [line(64), line(65), line(66), line(3)] {
        fill_dirty(&mut c, 0, 0, l);
        c.requests().for_each(drop);
    }
    c.zero_page(10_000, 0, line(64));
    let requests: Vec<_> = c.requests().collect();
    let [MemoryRequest::ZeroPage { at, line: first, token }] = requests[..] else { panic!("{requests:?}") };
    assert_eq!((at, first), (30_000, line(64)));
    assert!([64, 65, 66].into_iter().all(|number| c.peek(0, line(number)).is_none()));
    c.write_acked(40_000, token);
    assert_eq!(wakes(&mut c), [(0, Wake::Flush { line: line(64), counters: true, at: 40_000 })]);
    for number in 64..128 {
        assert!(matches!(c.flush(50_000, 0, line(number), FlushKind::Keep), Access::At(_)), "{number}");
    }
    assert_eq!(c.requests().count(), 0);
}
