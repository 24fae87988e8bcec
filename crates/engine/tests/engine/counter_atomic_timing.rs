//! When the counter-atomicity family answers, to the picosecond, and which entries of its queues are ready at that time
//! (counter-atomicity section 5.2.2 and Figure 6).

use super::common::{LATE, Times, line, of_design, run, system, times};
use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{self, AddressMapping, CounterPlacement, Machine, Variant};
use counterpoint_engine::design::{self, faults::Fault};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::layout::Coverage;
use counterpoint_engine::message::{CounterBlock, MediaLine, NoObserver};

fn machine() -> Machine {
    let mut machine = config::preset("counter-atomicity").unwrap();
    machine.controller.counter_placement = CounterPlacement::Interleaved;
    machine.device.mapping = AddressMapping::PageInterleaved;
    machine
}

/// A machine whose queues drain only when they are full.
fn held(entries: u32, counter_entries: u32) -> Machine {
    let mut machine = machine();
    let controller = &mut machine.controller;
    (controller.wpq_entries, controller.wpq_high_watermark, controller.wpq_low_watermark) = (entries, entries, 0);
    controller.counter_wpq_entries = counter_entries;
    (controller.counter_wpq_high_watermark, controller.counter_wpq_low_watermark) = (counter_entries, 0);
    controller.wpq_issue_when_idle = false;
    machine
}

/// Loads the counters of `pages` into the counter cache.
fn warm(system: &mut LineSystem<NoObserver>, pages: &[u64]) {
    for &page in pages {
        for block in 0..8 {
            system.read(0, line(page, block * 8), 1_000);
        }
    }
    run(system);
}

/// What would survive a power failure now: lines and counter blocks.
fn ready(system: &LineSystem<NoObserver>) -> Vec<MediaLine> {
    let mut ready: Vec<MediaLine> = system.controller.snapshot().wpq.into_iter().map(|(media, _)| media).collect();
    ready.sort_unstable();
    ready
}

/// Handles all events up to and including `end`.
fn until(system: &mut LineSystem<NoObserver>, end: Ps) -> Vec<(u32, Ps)> {
    system.read(end + 1, line(3_000, 0), 999);
    let mut answered = Vec::new();
    while system.now() <= end {
        let Some(responses) = system.advance() else { break };
        let tokens: Vec<u32> = responses
            .iter()
            .map(|response| match response {
                counterpoint_engine::controller::Response::Read { token, .. } => *token,
                counterpoint_engine::controller::Response::Written { token } => token.0,
                response => unreachable!("nobody asked for {response:?}"),
            })
            .collect();
        answered.extend(tokens.into_iter().map(|token| (token, system.now())));
    }
    answered
}

#[test]
fn pair_is_ready_when_its_pad_is_done_and_its_counter_block_is_there() {
    let machine = held(64, 16);
    let t = Times::of(&machine);
    for name in ["fca", "sca"] {
        let mut system = system(&machine, name, NoObserver);
        warm(&mut system, &[0]);
        system.write_counter_atomic(LATE, line(0, 5), &[1; 64], 0);
        assert_eq!(until(&mut system, LATE + t.counter_cache + t.aes), [(0, LATE + t.counter_cache + t.aes)], "{name}");
        let pair = [MediaLine::data(line(0, 5)), MediaLine::counter(CounterBlock(0))];
        assert_eq!(ready(&system), pair, "{name}");
    }
}

#[test]
fn counter_miss_delays_the_pair_but_not_its_encryption_nor_a_write_that_is_not_counter_atomic() {
    let machine = held(64, 16);
    let t = Times::of(&machine);
    let encrypted = LATE + t.counter_cache + t.aes;
    let fetched = LATE + t.read();
    assert!(fetched > encrypted);
    let mut system = system(&machine, "sca", NoObserver);
    system.write_counter_atomic(LATE, line(1, 0), &[1; 64], 0);
    system.write(LATE, line(2, 0), &[2; 64], 1);
    // The free write's data survives at once; the pair's data is queued, and would not.
    assert_eq!(until(&mut system, encrypted), [(1, encrypted)]);
    assert_eq!(ready(&system), [MediaLine::data(line(2, 0))]);
    let answered = until(&mut system, fetched + t.read());
    let pair = answered.iter().find(|(token, _)| *token == 0).unwrap().1;
    // The counter blocks of both pages lie in one row of one bank, and the pair's was asked for first.
    assert_eq!(pair, fetched);
    assert!(ready(&system).contains(&MediaLine::counter(Coverage::EIGHT_LINES.block(line(1, 0)))));
    let now = system.now();
    let stats = system.controller.stats(now);
    assert_eq!((stats.counter_misses, stats.counter_writes_asked), (3, 1), "the last miss is the test's own read");
}

#[test]
fn pairs_of_one_block_share_an_entry_and_others_wait_for_one() {
    let mut machine = held(64, 2);
    let t = Times::of(&machine);
    let encrypted = LATE + t.counter_cache + t.aes;
    let mut run = |merging| {
        machine.controller.counter_wpq_merging = merging;
        let mut system = system(&machine, "fca", NoObserver);
        warm(&mut system, &[0]);
        for (token, index) in [(0, 0), (1, 1), (2, 8)] {
            system.write(LATE, line(0, index), &[1; 64], token);
        }
        let answered = until(&mut system, 2 * LATE);
        let now = system.now();
        (
            answered.into_iter().map(|(_, at)| at).collect::<Vec<_>>(),
            system.controller.stats(now).counter_writes_coalesced,
        )
    };
    assert_eq!(run(true), (vec![encrypted; 3], 1));
    // Two entries are taken; the third waits until the bank, whose row is open, has the data of the first, which comes
    // over the bus after that of a line.
    assert_eq!(run(false), (vec![encrypted, encrypted, encrypted + t.accept_hit() + t.burst], 0));
}

