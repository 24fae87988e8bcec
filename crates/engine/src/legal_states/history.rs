//! What the program has done to each line, in program order: contents, the epochs in which they were stored, flushes
//! and fences, and the golden states of its transactions. Nothing here depends on when hardware did what.
//!
//! An epoch is the part of the program between two fences. Within an epoch, write-backs happen in any order.

use crate::audit::TransactionRecord;
use crate::layout::Coverage;
use crate::message::{BaseImage, CounterBlock, Line, LineBytes, ProgramLayout};
use crate::parts::PairedLines;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// One version of a line's contents.
#[derive(Clone)]
pub(crate) struct Version {
    pub bytes: LineBytes,
    /// The epoch in which it was stored.
    pub epoch: u32,
}

/// The history of one line.
pub(crate) struct LineHistory {
    pub populated: bool,
    /// The version that a completed fence covers.
    pub covered: Version,
    /// The versions stored since, in order.
    pub later: Vec<Version>,
    /// Number of stores so far, and how many of them `covered` contains.
    pub stores: u64,
    number: u64,
    /// The epoch of the first store, and that of the first fence that covered a store.
    pub first_stored: Option<u32>,
    pub first_covered: Option<u32>,
    /// The epoch of the fence that covers `covered`.
    pub covered_at: Option<u32>,
    /// Whether a `counter_cache_writeback` waited for the line in the epoch of `first_covered` and, for the version in
    /// `covered`, in the epoch of `covered_at`.
    pub first_waited_for: bool,
    pub waited_for: bool,
    /// The number of stores before the line was marked as holding a `CounterAtomic` variable; `None` if it is not
    /// marked.
    marked: Option<u64>,
    /// Whether the line is counter-atomic whether or not it is marked.
    paired: bool,
}

impl LineHistory {
    fn new(base: Option<&LineBytes>, paired: bool) -> Self {
        Self {
            paired,
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

    /// Version `index`: 0 is the covered version.
    pub fn version(&self, index: usize) -> &Version {
        if index == 0 { &self.covered } else { &self.later[index - 1] }
    }

    /// The index of the newest version.
    pub fn newest(&self) -> usize {
        self.later.len()
    }

    /// Whether the line is counter-atomic now.
    pub fn is_counter_atomic_now(&self) -> bool {
        self.paired || self.marked.is_some()
    }

    /// Whether no version is left out.
    pub fn is_whole(&self) -> bool {
        self.stores - self.number == self.later.len() as u64
    }

    /// How many stores version `index` contains.
    pub fn stores_in(&self, index: usize) -> u64 {
        self.stores - (self.newest() - index) as u64
    }

    /// Whether the line is counter-atomic whenever version `index` is written back.
    pub fn is_counter_atomic(&self, index: usize) -> bool {
        self.paired || self.marked.is_some_and(|before| before < self.stores_in(index))
    }

    /// Whether the line holds a `CounterAtomic` variable and `covered` contains all stores from before it was marked.
    pub fn promised_atomic(&self) -> bool {
        self.marked.is_some_and(|number| number <= self.number)
    }
}

/// The history of the lines of a counter block.
#[derive(Default)]
pub(crate) struct BlockHistory {
    /// The lines of the block that were ever stored to.
    pub lines: Vec<Line>,
    /// The block on the media has left in this epoch or later.
    pub forced: Option<u32>,
}

/// The transaction that the program is executing.
#[derive(Default)]
pub(crate) struct InFlight {
    pub started: bool,
    pub writes: FxHashMap<Line, LineBytes>,
    /// Number of fences completed since the transaction began.
    pub fences: u32,
}

/// The history of a program on one core.
pub(crate) struct History {
    pub base: Arc<dyn BaseImage>,
    pub layout: ProgramLayout,
    pub coverage: Coverage,
    pub epoch: u32,
    pub lines: FxHashMap<Line, LineHistory>,
    pub blocks: FxHashMap<CounterBlock, BlockHistory>,
    /// Lines with versions that no fence covers, in the order of their stores.
    pub uncovered: Vec<Line>,
    /// The heap after the committed transactions, where it differs from the base.
    golden: FxHashMap<Line, LineBytes>,
    /// Number of committed transactions.
    pub committed: u64,
    pub in_flight: InFlight,
    records: Receiver<TransactionRecord>,
    /// By thread, what its next fence completes.
    flushed: FxHashMap<u64, FlushedByThread>,
    /// Number of flushes so far.
    flushes: u64,
    /// Most versions of a line that are kept apart; of a line with more, the earliest that no fence covers is left out.
    versions_max: usize,
    /// Which lines are counter-atomic beside those that are marked.
    paired_lines: PairedLines,
}

/// The flushes of a thread that no fence has completed.
#[derive(Default)]
struct FlushedByThread {
    lines: Vec<Flushed>,
    /// Counter blocks, each with the number of the flush.
    counters: Vec<(CounterBlock, u64)>,
}

/// A flush of a line.
struct Flushed {
    line: Line,
    /// How many stores to the line came before.
    stores: u64,
    number: u64,
}

/// As many flushes without a fence are kept, and more only of different lines.
const FLUSHES_MAX: usize = 1 << 12;

/// Drops all but the newest of each kind, now and then.
fn drop_older<T, K: Hash + Eq>(flushes: &mut Vec<T>, kind: impl Fn(&T) -> K) {
    if flushes.len() >= FLUSHES_MAX && flushes.len().is_power_of_two() {
        let mut known = FxHashSet::default();
        flushes.reverse();
        flushes.retain(|flush| known.insert(kind(flush)));
        flushes.reverse();
    }
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
            flushed: FxHashMap::default(),
            flushes: 0,
            versions_max: usize::MAX,
            paired_lines: PairedLines::Marked,
        }
    }

