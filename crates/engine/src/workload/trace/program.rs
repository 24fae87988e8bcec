//! The second pass over a log: its records as the operations of one core.
//!
//! A FLUSH becomes one `Clwb` per line, a FENCE an `Sfence`, a STORE a `Store` (two if it crosses a line's end), a
//! DEEP_SYNC a flush and a fence. In the annotated and the hardware-logged form counter write-backs come before each
//! fence; the flush-free form has no flushes, and a DEEP_SYNC is a fence. A log tells a non-temporal store from another only
//! by the flush that follows it, so that it is an ordinary one in every form.
//!
//! libpmemobj marks the commit of a transaction and the functions called in it, but not its begin. A transaction ends
//! at `pmemobj_tx_commit.END` and begins where the one before ended; the first begins at the first marker whose name
//! starts with `pmemobj_tx_`, so that the creation of the pool and of its root object, which are atomic operations and
//! not transactions, come before it, outside any. So does what follows the last commit: closing the pool, or a
//! transaction that was aborted or cut off. A transaction that was aborted earlier is part of the next that commits.

use super::counters::FlushedCounters;
use super::summary::TraceSummary;
use super::walk::{Deed, Walk};
use crate::config::ConfigError;
use crate::message::{LINE_BYTES, Op, OpBuffer, OpSource, ProgramForm};
use std::sync::{Arc, OnceLock};

/// The most operations handed out at once. A stretch between commits may be tens of thousands of stores long (pool
/// creation, growth of a hash table) and comes in several pieces: `TxBegin` in the first, `TxEnd` in the last.
pub const OPS_PER_FILL: usize = 4096;
/// The most operations that one store becomes: one per byte, if every byte were mapped elsewhere.
const OPS_PER_STORE_MAX: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No transaction has begun.
    Before,
    /// A transaction begins with the next operation.
    Due,
    /// In a transaction.
    Inside,
    /// The last transaction has ended.
    After,
    /// The log is over.
    Over,
}

/// What is left of a record that did not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pending {
    Nothing,
    /// Flush the lines of `[at, end)`, then fence if asked to.
    Flush {
        at: u64,
        end: u64,
        fence: bool,
    },
    /// Fence, once the counters of what was flushed are written back.
    Fence,
    /// End the transaction.
    TxEnd,
}

/// A log as a program of one core.
pub struct TraceProgram {
    walk: Walk,
    /// The device address of each file's first byte.
    bases: Vec<u64>,
    records: u64,
    transactions: u64,
    ended: u64,
    phase: Phase,
    pending: Pending,
    flushes: bool,
    counters: FlushedCounters,
    failure: Arc<OnceLock<ConfigError>>,
}

impl TraceProgram {
    pub(super) fn new(
        walk: Walk,
        summary: &TraceSummary,
        form: ProgramForm,
        failure: Arc<OnceLock<ConfigError>>,
    ) -> Self {
        TraceProgram {
            walk,
            bases: summary.files.iter().map(|file| file.base).collect(),
            records: summary.records,
            transactions: summary.transactions,
            ended: 0,
            phase: if summary.transactions == 0 { Phase::After } else { Phase::Before },
            pending: Pending::Nothing,
            flushes: form != ProgramForm::FlushFree,
            counters: FlushedCounters::new(form),
            failure,
        }
    }

