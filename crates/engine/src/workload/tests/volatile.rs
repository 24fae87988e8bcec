//! Volatile accesses of the computation between transactions: as many as configured, where they are configured, and
//! without any effect on the transactions.

use super::{STYLES, config, start, styled};
use crate::config::ByteSize;
use crate::message::{ByteView, Op, OpBuffer, OpSource, PAGE_BYTES, ProgramForm};
use crate::workload::{WORKLOADS, WorkloadConfig, WorkloadKind};
use std::ops::Range;

fn thinking(config: &WorkloadConfig, [instructions, loads, stores, hot]: [u32; 4]) -> WorkloadConfig {
    let mut config = config.clone();
    config.program.think_instructions = instructions;
    (config.program.think_load_percent, config.program.think_store_percent) = (loads, stores);
    config.program.think_hot_percent = hot;
    config.program.think_footprint = ByteSize(32 << 10);
    config
}

/// The operations of every transaction with the bytes that they store or expect.
fn operations(config: &WorkloadConfig) -> Vec<Vec<(Op, Vec<u8>)>> {
    let (_, _, mut program) = start(config);
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        let bytes = |op: &Op| match *op {
            Op::Store { length, bytes, .. }
            | Op::CounterAtomicStore { length, bytes, .. }
            | Op::Load { length, bytes, .. } => buffer.slice(bytes, length).to_vec(),
            _ => Vec::new(),
        };
        all.push(buffer.ops.iter().map(|op| (*op, bytes(op))).collect());
        buffer.clear();
    }
    all
}

fn address(op: &Op) -> Option<u64> {
    match *op {
        Op::Store { address, .. } | Op::CounterAtomicStore { address, .. } | Op::Load { address, .. } => Some(address),
        Op::Clwb { address } | Op::CounterCacheWriteback { address } | Op::FlushData { address } => Some(address),
        _ => None,
    }
}

fn volatile(config: &WorkloadConfig) -> Range<u64> {
    start(config).0.layouts()[0].volatile.clone()
}

#[test]
fn each_computation_has_its_share_of_loads_and_stores() {
    let plain = config(WorkloadKind::LinkedList, 64, 1, 10);
    for [loads, stores] in [[25, 2], [0, 1], [1, 0], [50, 50], [100, 0], [33, 67]] {
        let config = thinking(&plain, [1_000, loads, stores, 90]);
        let data = volatile(&config);
        assert_eq!(data.end - data.start, 32 << 10);
        for operations in operations(&config) {
            let accesses = operations.iter().filter(|(op, _)| address(op).is_some_and(|at| data.contains(&at)));
            let accesses: Vec<&Op> = accesses.map(|(op, _)| op).collect();
            let of = |store: bool| accesses.iter().filter(|op| matches!(op, Op::Store { .. }) == store).count();
            assert_eq!([of(false), of(true)], [loads as usize * 10, stores as usize * 10]);
            assert!(accesses.iter().all(|op| matches!(
                op,
                Op::Store { address, length: 8, .. } | Op::Load { address, length: 8, dependent: false, .. }
                    if address.is_multiple_of(8)
            )));
            // A push of a list computes nothing itself.
            let computed = operations.iter().map(|(op, _)| match op {
                Op::Compute { instructions } => *instructions,
                _ => 0,
            });
            assert_eq!(computed.sum::<u32>(), 1_000 - 10 * (loads + stores));
        }
    }
}

#[test]
fn shares_hold_over_many_short_computations() {
    let config = thinking(&config(WorkloadKind::Array, 64, 1, 400), [7, 25, 2, 90]);
    let data = volatile(&config);
    let accesses = operations(&config).concat();
    let accesses = accesses.iter().filter(|(op, _)| address(op).is_some_and(|at| data.contains(&at))).count();
    assert_eq!(accesses, 400 * 7 * 27 / 100);
}

