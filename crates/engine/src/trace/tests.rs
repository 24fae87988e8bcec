//! Tests of the whole path from bytes of log to operations.

mod annotated;
pub(super) mod did;
mod flush_free;
mod grammar;
mod malformed;
mod omitted;
mod random;
mod real;

use super::{OPS_PER_FILL, Trace};
use crate::message::{Op, OpBuffer, OpSource, ProgramForm};

/// An operation with the bytes it carries.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Did {
    Begin,
    End,
    Store(u64, Vec<u8>),
    Flush(u64),
    WriteBackCounters(u64),
    Fence,
}

/// Every operation of the trace in the plain form.
fn operations(trace: &Trace) -> Vec<Did> {
    operations_in(trace, ProgramForm::Plain)
}

/// Every operation of the trace in `form`, without its marks. Also checks that pieces are bounded and do not mix transactions.
fn operations_in(trace: &Trace, form: ProgramForm) -> Vec<Did> {
    let mut program = trace.program(form).unwrap();
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        assert!(!buffer.ops.is_empty() && buffer.ops.len() <= OPS_PER_FILL);
        assert!(buffer.ops.iter().skip(1).all(|op| *op != Op::TxBegin));
        assert!(buffer.ops.iter().rev().skip(1).all(|op| *op != Op::TxEnd));
        all.extend(buffer.ops.iter().filter(|op| **op != Op::Mark).map(|op| match *op {
            Op::TxBegin => Did::Begin,
            Op::TxEnd => Did::End,
            Op::Store { address, length, bytes } => {
                assert!(address % 64 + u64::from(length) <= 64);
                Did::Store(address, buffer.slice(bytes, length).to_vec())
            }
            Op::Clwb { address } => Did::Flush(address),
            Op::CounterCacheWriteback { address } => Did::WriteBackCounters(address),
            Op::Sfence => Did::Fence,
            other => panic!("a log has no {other:?}"),
        }));
        buffer.clear();
    }
    assert!(!program.next_transaction(&mut buffer), "the end is final");
    assert_eq!(trace.failure(), None);
    all
}

const START: &str = "==7== pmemcheck-1.0, a simple persistent store checker\n==7== \n==7== START";
const STOP: &str = "\n==7== |STOP\n==7== Number of stores not made persistent: 0\n";

/// A complete log of `records`, each with the bar before it.
fn log(records: &str) -> String {
    format!("{START}{records}{STOP}")
}

fn open(text: &str) -> Trace {
    Trace::from_bytes("t.log", text.as_bytes(), false).unwrap()
}

fn error(text: &[u8], allow_truncated: bool) -> String {
    Trace::from_bytes("t.log", text, allow_truncated).unwrap_err().to_string()
}
