//! The second pass over a recording: its acts as the operations of one core.
//!
//! A flush becomes one operation per line, a store one (two if it crosses a line's end), a DEEP_SYNC flushes and a
//! fence, a locked operation a load, a store and a full fence. In the annotated and the hardware-logged form counter
//! write-backs come before each fence; the flush-free form has no flushes, a DEEP_SYNC is a fence and nothing is stored
//! past the caches. A log of pmemcheck tells a non-temporal store from another only by the flush that follows it, so that
//! it is an ordinary one in every form. Instructions in between are computed. What all threads did comes in the order in
//! which it happened.
//!
//! Where the program says when its transactions begin and end, they do. Where libpmemobj's marks tell instead, a
//! transaction ends at `pmemobj_tx_commit.END` and begins where the one before ended; the first begins at the first
//! marker whose name starts with `pmemobj_tx_`, so that the creation of the pool and of its root object, which are atomic
//! operations and not transactions, come before it, outside any. So does what follows the last commit: closing the
//! pool, or a transaction that was aborted or cut off. A transaction that was aborted earlier is part of the next that
//! commits.

use super::counters::FlushedCounters;
use super::recording::{Act, FlushKind, Recording, StoreWay};
use super::sites::Sites;
use super::summary::TraceSummary;
use crate::config::ConfigError;
use crate::message::{LINE_BYTES, NO_SITE, Op, OpBuffer, OpSource, ProgramForm, Site};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

/// The most operations handed out at once. A stretch between commits may be tens of thousands of stores long (pool
/// creation, growth of a hash table) and comes in several pieces: `TxBegin` in the first, `TxEnd` in the last.
pub const OPS_PER_FILL: usize = 4096;
/// Operations that there is room for when an act begins: those of a word, if every byte were mapped elsewhere.
const OPS_PER_ACT: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No transaction has begun, and a marker tells when the first does.
    Before,
    /// A transaction begins with the next operation.
    Due,
    /// In a transaction.
    Inside,
    /// Outside any: by marks, the last transaction has ended.
    Outside,
    /// The recording is over.
    Over,
}

/// Something to be done before the next act is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Todo {
    Compute(u64),
    /// Load what lies in `[at, end)`.
    Load {
        at: u64,
        end: u64,
    },
    /// Store those of the kept bytes that belong into `[at, end)`.
    Store {
        at: u64,
        end: u64,
        non_temporal: bool,
    },
    /// Flush the lines of `[at, end)`.
    Flush {
        at: u64,
        end: u64,
        kind: FlushKind,
    },
    /// Fence, once the counters of what was flushed are written back. `full`: loads wait for it too.
    Fence {
        full: bool,
    },
    /// End the transaction.
    TxEnd,
}

/// A recording as a program of one core.
pub struct TraceProgram {
    recording: Box<dyn Recording>,
    /// The device address of each file's first byte.
    bases: Vec<u64>,
    records: u64,
    transactions: u64,
    /// Whether the program says where transactions begin and end.
    told: bool,
    ended: u64,
    phase: Phase,
    todo: VecDeque<Todo>,
    /// The bytes of the store under way, and the address of the first.
    stored: Vec<u8>,
    stored_at: u64,
    flushes: bool,
    counters: FlushedCounters,
    failure: Arc<OnceLock<ConfigError>>,
    /// Where the deed under way comes from, and where to leave what that means; `None` if nobody wants to know.
    site: Site,
    sites: Option<Arc<OnceLock<Sites>>>,
}

impl TraceProgram {
    pub(super) fn new(
        mut recording: Box<dyn Recording>,
        summary: &TraceSummary,
        form: ProgramForm,
        failure: Arc<OnceLock<ConfigError>>,
        sites: Option<Arc<OnceLock<Sites>>>,
    ) -> Self {
        if sites.is_some() {
            recording.watch_sites();
        }
        let outside = summary.transactions == 0 || summary.transactions_told;
        TraceProgram {
            recording,
            bases: summary.files.iter().map(|file| file.base).collect(),
            records: summary.records,
            transactions: summary.transactions,
            told: summary.transactions_told,
            ended: 0,
            phase: if outside { Phase::Outside } else { Phase::Before },
            todo: VecDeque::new(),
            stored: Vec::new(),
            stored_at: 0,
            flushes: form != ProgramForm::FlushFree,
            counters: FlushedCounters::new(form),
            failure,
            site: NO_SITE,
            sites,
        }
    }

