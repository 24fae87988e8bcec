//! What each scheduling policy promises, to the picosecond. `nvmain` holds one of them against the original.

use super::common::{LATE, Times, line, run, system, times};
use counterpoint_engine::config::{Machine, load_machine};
use counterpoint_engine::kernel::{Ps, ns_to_ps};
use counterpoint_engine::message::{NoObserver, Observer};
use counterpoint_engine::{LineSystem, message::MediaOp};

const CYCLE: Ps = 2_500;

fn machine(policy: &str, sets: &[&str]) -> Machine {
    let policy = format!("controller.policy={policy}");
    let spread = ["program.core_region=packed", "device.mapping=page-interleaved"];
    let sets: Vec<String> = spread.iter().chain(&[policy.as_str()]).chain(sets).map(|set| (*set).to_owned()).collect();
    load_machine("secpm", &sets).unwrap()
}

/// Writes `count` lines, each in a row of its own of bank 0, at `at`.
fn write_rows<O: Observer>(system: &mut LineSystem<O>, at: Ps, count: u32) {
    for token in 0..count {
        system.write(at, line(16 * u64::from(token), 0), &[1; 64], token);
    }
}

#[test]
fn drained_queue_takes_no_write_and_no_bank_reads() {
    let sets = ["controller.wpq_entries=4", "controller.wpq_high_watermark=4", "controller.wpq_low_watermark=2"];
    let machine = machine("nvmain-frfcfs-wqf", &sets);
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    write_rows(&mut system, 0, 3);
    assert_eq!(times(&mut system), [0, 0, 0]);
    assert_eq!(system.device.stats().writes, 0, "nothing is written below the high watermark");
    // The fourth fills the queue; a fifth comes a moment later, with a read of another bank.
    system.write(LATE, line(48, 0), &[1; 64], 3);
    system.write(LATE + 1, line(64, 0), &[1; 64], 4);
    system.read(LATE + CYCLE, line(1, 0), 5);
    let answers = run(&mut system);
    // The first write is scheduled a cycle later, and the second a cycle after the first has sent its command. Then two
    // are left. The bank that is to be read wants a decision in the next cycle: the fifth enters, and the read goes.
    let first = LATE + CYCLE + t.t_rcd;
    let over = first + 2 * CYCLE;
    assert_eq!(answers, [(3, LATE), (4, over), (5, over + t.read())]);
    assert_eq!(system.device.stats().writes, 2);
}

#[test]
fn one_queue_serves_reads_and_writes_in_the_order_of_their_arrival() {
    let machine = machine("nvmain-frfcfs", &[]);
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    system.write(0, line(0, 0), &[1; 64], 0);
    system.read(1, line(16, 0), 1);
    assert_eq!(run(&mut system)[1], (1, CYCLE + t.accept() + t.t_wr + t.t_rp + t.read()));
    // As many entries as the write queue has, for both.
    let mut full = machine.clone();
    let controller = &mut full.controller;
    (controller.wpq_entries, controller.wpq_high_watermark, controller.wpq_low_watermark) = (2, 2, 1);
    let mut system = self::system(&full, "unencrypted", NoObserver);
    system.read(0, line(0, 0), 0);
    system.read(0, line(16, 0), 1);
    system.read(0, line(32, 0), 2);
    system.advance();
    system.advance();
    assert!(!system.accepts(MediaOp::Write), "two reads wait");
    // A cycle later one of them has left the queue.
    while system.now() < CYCLE {
        system.advance();
    }
    assert_eq!(system.device.stats().reads, 1);
    assert!(!system.accepts(MediaOp::Write), "the third read has taken its place");
}

