//! When the controller answers, to the picosecond: not ready at the event before, ready at the time that follows from
//! the machine's values.

use super::common::{LATE, Times, line, run, system, times};
use counterpoint_engine::config::{self, CounterPlacement, Machine, WriteRecovery};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{CounterGroup, GroupMask, NoObserver, Observer, Page};

/// Consecutive pages in different banks, a circuit for each of a few lines, and a queue whose writes leave in their order
/// whenever a bank is free.
fn secpm() -> Machine {
    let sets = [
        "program.core_region=packed",
        "device.mapping=page-interleaved",
        "controller.aes_units=4",
        "controller.wpq_issue_when_idle=true",
        "controller.wpq_high_watermark=24",
        "controller.wpq_low_watermark=8",
        "controller.counters_overtake=false",
        "controller.row_hit_limit=16",
    ];
    config::load_machine("secpm", &sets.map(str::to_owned)).unwrap()
}

/// A queue that nothing leaves before it holds `high` entries.
fn held(entries: u32, high: u32, low: u32) -> Machine {
    let mut machine = secpm();
    machine.controller.wpq_entries = entries;
    machine.controller.wpq_high_watermark = high;
    machine.controller.wpq_low_watermark = low;
    machine.controller.wpq_issue_when_idle = false;
    machine
}

#[test]
fn plain_read_takes_the_array_and_an_open_row_saves_the_activation() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    system.read(5, line(0, 0), 0);
    system.read(LATE, line(0, 9), 1);
    // Another page of the same bank, another row.
    system.read(2 * LATE, line(16, 0), 2);
    assert_eq!(times(&mut system), [5 + t.read(), LATE + t.read_hit(), 2 * LATE + t.t_rp + t.read()]);
}

#[test]
fn reads_of_one_bank_go_one_after_another_and_those_of_two_banks_share_only_the_bus() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    system.read(0, line(0, 0), 0);
    system.read(0, line(16, 0), 1);
    system.read(0, line(1, 0), 2);
    assert_eq!(times(&mut system), [t.read(), t.next_row() + t.read(), t.read() + t.burst]);
}

#[test]
fn pad_overlaps_the_array_when_the_counter_hits_and_follows_the_counter_when_it_misses() {
    // An array slower than the pad, and one faster.
    for (aes_latency_ns, t_rcd_ns) in [(40.0, 48.0), (200.0, 48.0), (66.0, 10.0)] {
        let mut machine = secpm();
        machine.controller.aes_latency_ns = aes_latency_ns;
        machine.device.t_rcd_ns = t_rcd_ns;
        machine.controller.counter_placement = CounterPlacement::CrossBank;
        let t = Times::of(&machine);
        let mut system = system(&machine, "secpm", NoObserver);
        system.read(0, line(0, 0), 0);
        system.read(LATE, line(0, 1), 1);
        system.read(2 * LATE, line(16, 1), 2);
        // The data line gets the bus first; the burst of its counter block, in the other rank, follows.
        let counter = t.read() + t.t_rtrs + t.burst;
        let miss = counter + t.aes;
        let hit = t.read_hit().max(t.counter_cache + t.aes);
        // The third pair's counter block is beside the first one's, in an open row, so it comes before the line.
        let quick_miss = (t.t_rp + t.read()).max(t.read_hit() + t.aes);
        assert_eq!(times(&mut system), [miss, LATE + hit, 2 * LATE + quick_miss]);
        assert_eq!(system.device.stats().counter_reads, 2);
    }
}

#[test]
fn counter_in_the_same_bank_is_read_after_its_line() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm", NoObserver);
    system.read(0, line(0, 0), 0);
    assert_eq!(times(&mut system), [t.next_row() + t.read() + t.aes]);
}

#[test]
fn pads_of_reads_wait_for_a_circuit() {
    let mut machine = secpm();
    machine.controller.aes_read_units = 1;
    machine.controller.aes_latency_ns = 500.0;
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm", NoObserver);
    system.read(0, line(0, 0), 0);
    run(&mut system);
    for token in 0..3 {
        system.read(LATE, line(0, 1 + token as usize), token);
    }
    let first = LATE + t.counter_cache + t.aes;
    assert_eq!(times(&mut system), [first, first + t.aes, first + 2 * t.aes]);
}

