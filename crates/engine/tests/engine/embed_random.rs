//! A client that does anything at random with an embedded memory, and a model of what it may find: each line holds what was last
//! sent or stored; after a power failure, what was last acknowledged or something that was sent later, or else the memory must
//! say that it is damaged. The model knows nothing of counters, encryption or recovery, so it is the same for every design.
//!
//! When a write is acknowledged and which of those in flight survive is the memory's choice, so the model follows it and only
//! says what is allowed. `PROPTEST_CASES` makes a longer campaign: so many sequences for each design.

use super::common::judge::readings;
use super::common::memory_client::{memory, pattern, promising};
use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Answer, Kind, Memory, Request, TIME_MAX, WHOLE_LINE};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::LineBytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// One page, so that lines are written repeatedly and minor counters overflow.
const LINES: u64 = 64;
/// Sequences for each design, and operations of one.
const CASES: u32 = 2;
const OPERATIONS: usize = 300;

#[derive(Clone, Debug)]
enum Operation {
    Write {
        line: u64,
        mask: u64,
        counter_atomic: bool,
    },
    Read {
        line: u64,
    },
    WriteCountersBack {
        line: u64,
    },
    /// Stores so many bytes from this one of the line on, without taking time.
    Store {
        line: u64,
        first: usize,
        bytes: usize,
    },
    Wait {
        ps: Ps,
    },
    PowerFails,
    /// A copy loses power; the original goes on.
    CopyLosesPower,
    /// A copy is kept, and memory later goes back to it.
    Keep,
    GoBack,
}

/// `durable`: every write is counter-atomic, as a design that promises something only of such lines needs it.
fn operation(durable: bool) -> impl Strategy<Value = Operation> {
    let mask = prop_oneof![4 => Just(WHOLE_LINE), 1 => any::<u64>()];
    let write = (0..LINES, mask, any::<bool>()).prop_map(move |(line, mask, any)| Operation::Write {
        line,
        mask,
        counter_atomic: durable || any,
    });
    let store = (0..LINES, prop_oneof![Just((0, 64)), (0..32_usize, 1..=32_usize)])
        .prop_map(|(line, (first, bytes))| Operation::Store { line, first, bytes });
    prop_oneof![
        30 => write,
        10 => (0..LINES).prop_map(|line| Operation::Read { line }),
        4 => (0..LINES).prop_map(|line| Operation::WriteCountersBack { line }),
        4 => store,
        20 => (0..400_000_u64).prop_map(|ps| Operation::Wait { ps }),
        2 => Just(Operation::PowerFails),
        1 => Just(Operation::CopyLosesPower),
        1 => Just(Operation::Keep),
        1 => Just(Operation::GoBack),
    ]
}

/// What is known of a line.
#[derive(Clone)]
struct Known {
    /// What a read that is sent now finds.
    newest: LineBytes,
    /// The last acknowledged bytes, and their number among all writes and stores; what was loaded is number 0.
    acknowledged: (u64, LineBytes),
    in_flight: Vec<(u64, LineBytes)>,
    damaged: bool,
}

/// A read in flight: its line, whether that was damaged, and what it may find. A later write may overtake it while it waits for
/// page re-encryption.
#[derive(Clone)]
struct Asked {
    line: u64,
    damaged: bool,
    found: Vec<LineBytes>,
}

/// A memory and what is known of it.
#[derive(Clone)]
struct Client {
    memory: Memory,
    lines: Vec<Known>,
    reads: BTreeMap<u64, Asked>,
    counters: BTreeSet<u64>,
    /// The number of writes and stores, which are also the numbers of all requests.
    number: u64,
}

impl Client {
    fn new(memory: Memory) -> Self {
        let mut client =
            Self { memory, lines: Vec::new(), reads: BTreeMap::new(), counters: BTreeSet::new(), number: 0 };
        for line in 0..LINES {
            let first = if line % 3 == 0 { pattern(line, 0) } else { [0; 64] };
            if line % 3 == 0 {
                client.memory.load(line * 64, &first).unwrap();
            }
            client.lines.push(Known { newest: first, acknowledged: (0, first), in_flight: Vec::new(), damaged: false });
        }
        client
    }

