//! The flush-free form of every workload: the plain form without its flushes, recovered wherever power fails if each
//! store is durable at once.

use super::crash::{explore, explore_broken};
use super::{config, start, styled};
use crate::config::{LogGranularity, LogStores};
use crate::message::{Op, OpBuffer, OpSource, ProgramForm};
use crate::workload::{WORKLOADS, WorkloadConfig};
use proptest::prelude::*;

/// The operations of every transaction of the program of `config` in `form`, and the bytes that they carry.
fn transactions(config: &WorkloadConfig, form: ProgramForm) -> Vec<(Vec<Op>, Vec<u8>)> {
    let (_, _, mut program) = start(&WorkloadConfig { form, ..config.clone() });
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        all.push((buffer.ops.clone(), buffer.bytes.clone()));
        buffer.clear();
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn flush_free_form_is_the_plain_form_without_its_flushes(
        which in 0..WORKLOADS.len(), lines in 1..17u64, copy in 3..7u32, by_line: bool, seed: u64, operations in 1..60u64,
    ) {
        let mut config = config(WORKLOADS[which].kind, lines * 64, seed, operations);
        config.program.copy_bytes = 1 << copy;
        config.program.log_granularity = if by_line { LogGranularity::Line } else { LogGranularity::Word };
        let mut plain = transactions(&config, ProgramForm::Plain);
        for (ops, _) in &mut plain {
            let with_flushes = ops.len();
            ops.retain(|op| !matches!(op, Op::Clwb { .. }));
            prop_assert!(ops.len() < with_flushes, "the plain form flushes");
        }
        prop_assert!(transactions(&config, ProgramForm::FlushFree) == plain);
    }
}

#[test]
fn log_past_the_caches_is_the_same_log_and_needs_no_flush() {
    for workload in WORKLOADS.iter().filter(|workload| workload.has_log) {
        let mut cached = config(workload.kind, 256, 3, 20);
        cached.program.copy_bytes = 64;
        let mut past = cached.clone();
        past.program.log_stores = LogStores::NonTemporal;
        let through = |ops: &[Op]| -> Vec<Op> {
            let as_cached = |op: &Op| match *op {
                Op::NonTemporalStore { address, length, bytes } => Op::Store { address, length, bytes },
                op => op,
            };
            ops.iter().filter(|op| !matches!(op, Op::Clwb { .. })).map(as_cached).collect()
        };
        let flushes = |ops: &[Op]| ops.iter().filter(|op| matches!(op, Op::Clwb { .. })).count();
        for form in [ProgramForm::Plain, ProgramForm::FlushFree] {
            for ((ops, bytes), (of_cached, cached_bytes)) in
                transactions(&past, form).iter().zip(&transactions(&cached, form))
            {
                assert!(ops.iter().any(|op| matches!(op, Op::NonTemporalStore { .. })), "{}", workload.name);
                assert_eq!((through(ops), bytes), (through(of_cached), cached_bytes), "{}", workload.name);
                assert_eq!(flushes(ops) < flushes(of_cached), form == ProgramForm::Plain);
            }
        }
        let form = ProgramForm::Annotated;
        assert!(transactions(&past, form) == transactions(&cached, form), "its state word is CounterAtomic");
    }
}

/// Programs of every workload, the smallest of which lap their rings, in both granularities of the log.
fn programs() -> impl Iterator<Item = (&'static str, bool, WorkloadConfig)> {
    WORKLOADS.iter().flat_map(|workload| {
        [(64, 8, 70), (256, 32, 24), (1024, 64, 8)].into_iter().flat_map(move |(tx_size, copy_bytes, operations)| {
            [LogGranularity::Word, LogGranularity::Line].map(|granularity| {
                let mut config = config(workload.kind, tx_size, tx_size + 11, operations);
                config.program.log_ring.0 = 0;
                config.program.copy_bytes = copy_bytes;
                (workload.name, workload.has_log, styled(&config, (ProgramForm::FlushFree, granularity)))
            })
        })
    })
}

#[test]
fn recovery_gives_the_state_before_or_after_every_prefix_of_the_stores() {
    for (name, has_log, config) in programs() {
        let tally = explore(&config, 1).unwrap_or_else(|error| panic!("{name} {config:?}: {error}"));
        assert!(tally.before > 0 && tally.after > 0, "{name} {tally:?}");
        let laps = tally.laps > 0 || config.tx_size > 64;
        assert!(!has_log || tally.undone > 10 && tally.abandoned > 10 && laps, "{name} {tally:?}");
    }
}

/// Recovery depends only on the order of stores: here the first store of Mutate, or of a list's head, comes before the
/// last store of Prepare.
#[test]
fn store_in_place_before_the_log_entry_is_whole_is_caught() {
    for (name, _, config) in programs() {
        let outcome = explore_broken(&config, 1, |ops| {
            let fence = ops.iter().position(|op| *op == Op::Sfence).expect("Prepare ends with a fence");
            let is_store = |op: &Op| matches!(op, Op::Store { .. });
            let last = ops[..fence].iter().rposition(is_store).expect("Prepare stores");
            let first = fence + ops[fence..].iter().position(is_store).expect("and so does what comes after");
            ops.swap(last, first);
        });
        assert!(outcome.is_err(), "{name}: {outcome:?}");
    }
}
