//! From the steps of a litmus program to the operations of a core.

use super::base::PLACES;
use super::step::{Step, StepKind};
use crate::config::Machine;
use crate::message::{LINE_BYTES, Line, LineBytes, Op, OpBuffer, ProgramForm, UNKNOWN_VALUE};
use std::collections::VecDeque;

/// Instructions before the loads that evict a line, so that the operations before them have reached the caches.
const BEFORE_EVICTION: u32 = 2_000;
/// Instructions of a wait: longer than the last write-back takes.
const WAIT: u32 = 100_000;

/// Which lines take the place of others in a machine's caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicting {
    /// Lines this far apart share a set in all caches, and how many loads leave no other line there.
    stride: u64,
    loads: u64,
    /// Lines this far apart share a set in the counter cache, and how many loads leave no other block there.
    counter_stride: u64,
    counter_loads: u64,
}

impl Evicting {
    /// The caches of `machine`.
    pub fn of(machine: &Machine) -> Self {
        let levels = [&machine.l1, &machine.l2, &machine.l3];
        let sets = levels.map(|level| level.size.0 / LINE_BYTES / u64::from(level.ways));
        // A dirty line goes down a level with each eviction.
        let ways = levels[1..].iter().map(|level| u64::from(level.ways)).sum();
        let ways_of_counters = u64::from(machine.controller.counter_cache_ways);
        let counter_sets = machine.controller.counter_cache_size.0 / LINE_BYTES / ways_of_counters;
        Self {
            stride: sets.into_iter().max().unwrap_or(1).max(1),
            loads: ways,
            // A block has the counters of at most so many lines, in whatever organisation.
            counter_stride: counter_sets.max(1) * (machine.counters.block_bytes() / LINE_BYTES),
            counter_loads: ways_of_counters,
        }
    }

    fn lines(self, line: Line) -> impl Iterator<Item = Line> {
        (1..=self.loads).map(move |number| Line(line.0 + number * self.stride))
    }

    /// One line further, so that the line itself may stay in the caches.
    fn counter_lines(self, line: Line) -> impl Iterator<Item = Line> {
        (1..=self.counter_loads).map(move |number| Line(line.0 + 1 + number * self.counter_stride))
    }
}

/// The operations of `steps`, of which the first has number `first` in its program, in `form`: each transaction by itself, and
/// what lies between them. What another form of programs has is replaced by what this form has for it.
pub(super) fn operations(steps: &[Step], first: usize, form: ProgramForm, evicting: &Evicting) -> VecDeque<OpBuffer> {
    let mut parts = VecDeque::from([OpBuffer::default()]);
    let logged = form == ProgramForm::HardwareLogged;
    let has_flushes = form != ProgramForm::FlushFree;
    let annotated = form == ProgramForm::Annotated;
    for (number, step) in (first..).zip(steps) {
        if step.kind == StepKind::TxBegin && logged {
            parts.push_back(OpBuffer::default());
        }
        let part = parts.back_mut().expect("there is always one");
        let line = PLACES[usize::from(step.line)].line;
        let address = line.address();
        match step.kind {
            StepKind::Store => store(part, line, number, false),
            StepKind::CounterAtomicStore => store(part, line, number, annotated),
            StepKind::StoreLine => part.store(address, &whole_line(number), 64),
            StepKind::NtStore => part.store_non_temporal(address, &whole_line(number)),
            StepKind::ZeroPage => part.ops.push(Op::ZeroPage { address }),
            StepKind::Clwb if has_flushes => part.ops.push(Op::Clwb { address }),
            StepKind::FlushData if logged => part.ops.push(Op::FlushData { address }),
            StepKind::FlushData if has_flushes => part.ops.push(Op::Clwb { address }),
            StepKind::Clflushopt if has_flushes => part.ops.push(Op::Clflushopt { address }),
            StepKind::Clflush if has_flushes => part.ops.push(Op::Clflush { address }),
            StepKind::CounterWriteback if annotated => part.ops.push(Op::CounterCacheWriteback { address }),
            StepKind::Load => part.load_unknown(address, 8),
            StepKind::Sfence => part.ops.push(Op::Sfence),
            StepKind::Mfence => part.ops.push(Op::Mfence),
            StepKind::TxBegin if logged => part.ops.extend([Op::TxBegin, Op::LoggedTxBegin]),
            StepKind::TxEnd if logged => {
                part.ops.extend([Op::LoggedTxEnd, Op::TxEnd]);
                parts.push_back(OpBuffer::default());
            }
            StepKind::TxEnd => part.ops.push(Op::Sfence),
            StepKind::Evict => load_in_turn(part, evicting.lines(line)),
            StepKind::EvictCounters => load_in_turn(part, evicting.counter_lines(line)),
            StepKind::Wait => part.ops.push(Op::Compute { instructions: WAIT }),
            StepKind::Clwb
            | StepKind::Clflushopt
            | StepKind::Clflush
            | StepKind::FlushData
            | StepKind::CounterWriteback
            | StepKind::TxBegin => {}
        }
    }
    parts.retain(|part| !part.ops.is_empty());
    parts
}

/// Each store has its own value, in a word of its own: where in the line, and what.
fn word(number: usize) -> (usize, [u8; 8]) {
    (number % 8 * 8, (0xc0de_0001 + number as u64).to_le_bytes())
}

/// What `step`, number `number` of its program, makes of the contents of its line.
pub(super) fn apply(step: Step, number: usize, contents: &mut LineBytes) {
    match step.kind {
        StepKind::StoreLine | StepKind::NtStore => *contents = whole_line(number),
        StepKind::ZeroPage => *contents = [0; 64],
        kind if kind.stores() => {
            let (at, value) = word(number);
            contents[at..at + 8].copy_from_slice(&value);
        }
        _ => {}
    }
}

fn store(part: &mut OpBuffer, line: Line, number: usize, counter_atomic: bool) {
    let bytes = part.bytes.len() as u32;
    let (at, value) = word(number);
    part.bytes.extend(value);
    let address = line.address() + at as u64;
    part.ops.push(if counter_atomic {
        Op::CounterAtomicStore { address, length: 8, bytes }
    } else {
        Op::Store { address, length: 8, bytes }
    });
}

fn whole_line(number: usize) -> [u8; 64] {
    std::array::from_fn(|at| (number as u8 + 1).wrapping_mul(31) ^ (at as u8).wrapping_mul(13))
}

/// Loads `lines`, each after the one before.
fn load_in_turn(part: &mut OpBuffer, lines: impl Iterator<Item = Line>) {
    part.ops.push(Op::Compute { instructions: BEFORE_EVICTION });
    let load = |line: Line| Op::Load { address: line.address(), length: 8, dependent: true, bytes: UNKNOWN_VALUE };
    part.ops.extend(lines.map(load));
}