#[test]
fn write_is_acknowledged_when_it_is_queued() {
    let machine = secpm();
    let t = Times::of(&machine);
    for (name, cost) in [
        ("unencrypted", 0),
        ("write-back", t.counter_cache + t.aes),
        ("write-through", t.counter_cache + t.aes),
        ("secpm-workshop", t.counter_cache + t.aes),
        ("secpm-no-cwr", t.counter_cache + t.aes),
        ("secpm", t.counter_cache + t.aes),
    ] {
        let mut system = system(&machine, name, NoObserver);
        system.read(0, line(0, 0), 0);
        run(&mut system);
        system.write(LATE, line(0, 0), &[1; 64], 0);
        // Nothing is answered before.
        while system.now() < LATE + cost {
            let answers = system.advance().expect("the write is under way").len();
            assert_eq!(answers, usize::from(system.now() == LATE + cost), "{name} at {}", system.now());
        }
        assert_eq!(system.now(), LATE + cost, "{name}");
        assert_eq!(run(&mut system), [], "{name}");
    }
}

#[test]
fn write_whose_counter_misses_fetches_it_first() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm", NoObserver);
    system.write(0, line(0, 0), &[1; 64], 0);
    assert_eq!(times(&mut system), [t.read() + t.aes]);
}

#[test]
fn writes_wait_for_a_circuit() {
    let mut machine = secpm();
    machine.controller.aes_units = 2;
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm", NoObserver);
    system.read(0, line(0, 0), 0);
    run(&mut system);
    for token in 0..5 {
        system.write(LATE, line(0, token as usize), &[1; 64], token);
    }
    let done = |round: u64| LATE + t.counter_cache + round * t.aes;
    assert_eq!(times(&mut system), [done(1), done(1), done(2), done(2), done(3)]);
}

#[test]
fn full_queue_acknowledges_the_next_write_when_a_bank_has_taken_the_data_of_one() {
    let machine = held(4, 4, 3);
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    for token in 0..6 {
        system.write(0, line(16 * u64::from(token), 0), &[1; 64], token);
    }
    // All in one bank. The fourth fills the queue, which drains from four to three; the fifth and the sixth fill it
    // again one by one.
    let write = t.accept() + t.t_wr + t.t_rp;
    assert_eq!(times(&mut system), [0, 0, 0, 0, t.accept(), write + t.accept()]);
    let now = system.now();
    let stats = system.controller.stats(now);
    assert_eq!(stats.full_stall_ps, write + t.accept());
}

#[test]
fn pair_needs_two_free_slots() {
    let machine = held(4, 4, 3);
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm-no-cwr", NoObserver);
    system.read(0, line(0, 0), 0);
    run(&mut system);
    for token in 0..3 {
        system.write(LATE, line(0, token as usize), &[1; 64], token);
    }
    let ready = LATE + t.counter_cache + t.aes;
    // Counter, line, counter, line: the third pair waits until two of them have left, in the order of admission.
    // The counter block's row is open; the line lies in another one.
    let first = ready + t.accept_hit();
    let second = first + t.t_wr + t.t_rp + t.accept();
    assert_eq!(times(&mut system), [ready, ready, second]);
}

#[test]
fn read_of_a_queued_line_is_answered_on_the_chip() {
    let machine = held(32, 24, 8);
    let t = Times::of(&machine);
    for (name, cost) in [("unencrypted", 0), ("secpm", t.counter_cache + t.aes)] {
        let mut system = system(&machine, name, NoObserver);
        system.read(0, line(0, 0), 0);
        run(&mut system);
        let reads = system.device.stats().reads;
        system.write(LATE, line(0, 5), &[1; 64], 0);
        system.read(2 * LATE, line(0, 5), 1);
        assert_eq!(times(&mut system)[1], 2 * LATE + cost, "{name}");
        assert_eq!(system.device.stats().reads, reads, "{name}: the device was read");
    }
    // A write that is being encrypted still has its plaintext on the chip.
    let mut system = system(&machine, "secpm", NoObserver);
    system.read(0, line(0, 0), 0);
    run(&mut system);
    system.write(LATE, line(0, 5), &[1; 64], 0);
    system.read(LATE + 1_000, line(0, 5), 1);
    assert_eq!(times(&mut system)[1], LATE + 1_000 + t.counter_cache);
}

#[test]
fn forwarded_reads_are_those_answered_from_the_queue_or_from_a_write_that_is_not_in_it_yet() {
    let machine = held(32, 24, 8);
    for name in ["unencrypted", "secpm"] {
        let mut system = system(&machine, name, NoObserver);
        system.read(0, line(0, 0), 0);
        run(&mut system);
        system.write(LATE, line(0, 5), &[1; 64], 1);
        // `secpm` is still encrypting the line.
        system.read(LATE + 1_000, line(0, 5), 2);
        // It is queued, and stays there below the high watermark.
        system.read(2 * LATE, line(0, 5), 3);
        system.read(3 * LATE, line(0, 5), 4);
        // Its neighbour has not been written.
        system.read(4 * LATE, line(0, 6), 5);
        run(&mut system);
        let now = system.now();
        let stats = system.controller.stats(now);
        assert_eq!((stats.forwarded_reads, stats.data_reads), (3, 2), "{name}");
    }
}

