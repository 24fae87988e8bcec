//! The operations contain everything that the program does: replayed on a plain byte map they produce the program's
//! memory, every load finds what it expects, and the structure is intact after every transaction.

use super::{STYLES, config, start, styled};
use crate::message::{ByteView, Op, OpBuffer, OpSource, ProgramRecovery};
use crate::workload::{Recovery, WORKLOADS, WorkloadConfig, WorkloadKind};
use proptest::prelude::*;

/// Runs `operations` transactions in every style; checks the structure every `check_every` of them.
fn replay(kind: WorkloadKind, tx_size: u64, copy_bytes: u32, seed: u64, operations: u64, check_every: u64) {
    let mut config = config(kind, tx_size, seed, operations);
    config.program.copy_bytes = copy_bytes;
    for style in STYLES {
        replay_one(&styled(&config, style), check_every);
    }
}

fn replay_one(config: &WorkloadConfig, check_every: u64) {
    let (plan, base, mut program) = start(config);
    let recovery = Recovery::new(&plan);
    recovery.check(0, program.memory()).unwrap();
    let mut map = base.bytes();
    let mut buffer = OpBuffer::default();
    let mut number = 0;
    while program.next_transaction(&mut buffer) {
        assert_eq!(buffer.ops.first(), Some(&Op::TxBegin));
        let work = buffer.ops.iter().find(|op| !matches!(op, Op::TxBegin | Op::LoggedTxBegin));
        assert!(matches!(work, Some(Op::Compute { instructions }) if *instructions >= 20));
        assert_eq!(buffer.ops.last(), Some(&Op::TxEnd));
        for op in &buffer.ops {
            match *op {
                Op::Store { address, length, bytes } | Op::CounterAtomicStore { address, length, bytes } => {
                    assert!(address % 64 + u64::from(length) <= 64);
                    assert!(u32::from(length) <= config.program.copy_bytes);
                    map[address as usize..][..usize::from(length)].copy_from_slice(buffer.slice(bytes, length));
                }
                Op::Load { address, length, bytes, .. } => {
                    assert_eq!(&map[address as usize..][..usize::from(length)], buffer.slice(bytes, length));
                }
                _ => {}
            }
        }
        number += 1;
        if number % check_every == 0 || number == config.operations_per_core {
            let mut memory = vec![0; map.len()];
            program.memory().read(0, &mut memory);
            assert!(memory == map, "{config:?}: memory differs after transaction {number}");
            recovery.check(0, program.memory()).unwrap();
        }
        buffer.clear();
    }
    assert_eq!(number, config.operations_per_core);
}

#[test]
fn operations_replay_to_the_memory_of_the_program_after_thousands_of_transactions() {
    for workload in WORKLOADS {
        for (tx_size, operations) in [(64, 3_000), (256, 1_000), (1024, 400), (4096, 150)] {
            replay(workload.kind, tx_size, 16, 1, operations, 53);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_transaction_leaves_the_structure_whole(
        which in 0..WORKLOADS.len(), lines in 1..9u64, copy in 3..7u32, seed: u64, operations in 1..120u64,
    ) {
        replay(WORKLOADS[which].kind, lines * 64, 1 << copy, seed, operations, 1);
    }
}

#[test]
fn sixty_four_byte_transactions_cost_two_log_lines_and_each_line_is_flushed_once_per_stage() {
    for (kind, lines) in [(WorkloadKind::Array, 2), (WorkloadKind::Hash, 2)] {
        let config = config(kind, 64, 1, 200);
        let (plan, _, mut program) = start(&config);
        let log = &plan.layouts()[0].log;
        let mut buffer = OpBuffer::default();
        while program.next_transaction(&mut buffer) {
            let stages: Vec<&[Op]> = buffer.ops.split(|op| *op == Op::Sfence).collect();
            assert_eq!(stages.len(), 4, "Prepare, Mutate, Commit and the end");
            for (stage, ops) in stages[..3].iter().enumerate() {
                let mut flushed: Vec<u64> = Vec::new();
                let mut stored: Vec<u64> = Vec::new();
                for op in *ops {
                    match *op {
                        Op::Clwb { address } => flushed.push(address),
                        Op::Store { address, .. } => stored.push(address & !63),
                        _ => {}
                    }
                }
                assert!(flushed.iter().all(|line| log.contains(line) == (stage != 1)));
                stored.sort_unstable();
                stored.dedup();
                flushed.sort_unstable();
                assert_eq!(flushed, stored, "every touched line is flushed exactly once");
                assert!(stage != 0 || flushed.len() == lines);
                assert!(stage != 2 || flushed.len() == 1);
            }
            buffer.clear();
        }
    }
}
