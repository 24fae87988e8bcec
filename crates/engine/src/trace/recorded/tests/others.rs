//! Memory of a recorded program that is not persistent.

use super::super::tests::*;
use super::Did::{Compute, Fence, Load, Store};
use super::build::{BASE, SIZE};
use crate::trace::{Omitted, OtherMemory};
use proptest::prelude::*;

/// The stack and the heap, by the number of a line.
const STACK: u64 = 0x7fff_0000_0000 / 64;
const HEAP: u64 = 0x5555_0000_0000 / 64 + 3;

fn plain(stream: Stream) -> Vec<Did> {
    operations(&open(stream.end(0)), ProgramForm::Plain)
}

fn value(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

#[test]
fn other_memory_is_behind_the_files_and_what_is_near_goes_to_lines_that_were_named() {
    let stream = Stream::with_file()
        .other(0x26, 2, 0x40, STACK)
        .other(0x27, 0, 0x44, HEAP)
        .near(2, 1)
        .store(0x11, 6, 0x48, BASE, &[7])
        .near(0, 1)
        .near(0, 1)
        .fence(0x17, 2, 0x4c);
    let (stack, heap) = (SIZE, SIZE + 0x1000 + 3 * 64);
    let wanted = [
        Compute(2),
        Load(stack, 8),
        Store(heap, value(1)),
        Compute(1),
        Load(stack, 8),
        Compute(1),
        Load(heap, 8),
        Compute(1),
        Store(heap, value(2)),
        Store(0, vec![7]),
        Store(heap, value(3)),
        Store(heap, value(4)),
        Fence,
    ];
    let trace = open(stream.clone().end(0));
    assert_eq!(operations(&trace, ProgramForm::Plain), wanted);
    let others = OtherMemory { loads: 3, stores: 4, lines: 2, size: 0x2000 };
    assert_eq!((trace.summary().others, trace.summary().end), (Some(others), SIZE));
    assert_eq!([trace.end(), trace.base_of_all().end()], [SIZE + 0x2000; 2]);

    let mut without = open(stream.end(0));
    assert!(!without.leaves_out_others());
    without.leave_out_others();
    let left = [Compute(10), Store(0, vec![7]), Compute(2), Fence];
    assert_eq!(operations(&without, ProgramForm::Plain), left);
    assert!(without.leaves_out_others() && without.without(Omitted::default()).leaves_out_others());
    assert_eq!([without.end(), without.base_of_all().end()], [SIZE; 2]);
}

#[test]
fn recordings_before_the_eighth_version_have_nothing_of_it() {
    let trace = open(Stream::with_file().fence(0x17, 0, 0).end(0));
    assert_eq!((trace.summary().others, trace.end()), (None, SIZE));
}

#[test]
fn accesses_of_one_instruction_are_joined() {
    let push = Stream::with_file().load(0, 0x40, BASE, 8).other(0x27, 0, 0x40, STACK).other(0x26, 0, 0x44, STACK);
    assert_eq!(joined_of(&open(push.end(0)), ProgramForm::Plain), [false, true, false]);
    // Three accesses in two instructions.
    let several = Stream::with_file().other(0x26, 0, 0x40, STACK).near(3, 0).fence(0x17, 2, 0x44);
    assert_eq!(joined_of(&open(several.end(0)), ProgramForm::Plain), [false, false, false, true, false]);
}

#[test]
fn what_no_line_is_known_for_is_computation() {
    let stream = Stream::with_file().near(1, 0).fence(0x17, 3, 0).other(0x26, 0, 0, HEAP).near(0, 2).fence(0x17, 4, 0);
    let wanted = [Compute(1), Compute(1), Compute(1), Fence, Load(SIZE + 3 * 64, 8), Compute(1)];
    assert_eq!(plain(stream.clone())[..6], wanted);
    let instructions = |did: &Did| if let Compute(count) = did { *count } else { 0 };
    assert_eq!(plain(stream).iter().map(instructions).sum::<u32>(), 7);
}

#[test]
fn each_thread_has_lines_of_its_own_in_pages_of_all() {
    let stream = Stream::with_file().other(0x27, 0, 0, HEAP).thread(1).near(0, 1).other(0x27, 1, 0, STACK);
    let stream = stream.near(1, 0).follows(2, 0, 4).thread(0).near(1, 0).fence(0x17, 1, 0);
    let cores = operations_of_cores(&open(stream.end(0)), ProgramForm::Plain);
    let (heap, stack) = (SIZE + 3 * 64, SIZE + 0x1000);
    let first = [Store(heap, value(1)), Did::Report, Load(heap, 8), Fence];
    let second = [Compute(1), Store(stack, value(1)), Compute(1), Load(stack, 8), Did::Await(0, 1)];
    assert_eq!(cores, [first.to_vec(), second.to_vec()]);
}

#[test]
fn pages_of_instances_take_turns() {
    let stream = Stream::with_file().other(0x26, 0, 0, HEAP).other(0x26, 0, 0, STACK).store(0x11, 0, 0, BASE, &[1]);
    let trace = open(stream.end(0)).of_instances(2);
    let begin = 2 * SIZE;
    assert_eq!(trace.end(), begin + 0x4000);
    let of = |instance: u64| {
        let page = |number: u64| begin + (2 * number + instance) * 0x1000;
        vec![Load(page(0) + 3 * 64, 8), Load(page(1), 8), Store(instance * SIZE, vec![1])]
    };
    assert_eq!(operations_of_cores(&trace, ProgramForm::Plain), [of(0), of(1)]);
}

proptest! {
    #[test]
    fn near_accesses_are_spread_over_their_instructions(
        parts in prop::collection::vec((0..60u64, 0..40u64, 0..40u64), 1..30),
    ) {
        let mut stream = Stream::with_file().other(0x27, 0, 0, HEAP);
        for &(instructions, loads, stores) in &parts {
            stream = if loads + stores > 0 { stream.near(loads, stores) } else { stream };
            stream = stream.fence(0x17, instructions, 0);
        }
        let trace = open(stream.end(0));
        let (all, joined) = (operations(&trace, ProgramForm::Plain), joined_of(&trace, ProgramForm::Plain));
        let all: Vec<_> = all.into_iter().zip(joined).skip(1).collect();
        let found: Vec<_> = all.split(|(did, _)| *did == Fence).collect();
        for (&(instructions, loads, stores), found) in parts.iter().zip(found) {
            let count = |wanted: fn(&Did) -> bool| found.iter().filter(|(did, _)| wanted(did)).count() as u64;
            prop_assert_eq!(count(|did| matches!(did, Load(..))), loads);
            prop_assert_eq!(count(|did| matches!(did, Store(..))), stores);
            let executed = found.iter().map(|(did, joined)| match did {
                Compute(count) => u64::from(*count),
                _ => u64::from(!joined),
            });
            prop_assert_eq!(executed.sum::<u64>(), instructions);
            let gaps = found.split(|(did, _)| !matches!(did, Compute(_)));
            let gaps = gaps.map(|gap| gap.iter().map(|(did, _)| if let Compute(n) = did { *n } else { 0 }).sum::<u32>());
            let gaps: Vec<u32> = gaps.collect();
            prop_assert!(gaps.iter().max().unwrap() - gaps.iter().min().unwrap() <= 1, "{:?}", gaps);
        }
    }
}
