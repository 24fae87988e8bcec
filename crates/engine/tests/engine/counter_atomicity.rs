//! Random programs of stores, flushes, counter write-backs and fences, with a power failure after every event, compared
//! with a simple reading of counter-atomicity (sections 3.1 and 4.3) that shares nothing with the engine:
//!
//! - a counter-atomic line decrypts, at any instant, to something it has held, and to nothing older than what a
//!   completed fence covers;
//! - any other line decrypts to its contents once they were flushed, their counter was written back, and a fence
//!   completed, until the line is stored to again.

use super::common::cases;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use counterpoint_engine::cipher::Keys;
use counterpoint_engine::config::{self, RunConfig, Variant};
use counterpoint_engine::design;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{
    BaseImage, CoreId, Line, LineBytes, MediaLine, MediaUnit, Observer, Op, OpBuffer, OpSource,
};
use counterpoint_engine::parts::{CounterUpdate, Design, WritebackOrder};
use counterpoint_engine::{Job, System};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Lines of the program: in three counter blocks of a page and one of the next.
const LINES: [u64; 28] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 64, 65, 66, 67];
const SEED: u64 = 7;

struct Base(Vec<LineBytes>);

impl BaseImage for Base {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.0.get(line.0 as usize)
    }
    fn populated(&self, line: Line) -> bool {
        line.0 < self.0.len() as u64
    }
    fn end(&self) -> u64 {
        self.0.len() as u64 * 64
    }
}

fn base() -> Base {
    Base((0..128u64).map(|line| std::array::from_fn(|byte| (line * 3 + byte as u64 * 5 + 1) as u8)).collect())
}

/// The program: batches of operations.
#[derive(Clone, Debug)]
struct Program(Vec<Vec<Step>>);

#[derive(Clone, Copy, Debug)]
enum Step {
    Store { line: u64, word: u64, value: u8 },
    CounterAtomicStore { line: u64, word: u64, value: u8 },
    Clwb { line: u64 },
    Clflushopt { line: u64 },
    CounterWriteback { line: u64 },
    Sfence,
    Compute { instructions: u32 },
}

impl OpSource for Program {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        if self.0.is_empty() {
            return false;
        }
        buffer.ops.push(Op::TxBegin);
        for step in self.0.remove(0) {
            let bytes = buffer.bytes.len() as u32;
            let op = match step {
                Step::Store { line, word, value } => {
                    buffer.bytes.extend([value; 8]);
                    Op::Store { address: line * 64 + word * 8, length: 8, bytes }
                }
                Step::CounterAtomicStore { line, word, value } => {
                    buffer.bytes.extend([value; 8]);
                    Op::CounterAtomicStore { address: line * 64 + word * 8, length: 8, bytes }
                }
                Step::Clwb { line } => Op::Clwb { address: line * 64 },
                Step::Clflushopt { line } => Op::Clflushopt { address: line * 64 },
                Step::CounterWriteback { line } => Op::CounterCacheWriteback { address: line * 64 },
                Step::Sfence => Op::Sfence,
                Step::Compute { instructions } => Op::Compute { instructions },
            };
            buffer.ops.push(op);
        }
        buffer.ops.push(Op::TxEnd);
        true
    }
}

fn programs() -> impl Strategy<Value = Program> {
    let line = prop::sample::select(&LINES[..]);
    let step = prop_oneof![
        9 => (line.clone(), 0..8u64, 1..=255u8).prop_map(|(line, word, value)| Step::Store { line, word, value }),
        4 => line.clone().prop_map(|line| Step::Clwb { line }),
        1 => line.clone().prop_map(|line| Step::Clflushopt { line }),
        3 => line.prop_map(|line| Step::CounterWriteback { line }),
        2 => Just(Step::Sfence),
        1 => (1..2_000u32).prop_map(|instructions| Step::Compute { instructions }),
    ];
    let batches = prop::collection::vec(prop::collection::vec(step, 1..40), 1..6);
    // A variable is declared `CounterAtomic`, so this holds for all its stores.
    (batches, prop::sample::subsequence(&LINES[..], 0..8)).prop_map(|(mut batches, declared)| {
        for step in batches.iter_mut().flatten() {
            if let Step::Store { line, word, value } = *step
                && declared.contains(&line)
            {
                *step = Step::CounterAtomicStore { line, word, value };
            }
        }
        Program(batches)
    })
}