    /// Appends operations until the buffer is full, a transaction ends, or one is about to begin.
    fn fill(&mut self, buffer: &mut OpBuffer) -> Result<(), ConfigError> {
        while buffer.ops.len() + OPS_PER_STORE_MAX <= OPS_PER_FILL {
            if self.counters.leaving() {
                self.counters.write_back(buffer, OPS_PER_FILL);
                continue;
            }
            match self.pending {
                Pending::Nothing => {}
                Pending::Flush { at, end, fence } => {
                    self.flush(at, end, fence, buffer)?;
                    continue;
                }
                Pending::Fence if self.counters.is_empty() => {
                    buffer.ops.push(Op::Sfence);
                    self.pending = Pending::Nothing;
                    continue;
                }
                Pending::Fence => {
                    self.counters.leave();
                    continue;
                }
                Pending::TxEnd => {
                    buffer.ops.push(Op::TxEnd);
                    self.pending = Pending::Nothing;
                    self.ended += 1;
                    self.phase = if self.ended == self.transactions { Phase::After } else { Phase::Due };
                    return Ok(());
                }
            }
            let deed = self.walk.next_deed()?;
            match deed {
                Deed::Store { address, value, size } => self.store(address, value, size, buffer)?,
                Deed::Flush { .. } if !self.flushes => {}
                Deed::DeepSync { .. } if !self.flushes => self.pending = Pending::Fence,
                Deed::Flush { address, end } => self.pending = Pending::Flush { at: address, end, fence: false },
                Deed::Fence => self.pending = Pending::Fence,
                Deed::DeepSync { address, end } => self.pending = Pending::Flush { at: address, end, fence: true },
                Deed::Transactional => {}
                // The first pass counted the commits; one more can only come from a file that has changed.
                Deed::Commit if self.phase == Phase::After => return Err(self.changed()),
                Deed::Commit => self.pending = Pending::TxEnd,
                Deed::Over { .. } => {
                    let same = self.walk.reader.records() == self.records && self.ended == self.transactions;
                    self.phase = Phase::Over;
                    return if same { Ok(()) } else { Err(self.changed()) };
                }
            }
            if matches!(deed, Deed::Transactional | Deed::Commit) && self.phase == Phase::Before {
                self.phase = Phase::Due;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The bytes of one store, cut where a line or a mapping ends.
    fn store(&mut self, address: u64, value: u64, size: u8, buffer: &mut OpBuffer) -> Result<(), ConfigError> {
        let bytes = value.to_le_bytes();
        let (mut at, end) = (address, address + u64::from(size));
        while at < end {
            let (device, length) = self.place(at)?;
            let stop = end.min(at + length);
            buffer.store(device, &bytes[(at - address) as usize..(stop - address) as usize], LINE_BYTES as usize);
            at = stop;
        }
        Ok(())
    }

    /// Flushes as much of `[at, end)` as there is room for, and leaves the rest pending.
    fn flush(&mut self, at: u64, end: u64, fence: bool, buffer: &mut OpBuffer) -> Result<(), ConfigError> {
        let Some((start, _)) = self.walk.mappings.place_from(at).filter(|&(start, _)| at < end && start < end) else {
            self.pending = if fence { Pending::Fence } else { Pending::Nothing };
            return Ok(());
        };
        let (device, length) = self.place(start)?;
        let room = (OPS_PER_FILL - buffer.ops.len()) as u64;
        let first_line = device - device % LINE_BYTES;
        let wanted = length.min(end - start);
        let given = wanted.min(first_line + room * LINE_BYTES - device);
        buffer.clwb_range(device, given);
        self.counters.add(device..device + given);
        self.pending = Pending::Flush { at: start + given, end, fence };
        Ok(())
    }

    /// The device address of a mapped virtual one, and how many bytes from there on lie together.
    fn place(&mut self, address: u64) -> Result<(u64, u64), ConfigError> {
        let place = self.walk.mappings.place(address);
        let found = place.and_then(|place| Some((self.bases.get(place.file)? + place.offset, place.length)));
        found.ok_or_else(|| self.changed())
    }

    fn changed(&self) -> ConfigError {
        ConfigError(format!("{}: the trace changed while it was being replayed", self.walk.reader.name()))
    }
}

impl OpSource for TraceProgram {
    /// The next piece: operations outside any transaction, or (a part of) one transaction.
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        while self.phase != Phase::Over && buffer.ops.is_empty() {
            if self.phase == Phase::Due {
                buffer.ops.push(Op::TxBegin);
                self.phase = Phase::Inside;
            }
            if let Err(error) = self.fill(buffer) {
                self.phase = Phase::Over;
                // The first failure is the one that is kept.
                let _ = self.failure.set(error);
            }
        }
        !buffer.ops.is_empty()
    }
}
