//! What the program has done to each line, in program order: contents, the stretches between fences in which they were
//! stored, flushes and fences, and the golden states of its transactions. Nothing here depends on when hardware did what.
//!
//! An epoch is the stretch of the program between two fences. Within one, write-backs happen in any order.

use crate::audit::TransactionRecord;
use crate::message::{BaseImage, CounterBlock, Coverage, Line, LineBytes, ProgramLayout};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// A content of a line.
#[derive(Clone)]
pub(super) struct Version {
    pub bytes: LineBytes,
    /// The epoch in which it was stored.
    pub epoch: u32,
}

/// What happened to one line.
pub(super) struct LineHistory {
    pub populated: bool,
    /// What a completed fence covers.
    pub covered: Version,
    /// Everything stored since, in order.
    pub later: Vec<Version>,
    /// Stores so far, and how many of them `covered` contains.
    pub stores: u64,
    number: u64,
    /// The epoch of the first store, and that of the first fence that covered one.
    pub first_stored: Option<u32>,
    pub first_covered: Option<u32>,
    /// The epoch of the fence that covers `covered`.
    pub covered_at: Option<u32>,
    /// In the epoch of `first_covered`, and for what `covered` is in that of `covered_at`, a `counter_cache_writeback` waited
    /// for the line.
    pub first_waited_for: bool,
    pub waited_for: bool,
    /// It holds a `CounterAtomic` variable, and what was stored before it did is covered.
    marked: Option<u64>,
}

impl LineHistory {
    fn new(base: Option<&LineBytes>) -> Self {
        Self {
            populated: base.is_some(),
            covered: Version { bytes: base.copied().unwrap_or([0; 64]), epoch: 0 },
            later: Vec::new(),
            stores: 0,
            number: 0,
            first_stored: None,
            first_covered: None,
            covered_at: None,
            first_waited_for: false,
            waited_for: false,
            marked: None,
        }
    }

    /// Version `index`: 0 is what is covered.
    pub fn version(&self, index: usize) -> &Version {
        if index == 0 { &self.covered } else { &self.later[index - 1] }
    }

    /// The newest version.
    pub fn newest(&self) -> usize {
        self.later.len()
    }

    /// It holds a `CounterAtomic` variable by now.
    pub fn holds_counter_atomic(&self) -> bool {
        self.marked.is_some()
    }

    /// How many stores version `index` contains.
    pub fn stores_in(&self, index: usize) -> u64 {
        self.stores - (self.newest() - index) as u64
    }

    /// Whenever version `index` is written back, the line holds a `CounterAtomic` variable already.
    pub fn is_counter_atomic(&self, index: usize) -> bool {
        self.marked.is_some_and(|before| before < self.stores_in(index))
    }

    /// It was so when `covered` was stored.
    pub fn promised_atomic(&self) -> bool {
        self.marked.is_some_and(|number| number <= self.number)
    }
}

/// What happened to the lines of a counter block.
#[derive(Default)]
pub(super) struct BlockHistory {
    /// The lines of it that were ever stored to.
    pub lines: Vec<Line>,
    /// The block on the media has left in this epoch or later.
    pub forced: Option<u32>,
}

/// The transaction that the program is in.
#[derive(Default)]
pub(super) struct InFlight {
    pub started: bool,
    pub writes: FxHashMap<Line, LineBytes>,
    /// Fences completed since it began.
    pub fences: u32,
}

/// The history of a program on one core.
pub(super) struct History {
    pub base: Arc<dyn BaseImage>,
    pub layout: ProgramLayout,
    pub coverage: Coverage,
    pub epoch: u32,
    pub lines: FxHashMap<Line, LineHistory>,
    pub blocks: FxHashMap<CounterBlock, BlockHistory>,
    /// Lines with contents that no fence covers, in the order in which they were stored to.
    pub uncovered: Vec<Line>,
    /// The heap after the committed transactions, where it differs from the base.
    golden: FxHashMap<Line, LineBytes>,
    /// Transactions committed.
    pub committed: u64,
    pub in_flight: InFlight,
    records: Receiver<TransactionRecord>,
    flushed: Vec<(Line, u64)>,
    /// And how many flushes came before.
    counters_flushed: Vec<(CounterBlock, usize)>,
}

