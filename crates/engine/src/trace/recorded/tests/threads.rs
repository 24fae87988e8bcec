//! Threads as programs of cores of their own: each has its acts, and waits for what it follows of the others.

use super::super::tests::*;
use super::Did::{Await, Begin, Clwb, Compute, CounterAtomicStore, End, Fence, Report, Store};
use super::build::BASE;
use proptest::prelude::*;
use std::collections::VecDeque;

fn store(stream: Stream, instructions: u64, byte: u8) -> Stream {
    stream.store(0x11, instructions, 0, BASE + u64::from(byte) * 8, &[byte])
}

fn stored(byte: u8) -> Did {
    Store(u64::from(byte) * 8, vec![byte])
}

fn of_cores(stream: Stream) -> Vec<Vec<Did>> {
    operations_of_cores(&open(stream.end(0)), ProgramForm::Plain)
}

#[test]
fn each_thread_has_its_acts_and_waits_for_what_it_follows() {
    // Records 0 to 2 begin the stream; number 3 is the first store.
    let stream = store(store(Stream::with_file(), 5, 1), 2, 2).thread(1).follows(3, 0, 4);
    let stream = store(stream, 1, 3).fence(0x17, 0, 0).thread(0).follows(0, 1, 8);
    let stream = store(stream.flush(0x14, 0, 0, BASE), 0, 4);
    let first = [Compute(5), stored(1), Report, Compute(2), stored(2), Await(1, 1), Clwb(0), stored(4)];
    let second = [Compute(3), Await(0, 1), Compute(1), stored(3), Report, Fence];
    let trace = open(stream.clone().end(0));
    assert_eq!((trace.cores(), trace.summary().threads, trace.summary().follows), (2, 2, Some(2)));
    assert_eq!(of_cores(stream.clone()), [first.to_vec(), second.to_vec()]);
    let in_order = open(stream.end(0)).in_order();
    let plain =
        [Compute(5), stored(1), Compute(2), stored(2), Compute(3), Compute(1), stored(3), Fence, Clwb(0), stored(4)];
    assert_eq!(operations_of_cores(&in_order, ProgramForm::Plain), [plain.to_vec()]);
}

#[test]
fn thread_that_has_ended_reports_at_its_end() {
    let stream = store(Stream::with_file(), 0, 1).thread(1);
    let stream = store(stream, 0, 2).thread(0).follows(0, 1, 6);
    assert_eq!(
        of_cores(store(stream, 0, 3)),
        [vec![stored(1), Await(1, 1), stored(3)], vec![stored(2), Report]],
        "nothing follows in the second thread"
    );
}

#[test]
fn recording_that_does_not_say_who_follows_whom_is_one_program() {
    let stream = store(store(Stream::with_file(), 0, 1).thread(1), 0, 2);
    let trace = open(stream.clone().end(0));
    assert_eq!((trace.cores(), trace.summary().follows), (1, None));
    assert_eq!(of_cores(stream), [vec![stored(1), stored(2)]]);
    let one_thread = store(store(Stream::with_file(), 0, 1).thread(1).follows(0, 0, 1).thread(1), 0, 2);
    assert_eq!(open(one_thread.end(0)).cores(), 2);
}

#[test]
fn transactions_are_those_of_each_thread() {
    let stream = store(Stream::with_file().begin(), 0, 1).thread(1).follows(0, 0, 1).begin();
    let stream = store(stream, 0, 2).thread(0).commit().thread(1).commit().begin().begin();
    let stream = store(stream, 0, 3).commit().commit().begin();
    let trace = open(stream.clone().end(0));
    assert_eq!(trace.summary().transactions, 2, "of all threads together: the first two overlap");
    let second = vec![Await(0, 1), Begin, stored(2), End, Begin, stored(3), End];
    // What begins after the last end is cut off.
    assert_eq!(of_cores(stream), [vec![Begin, Report, stored(1), End], second]);
}

#[test]
fn variable_is_counter_atomic_for_every_thread_and_counters_are_written_back_by_the_one_that_asks() {
    let stream = Stream::with_file().annotate(0x1b, 0, BASE, 8).thread(1).follows(0, 0, 4);
    let stream = stream.store(0x11, 0, 0, BASE, &[7]).annotate(0x1a, 0, BASE, 8);
    let all = operations_of_cores(&open(stream.end(0)), ProgramForm::Annotated);
    let second = [Await(0, 1), CounterAtomicStore(0, vec![7]), Did::WriteBackCounters(0)];
    assert_eq!(all, [vec![Report], second.to_vec()]);
}