#[test]
fn draining_begins_with_the_pair_that_reaches_the_high_watermark() {
    for merging in [true, false] {
        let mut machine = held(4, 16);
        machine.controller.counter_wpq_merging = merging;
        let mut system = system(&machine, "fca", NoObserver);
        warm(&mut system, &[0]);
        let sent = |system: &LineSystem<NoObserver>| system.device.stats().data_writes;
        for token in 0..3 {
            system.write(LATE, line(0, token as usize), &[1; 64], token);
        }
        run(&mut system);
        assert_eq!(sent(&system), 0, "three pairs are below the watermark");
        system.write(2 * LATE, line(0, 3), &[1; 64], 3);
        run(&mut system);
        assert_eq!(sent(&system), 4);
    }
}

#[test]
fn write_back_of_counters_waits_for_earlier_data_of_the_block_or_without_the_order_for_nothing() {
    let machine = held(64, 16);
    let t = Times::of(&machine);
    let encrypted = LATE + t.counter_cache + t.aes;
    let block = MediaLine::counter(CounterBlock(0));
    let readings = [Variant::Published, Variant::Hardened].map(|variant| design::find("sca", variant).unwrap());
    let at_once = Fault::WritebackOrder.apply(&readings[1]).unwrap();
    let ordered = readings.map(|design| (design, encrypted));
    for (design, acknowledged) in ordered.into_iter().chain([(at_once, LATE)]) {
        let variant = design.variant;
        let mut system = of_design(&machine, &design, NoObserver);
        warm(&mut system, &[0]);
        system.write(LATE, line(0, 3), &[1; 64], 0);
        system.write_back_counters(LATE, line(0, 0), 1);
        let mut answered = until(&mut system, encrypted);
        answered.sort_unstable();
        assert_eq!(answered, [(0, encrypted), (1, acknowledged)], "{variant:?}");
        assert_eq!(ready(&system).contains(&block), acknowledged == encrypted, "{variant:?}");
        // A second one finds the counter that the first missed, or nothing.
        system.write_back_counters(2 * LATE, line(0, 7), 2);
        let answered = until(&mut system, 2 * LATE);
        assert!(answered.contains(&(2, 2 * LATE)), "{variant:?}: {answered:?}");
        assert!(ready(&system).contains(&block), "{variant:?}");
        let now = system.now();
        assert_eq!(system.controller.stats(now).counter_writes_asked, 1, "{variant:?}");
    }
}

#[test]
fn co_located_read_decrypts_after_the_transfer_unless_the_counter_cache_knows_the_counter() {
    let machine = machine();
    let t = Times::of(&machine);
    let mut plain = system(&machine, "co-located", NoObserver);
    plain.read(5, line(0, 0), 0);
    plain.read(LATE, line(0, 1), 1);
    assert_eq!(times(&mut plain), [5 + t.read() + t.aes, LATE + t.read_hit() + t.aes]);
    let mut cached = system(&machine, "co-located-cc", NoObserver);
    cached.read(5, line(0, 0), 0);
    cached.read(LATE, line(0, 0), 1);
    let at = times(&mut cached);
    // A miss fetches the line with its counter once more, from the row that is open now, when the bank is free.
    assert!(at[0] >= 5 + t.read() + t.burst + t.aes && at[0] <= 5 + t.read() + t.read_hit() + t.aes, "{at:?}");
    assert_eq!(at[1], LATE + t.read_hit().max(t.counter_cache + t.aes), "a hit overlaps");
    assert_eq!((cached.device.stats().data_reads, cached.device.stats().counter_reads), (2, 1));
}

#[test]
fn co_located_write_is_one_entry_with_its_counter_beside_it() {
    let machine = held(64, 16);
    let t = Times::of(&machine);
    for (name, lookup) in [("co-located", 0), ("co-located-cc", t.counter_cache)] {
        let mut system = system(&machine, name, NoObserver);
        system.write(LATE, line(0, 5), &[1; 64], 0);
        assert_eq!(until(&mut system, LATE + lookup + t.aes), [(0, LATE + lookup + t.aes)], "{name}");
        assert_eq!(ready(&system), [MediaLine::data(line(0, 5)), MediaLine::counter(CounterBlock(5))], "{name}");
        system.flush();
        run(&mut system);
        assert_eq!((system.device.stats().data_writes, system.device.stats().counter_writes), (1, 0), "{name}");
    }
}

#[test]
fn global_counter_counts_every_write_of_the_machine() {
    let machine = held(64, 16);
    for name in ["fca", "sca", "co-located", "co-located-cc"] {
        let mut system = system(&machine, name, NoObserver);
        for token in 0..20 {
            system.write(LATE, line(u64::from(token) % 3, 0), &[1; 64], token);
        }
        run(&mut system);
        assert_eq!(system.controller.snapshot().global_counter, Some(21), "{name}: populated lines have counter 1");
    }
    assert_eq!(system(&machine, "secpm", NoObserver).controller.snapshot().global_counter, None);
}