impl History {
    pub fn new(
        base: Arc<dyn BaseImage>,
        layout: ProgramLayout,
        coverage: Coverage,
        records: Receiver<TransactionRecord>,
    ) -> Self {
        Self {
            base,
            layout,
            coverage,
            epoch: 1,
            lines: FxHashMap::default(),
            blocks: FxHashMap::default(),
            uncovered: Vec::new(),
            golden: FxHashMap::default(),
            committed: 0,
            in_flight: InFlight::default(),
            records,
            flushed: Vec::new(),
            counters_flushed: Vec::new(),
        }
    }

    pub fn stored(&mut self, line: Line, offset: usize, data: &[u8]) {
        let epoch = self.epoch;
        let history = self.line(line);
        let mut bytes = history.version(history.newest()).bytes;
        bytes[offset..offset + data.len()].copy_from_slice(data);
        let first = history.later.is_empty();
        history.later.push(Version { bytes, epoch });
        history.stores += 1;
        history.first_stored.get_or_insert(epoch);
        if first {
            self.uncovered.push(line);
        }
        let block = self.blocks.entry(self.coverage.block(line)).or_default();
        if !block.lines.contains(&line) {
            block.lines.push(line);
        }
    }

    pub fn marked(&mut self, line: Line) {
        let history = self.line(line);
        history.marked.get_or_insert(history.stores);
    }

    pub fn flushed(&mut self, line: Line) {
        let stores = self.line(line).stores;
        self.flushed.push((line, stores));
    }

    pub fn counters_flushed(&mut self, line: Line) {
        self.counters_flushed.push((self.coverage.block(line), self.flushed.len()));
    }

    /// A fence completed. `complete`: a `counter_cache_writeback` waits for earlier writes of its lines; `carried`: whether
    /// the counter of a line leaves with the line, as far as the line is counter-atomic.
    pub fn fenced(&mut self, complete: bool, carried: impl Fn(&LineHistory) -> bool) {
        let epoch = self.epoch;
        let counters_flushed = std::mem::take(&mut self.counters_flushed);
        for (number, (line, stores)) in std::mem::take(&mut self.flushed).into_iter().enumerate() {
            let Some(history) = self.lines.get_mut(&line) else { continue };
            if stores <= history.number {
                continue;
            }
            let dropped = (stores - history.number) as usize;
            history.covered = history.later[dropped - 1].clone();
            history.later.drain(..dropped);
            history.number = stores;
            history.covered_at = Some(epoch);
            history.first_covered.get_or_insert(epoch);
            let id = self.coverage.block(line);
            let waited = complete && counters_flushed.iter().any(|&(block, after)| block == id && after > number);
            let first = history.first_covered == Some(epoch);
            history.first_waited_for |= first && waited;
            history.waited_for = waited;
            if carried(history) {
                self.blocks.entry(id).or_default().forced = Some(epoch);
            }
        }
        for (block, _) in counters_flushed {
            self.blocks.entry(block).or_default().forced = Some(epoch);
        }
        let lines = &self.lines;
        self.uncovered.retain(|line| !lines[line].later.is_empty());
        self.in_flight.fences += 1;
        self.epoch += 1;
    }

    pub fn began(&mut self, number: u64) {
        self.in_flight = InFlight { started: true, ..InFlight::default() };
        while let Ok(record) = self.records.try_recv() {
            if record.number == Some(number) {
                let heap = &self.layout.heap;
                let own = record.writes.into_iter().filter(|(line, _)| heap.contains(&line.address()));
                self.in_flight.writes = own.collect();
                break;
            }
        }
    }

    pub fn ended(&mut self) {
        let writes = std::mem::take(&mut self.in_flight).writes;
        self.golden.extend(writes);
        self.committed += 1;
    }

    /// What the heap line holds after the committed transactions; `None`: anything, it belongs to no transaction.
    pub fn golden(&self, line: Line) -> Option<&LineBytes> {
        self.golden.get(&line).or_else(|| self.base.line(line))
    }

    pub fn is_heap(&self, line: Line) -> bool {
        self.layout.heap.contains(&line.address())
    }

    /// The content of `line` that a fence covers.
    pub fn covered(&self, line: Line) -> LineBytes {
        match self.lines.get(&line) {
            Some(history) => history.covered.bytes,
            None => self.base.line(line).copied().unwrap_or([0; 64]),
        }
    }

    fn line(&mut self, line: Line) -> &mut LineHistory {
        let base = &self.base;
        self.lines.entry(line).or_insert_with(|| LineHistory::new(base.line(line)))
    }
}
