//! The hardware-logged form of every workload: the stores of the plain form in place, a `flush_data` of what they
//! changed, and no log, fences or annotations.

use super::{config, start};
use crate::message::{Annotation, Omission, Op, OpBuffer, OpSource, ProgramForm, ProgramRecovery, RecoveryReport};
use crate::workload::{Recovery, WORKLOADS, WorkloadConfig};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn hardware_logged(config: &WorkloadConfig, leave_out: Option<Annotation>) -> WorkloadConfig {
    let leave_out = leave_out.map(Omission::Annotation);
    WorkloadConfig { form: ProgramForm::HardwareLogged, leave_out, ..config.clone() }
}

/// The operations of every transaction of the program of `config`.
fn transactions(config: &WorkloadConfig) -> Vec<Vec<Op>> {
    let (_, _, mut program) = start(config);
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        all.push(buffer.ops.clone());
        buffer.clear();
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn each_touched_line_is_flushed_once_after_the_stores_and_there_is_nothing_else(
        which in 0..WORKLOADS.len(), lines in 1..17u64, copy in 3..7u32, seed: u64, operations in 1..60u64,
    ) {
        let mut config = hardware_logged(&config(WORKLOADS[which].kind, lines * 64, seed, operations), None);
        config.program.copy_bytes = 1 << copy;
        let heap = start(&config).0.layouts()[0].heap.clone();
        for ops in transactions(&config) {
            let [Op::TxBegin, Op::LoggedTxBegin, work @ .., Op::LoggedTxEnd, Op::TxEnd] = &ops[..] else {
                panic!("a transaction begins and ends for program and hardware: {ops:?}");
            };
            let first_store = work.iter().position(|op| matches!(op, Op::Store { .. })).expect("every one writes");
            let first_flush = work.iter().position(|op| matches!(op, Op::FlushData { .. })).expect("and flushes");
            let (reads, writes) = work.split_at(first_store);
            let (stores, flushes) = writes.split_at(first_flush - first_store);
            let only_reads = reads.iter().all(|op| match op {
                Op::Load { address, .. } => heap.contains(address),
                op => matches!(op, Op::Compute { .. }),
            });
            prop_assert!(only_reads, "{ops:?}");
            let mut stored = BTreeSet::new();
            for op in stores {
                let Op::Store { address, .. } = op else { panic!("{op:?} among the stores") };
                prop_assert!(heap.contains(address));
                stored.insert(address & !63);
            }
            let flushed: Vec<u64> = flushes.iter().map(|op| match op {
                Op::FlushData { address } => *address,
                op => panic!("{op:?} among the flushes"),
            }).collect();
            prop_assert_eq!(flushed, stored.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn flush_data_can_be_left_out_and_no_other_annotation(
        which in 0..WORKLOADS.len(), lines in 1..17u64, seed: u64, operations in 1..40u64,
    ) {
        let config = config(WORKLOADS[which].kind, lines * 64, seed, operations);
        let complete = transactions(&hardware_logged(&config, None));
        let mut without = complete.clone();
        without.iter_mut().for_each(|ops| ops.retain(|op| !matches!(op, Op::FlushData { .. })));
        for annotation in Annotation::ALL {
            let found = transactions(&hardware_logged(&config, Some(annotation)));
            let expected = if annotation == Annotation::FlushData { &without } else { &complete };
            prop_assert!(found == *expected, "{annotation:?}");
        }
    }
}

#[test]
fn program_has_nothing_to_recover() {
    for workload in WORKLOADS {
        let config = hardware_logged(&config(workload.kind, 256, 4, 50), None);
        let (plan, _, mut program) = start(&config);
        let recovery = Recovery::new(&plan);
        let mut buffer = OpBuffer::default();
        while program.next_transaction(&mut buffer) {}
        assert_eq!(recovery.recover(0, program.memory()), RecoveryReport::default());
        recovery.check(0, program.memory()).unwrap();
    }
}
