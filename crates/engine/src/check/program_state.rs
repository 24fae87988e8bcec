//! The state of memory while the steps of a program go by, and what is found on the way.
//!
//! The rules are those of x86 (`trace/pending.rs`, docs/check.md).

use super::found::Findings;
use super::kind::Kind;
use super::line::{Moment, Pending, Stores};
use crate::message::{LINE_BYTES, Site};
use crate::trace::{Done, FenceBy, FileLine, FlushKind, Pointer, Spot, Step, StoreWay};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Lines in a word of [`Flushed`].
const LINES_PER_WORD: u64 = 64;

/// What one thread has under way.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Lines that it has flushed since its last fence, and lines that it has stored to past the caches.
    flushed: BTreeSet<FileLine>,
    past_caches: BTreeSet<FileLine>,
    /// It has given its next fence something to complete.
    worked: bool,
    /// Lines with stores of this thread that another thread has flushed since the thread's last fence.
    pub lent: BTreeSet<FileLine>,
    /// Lines with such stores that the thread has fenced since.
    pub relied: BTreeSet<FileLine>,
}

/// Which lines have been flushed since they were last stored to.
#[derive(Debug, Default)]
struct Flushed(FxHashMap<(u32, u64), u64>);

impl Flushed {
    fn word(&mut self, line: FileLine) -> (&mut u64, u64) {
        let word = self.0.entry((line.file, line.line / LINES_PER_WORD)).or_default();
        (word, 1 << (line.line % LINES_PER_WORD))
    }

    /// Sets the bit of a line; returns what it was.
    fn set(&mut self, line: FileLine) -> bool {
        let (word, bit) = self.word(line);
        let was = *word & bit != 0;
        *word |= bit;
        was
    }

    fn clear(&mut self, line: FileLine) {
        let (word, bit) = self.word(line);
        *word &= !bit;
    }
}

/// How much a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Stores; one that crosses the end of a line counts once for each line.
    pub stores: u64,
    /// Lines of persistent memory flushed.
    pub flushes: u64,
    /// Fences, those of locked operations on persistent memory included.
    pub fences: u64,
    /// Marks at which everything had to be durable.
    pub marks: u64,
}

/// The state of memory.
#[derive(Debug, Default)]
pub(super) struct ProgramState {
    pub lines: FxHashMap<FileLine, Pending>,
    pub threads: Vec<Thread>,
    flushed: Flushed,
    pub step: u64,
    /// A transaction that the program reports is open.
    pub in_transaction: bool,
    /// The text of the marks at which everything must be durable.
    mark: Option<Vec<u8>>,
    /// Overtaken stores that have become durable, by line and thread, until the thread flushes the line or the end.
    pub held: BTreeMap<(FileLine, u64), Vec<(Stores, Site)>>,
    pub findings: Findings,
    pub counts: Counts,
}

impl ProgramState {
    /// Before the first step; at every mark `mark` all stores must be durable.
    pub fn new(mark: Option<&str>, numbered: bool) -> Self {
        let findings = Findings::new(numbered);
        Self { mark: mark.map(|text| text.as_bytes().to_vec()), findings, ..Self::default() }
    }

    pub fn take(&mut self, step: Step<'_>) {
        self.step += 1;
        match step.done {
            Done::Store { at, bytes, way, pointers, scratch } => {
                let stored = self.stored(&step, at, bytes.len() as u64, way, scratch);
                self.store(stored, at.line, pointers);
            }
            Done::Scratch { file, offset, length } => self.declare_scratch(file, offset, length),
            Done::Flush { at, kind, number } => self.flush(&step, at, kind, number),
            Done::FlushOutside { address } => {
                self.thread(step.thread).worked = true;
                let at = Moment { address, ..self.moment(&step, None) };
                self.findings.operation(Kind::VolatileFlush, step.site, at, None);
            }
            Done::Fence { by, number } => self.fence(&step, by, number),
            Done::FenceByChance => self.fence_by_chance(&step),
            Done::TxBegin => self.in_transaction = true,
            Done::TxEnd => self.in_transaction = false,
            Done::Annotation { .. } => {}
            Done::Mark(text) => {
                if self.mark.as_deref() == Some(text) {
                    self.counts.marks += 1;
                    self.judge_pending();
                }
            }
        }
    }

    /// The program has ended. `not_durable`: the addresses of what is not durable, if the recording itself says so.
    pub fn finish(mut self, not_durable: Option<&[Range<u64>]>) -> (Findings, Counts) {
        if let Some(ranges) = not_durable {
            for pending in self.lines.values_mut() {
                pending.stores.retain(|stores| ranges.iter().any(|range| stores.meets(range)));
            }
        }
        self.judge_pending();
        self.judge_held();
        (self.findings, self.counts)
    }

