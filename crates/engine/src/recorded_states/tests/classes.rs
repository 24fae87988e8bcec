//! Classes of states against all states: random programs, and recoveries that read whatever follows from what they have
//! found.

use super::super::classes::Classes;
use super::super::counters::{Counters, Rules};
use super::super::decided::{Decided, Run};
use super::super::memory::Memory;
use super::super::point::{Point, State};
use super::*;
use crate::config::{Variant, preset};
use crate::kernel::keyed_digest;
use crate::run::Annotated;
use crate::user_recovery::WordRead;
use proptest::prelude::*;

/// Calls `check` at each crash point of a program on a design, with all its open lines.
fn each_point(program: Program, design: &str, check: &mut dyn FnMut(&Memory<'_>, &Point)) {
    let trace = Trace::from_bytes("t.cptrace", program.trace(), false).unwrap();
    let design = crate::design::find(design, Variant::Hardened).unwrap();
    let rules = Rules::of(&preset("small").unwrap(), 1, &design, &trace).unwrap();
    let base = trace.base();
    let counters = rules.as_ref().map(|rules| Counters::new(rules, Annotated::ByItself));
    let mut memory = Memory::new(trace.files(), &base, |_| true).with_counters(counters);
    let read = trace.steps(&Arc::default()).unwrap().each(false, &|_| {}, &mut |step| {
        if memory.loses_states(&step) {
            let point = Point::whole(&mut memory);
            check(&memory, &point);
            memory.passed();
        }
        memory.take(&step);
        ControlFlow::Continue(())
    });
    read.unwrap();
    let point = Point::whole(&mut memory);
    check(&memory, &point);
}

fn held(memory: &Memory<'_>, point: &Point, state: &State, line: Line) -> LineBytes {
    match point.lines.iter().position(|open| open.line == line) {
        Some(at) => point.lines[at].contents.list[state[at]].bytes,
        None => memory.newest(line),
    }
}

/// What a recovery finds in all, and what it reads, where the program has stored to `lines`.
fn recovered(seed: u64, lines: &[Line], holds: impl Fn(Line) -> LineBytes) -> (u128, Vec<WordRead>) {
    let mut found = keyed_digest(seed, &[0; 64]);
    let mut reads = Vec::new();
    while reads.len() < 6 && !found.is_multiple_of(7) {
        let line = lines[(found >> 8) as usize % lines.len()];
        let read = WordRead { line, word: (found >> 40) as u8 % 8 };
        reads.push(read);
        found = (found >> 64) ^ u128::from(u64::from_le_bytes(read.of(&holds(line))));
        found = keyed_digest(found as u64, &[0; 64]);
    }
    (found, reads)
}

fn run_of(found: u128, reads: Vec<WordRead>) -> Run {
    Run { reads, recovers: found.is_multiple_of(2) }
}

/// Compares the classes of a point with all its states; returns how many of both there are.
fn compare(memory: &Memory<'_>, point: &Point, seed: u64) -> (u64, u64) {
    const STATES_MAX: u64 = 3000;
    let lines: Vec<Line> = memory.lines.iter().map(|known| known.line).collect();
    let Some(states) = point.exactly.filter(|&states| states <= STATES_MAX && !lines.is_empty()) else {
        return (0, 0);
    };
    let on = |state: &State| recovered(seed, &lines, |line| held(memory, point, state, line));
    let mut every = BTreeMap::new();
    let tried = point.each(Extent::Whole, STATES_MAX, &mut |state| {
        every.insert(on(state).0, state.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!(tried, ControlFlow::Continue(Tried::Every));
    let mut classes = Classes::of(point, u64::MAX);
    let mut decided = Decided::default();
    let mut found = Vec::new();
    while let Some((part, state)) = classes.next() {
        let (outcome, reads) = on(&state);
        assert!(decided.run(5, |line| held(memory, point, &state, line)).is_none(), "it was decided before");
        assert!(decided.add(5, &run_of(outcome, reads.clone()), |line| held(memory, point, &state, line)));
        classes.decide(part, &state, &reads);
        found.push(outcome);
    }
    assert!(classes.every());
    // Each outcome once, and no other.
    assert_eq!(found.len(), every.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), every.keys().copied().collect());
    for (outcome, state) in &every {
        let known = decided.run(5, |line| held(memory, point, state, line)).expect("its class is decided");
        assert_eq!((known.recovers, known.reads), (outcome.is_multiple_of(2), on(state).1));
        assert!(decided.run(6, |line| held(memory, point, state, line)).is_none(), "the command is told otherwise");
    }
    (every.len() as u64, states)
}

/// What a program does: what kind of thing it is, to which line and word, with which byte and how many words of it.
type Act = (u8, u64, u64, u8, usize);

fn act() -> impl Strategy<Value = Act> {
    let line = || prop::sample::select(vec![0u64, 1, 2, 64]);
    prop_oneof![
        6 => (Just(0), line(), 0u64..3, any::<u8>(), 1usize..3),
        3 => (1u8..4, line(), Just(0), Just(0), Just(0)),
        1 => (Just(4), Just(0), Just(0), Just(0), Just(0)),
    ]
}

fn program(acts: &[Act]) -> Program {
    acts.iter().fold(Program::new(), |program, &(kind, line, word, value, words)| match kind {
        0 => program.bytes(0x11, 1, line * 64 + word * 8, &vec![value; 8 * words]),
        1 => program.clwb(2, line),
        2 => program.write_back(3, line),
        3 => program.clflush(4, line),
        _ => program.sfence(5),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn classes_have_every_outcome_of_all_states_once(acts in prop::collection::vec(act(), 1..10), seed in any::<u64>(), design in 0usize..3) {
        let design = ["unencrypted", "sca", "write-back"][design];
        each_point(program(&acts), design, &mut |memory, point| {
            compare(memory, point, seed);
        });
    }
}

#[test]
fn one_run_decides_many_states() {
    let mut program = Program::new();
    for line in 0..10 {
        program = program.store(1, line, "data");
    }
    let (mut classes, mut states) = (0, 0);
    for seed in 0..20 {
        each_point(program.clone(), "unencrypted", &mut |memory, point| {
            let (of_classes, of_states) = compare(memory, point, seed);
            (classes, states) = (classes + of_classes, states + of_states);
        });
    }
    assert_eq!(states, 20 * 1024);
    assert!(classes < states / 20, "{classes} classes of {states} states");
}

/// Two lines of one counter block that no write-back follows: the block on the media is from before both, from between them
/// or from after both, so that the first line is not without its counter while the second one has it.
#[test]
fn contents_that_no_way_of_their_block_has_are_no_state() {
    let program = Program::new().store(1, 0, "one").clwb(2, 0).sfence(3).store(4, 1, "two").clwb(5, 1).sfence(6);
    let mut last = 0;
    each_point(program, "sca", &mut |memory, point| {
        let [one, two] = [0, 1].map(|number| memory.lines.get(number).map(|known| known.line));
        let reads: Vec<WordRead> = [one, two].into_iter().flatten().map(|line| WordRead { line, word: 0 }).collect();
        let mut classes = Classes::of(point, u64::MAX);
        last = 0;
        while let Some((part, state)) = classes.next() {
            classes.decide(part, &state, &reads);
            last += 1;
        }
        assert!(classes.every());
    });
    assert_eq!(last, 3);
}

/// Of six words past the caches not every combination is listed: nothing is claimed of a command that reads them.
#[test]
fn what_is_not_listed_must_not_be_read() {
    let program = Program::new().bytes(0x12, 1, 0, &[7; 48]).store(2, 1, "flag");
    let every = |read: u64| {
        let mut found = None;
        each_point(program.clone(), "unencrypted", &mut |memory, point| {
            let line = memory.lines[read as usize].line;
            let mut classes = Classes::of(point, u64::MAX);
            while let Some((part, state)) = classes.next() {
                classes.decide(part, &state, &[WordRead { line, word: 0 }]);
            }
            found = Some(classes.every());
        });
        found
    };
    assert_eq!((every(0), every(1)), (Some(false), Some(true)));
}

#[test]
fn command_that_reads_something_else_than_before_is_recognised() {
    let holds = |line: Line| [line.0 as u8; 64];
    let read = |line: u64| WordRead { line: Line(line), word: 0 };
    let run = |reads: &[WordRead], recovers: bool| Run { reads: reads.to_vec(), recovers };
    let mut decided = Decided::default();
    assert!(decided.add(0, &run(&[read(1), read(2)], true), holds));
    assert!(decided.add(0, &run(&[read(1), read(2)], true), holds), "it may be run again");
    assert!(!decided.add(0, &run(&[read(1), read(3)], true), holds), "another line");
    assert!(!decided.add(0, &run(&[read(1), read(2)], false), holds), "another end");
    assert!(!decided.add(0, &run(&[read(1)], true), holds), "an early end");
    assert!(decided.add(0, &run(&[read(1), read(3)], true), |line| [line.0 as u8 + 1; 64]), "it found something else");
}