/// Which lines a design keeps whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Atomic {
    All,
    Marked,
}

/// What the program and the machine have done so far, and the rule.
struct Reference {
    aes: aes::Aes128,
    atomic: Atomic,
    base: Base,
    /// For each line: the versions that it has held, oldest first.
    held: BTreeMap<u64, Vec<LineBytes>>,
    marked: BTreeSet<u64>,
    /// For each line: the version that the latest flush and the latest counter write-back after it will make durable.
    flushed: BTreeMap<u64, usize>,
    counters_flushed: BTreeMap<u64, usize>,
    /// For each line: the version that a fence covers.
    covered: BTreeMap<u64, usize>,
    data: BTreeMap<u64, LineBytes>,
    counters: BTreeMap<u64, u64>,
    inline: bool,
    events: u64,
    broken: Option<String>,
}

impl Reference {
    fn new(atomic: Atomic, inline: bool) -> Self {
        let base = base();
        Self {
            aes: aes::Aes128::new_from_slice(&Keys::from_seed(SEED).data[..16]).unwrap(),
            atomic,
            held: base.0.iter().enumerate().map(|(line, bytes)| (line as u64, vec![*bytes])).collect(),
            base,
            marked: BTreeSet::new(),
            flushed: BTreeMap::new(),
            counters_flushed: BTreeMap::new(),
            covered: BTreeMap::new(),
            data: BTreeMap::new(),
            counters: BTreeMap::new(),
            inline,
            events: 0,
            broken: None,
        }
    }

    /// The address is in the upper part of the lower half, then eight zero bits, then the block number; the counter is
    /// on top.
    fn pad(&self, line: u64, counter: u64) -> LineBytes {
        let mut pad = [0; 64];
        for (block, bytes) in pad.chunks_exact_mut(16).enumerate() {
            let input = u128::from(counter) << 64 | u128::from(line) << 10 | block as u128;
            let mut cipher = aes::Block::from(input.to_be_bytes());
            self.aes.encrypt_block(&mut cipher);
            bytes.copy_from_slice(&cipher);
        }
        pad
    }

    fn decrypted(&self, line: u64) -> LineBytes {
        let counter = self.counters.get(&line).copied().unwrap_or(1);
        let stored = match self.data.get(&line) {
            Some(bytes) => *bytes,
            None => xor(&self.base.0[line as usize], &self.pad(line, 1)),
        };
        xor(&stored, &self.pad(line, counter))
    }

    fn judge(&mut self) {
        for &line in &LINES {
            let held = &self.held[&line];
            let covered = self.covered.get(&line).copied().unwrap_or(0);
            let whole = self.atomic == Atomic::All || self.marked.contains(&line);
            if !whole && covered + 1 < held.len() {
                // A store is in flight, and the line is not counter-atomic.
                continue;
            }
            let found = self.decrypted(line);
            if !held[covered..].contains(&found) {
                let sort = if whole { "counter-atomic" } else { "covered" };
                self.broken = Some(format!("after event {} the {sort} line {line} is {found:02x?}", self.events));
                return;
            }
        }
    }
}

fn xor(a: &LineBytes, b: &LineBytes) -> LineBytes {
    std::array::from_fn(|byte| a[byte] ^ b[byte])
}

