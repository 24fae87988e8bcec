//! The ledger: what the program intends to write, taken from its operations before a cache or core has seen them. It is
//! placed between the program and its core, passes every operation on unchanged, and sends the write set of each
//! transaction to the auditor, so that the golden state after transaction k is known before it executes.

use crate::message::{BaseImage, CoreId, Line, LineBytes, Op, OpBuffer, OpSource};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What one buffer of operations writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// The core that runs the transaction.
    pub core: CoreId,
    /// The transaction's number, from 0; `None` for operations outside any transaction (a trace's first part).
    pub number: Option<u64>,
    /// Every line written, with its bytes after the transaction, in the order of the first writes.
    pub writes: Vec<(Line, LineBytes)>,
    /// The lines written before the transaction's first fence, with their bytes at that time: for a program with a log,
    /// what Prepare writes. Empty without a fence.
    pub prepared: Vec<(Line, LineBytes)>,
}

/// The channel from the ledgers to the auditor.
pub fn ledger_channel() -> (Sender<TransactionRecord>, Receiver<TransactionRecord>) {
    channel()
}

/// A program whose writes are recorded.
pub struct Ledger<S> {
    program: S,
    core: CoreId,
    base: Arc<dyn BaseImage>,
    memory: FxHashMap<Line, LineBytes>,
    transactions: u64,
    records: Sender<TransactionRecord>,
}

impl<S: OpSource> Ledger<S> {
    /// Records the writes of `program`, which runs on `core` over `base`.
    pub fn new(program: S, core: CoreId, base: Arc<dyn BaseImage>, records: Sender<TransactionRecord>) -> Self {
        Self { program, core, base, memory: FxHashMap::default(), transactions: 0, records }
    }

    fn record(&mut self, buffer: &OpBuffer) -> TransactionRecord {
        let mut record = TransactionRecord { core: self.core, number: None, writes: Vec::new(), prepared: Vec::new() };
        let mut place: FxHashMap<Line, usize> = FxHashMap::default();
        for op in &buffer.ops {
            match *op {
                Op::TxBegin => {
                    record.number = Some(self.transactions);
                    self.transactions += 1;
                }
                Op::Store { address, length, bytes }
                | Op::CounterAtomicStore { address, length, bytes }
                | Op::NonTemporalStore { address, length, bytes } => {
                    let line = Line::containing(address);
                    let offset = (address - line.address()) as usize;
                    let content =
                        self.memory.entry(line).or_insert_with(|| self.base.line(line).copied().unwrap_or([0; 64]));
                    content[offset..offset + usize::from(length)].copy_from_slice(buffer.slice(bytes, length));
                    let at = *place.entry(line).or_insert_with(|| {
                        record.writes.push((line, [0; 64]));
                        record.writes.len() - 1
                    });
                    record.writes[at].1 = *content;
                }
                Op::Sfence if record.prepared.is_empty() => record.prepared.clone_from(&record.writes),
                _ => {}
            }
        }
        record
    }
}

impl<S: OpSource> OpSource for Ledger<S> {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        if !self.program.next_transaction(buffer) {
            return false;
        }
        let record = self.record(buffer);
        // The auditor may be gone already, if the run was stopped early; the program continues.
        let _ = self.records.send(record);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::fixture::Populated;

    struct Script(Vec<OpBuffer>);
    impl OpSource for Script {
        fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
            if self.0.is_empty() {
                return false;
            }
            *buffer = self.0.remove(0);
            true
        }
    }

    #[test]
    fn write_sets_hold_the_bytes_after_the_transaction_over_base_and_earlier_writes() {
        let base = Arc::new(Populated::new([(0, [9; 64])]));
        let mut outside = OpBuffer::default();
        outside.store(64, &[1, 2], 8);
        let mut first = OpBuffer::default();
        first.ops.push(Op::TxBegin);
        first.store(0, &[5; 4], 8);
        first.store(66, &[3], 8);
        first.store(2, &[6; 4], 8);
        let Some(&Op::Store { address, length, bytes }) = first.ops.last() else { unreachable!("the last is a store") };
        *first.ops.last_mut().unwrap() = Op::CounterAtomicStore { address, length, bytes };
        first.ops.push(Op::Sfence);
        first.store(8, &[7], 8);
        first.ops.extend([Op::Sfence, Op::TxEnd]);
        let (sender, receiver) = ledger_channel();
        let mut ledger = Ledger::new(Script(vec![outside, first]), 3, base, sender);
        let mut buffer = OpBuffer::default();
        while ledger.next_transaction(&mut buffer) {}
        let records: Vec<_> = receiver.try_iter().collect();
        assert_eq!(records[0].number, None);
        let mut zero_line = [9; 64];
        zero_line[..6].copy_from_slice(&[5, 5, 6, 6, 6, 6]);
        let mut one_line = [0; 64];
        one_line[..3].copy_from_slice(&[1, 2, 3]);
        let prepared = vec![(Line(0), zero_line), (Line(1), one_line)];
        zero_line[8] = 7;
        let writes = vec![(Line(0), zero_line), (Line(1), one_line)];
        assert_eq!(records[1], TransactionRecord { core: 3, number: Some(0), writes, prepared });
    }
}