#[test]
fn hot_share_goes_to_the_first_eighth() {
    let plain = config(WorkloadKind::Array, 64, 1, 20);
    let share = |hot| {
        let config = thinking(&plain, [1_000, 80, 20, hot]);
        let data = volatile(&config);
        let at: Vec<u64> = operations(&config).concat().iter().filter_map(|(op, _)| address(op)).collect();
        let at: Vec<u64> = at.into_iter().filter(|at| data.contains(at)).collect();
        let eighth = data.start + (data.end - data.start) / 8;
        at.iter().filter(|at| **at < eighth).count() as f64 / at.len() as f64
    };
    assert_eq!([share(0), share(100)], [0.0, 1.0]);
    assert!((0.88..0.92).contains(&share(90)), "{}", share(90));
}

#[test]
fn transactions_are_those_of_a_program_that_accesses_nothing_volatile() {
    for workload in WORKLOADS {
        for style in STYLES {
            let plain = styled(&config(workload.kind, 256, 5, 30), style);
            let config = thinking(&plain, [200, 25, 10, 90]);
            let data = volatile(&config);
            let (without, with) = (operations(&plain), operations(&config));
            let kept = |operations: &[(Op, Vec<u8>)]| {
                let computes = |op: &Op| matches!(op, Op::Compute { .. });
                let kept = operations.iter().filter(|(op, _)| !computes(op));
                let kept = kept.filter(|(op, _)| !address(op).is_some_and(|at| data.contains(&at)));
                // Where the bytes lie in the buffer differs.
                kept.map(|(op, bytes)| (address(op), std::mem::discriminant(op), bytes.clone())).collect::<Vec<_>>()
            };
            for (without, with) in without.iter().zip(&with) {
                assert!(kept(without) == kept(with), "{} {style:?}", workload.name);
                let logged = with.iter().position(|(op, _)| *op == Op::LoggedTxBegin);
                assert_eq!(logged.is_some(), style.0 == ProgramForm::HardwareLogged);
                let last = with.iter().rposition(|(op, _)| address(op).is_some_and(|at| data.contains(&at)));
                assert!(logged.is_none() || last < logged, "{}: hardware logs nothing volatile", workload.name);
                assert!(!with.iter().any(|(op, _)| {
                    let flushes =
                        matches!(op, Op::Clwb { .. } | Op::FlushData { .. } | Op::CounterCacheWriteback { .. });
                    flushes && address(op).is_some_and(|at| data.contains(&at))
                }));
            }
            assert_eq!(without.len(), with.len());
        }
    }
}

#[test]
fn loads_find_what_was_stored() {
    let config = thinking(&config(WorkloadKind::Queue, 64, 2, 60), [500, 30, 30, 50]);
    let mut map = std::collections::BTreeMap::new();
    let mut found = 0;
    let data = volatile(&config);
    for (op, bytes) in operations(&config).concat() {
        match op {
            Op::Store { address, .. } if data.contains(&address) => drop(map.insert(address, bytes)),
            Op::Load { address, .. } if data.contains(&address) => {
                let expected = map.get(&address).cloned();
                found += usize::from(expected.is_some());
                assert_eq!(bytes, expected.unwrap_or(vec![0; 8]));
            }
            _ => {}
        }
    }
    assert!(found > 1_000);
}

#[test]
fn volatile_data_follows_the_heap_and_exists_only_if_it_is_accessed() {
    let plain = config(WorkloadKind::Array, 64, 1, 10);
    assert!(volatile(&thinking(&plain, [1_000, 0, 0, 90])).is_empty());
    assert_eq!(start(&thinking(&plain, [20, 0, 0, 90])).0.base_key(), start(&plain).0.base_key());
    let mut config = thinking(&plain, [1_000, 0, 1, 90]);
    config.cores = 2;
    let (plan, base, mut program) = start(&config);
    let [first, second] = plan.layouts() else { panic!("two cores") };
    assert_eq!(first.heap.end, first.volatile.start);
    assert_eq!(first.volatile.end, second.log.start);
    assert!(first.volatile.start.is_multiple_of(PAGE_BYTES) && first.volatile.end.is_multiple_of(PAGE_BYTES));
    assert_ne!(plan.base_key(), start(&plain).0.base_key());
    assert_eq!(crate::message::BaseImage::end(&*base), second.volatile.end);
    assert_eq!(program.memory().read_u64(first.volatile.end - 8), 0);
}
