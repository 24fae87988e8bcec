//! What a program does, operation by operation, in any recording format.

use super::super::{OPS_PER_FILL, Trace, TraceProgram};
use crate::message::{Op, OpBuffer, OpSource, ProgramForm, UNKNOWN_VALUE};

/// An operation with the bytes it carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Did {
    Begin,
    End,
    Compute(u32),
    Load(u64, u8),
    Store(u64, Vec<u8>),
    CounterAtomicStore(u64, Vec<u8>),
    NonTemporal(u64, Vec<u8>),
    Clwb(u64),
    Clflushopt(u64),
    Clflush(u64),
    WriteBackCounters(u64),
    Fence,
    FullFence,
    Report,
    Await(u16, u64),
}

/// Every operation of the trace in `form`, without its marks. Also checks that pieces are bounded and do not mix transactions.
pub(in crate::trace) fn operations_of(trace: &Trace, form: ProgramForm) -> Vec<Did> {
    operations_in(trace, trace.program(form).unwrap())
}

/// The operations of each core that runs the trace.
pub(in crate::trace) fn operations_of_cores(trace: &Trace, form: ProgramForm) -> Vec<Vec<Did>> {
    trace.programs(form).unwrap().into_iter().map(|program| operations_in(trace, program)).collect()
}

fn operations_in(trace: &Trace, mut program: TraceProgram) -> Vec<Did> {
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        assert!(!buffer.ops.is_empty() && buffer.ops.len() <= OPS_PER_FILL);
        assert!(buffer.ops.iter().skip(1).all(|op| *op != Op::TxBegin));
        assert!(buffer.ops.iter().rev().skip(1).all(|op| *op != Op::TxEnd));
        all.extend(buffer.ops.iter().filter(|op| **op != Op::Mark).map(|op| did(*op, &buffer)));
        buffer.clear();
    }
    assert!(!program.next_transaction(&mut buffer), "the end is final");
    assert_eq!(trace.failure(), None);
    all
}

/// Of every operation of the trace, without marks, whether it belongs to the instruction of the one before it.
pub(in crate::trace) fn joined_of(trace: &Trace, form: ProgramForm) -> Vec<bool> {
    let mut program = trace.program(form).unwrap();
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        let operations = (0..buffer.ops.len()).filter(|&index| buffer.ops[index] != Op::Mark);
        all.extend(operations.map(|index| buffer.is_joined(index)));
        buffer.clear();
    }
    all
}

fn did(op: Op, buffer: &OpBuffer) -> Did {
    let in_line = |address: u64, length: u8| assert!(address % 64 + u64::from(length) <= 64);
    match op {
        Op::TxBegin => Did::Begin,
        Op::TxEnd => Did::End,
        Op::Compute { instructions } => Did::Compute(instructions),
        Op::Load { address, length, dependent: false, bytes: UNKNOWN_VALUE } => {
            in_line(address, length);
            Did::Load(address, length)
        }
        Op::Store { address, length, bytes } => {
            in_line(address, length);
            Did::Store(address, buffer.slice(bytes, length).to_vec())
        }
        Op::CounterAtomicStore { address, length, bytes } => {
            in_line(address, length);
            Did::CounterAtomicStore(address, buffer.slice(bytes, length).to_vec())
        }
        Op::NonTemporalStore { address, length, bytes } => {
            in_line(address, length);
            Did::NonTemporal(address, buffer.slice(bytes, length).to_vec())
        }
        Op::Clwb { address } => Did::Clwb(address),
        Op::Clflushopt { address } => Did::Clflushopt(address),
        Op::Clflush { address } => Did::Clflush(address),
        Op::CounterCacheWriteback { address } => Did::WriteBackCounters(address),
        Op::Sfence => Did::Fence,
        Op::Mfence => Did::FullFence,
        Op::Report => Did::Report,
        Op::Await { core, count } => Did::Await(core, count),
        other => panic!("a trace has no {other:?}"),
    }
}