    pub fn thread(&mut self, thread: u64) -> &mut Thread {
        let index = thread as usize;
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, Thread::default);
        }
        &mut self.threads[index]
    }

    fn moment(&self, step: &Step<'_>, at: Option<Spot>) -> Moment {
        let (address, line) = at.map_or((0, None), |at| (at.address, Some(at.line)));
        Moment { step: self.step, record: step.record, thread: step.thread, site: step.site, address, line }
    }

    fn stored(&self, step: &Step<'_>, at: Spot, length: u64, way: StoreWay, scratch: bool) -> Stores {
        Stores {
            site: step.site,
            thread: step.thread,
            past_caches: way.past_caches(),
            late: false,
            told: false,
            scratch,
            count: 1,
            mask: bytes(u64::from(at.offset), length),
            first: self.moment(step, Some(at)),
            links: Vec::new(),
            relied_at: None,
            overtaken: None,
            by_chance: None,
        }
    }

    fn store(&mut self, stored: Stores, line: FileLine, pointers: &[Pointer]) {
        self.counts.stores += 1;
        self.flushed.clear(line);
        if stored.past_caches {
            let thread = self.thread(stored.thread);
            thread.past_caches.insert(line);
            thread.worked = true;
        }
        let mut stored = stored;
        self.links(&mut stored, line, pointers);
        self.lines.entry(line).or_default().store(stored);
    }

    /// What is pending of this part of a file need not become durable.
    fn declare_scratch(&mut self, file: u32, offset: u64, length: u64) {
        let end = offset + length;
        let lines = offset / LINE_BYTES..end.div_ceil(LINE_BYTES);
        let part = |line: FileLine| {
            let begin = line.line * LINE_BYTES;
            let (from, until) = (offset.max(begin) - begin, end.min(begin + LINE_BYTES) - begin);
            bytes(from, until - from)
        };
        if lines.end - lines.start <= self.lines.len() as u64 {
            for line in lines.map(|line| FileLine { file, line }) {
                if let Some(pending) = self.lines.get_mut(&line) {
                    pending.declare_scratch(part(line));
                }
            }
        } else {
            let within = |line: &FileLine| line.file == file && lines.contains(&line.line);
            for (line, pending) in self.lines.iter_mut().filter(|(line, _)| within(line)) {
                pending.declare_scratch(part(*line));
            }
        }
    }

    fn flush(&mut self, step: &Step<'_>, at: Spot, kind: FlushKind, number: u64) {
        self.counts.flushes += 1;
        self.thread(step.thread).worked = true;
        let flushed_before = self.flushed.set(at.line);
        let pending = self.lines.entry(at.line).or_default();
        // A second thread that flushes a line needs no fence of the first one, so its flush has a use.
        if !pending.needs_flush(step.thread) && !kind.by_kernel() {
            let kind = if flushed_before { Kind::FlushedTwice } else { Kind::CleanFlush };
            let moment = self.moment(step, Some(at));
            self.findings.operation(kind, step.site, moment, Some(number));
        }
        self.flushed_by(step.thread, at.line);
        let now = self.step;
        let pending = self.lines.entry(at.line).or_default();
        if kind.at_once() {
            let durable = pending.flush_at_once();
            if pending.is_empty() {
                self.lines.remove(&at.line);
            }
            self.durable(vec![(at.line, durable)]);
        } else {
            pending.flush(step.thread, now, step.site);
            self.thread(step.thread).flushed.insert(at.line);
        }
    }

    fn fence(&mut self, step: &Step<'_>, by: FenceBy, number: u64) {
        self.counts.fences += u64::from(by != FenceBy::LockedElsewhere);
        let thread = self.thread(step.thread);
        let idle = !std::mem::take(&mut thread.worked);
        let mut lines = std::mem::take(&mut thread.flushed);
        lines.append(&mut thread.past_caches);
        if idle && by == FenceBy::Sfence {
            let moment = self.moment(step, None);
            self.findings.operation(Kind::IdleFence, step.site, moment, Some(number));
        }
        let mut durable = Vec::new();
        for line in lines {
            let Some(pending) = self.lines.get_mut(&line) else { continue };
            durable.push((line, pending.fence(step.thread)));
            if pending.is_empty() {
                self.lines.remove(&line);
            }
        }
        self.durable(durable);
        self.fenced(step.thread);
    }

    /// It is no fence of the program, but what it does is told where nothing else does it.
    fn fence_by_chance(&mut self, step: &Step<'_>) {
        let thread = self.thread(step.thread);
        let lines: Vec<FileLine> = thread.flushed.union(&thread.past_caches).copied().collect();
        for line in lines {
            if let Some(pending) = self.lines.get_mut(&line) {
                pending.fence_by_chance(step.thread, step.site);
            }
        }
    }

    /// Reports every store that is not durable now and has not been reported.
    fn judge_pending(&mut self) {
        for pending in self.lines.values_mut() {
            let kinds: Vec<Kind> = pending.stores.iter().map(|stores| lost(pending, stores)).collect();
            for (stores, kind) in pending.stores.iter_mut().zip(kinds) {
                if !stores.scratch && !std::mem::replace(&mut stores.told, true) {
                    self.findings.stores(kind, stores);
                }
            }
        }
    }
}

/// The bytes of a line from `offset`, at least one.
fn bytes(offset: u64, length: u64) -> u64 {
    u64::MAX >> (LINE_BYTES - length) << offset
}

/// How stores that are pending at the end are lost.
fn lost(pending: &Pending, stores: &Stores) -> Kind {
    match stores {
        stores if stores.past_caches => Kind::NonTemporalNotFenced,
        stores if pending.is_flushed(stores) => Kind::NeverFenced,
        stores if stores.late => Kind::StoredAfterFlush,
        _ => Kind::NeverFlushed,
    }
}
