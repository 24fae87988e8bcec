//! Operations that a program leaves out have the numbers that the steps of the recording have.

use super::super::tests::*;
use super::super::{Done, Omitted, Steps};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A file in two pieces with a hole between them, and a second one that begins within a line.
const FILES: &str =
    "|REGISTER_FILE;a;0x10000;0x400;0x0|REGISTER_FILE;a;0x10800;0x1c8;0x1000|REGISTER_FILE;b;0x20010;0x100;0x10";

fn records() -> impl Strategy<Value = String> {
    let range = (prop_oneof![0x0fff0u64..0x10a00, 0x1ff00u64..0x20200], 0u64..0x900);
    let record = prop_oneof![
        2 => range.clone().prop_map(|(at, size)| format!("|FLUSH;{at:#x};{size:#x}")),
        1 => range.prop_map(|(at, size)| format!("|DEEP_SYNC;{at:#x};{size:#x}")),
        1 => Just("|FENCE".to_owned()),
        2 => (0u64..0x78).prop_map(|word| format!("|STORE;{:#x};0x1;0x8", 0x10000 + 8 * word)),
    ];
    prop::collection::vec(record, 0..40).prop_map(|records| format!("{FILES}{}", records.concat()))
}

/// The numbers of flushes and fences, as the steps have them.
fn numbers(steps: Steps) -> (Vec<u64>, Vec<u64>) {
    let (mut flushes, mut fences) = (Vec::new(), Vec::new());
    steps
        .each(false, &|_| {}, &mut |step| {
            match step.done {
                Done::Flush { number, .. } => flushes.push(number),
                Done::Fence { number, .. } => fences.push(number),
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    (flushes, fences)
}

proptest! {
    #[test]
    fn program_without_some_operations(records in records(), seed in any::<u64>()) {
        let text = log(&records);
        let trace = open(&text);
        let whole = operations(&trace);
        let count = |wanted: fn(&Did) -> bool| whole.iter().filter(|did| wanted(did)).count() as u64;
        let (flushes, fences) = numbers(trace.steps(&Arc::default()).unwrap());
        prop_assert_eq!(&flushes, &(0..count(|did| matches!(did, Did::Flush(_)))).collect::<Vec<_>>());
        prop_assert_eq!(&fences, &(0..count(|did| *did == Did::Fence)).collect::<Vec<_>>());
        let chosen = |number: u64, of: u64| (seed.rotate_left((number % 64) as u32) ^ of).is_multiple_of(3);
        let of = |kind: u64| (0..10_000).filter(|&number| chosen(number, kind)).collect::<Vec<u64>>();
        let without = trace.without(Omitted::new(&of(1), &of(2)));
        let left = |all: Vec<u64>, kind: u64| all.into_iter().filter(|&number| !chosen(number, kind)).collect();
        prop_assert_eq!(numbers(without.steps(&Arc::default()).unwrap()), (left(flushes, 1), left(fences, 2)));
        let (mut flush, mut fence) = (0, 0);
        let expected: Vec<Did> = whole
            .into_iter()
            .filter(|did| {
                let (next, kind) = match did {
                    Did::Flush(_) => (&mut flush, 1),
                    Did::Fence => (&mut fence, 2),
                    _ => return true,
                };
                *next += 1;
                !chosen(*next - 1, kind)
            })
            .collect();
        prop_assert_eq!(operations(&without), expected);
        prop_assert_eq!(operations(&trace.without(Omitted::default())), operations(&trace));
    }
}

#[test]
fn counters_of_a_flush_that_is_left_out_are_not_written_back() {
    let text =
        log("|REGISTER_FILE;a;0x10000;0x2000;0x0|STORE;0x10000;0x1;0x8|FLUSH;0x10000;0x8|FLUSH;0x11000;0x8|FENCE");
    let all = operations_in(&open(&text), ProgramForm::Annotated);
    let blocks = |all: &[Did]| all.iter().filter(|did| matches!(did, Did::WriteBackCounters(_))).count();
    let without = open(&text).without(Omitted::new(&[1], &[]));
    assert_eq!((blocks(&all), blocks(&operations_in(&without, ProgramForm::Annotated))), (2, 1));
}