#[test]
fn read_goes_before_the_writes_that_wait_for_its_bank() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    for token in 0..4 {
        system.write(0, line(16 * u64::from(token), 0), &[1; 64], token);
    }
    system.read(1_000, line(16 * 9, 0), 4);
    // Only the write that was issued when the bank was free is ahead of it.
    let write = t.accept() + t.t_wr + t.t_rp;
    assert_eq!(times(&mut system)[4], write + t.read());
    // While the queue drains, writes go first.
    let machine = held(4, 4, 1);
    let mut system = self::system(&machine, "unencrypted", NoObserver);
    for token in 0..4 {
        system.write(0, line(16 * u64::from(token), 0), &[1; 64], token);
    }
    system.read(1_000, line(16 * 9, 0), 4);
    assert_eq!(times(&mut system)[4], 3 * write + t.read());
}

#[test]
fn nothing_leaves_below_the_high_watermark_and_draining_stops_at_the_low_one() {
    let machine = held(32, 8, 3);
    let mut system = system(&machine, "unencrypted", NoObserver);
    let mut send = |from: u32, to: u32, at: Ps| {
        for token in from..to {
            system.write(at, line(u64::from(token), 0), &[1; 64], token);
        }
        run(&mut system);
        (system.device.stats().writes, system.controller.snapshot().wpq.len())
    };
    assert_eq!(send(0, 7, 0), (0, 7));
    // Free banks take their oldest write at once; what they took is written even below the low watermark.
    let (written, left) = send(7, 8, LATE);
    assert!(written >= 5 && left <= 3 && written + left as u64 == 8, "{written} written, {left} left");
    // In one bank, exactly down to the low watermark.
    let mut system = self::system(&machine, "unencrypted", NoObserver);
    for token in 0..8 {
        system.write(0, line(16 * token, 0), &[1; 64], token as u32);
    }
    run(&mut system);
    assert_eq!((system.device.stats().writes, system.controller.snapshot().wpq.len()), (5, 3));
    let left: Vec<_> = system.controller.snapshot().wpq.iter().map(|(media, _)| media.as_line().unwrap()).collect();
    assert_eq!(left, [line(16 * 5, 0), line(16 * 6, 0), line(16 * 7, 0)], "the oldest leave first");
    system.flush();
    run(&mut system);
    assert_eq!(system.device.stats().writes, 8);
}

#[test]
fn read_command_waits_for_the_turnaround_of_a_write_in_its_rank() {
    let machine = secpm();
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    // Opens the row of bank 1, so that the read's command could go out at once.
    system.read(0, line(1, 0), 9);
    run(&mut system);
    system.write(LATE, line(0, 0), &[1; 64], 0);
    // Arrives when the write's data is over.
    let end = LATE + t.accept();
    system.read(end, line(1, 1), 1);
    assert_eq!(times(&mut system)[1], end + t.t_wtr + t.read_hit());
}

#[test]
fn with_recovery_at_row_close_writes_into_the_open_row_follow_one_another_and_another_row_waits() {
    let mut machine = secpm();
    machine.device.write_recovery = WriteRecovery::RowClose;
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    // Three lines of a page, then a line of another page in the same bank, then a read of the first page.
    for (token, page, index) in [(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 16, 0)] {
        system.write(0, line(page, index), &[1; 64], token);
    }
    run(&mut system);
    assert_eq!(system.device.stats().writes, 4);
    let last_of_row = t.accept() + 2 * t.burst;
    // The other row is activated when the last of them is in its cells.
    let other_row = last_of_row + t.t_wr + t.t_rp + t.accept();
    assert_eq!(system.now(), other_row, "the last event is the bank taking the fourth line");
    // A read of the open row need not wait, one of another row does.
    system.read(other_row + t.t_wtr, line(16, 9), 4);
    system.read(other_row + t.t_wtr, line(0, 9), 5);
    let at = times(&mut system);
    assert_eq!(at, [other_row + t.t_wtr + t.read_hit(), other_row + t.t_wr + t.t_rp + t.read()]);
}