    /// Appends operations until the buffer is full, a transaction ends, or one is about to begin.
    fn fill(&mut self, buffer: &mut OpBuffer) -> Result<(), ConfigError> {
        while buffer.ops.len() + OPS_PER_ACT <= OPS_PER_FILL {
            if self.counters.leaving() {
                self.counters.write_back(buffer, OPS_PER_FILL);
                continue;
            }
            if let Some(todo) = self.todo.pop_front() {
                if todo == Todo::TxEnd {
                    buffer.ops.push(Op::TxEnd);
                    self.ended += 1;
                    let follows = !self.told && self.ended < self.transactions;
                    self.phase = if follows { Phase::Due } else { Phase::Outside };
                    return Ok(());
                }
                if let Some(rest) = self.work(todo, buffer)? {
                    self.todo.push_front(rest);
                }
                continue;
            }
            self.note_site(buffer);
            let deed = self.recording.next_deed(&mut |_| Ok(()))?;
            if self.sites.is_some() {
                self.site = self.recording.site();
            }
            if deed.instructions > 0 {
                self.todo.push_back(Todo::Compute(deed.instructions));
            }
            match deed.act {
                Act::Load { address, size } => self.load(address, size),
                Act::Store { address, size, way } => self.store(address, size, way),
                Act::Flush { .. } if !self.flushes => {}
                Act::Flush { address, end, kind } => self.todo.push_back(Todo::Flush { at: address, end, kind }),
                Act::Fence => self.todo.push_back(Todo::Fence { full: false }),
                Act::FullFence => self.todo.push_back(Todo::Fence { full: true }),
                Act::DeepSync { address, end } => {
                    if self.flushes {
                        self.todo.push_back(Todo::Flush { at: address, end, kind: FlushKind::Clwb });
                    }
                    self.todo.push_back(Todo::Fence { full: false });
                }
                Act::TxBegin | Act::TxEnd | Act::Transactional | Act::Commit => {
                    if self.transaction(deed.act)? {
                        return Ok(());
                    }
                }
                Act::Nothing => {}
                Act::Over { .. } => {
                    let same = self.recording.records() == self.records && self.ended == self.transactions;
                    self.phase = Phase::Over;
                    if let Some(sites) = &self.sites {
                        // Several programs of one trace leave the same.
                        let _ = sites.set(self.recording.take_sites());
                    }
                    return if same { Ok(()) } else { Err(self.changed()) };
                }
            }
        }
        Ok(())
    }

    /// What has been appended comes from where the deed under way does.
    fn note_site(&self, buffer: &mut OpBuffer) {
        if self.sites.is_some() {
            buffer.sites.resize(buffer.ops.len(), self.site);
        }
    }

    /// Where transactions begin and end. True if one is about to begin.
    fn transaction(&mut self, act: Act) -> Result<bool, ConfigError> {
        match act {
            // What begins after the last that ends is cut off.
            Act::TxBegin if self.told && self.ended < self.transactions => {
                self.phase = Phase::Due;
                return Ok(true);
            }
            // The first pass counted the ends; one more can only come from a file that has changed.
            Act::TxEnd if self.told && !matches!(self.phase, Phase::Due | Phase::Inside) => return Err(self.changed()),
            Act::Commit if !self.told && self.phase == Phase::Outside => return Err(self.changed()),
            Act::TxEnd if self.told => self.todo.push_back(Todo::TxEnd),
            Act::Commit if !self.told => self.todo.push_back(Todo::TxEnd),
            _ => {}
        }
        if matches!(act, Act::Transactional | Act::Commit) && self.phase == Phase::Before {
            self.phase = Phase::Due;
            return Ok(true);
        }
        Ok(false)
    }

    fn load(&mut self, address: u64, size: u32) {
        self.todo.push_back(Todo::Load { at: address, end: address + u64::from(size) });
    }

    fn store(&mut self, address: u64, size: u32, way: StoreWay) {
        if way == StoreWay::Atomic {
            self.load(address, size);
        }
        self.stored.clear();
        self.stored.extend_from_slice(self.recording.bytes());
        self.stored_at = address;
        let non_temporal = way == StoreWay::NonTemporal && self.flushes;
        self.todo.push_back(Todo::Store { at: address, end: address + u64::from(size), non_temporal });
        if way == StoreWay::Atomic {
            self.todo.push_back(Todo::Fence { full: true });
        }
    }