#[test]
fn open_row_serves_no_more_than_its_limit_while_another_row_waits() {
    for (policy, limit) in [("nvmain-frfcfs", 2), ("dramsim2", 2), ("dramsim2", 4)] {
        let machine = machine(policy, &[&format!("controller.row_hit_limit={limit}")]);
        let mut system = system(&machine, "unencrypted", NoObserver);
        system.read(0, line(0, 0), 99);
        run(&mut system);
        system.read(LATE, line(16, 0), 0);
        run(&mut system);
        // Row 16 is open: seven lines of it, and one of another row that came before six of them.
        system.read(2 * LATE, line(16, 9), 0);
        system.read(2 * LATE, line(0, 0), 1);
        for index in 1..7 {
            system.read(2 * LATE, line(16, index), 10 + index as u32);
        }
        let order: Vec<u32> = run(&mut system).into_iter().map(|(token, _)| token).collect();
        let place = order.iter().position(|&token| token == 1).unwrap();
        assert_eq!(place, limit, "{policy}: {order:?}");
    }
}

#[test]
fn bus_turns_to_writes_by_thresholds_and_writes_of_a_line_merge() {
    let sets = [
        "controller.wpq_entries=8",
        "controller.wpq_high_watermark=6",
        "controller.wpq_low_watermark=3",
        "controller.min_writes_per_switch=2",
    ];
    let machine = machine("gem5", &sets);
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    write_rows(&mut system, 0, 3);
    // The line is queued and not issued: the newer bytes take the older ones' place.
    system.write(1, line(0, 0), &[2; 64], 7);
    run(&mut system);
    assert_eq!((system.device.stats().writes, system.controller.snapshot().wpq.len()), (0, 3), "at the low watermark");
    let now = system.now();
    assert_eq!(system.controller.stats(now).data_writes_merged, 1);
    assert_eq!(system.peek(line(0, 0)), [2; 64]);
    // A fourth is above it, and no read waits: writes go, until another two would leave fewer than the low watermark.
    system.write(LATE, line(48, 0), &[1; 64], 8);
    run(&mut system);
    assert_eq!(
        system.device.stats().writes,
        4,
        "with two more than what is left the queue is not below its low watermark"
    );
    // Reads go first below the high watermark.
    write_rows(&mut system, 2 * LATE, 5);
    system.read(2 * LATE, line(1, 0), 9);
    let read = run(&mut system).into_iter().find(|(token, _)| *token == 9).unwrap();
    assert!(read.1 < 2 * LATE + t.accept() + t.read(), "{read:?}");
}

#[test]
fn write_that_is_acknowledged_when_written_is_programmed_by_then() {
    for policy in ["continuous", "nvmain-frfcfs", "dramsim2"] {
        let sets = ["controller.write_acknowledged=written", "controller.wpq_issue_when_idle=true"];
        let machine = machine(policy, &sets);
        let t = Times::of(&machine);
        let scheduled = if policy == "nvmain-frfcfs" { CYCLE } else { 0 };
        let mut system = system(&machine, "unencrypted", NoObserver);
        system.write(0, line(0, 0), &[1; 64], 0);
        assert_eq!(times(&mut system), [scheduled + t.accept() + t.t_wr], "{policy}");
        // With encryption, when the line is programmed; its counter is in the queue before.
        let mut system = self::system(&machine, "secpm", NoObserver);
        system.read(0, line(0, 0), 0);
        run(&mut system);
        system.write(LATE, line(0, 0), &[1; 64], 1);
        let answered = times(&mut system)[0];
        assert!(answered >= LATE + t.counter_cache + t.aes + t.accept_hit() + t.t_wr, "{policy}: {answered}");
    }
}

#[test]
fn answer_takes_what_lies_between_bus_and_core() {
    let machine = machine("continuous", &["controller.answer_latency_ns=20"]);
    let t = Times::of(&machine);
    let mut system = system(&machine, "unencrypted", NoObserver);
    system.read(0, line(0, 0), 0);
    assert_eq!(times(&mut system), [t.read() + 20_000]);
}