    /// Fails power, and compares what memory holds with what it may hold, and with what it says of it.
    fn lose_power(&mut self) {
        let failure = match self.memory.survives_nothing() {
            None => self.memory.power_fails().unwrap().clone(),
            Some(_) => return assert!(self.memory.power_fails().is_err()),
        };
        let writes: usize = self.lines.iter().map(|known| known.in_flight.len()).sum();
        let lost = [self.reads.len(), writes, self.counters.len()].map(|lost| lost as u64);
        assert_eq!([failure.reads_lost, failure.writes_lost, failure.counter_writebacks_lost], lost);
        self.reads.clear();
        self.counters.clear();
        for (line, known) in (0..).zip(&mut self.lines) {
            let found = self.memory.peek(line * 64).unwrap();
            let (number, promised) = known.acknowledged;
            let later = known.in_flight.drain(..).any(|(sent, bytes)| sent > number && bytes == found);
            known.newest = found;
            if known.damaged {
                continue;
            }
            known.damaged = found != promised && !later;
            if !known.damaged {
                known.acknowledged = (number, found);
            }
        }
        let damaged = (0..LINES).filter(|&line| self.lines[line as usize].damaged).map(|line| line * 64);
        assert_eq!(self.memory.damaged_lines(), damaged.collect::<Vec<_>>());
        assert_eq!(failure.damaged_lines, self.memory.damaged_lines().len() as u64);
    }

    /// Handles events up to `until`, or one of them.
    fn step(&mut self, until: Ps) -> bool {
        let mut answers: Vec<Answer> = Vec::new();
        let more = self.memory.step(until, &mut answers).unwrap();
        for Answer { id, address, kind, damaged, bytes, .. } in answers {
            let line = address / 64;
            match kind {
                Kind::Read => {
                    let asked = self.reads.remove(&id).unwrap();
                    assert_eq!((line, damaged), (asked.line, asked.damaged), "read {id}");
                    assert!(asked.found.contains(&bytes), "read {id} of line {line} finds {bytes:?}");
                }
                Kind::Write => {
                    let known = &mut self.lines[line as usize];
                    let place = known.in_flight.iter().position(|(sent, _)| *sent == id).unwrap();
                    let sent = known.in_flight.remove(place);
                    if sent.0 > known.acknowledged.0 {
                        known.acknowledged = sent;
                    }
                }
                Kind::CounterWriteback => assert!(self.counters.remove(&id)),
            }
        }
        more
    }

    /// Sends a request as soon as there is room for it.
    fn send(&mut self, line: u64, request: Request<'_>) -> u64 {
        while !self.memory.can_accept(request.kind()) {
            assert!(self.step(TIME_MAX), "a full queue empties");
        }
        self.number += 1;
        self.memory.send(line * 64, self.number, 0, request).unwrap();
        self.number
    }

    /// `bytes` are the newest of `line` from now on.
    fn changed(&mut self, line: u64, bytes: LineBytes, whole: bool) {
        let known = &mut self.lines[line as usize];
        known.newest = bytes;
        known.damaged &= !whole;
        self.reads.values_mut().filter(|asked| asked.line == line).for_each(|asked| asked.found.push(bytes));
    }