    /// Takes these lines for counter-atomic beside those that are marked.
    pub fn pairing(mut self, paired_lines: PairedLines) -> Self {
        self.paired_lines = paired_lines;
        self
    }

    /// Keeps apart at most so many versions of a line that no fence covers.
    pub fn keeping_versions(mut self, most: usize) -> Self {
        self.versions_max = most;
        self
    }

    pub fn stored(&mut self, line: Line, offset: usize, data: &[u8]) {
        if self.layout.volatile.contains(&line.address()) {
            // Nothing depends on what it holds after a crash. Its pages, and so its counter blocks, are its own.
            return;
        }
        let (epoch, most) = (self.epoch, self.versions_max);
        let history = self.line(line);
        let mut bytes = history.version(history.newest()).bytes;
        bytes[offset..offset + data.len()].copy_from_slice(data);
        let first = history.later.is_empty();
        history.later.push(Version { bytes, epoch });
        history.stores += 1;
        if history.later.len() > most {
            history.later.remove(0);
        }
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

    pub fn flushed(&mut self, thread: u64, line: Line) {
        let stores = self.line(line).stores;
        self.flushes += 1;
        let lines = &mut self.flushed.entry(thread).or_default().lines;
        lines.push(Flushed { line, stores, number: self.flushes });
        drop_older(lines, |flushed| flushed.line);
    }

    pub fn counters_flushed(&mut self, thread: u64, line: Line) {
        self.flushes += 1;
        let counters = &mut self.flushed.entry(thread).or_default().counters;
        counters.push((self.coverage.block(line), self.flushes));
        drop_older(counters, |(block, _)| *block);
    }

    /// The lines that the next fence of `thread` covers, and whether it completes a flush of counters.
    pub fn flushed_by(&self, thread: u64) -> (impl Iterator<Item = Line>, bool) {
        let of = self.flushed.get(&thread);
        let lines = of.into_iter().flat_map(|of| of.lines.iter().map(|flushed| flushed.line));
        (lines, of.is_some_and(|of| !of.counters.is_empty()))
    }

    /// Handles the completion of a fence of `thread`. `complete`: a `counter_cache_writeback` waits for earlier writes of
    /// its lines; `carried`: whether the counter of a line leaves with the line, if the line is counter-atomic.
    pub fn fenced(&mut self, thread: u64, complete: bool, carried: impl Fn(&LineHistory) -> bool) {
        let epoch = self.epoch;
        let FlushedByThread { lines, counters } = self.flushed.remove(&thread).unwrap_or_default();
        for Flushed { line, stores, number } in lines {
            let Some(history) = self.lines.get_mut(&line) else { continue };
            if stores <= history.number {
                continue;
            }
            // If the version has been left out, the next one takes its place.
            let after = ((history.stores - stores) as usize).min(history.later.len() - 1);
            let dropped = history.later.len() - after;
            history.covered = history.later[dropped - 1].clone();
            history.later.drain(..dropped);
            history.number = history.stores - after as u64;
            history.covered_at = Some(epoch);
            history.first_covered.get_or_insert(epoch);
            let id = self.coverage.block(line);
            let waited = complete && counters.iter().any(|&(block, after)| block == id && after > number);
            let first = history.first_covered == Some(epoch);
            history.first_waited_for |= first && waited;
            history.waited_for = waited;
            if carried(history) {
                self.blocks.entry(id).or_default().forced = Some(epoch);
            }
        }
        for (block, _) in counters {
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

    /// What the heap line holds after the committed transactions; `None` if it belongs to no transaction and may hold
    /// anything.
    pub fn golden(&self, line: Line) -> Option<&LineBytes> {
        self.golden.get(&line).or_else(|| self.base.line(line))
    }

    pub fn is_heap(&self, line: Line) -> bool {
        self.layout.heap.contains(&line.address())
    }

    /// The version of `line` that a fence covers.
    pub fn covered(&self, line: Line) -> LineBytes {
        match self.lines.get(&line) {
            Some(history) => history.covered.bytes,
            None => self.base.line(line).copied().unwrap_or([0; 64]),
        }
    }

    fn line(&mut self, line: Line) -> &mut LineHistory {
        let Self { base, layout, paired_lines, .. } = self;
        let paired = || paired_lines.has(|| layout.log.contains(&line.address()));
        self.lines.entry(line).or_insert_with(|| LineHistory::new(base.line(line), paired()))
    }
}