    /// As much of `todo` as there is room for, and what is left of it.
    fn work(&mut self, todo: Todo, buffer: &mut OpBuffer) -> Result<Option<Todo>, ConfigError> {
        let mut todo = todo;
        while buffer.ops.len() < OPS_PER_FILL {
            match &mut todo {
                Todo::Compute(left) => {
                    let instructions = (*left).min(u64::from(u32::MAX));
                    buffer.ops.push(Op::Compute { instructions: instructions as u32 });
                    *left -= instructions;
                    if *left == 0 {
                        return Ok(None);
                    }
                }
                Todo::Load { at, end } => {
                    let (device, length) = self.piece(*at, *end)?;
                    buffer.load_unknown(device, length);
                    *at += u64::from(length);
                    if at == end {
                        return Ok(None);
                    }
                }
                Todo::Store { at, end, non_temporal } => {
                    let (device, length) = self.piece(*at, *end)?;
                    let from = (*at - self.stored_at) as usize;
                    let bytes = &self.stored[from..from + usize::from(length)];
                    if *non_temporal {
                        buffer.store_non_temporal(device, bytes);
                        // A fence makes it durable, with no flush that would bring its counter along.
                        self.counters.add(device..device + u64::from(length));
                    } else {
                        buffer.store(device, bytes, LINE_BYTES as usize);
                    }
                    *at += u64::from(length);
                    if at == end {
                        return Ok(None);
                    }
                }
                Todo::Flush { at, end, kind } => {
                    let Some(next) = self.flush(*at, *end, *kind, buffer)? else { return Ok(None) };
                    *at = next;
                    // Counters that have grown too many leave before the next line is flushed.
                    return Ok(Some(todo));
                }
                Todo::Fence { full } => {
                    if self.counters.is_empty() {
                        buffer.ops.push(if *full { Op::Mfence } else { Op::Sfence });
                        return Ok(None);
                    }
                    self.counters.leave();
                    return Ok(Some(todo));
                }
                Todo::TxEnd => return Ok(Some(todo)),
            }
        }
        Ok(Some(todo))
    }

    /// Where `at` leads, and how many bytes from there on lie before `end`, in the same line and together.
    fn piece(&mut self, at: u64, end: u64) -> Result<(u64, u8), ConfigError> {
        let (device, length) = self.place(at)?;
        let in_line = LINE_BYTES - device % LINE_BYTES;
        Ok((device, length.min(end - at).min(in_line) as u8))
    }

    /// Flushes as much of `[at, end)` as lies together and there is room for. Where to go on, if there is more.
    fn flush(&mut self, at: u64, end: u64, kind: FlushKind, buffer: &mut OpBuffer) -> Result<Option<u64>, ConfigError> {
        let placed = self.recording.place_from(at).filter(|&(start, _)| at < end && start < end);
        let Some((start, _)) = placed else { return Ok(None) };
        let (device, length) = self.place(start)?;
        let room = (OPS_PER_FILL - buffer.ops.len()) as u64;
        let first_line = device - device % LINE_BYTES;
        let given = length.min(end - start).min(first_line + room * LINE_BYTES - device);
        let lines = (first_line..device + given).step_by(LINE_BYTES as usize);
        buffer.ops.extend(lines.map(|address| match kind {
            FlushKind::Clwb => Op::Clwb { address },
            FlushKind::Clflushopt => Op::Clflushopt { address },
            FlushKind::Clflush => Op::Clflush { address },
        }));
        self.counters.add(device..device + given);
        Ok(Some(start + given))
    }

    /// The device address of a mapped virtual one, and how many bytes from there on lie together.
    fn place(&mut self, address: u64) -> Result<(u64, u64), ConfigError> {
        let place = self.recording.place(address);
        let found = place.and_then(|place| Some((self.bases.get(place.file)? + place.offset, place.length)));
        found.ok_or_else(|| self.changed())
    }

    fn changed(&self) -> ConfigError {
        ConfigError(format!("{}: the trace changed while it was being replayed", self.recording.name()))
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
            self.note_site(buffer);
        }
        !buffer.ops.is_empty()
    }
}