/// When the last of 16 lines of one page has been written, with all its counters.
fn drained(placement: CounterPlacement, page: u64) -> Ps {
    let mut machine = held(64, 64, 1);
    (machine.controller.counter_placement, machine.controller.row_hit_limit) = (placement, 16);
    let mut system = system(&machine, "secpm-no-cwr", NoObserver);
    for index in 0..16 {
        system.write(0, line(page, index), &[1; 64], index as u32);
    }
    run(&mut system);
    assert_eq!(system.device.stats().writes, 0);
    let start = system.now();
    system.flush();
    run(&mut system);
    assert_eq!((system.device.stats().data_writes, system.device.stats().counter_writes), (16, 16));
    system.now() - start
}

#[test]
fn counter_writes_occupy_the_bank_that_the_placement_says() {
    let t = Times::of(&secpm());
    // One bank takes all 32, one after another. The counter blocks' row is open at first: one block, then the lines,
    // which may prefer their open row, then the other blocks. So the row changes twice.
    let same = drained(CounterPlacement::SameBank, 3);
    let same_row = t.burst + t.t_wr;
    assert_eq!(same, 30 * same_row + 2 * (t.accept_hit() + t.t_wr + t.t_rp + t.t_rcd));
    // Half of the writes go to another bank and overlap.
    for placement in [CounterPlacement::CrossBank, CounterPlacement::SingleBank] {
        let two_banks = drained(placement, 3);
        assert!(two_banks < same * 11 / 20, "{placement:?}: {two_banks} against {same}");
    }
    // A page of bank 0 finds its counters in its own bank when all lie in bank 0.
    assert_eq!(drained(CounterPlacement::SingleBank, 0), drained(CounterPlacement::SameBank, 0));
    assert_eq!(drained(CounterPlacement::CrossBank, 0), drained(CounterPlacement::CrossBank, 3));
}

/// The times at which done bits are set, with the page and their number.
#[derive(Default)]
struct Renewals(Vec<(Ps, Page, GroupMask)>);

impl Observer for Renewals {
    fn reencryption(&mut self, now: Ps, group: CounterGroup, _: u64, done: GroupMask, _: bool) {
        self.0.push((now, group.line(0).page(), done));
    }
}

impl Renewals {
    /// When line `index` of `page` was done.
    fn done(&self, page: u64, index: usize) -> Ps {
        let of_page = self.0.iter().filter(|(_, other, _)| *other == Page(page));
        of_page.clone().find(|(_, _, done)| done >> index & 1 == 1).expect("the line was renewed").0
    }
    fn begun(&self, page: u64) -> Ps {
        self.0.iter().find(|(_, other, _)| *other == Page(page)).expect("the page was renewed").0
    }
}

#[test]
fn page_under_re_encryption_holds_its_lines_until_each_is_done_and_other_pages_go_on() {
    let mut machine = secpm();
    machine.counters.minor_bits = 1;
    let t = Times::of(&machine);
    let mut system = system(&machine, "secpm", Renewals::default());
    for (token, page) in [0, 1, 2].into_iter().enumerate() {
        system.read(0, line(page, 0), token as u32);
    }
    run(&mut system);
    // A populated line has minor 1, all that one bit counts to: the first write overflows.
    system.write(LATE, line(0, 0), &[1; 64], 0);
    let begun = LATE + t.counter_cache;
    let soon = begun + t.aes / 2;
    system.read(soon, line(0, 40), 1);
    system.write(soon, line(0, 50), &[2; 64], 2);
    system.read(soon, line(1, 40), 3);
    system.write(soon, line(2, 63), &[3; 64], 4);
    // The last one overflows in another page, so it waits for the register.
    let at = times(&mut system);
    let renewals = &system.observer;
    assert_eq!(renewals.begun(0), begun);
    assert_eq!(at[0], begun + t.aes, "the write that overflowed is like any other");
    assert_eq!(renewals.done(0, 0), at[0], "it renews its own line");
    let (read_line, written_line) = (renewals.done(0, 40), renewals.done(0, 50));
    assert!(read_line > soon + t.read() && written_line > read_line);
    assert!(at[1] > read_line && at[1] <= read_line + t.counter_cache + t.aes, "{} {read_line}", at[1]);
    assert!(at[2] >= written_line + t.counter_cache + t.aes);
    assert!(at[3] < read_line, "the read of another page waited: {} {read_line}", at[3]);
    let finished = (0..64).map(|index| renewals.done(0, index)).max().unwrap();
    assert_eq!(renewals.begun(2), finished + t.counter_cache, "the second overflow waits for the register");
    assert_eq!(at[4], finished + t.counter_cache + t.aes);
    let now = system.now();
    assert_eq!(system.controller.stats(now).reencryptions, 2);
}