    /// Performs `operation`. Returns the lines whose contents may have changed.
    fn perform(&mut self, operation: &Operation, kept: &mut Option<Box<Self>>) -> Range<u64> {
        match *operation {
            Operation::Write { line, mask, counter_atomic } => {
                let bytes = pattern(line, self.number + 1);
                let number = self.send(line, Request::Write { bytes: &bytes, mask, counter_atomic });
                // Waiting for room may have taken time, but changes no line.
                let newest = self.lines[line as usize].newest;
                let merged = std::array::from_fn(|at| if mask >> at & 1 == 1 { bytes[at] } else { newest[at] });
                self.lines[line as usize].in_flight.push((number, merged));
                self.changed(line, merged, mask == WHOLE_LINE);
            }
            Operation::Read { line } => {
                let number = self.send(line, Request::Read);
                let Known { newest, damaged, .. } = self.lines[line as usize];
                self.reads.insert(number, Asked { line, damaged, found: vec![newest] });
            }
            Operation::WriteCountersBack { line } => {
                let number = self.send(line, Request::CounterWriteback);
                self.counters.insert(number);
            }
            Operation::Store { line, first, bytes } => {
                self.number += 1;
                let (of_store, mut merged) = (pattern(line, self.number), self.lines[line as usize].newest);
                merged[first..first + bytes].copy_from_slice(&of_store[first..first + bytes]);
                self.memory.store(line * 64 + first as u64, &of_store[first..first + bytes]).unwrap();
                self.lines[line as usize].acknowledged = (self.number, merged);
                self.changed(line, merged, bytes == 64);
            }
            Operation::Wait { ps } => {
                let until = self.memory.now() + ps;
                while self.step(until) {}
            }
            Operation::PowerFails => self.lose_power(),
            Operation::CopyLosesPower => self.clone().lose_power(),
            Operation::Keep => *kept = Some(Box::new(self.clone())),
            Operation::GoBack => {
                if let Some(kept) = kept {
                    *self = Self::clone(kept);
                }
            }
        }
        match *operation {
            Operation::Write { line, .. } | Operation::Read { line } | Operation::Store { line, .. } => line..line + 1,
            Operation::WriteCountersBack { .. } | Operation::Keep => 0..0,
            _ => 0..LINES,
        }
    }

    fn check(&self, lines: Range<u64>) {
        for line in lines {
            assert_eq!(self.memory.peek(line * 64).unwrap(), self.lines[line as usize].newest, "line {line}");
        }
    }
}

#[test]
fn memory_knows_of_every_design_which_lines_a_power_failure_has_damaged() {
    let promising: BTreeSet<String> = promising().map(|design| design.name).collect();
    let every: Vec<(&str, Variant)> =
        design::names().flat_map(|name| readings(name).into_iter().map(move |reading| (name, reading))).collect();
    let damaged: BTreeSet<&str> = every
        .into_par_iter()
        .filter_map(|(name, variant)| {
            let promises = variant == Variant::Hardened && promising.contains(name);
            let cases = Config { failure_persistence: None, ..Config::default() };
            // A short run has the same sequences each time.
            let mut runner = if std::env::var_os("PROPTEST_CASES").is_none() {
                let cases = Config { cases: CASES, ..cases };
                TestRunner::new_with_rng(cases, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
            } else {
                TestRunner::new(cases)
            };
            let ever_damaged = std::cell::Cell::new(false);
            let sequence = prop::collection::vec(operation(promises), OPERATIONS);
            let outcome = runner.run(&sequence, |sequence| {
                let (mut client, mut kept) = (Client::new(memory(name, variant, &[])), None);
                for operation in &sequence {
                    let changed = client.perform(operation, &mut kept);
                    client.check(changed);
                    let damaged = client.memory.damaged_lines();
                    assert!(!promises || damaged.is_empty(), "{damaged:?} after {operation:?}");
                    ever_damaged.set(ever_damaged.get() || !damaged.is_empty());
                }
                Ok(())
            });
            assert!(outcome.is_ok(), "{name} {variant:?}: {}", outcome.unwrap_err());
            ever_damaged.get().then_some(name)
        })
        .collect();
    // The client can tell: it has seen damage, and where nothing promises that there is none.
    for name in ["write-back", "ideal"] {
        assert!(damaged.contains(name), "{damaged:?}");
    }
}