#[test]
fn marks_are_not_set_where_their_order_is_not_kept() {
    let stream = store(Stream::with_file().mark(b"one"), 0, 1).thread(1).follows(0, 0, 1).mark(b"two");
    let programs = open(stream.end(0)).programs(ProgramForm::Plain).unwrap();
    for mut program in programs {
        let mut buffer = OpBuffer::default();
        while program.next_transaction(&mut buffer) {
            assert!(!buffer.ops.contains(&crate::message::Op::Mark));
            buffer.clear();
        }
    }
}

/// A store by a thread, or that it follows what another had done when the stream had some of its records.
#[derive(Clone, Debug)]
enum Act {
    Store,
    Follow { other: u64, of: prop::sample::Index },
}

fn acts() -> impl Strategy<Value = Vec<(u64, Act)>> {
    let act = prop_oneof![
        3 => Just(Act::Store),
        1 => (0..3u64, any::<prop::sample::Index>()).prop_map(|(other, of)| Act::Follow { other, of }),
    ];
    prop::collection::vec((0..3u64, act), 1..60)
}

proptest! {
    /// Whoever goes first: nobody waits for ever, each thread does what it did, and whatever it followed has been done.
    #[test]
    fn every_order_of_the_programs_keeps_who_follows_whom(acts in acts(), turns in prop::collection::vec(0..3usize, 400)) {
        let mut stream = Stream::with_file().thread(1).thread(2).thread(0);
        let mut thread = 0;
        // Of each store its thread, the number of its record, and what it must follow: threads and numbers of records.
        let mut must = Vec::new();
        let mut followed: [Vec<(u64, u64)>; 3] = Default::default();
        let mut wanted: [Vec<Did>; 3] = Default::default();
        for (by, act) in &acts {
            if *by != thread {
                stream = stream.thread(*by);
                thread = *by;
            }
            match act {
                Act::Store => {
                    let number = must.len() as u8;
                    must.push((*by, stream.starts.len() as u64, followed[*by as usize].clone()));
                    wanted[*by as usize].push(stored(number));
                    stream = store(stream, 0, number);
                }
                Act::Follow { other, .. } if other == by => continue,
                Act::Follow { other, of } => {
                    let records = of.index(stream.starts.len() + 1) as u64;
                    followed[*by as usize].push((*other, records));
                    stream = stream.follows(0, *other, records);
                }
            }
        }
        let stream = stream.follows(0, (thread + 1) % 3, 0);
        let programs = of_cores(stream);
        prop_assert_eq!(programs.len(), 3);
        for (program, wanted) in programs.iter().zip(&wanted) {
            let stores: Vec<_> = program.iter().filter(|did| matches!(did, Store(..))).cloned().collect();
            prop_assert_eq!(&stores, wanted);
        }
        let mut left: Vec<VecDeque<Did>> = programs.into_iter().map(VecDeque::from).collect();
        let (mut reported, mut done) = ([0; 3], vec![false; must.len()]);
        let mut order = turns.into_iter().chain((0..3).cycle());
        let mut idle = 0;
        while left.iter().any(|left| !left.is_empty()) {
            let core = order.next().unwrap();
            idle += 1;
            prop_assert!(idle < 1_000, "every program that has not ended waits");
            match left[core].front() {
                Some(Await(other, count)) if reported[usize::from(*other)] < *count => continue,
                Some(Report) => reported[core] += 1,
                Some(Store(address, _)) => {
                    let number = (address / 8) as usize;
                    for (other, records) in &must[number].2 {
                        let before = must.iter().enumerate().filter(|(_, (by, at, _))| by == other && at < records);
                        let undone: Vec<_> = before.filter(|(store, _)| !done[*store]).collect();
                        prop_assert!(undone.is_empty(), "store {number} comes before {undone:?}");
                    }
                    done[number] = true;
                }
                None => continue,
                _ => {}
            }
            left[core].pop_front();
            idle = 0;
        }
    }
}
