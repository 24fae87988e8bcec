//! Held against gem5's memory alone, request by request: `tests/data/gem5/memory` has what gem5's own cores asked of it in the
//! programs of docs/gem5.md, and what each read took.

use super::common::peers::{self, Row, page_has, rows, summary};
use super::common::{LATE, run, system};
use counterpoint_engine::config::{Machine, load_machine};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{Line, MediaOp, NoObserver};

/// The memory of the machine `gem5-o3`, whose answers do not go through caches: gem5's static latencies.
fn memory(sets: &[&str]) -> Machine {
    let sets = ["controller.answer_latency_ns=20"].iter().chain(sets);
    load_machine("gem5-o3", &sets.map(|set| (*set).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// The traces, each with the largest deviation of its mean, in percent. With four timing cores gem5's queue of writes is full at
/// times, and what it takes then comes in the middle of a decision.
const TRACES: [(&str, f64); 6] = [
    ("o3-array-1024-1", 0.1),
    ("o3-hash-4096-1", 0.1),
    ("o3-rbtree-256-1", 0.1),
    ("timing-queue-1024-1", 0.1),
    ("o3-array-256-4", 3.0),
    ("timing-rbtree-256-4", 10.0),
];

#[test]
fn reads_of_its_own_cores_take_as_long_as_in_gem5() {
    let machine = memory(&[]);
    let mut table = String::from(
        "| trace | reads | gem5, mean, ns | here | deviation | gem5, 99th percentile, ns | here | deviation | with the same latency |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut beyond = Vec::new();
    for (trace, bound) in TRACES {
        let rows = rows(&format!("gem5/memory/{trace}"));
        let replayed = peers::replay(&machine, &rows, 1);
        let reads: Vec<(f64, f64)> = (rows.iter().zip(replayed))
            .filter(|(row, _)| row.op == MediaOp::Read)
            .map(|(Row { cycle, answers, .. }, (_, done))| (answers[0] as f64 / 1e3, (done - cycle) as f64 / 1e3))
            .collect();
        let theirs = summary(reads.iter().map(|(theirs, _)| *theirs).collect());
        let ours = summary(reads.iter().map(|(_, ours)| *ours).collect());
        let same = reads.iter().filter(|(theirs, ours)| (theirs - ours).abs() < 1.0).count() as f64;
        let [mean, tail] = [0, 1].map(|index| (ours[index] / theirs[index] - 1.0) * 100.0);
        if mean.abs() > bound {
            let first = reads.iter().position(|(theirs, ours)| (theirs - ours).abs() > 15.0);
            let first = first.map(|place| (place, reads[place]));
            beyond.push(format!("{trace}: {} and {}; the first read that differs: {first:?}", theirs[0], ours[0]));
        }
        table += &format!(
            "| {trace} | {} | {:.1} | {:.1} | {mean:+.1} % | {:.1} | {:.1} | {tail:+.1} % | {:.1} % |\n",
            reads.len(),
            theirs[0],
            ours[0],
            theirs[1],
            ours[1],
            same / reads.len() as f64 * 100.0
        );
    }
    page_has("docs/gem5.md", &table);
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

const READ: Ps = 150_000;
const BURST: Ps = 4 * 833;
/// From the command of a read until it is answered.
const ANSWER: Ps = 14_160 + BURST + 20_000;

/// Line `index` of media line `number` of a bank.
fn line(bank: u64, number: u64, index: u64) -> Line {
    Line((number * 16 + bank) * 4 + index)
}

#[test]
fn a_read_that_has_its_data_goes_before_one_that_came_earlier() {
    let mut system = system(&memory(&[]), "unencrypted", NoObserver);
    system.read(LATE, line(0, 0, 0), 0);
    system.read(LATE, line(0, 1, 0), 1);
    system.read(LATE + 1, line(1, 0, 0), 2);
    system.read(LATE + 2, line(1, 0, 3), 3);
    let first = LATE + READ;
    let expected = [(0, first), (2, first + BURST), (3, first + 2 * BURST), (1, first + READ)];
    assert_eq!(run(&mut system), expected.map(|(token, command)| (token, command + ANSWER)));
}

const QUEUE: [&str; 5] = [
    "controller.wpq_entries=8",
    "controller.wpq_high_watermark=4",
    "controller.wpq_low_watermark=1",
    "controller.min_reads_per_switch=2",
    "controller.min_writes_per_switch=1",
];

#[test]
fn the_module_is_told_of_one_read_with_each_decision() {
    let mut system = system(&memory(&[]), "unencrypted", NoObserver);
    system.read(LATE, line(0, 0, 0), 0);
    run(&mut system);
    // The second and the third come together, and one decision tells of one. The next decision is when the first has its data.
    system.read(2 * LATE, line(1, 0, 0), 1);
    system.read(2 * LATE + 10_000, line(2, 0, 0), 2);
    system.read(2 * LATE + 10_000, line(3, 0, 0), 3);
    let told = [2 * LATE, 2 * LATE + 10_000, 2 * LATE + READ];
    let expected: Vec<(u32, Ps)> = (1..).zip(told.map(|at| at + READ + ANSWER)).collect();
    assert_eq!(run(&mut system), expected);
}

#[test]
fn the_bus_turns_from_no_read_that_waits_for_its_data() {
    let mut system = system(&memory(&QUEUE), "unencrypted", NoObserver);
    for bank in 0..3 {
        system.read(LATE, line(bank, 0, 0), bank as u32);
    }
    for bank in 0..4 {
        system.write(LATE + 1, line(bank, 1, 0), &[1; 64], 10 + bank as u32);
    }
    let mut reads_before = 0;
    while system.device.stats().writes == 0 {
        reads_before = system.device.stats().reads;
        system.advance().expect("writes leave");
    }
    // The least number of reads, which begin to come after their time, and the third after the writes.
    assert_eq!(reads_before, 2);
    assert!(system.now() >= LATE + READ, "{}", system.now());
}

#[test]
fn the_bus_turns_to_reads_with_the_write_that_fills_the_module() {
    let sets: Vec<&str> = QUEUE.iter().copied().chain(["module.buffer=256B"]).collect();
    let mut system = system(&memory(&sets), "unencrypted", NoObserver);
    for bank in 0..6 {
        system.write(LATE, line(bank, 0, 0), &[1; 64], 10 + bank as u32);
    }
    system.read(LATE + 100_000, line(15, 0, 0), 0);
    let answers = run(&mut system);
    // Four are unfinished. When the first is over the fifth goes, and then the read.
    let over = LATE + 14_160 + BURST + 500_000;
    let turned = over + BURST + 2 * 833;
    assert!(answers.contains(&(0, turned + ANSWER)), "{answers:?}");
    assert_eq!(system.device.stats().writes, 5, "one is left: the queue is not above its low watermark");
}