impl Observer for Reference {
    fn marked_counter_atomic(&mut self, _: Ps, _: CoreId, line: Line) {
        self.marked.insert(line.0);
    }
    fn stored(&mut self, _: Ps, _: CoreId, line: Line, offset: usize, data: &[u8]) {
        let held = self.held.get_mut(&line.0).unwrap();
        let mut bytes = *held.last().unwrap();
        bytes[offset..offset + data.len()].copy_from_slice(data);
        held.push(bytes);
    }
    fn flushed(&mut self, _: Ps, _: CoreId, line: Line) {
        self.flushed.insert(line.0, self.held[&line.0].len() - 1);
    }
    fn counters_flushed(&mut self, _: Ps, _: CoreId, line: Line) {
        let block = line.0 / 8;
        self.counters_flushed.extend(self.flushed.iter().filter(|(line, _)| *line / 8 == block));
    }
    fn fenced(&mut self, _: Ps, _: CoreId) {
        for &line in &LINES {
            let whole = self.atomic == Atomic::All || self.marked.contains(&line);
            let covers = if whole { &self.flushed } else { &self.counters_flushed };
            if let Some(&version) = covers.get(&line) {
                self.covered.insert(line, version);
            }
        }
    }
    fn persisted(&mut self, _: Ps, media: MediaLine, bytes: &LineBytes) {
        match media.unit() {
            MediaUnit::Data(line) => {
                self.data.insert(line.0, *bytes);
            }
            MediaUnit::Counter(block) => {
                let lines = if self.inline { block.0..block.0 + 1 } else { block.0 * 8..block.0 * 8 + 8 };
                for (line, counter) in lines.zip(bytes.chunks_exact(8)) {
                    self.counters.insert(line, u64::from_le_bytes(counter.try_into().unwrap()));
                }
            }
            _ => unreachable!("no design here has MACs"),
        }
    }
    fn event_over(&mut self, _: Ps) {
        self.events += 1;
        if self.broken.is_none() {
            self.judge();
        }
    }
}

/// Small machines, including structures of size one; on the slowest device queues are always full.
fn machine_sets() -> impl Strategy<Value = Vec<String>> {
    let queue = |least: u32, most: u32| {
        (least..=most).prop_flat_map(|entries| {
            (Just(entries), 1..=entries).prop_flat_map(|(entries, high)| (Just(entries), Just(high), 0..high))
        })
    };
    let device = prop::sample::select(&[300, 300, 3_000][..]);
    (queue(2, 8), queue(1, 4), any::<bool>(), any::<bool>(), 1..5u32, 0..3u32, 0..3u32, device).prop_map(
        |(
            (entries, high, low),
            (counter_entries, counter_high, counter_low),
            merging,
            idle,
            units,
            blocks,
            l3,
            t_wr,
        )| {
            vec![
                format!("controller.wpq_entries={entries}"),
                format!("controller.wpq_high_watermark={high}"),
                format!("controller.wpq_low_watermark={low}"),
                format!("controller.counter_wpq_entries={counter_entries}"),
                format!("controller.counter_wpq_high_watermark={counter_high}"),
                format!("controller.counter_wpq_low_watermark={counter_low}"),
                format!("controller.counter_wpq_merging={merging}"),
                format!("controller.wpq_issue_when_idle={idle}"),
                format!("controller.aes_units={units}"),
                format!("controller.counter_cache_size={}B", 64 << blocks),
                "controller.counter_cache_ways=1".to_owned(),
                format!("l3.size={}B", 128 << l3),
                format!("device.t_wr_ns={t_wr}"),
            ]
        },
    )
}

const FAMILY: [(&str, Atomic); 4] =
    [("fca", Atomic::All), ("sca", Atomic::Marked), ("co-located", Atomic::All), ("co-located-cc", Atomic::All)];

fn hardened(name: &str) -> Design {
    design::find(name, Variant::Hardened).unwrap()
}