#[test]
fn counter_blocks_overtake_where_they_may() {
    for (overtake, counters_first) in [(false, 1), (true, 2)] {
        let overtake = format!("controller.counters_overtake={overtake}");
        let machine = machine("continuous", &["controller.wpq_issue_when_idle=false", &overtake]);
        let mut system = system(&machine, "secpm-no-cwr", NoObserver);
        // The counter block's row is the last that was read.
        system.read(0, line(0, 0), 0);
        run(&mut system);
        for index in 0..2 {
            system.write(LATE, line(0, index), &[1; 64], index as u32);
        }
        run(&mut system);
        system.flush();
        while system.device.stats().data_writes == 0 {
            system.advance();
        }
        assert_eq!(system.device.stats().counter_writes, counters_first, "{overtake}");
    }
}

#[test]
fn what_arrives_in_the_cycle_of_a_decision_is_decided_on_in_the_next() {
    for policy in ["nvmain-frfcfs-wqf", "nvmain-frfcfs"] {
        let machine = machine(policy, &[]);
        let t = Times::of(&machine);
        let mut system = system(&machine, "unencrypted", NoObserver);
        // The first read wakes the scheduler for the next cycle, in which the second arrives.
        system.read(0, line(0, 0), 0);
        system.read(CYCLE, line(1, 0), 1);
        assert_eq!(times(&mut system), [CYCLE + t.read(), 2 * CYCLE + t.read() + t.burst - CYCLE], "{policy}");
        // Alone, with the bank of the first still busy.
        let mut system = self::system(&machine, "unencrypted", NoObserver);
        system.read(0, line(0, 0), 0);
        run(&mut system);
        system.read(LATE, line(0, 1), 1);
        system.read(LATE + CYCLE, line(0, 2), 2);
        assert_eq!(run(&mut system).len(), 2, "{policy}");
        // A newcomer that would go first, because its row is open.
        let mut system = self::system(&machine, "unencrypted", NoObserver);
        system.read(0, line(1, 0), 0);
        run(&mut system);
        system.read(LATE, line(0, 0), 1);
        system.read(LATE + CYCLE, line(1, 1), 2);
        assert_eq!(run(&mut system)[0], (2, LATE + 2 * CYCLE + t.read_hit()), "{policy}");
    }
}

#[test]
fn gem5_prefers_an_open_row_that_leaves_no_gap_and_chooses_as_late_as_a_closed_row_allows() {
    let machine = machine("gem5", &[]);
    let t = Times::of(&machine);
    let command = LATE + t.t_rcd;
    let chosen = command + t.burst.max(t.t_ccd) - ns_to_ps(machine.device.t_rp_ns) - ns_to_ps(machine.device.t_rcd_ns);
    for (arrival, order) in [(LATE, [0, 2, 1]), (chosen, [0, 2, 1]), (chosen + 1, [0, 1, 2])] {
        let mut system = system(&machine, "unencrypted", NoObserver);
        system.read(LATE, line(0, 0), 0);
        // Its bank can be prepared in time, and it is older than what finds the row of the first open.
        system.read(LATE, line(1, 0), 1);
        system.read(arrival, line(0, 1), 2);
        let answered: Vec<u32> = run(&mut system).into_iter().map(|(token, _)| token).collect();
        assert_eq!(answered, order, "{arrival} ps");
    }
}

#[test]
fn gem5_writes_a_least_number_before_it_turns_to_a_read() {
    for least in [1, 3, 4] {
        let least_writes = format!("controller.min_writes_per_switch={least}");
        let sets = [
            "controller.wpq_entries=8",
            "controller.wpq_high_watermark=4",
            "controller.wpq_low_watermark=0",
            least_writes.as_str(),
        ];
        let mut system = system(&machine("gem5", &sets), "unencrypted", NoObserver);
        write_rows(&mut system, LATE, 4);
        // The first write goes before it comes.
        system.read(LATE + 1, line(1, 0), 9);
        while system.device.stats().reads == 0 {
            system.advance();
        }
        assert_eq!(system.device.stats().writes, least.max(2));
    }
}