/// Runs `program` and returns what the reference found broken.
fn broken(design: &Design, atomic: Atomic, sets: &[String], program: &Program) -> Option<String> {
    let name = design.name.as_str();
    let config = RunConfig {
        variant: design.variant,
        tx_size: 64,
        transactions: program.0.len() as u64,
        footprint: 8192,
        seed: SEED,
        ..RunConfig::new(name, "random", config::load_machine("small", sets).unwrap())
    };
    let job = Job { base: Arc::new(base()), programs: vec![Box::new(program.clone())], layouts: Vec::new() };
    let reference = Reference::new(atomic, name.starts_with("co-located"));
    let mut system = System::new(&config, design, job, reference).unwrap();
    system.run(
        |system| if system.observer.broken.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) },
    );
    assert!(
        system.observer.broken.is_some() || system.transactions_ended() == program.0.len() as u64,
        "{name}: the program never ends"
    );
    system.observer.broken
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn what_is_counter_atomic_or_covered_is_never_lost(sets in machine_sets(), program in programs()) {
        for (name, atomic) in FAMILY {
            let broken = broken(&hardened(name), atomic, &sets, &program);
            prop_assert!(broken.is_none(), "{name}: {}", broken.unwrap());
        }
    }
}

/// One counter block in the cache and one in the queue, in front of a device that takes ten times as long as normal: an
/// evicted block waits for its entry while other counters of it are written back.
const SIZE_ONE: [&str; 8] = [
    "controller.counter_cache_size=64B",
    "controller.counter_cache_ways=1",
    "controller.counter_wpq_entries=1",
    "controller.counter_wpq_high_watermark=1",
    "controller.counter_wpq_low_watermark=0",
    "controller.wpq_entries=8",
    "controller.aes_units=4",
    "device.t_wr_ns=3000",
];

/// Programs that write lines of several counter blocks back, and request the write-back of their counters much later.
fn late_programs() -> impl Strategy<Value = Program> {
    let line = || prop::sample::select(&LINES[..]);
    let round = (prop::collection::vec((line(), any::<bool>()), 1..6), 1..40_000u32, line(), 1..20_000u32);
    prop::collection::vec(round, 1..30).prop_map(|rounds| {
        let mut steps = Vec::new();
        for (number, (lines, instructions, late, more)) in rounds.into_iter().enumerate() {
            for (line, fenced) in lines {
                steps.push(Step::Store { line, word: 0, value: number as u8 + 1 });
                steps.push(Step::Clwb { line });
                steps.extend(fenced.then_some(Step::Sfence));
            }
            steps.extend([Step::Sfence, Step::Compute { instructions }]);
            steps.extend([Step::CounterWriteback { line: late }, Step::Sfence, Step::Compute { instructions: more }]);
        }
        Program(vec![steps])
    })
}

#[test]
fn what_is_covered_is_not_lost_where_everything_has_size_one_and_the_device_is_slow() {
    let mut runner = TestRunner::deterministic();
    let sets = SIZE_ONE.map(str::to_owned);
    for case in 0..40 {
        let program = late_programs().new_tree(&mut runner).unwrap().current();
        for (name, atomic) in FAMILY {
            let broken = broken(&hardened(name), atomic, &sets, &program);
            assert!(broken.is_none(), "{name}, program {case}: {}", broken.unwrap());
        }
    }
}
#[test]
fn reference_catches_the_published_readings_and_a_promise_too_far() {
    let mut runner = TestRunner::deterministic();
    let both = (machine_sets(), programs());
    let cases: Vec<_> = (0..100).map(|_| both.new_tree(&mut runner).unwrap().current()).collect();
    let caught =
        |atomic, design: &Design| cases.iter().any(|(sets, program)| broken(design, atomic, sets, program).is_some());
    for (name, atomic) in [("fca", Atomic::All), ("sca", Atomic::Marked)] {
        assert!(caught(atomic, &design::find(name, Variant::Published).unwrap()), "{name} as published");
        // A neighbour's counter goes ahead of its data.
        let mut early = hardened(name);
        early.encryption.as_mut().unwrap().update = CounterUpdate::AtBump;
        assert!(caught(atomic, &early), "{name} whose counter cache is updated at the increment");
    }
    // A write-back misses the counter of the flush before it.
    let mut hasty = hardened("sca");
    hasty.encryption.as_mut().unwrap().writeback_order = WritebackOrder::AtOnce;
    assert!(caught(Atomic::Marked, &hasty));
    // Selective counter-atomicity does not promise what full counter-atomicity does.
    assert!(caught(Atomic::All, &hardened("sca")));
}
