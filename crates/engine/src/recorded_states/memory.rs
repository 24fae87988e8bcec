//! The memory of a recorded program while its steps go by: what is pending of each line, and when a power failure may
//! leave states that it could not leave before.

use super::counters::Counters;
use super::line::{By, Pending, Stored};
use super::sectors::Sectors;
use crate::kernel::keyed_digest;
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes};
use crate::trace::{Done, FileLine, FlushKind, Spot, Step, StoreWay, TraceBase, TraceFile};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A line of the program.
pub(super) struct Known {
    pub line: Line,
    pub pending: Pending,
    /// Digest of what it holds if everything has arrived.
    pub digest: u128,
    /// The program has declared that none of its pending stores need become durable.
    pub scratch: bool,
    /// What its contents contribute to [`Memory::bits`], and whether it counts in [`Memory::undecided`].
    bits: f64,
    open: bool,
    /// Whether [`Memory::changed`], [`Memory::fresh`] and [`Memory::touched`] have it.
    changed: bool,
    fresh: bool,
    touched: bool,
}

/// The memory.
pub(super) struct Memory<'a> {
    base: &'a TraceBase,
    /// The first line of each file; `None` if the command is not given it.
    files: Vec<Option<Line>>,
    numbers: FxHashMap<Line, u32>,
    pub lines: Vec<Known>,
    /// For each thread, the lines that its next fence may make durable.
    threads: Vec<Vec<u32>>,
    /// Lines with pending stores, by the step of the newest.
    pub pending: BTreeMap<u64, u32>,
    /// Lines whose pending stores have changed since they were last counted.
    changed: Vec<u32>,
    /// Lines stored to since the last crash point.
    pub fresh: Vec<u32>,
    /// Lines stored to since [`Memory::take_touched`].
    touched: Vec<u32>,
    /// Number of steps so far.
    pub step: u64,
    /// The step of the newest store that is surely durable.
    pub durable: u64,
    /// Digest of memory if everything has arrived: the sum over its lines of their digest less that before the run.
    pub digest: u128,
    /// Logarithm to base 2 of the number of legal states, and how many lines may hold more than one thing, as of the last
    /// [`Memory::count`].
    pub bits: f64,
    pub undecided: usize,
    /// Number of marks that the program has set, and whether it has set one since the last crash point.
    pub marks: u64,
    marked: bool,
    /// The counters, on a design whose lines do not always decrypt.
    pub counters: Option<Counters<'a>>,
    /// The sectors of a disk, if the files are on one.
    pub sectors: Option<Sectors>,
    /// Whether the command is told of marks, so that each makes a difference to it.
    tells_marks: bool,
    /// Whether caches persist; then, the line of the newest cached store, until something follows that it must be durable
    /// before.
    caches_persist: bool,
    newest: Option<u32>,
    /// Transactions that have ended, and whether the program is in one.
    pub ended: u64,
    pub in_transaction: bool,
}

impl<'a> Memory<'a> {
    /// The memory of `files` before the run. `shows`: whether the command is given what a line holds.
    pub fn new(files: &[TraceFile], base: &'a TraceBase, shows: impl Fn(Line) -> bool) -> Self {
        let line = |file: &TraceFile| Some(Line::containing(file.base)).filter(|line| file.size > 0 && shows(*line));
        Self {
            base,
            files: files.iter().map(line).collect(),
            numbers: FxHashMap::default(),
            lines: Vec::new(),
            threads: Vec::new(),
            pending: BTreeMap::new(),
            changed: Vec::new(),
            fresh: Vec::new(),
            touched: Vec::new(),
            step: 0,
            durable: 0,
            digest: 0,
            bits: 0.0,
            undecided: 0,
            marks: 0,
            marked: false,
            counters: None,
            sectors: None,
            tells_marks: false,
            caches_persist: false,
            newest: None,
            ended: 0,
            in_transaction: false,
        }
    }

    /// The command is told of marks: after each it judges the same memory anew.
    pub fn telling_marks(mut self, told: bool) -> Self {
        self.tells_marks = told;
        self
    }

    /// On a design whose caches persist, or not.
    pub fn with_caches_that_persist(mut self, persist: bool) -> Self {
        self.caches_persist = persist;
        self
    }

    /// On a design with such counters.
    pub fn with_counters(mut self, counters: Option<Counters<'a>>) -> Self {
        self.counters = counters;
        self
    }

    /// On a disk with sectors of so many bytes.
    pub fn with_sectors(mut self, bytes: Option<u64>) -> Self {
        self.sectors = bytes.map(Sectors::new);
        self
    }

    /// Whether this flush makes nothing durable: caches persist, or it reaches the page cache of a disk.
    fn is_idle(&self, kind: FlushKind) -> bool {
        self.caches_persist || (self.sectors.is_some() && !kind.by_kernel())
    }

    /// Whether a failure now may leave what none before the last crash point may leave: something was stored since then,
    /// or the command is told of a new mark.
    pub fn has_news(&self) -> bool {
        !self.fresh.is_empty() || (self.marked && !self.lines.is_empty())
    }

    /// Whether a power failure before this step may leave states that no failure after it may leave, and there is news.
    pub fn loses_states(&self, step: &Step<'_>) -> bool {
        if !self.has_news() {
            return false;
        }
        match step.done {
            Done::Mark(_) => self.tells_marks,
            Done::Store { .. } => self.newest.is_some(),
            Done::Fence { .. } => self.would_complete(step.thread),
            Done::Flush { at, kind, .. } if kind.at_once() && !self.is_idle(kind) => {
                let known = self.place(at.line).and_then(|line| self.numbers.get(&line));
                known.is_some_and(|&line| self.lines[line as usize].pending.would_cover(None))
            }
            _ => false,
        }
    }

    /// Whether a fence of the thread makes something durable.
    fn would_complete(&self, thread: u64) -> bool {
        let lines = self.threads.get(thread as usize).into_iter().flatten();
        lines.into_iter().any(|&line| self.lines[line as usize].pending.would_cover(Some(thread)))
            || self.counters.as_ref().is_some_and(|counters| counters.would_complete(thread))
    }

    pub fn take(&mut self, step: &Step<'_>) {
        self.step += 1;
        let settles = match step.done {
            Done::Store { .. } => true,
            Done::Fence { .. } => self.would_complete(step.thread),
            Done::Mark(_) => self.tells_marks,
            _ => false,
        };
        if settles && let Some(number) = self.newest.take() {
            self.settle(number, Pending::flush_at_once);
        }
        match step.done {
            Done::Store { at, bytes, way, scratch, .. } => self.store(step, at, bytes, (way, scratch)),
            Done::Flush { at, kind, .. } => self.flush(step, at.line, kind),
            Done::Fence { .. } => self.fence(step.thread),
            Done::FenceByChance => self.fence_by_chance(step),
            Done::Annotation { kind, lines, .. } => {
                for &at in lines {
                    if let (Some(line), Some(counters)) = (self.place(at), &mut self.counters) {
                        counters.annotate(step.thread, line, kind);
                    }
                }
            }
            Done::TxBegin => self.in_transaction = true,
            Done::TxEnd => {
                self.in_transaction = false;
                self.ended += 1;
            }
            Done::Mark(_) => {
                self.marks += 1;
                self.marked = self.tells_marks;
            }
            Done::Scratch { file, offset, length } => self.declare_scratch(file, offset, length),
            Done::FlushOutside { .. } => {}
        }
    }

    /// What the program has stored to this part of a file need not become durable.
    fn declare_scratch(&mut self, file: u32, offset: u64, length: u64) {
        let end = offset.saturating_add(length);
        for line in offset / LINE_BYTES..end.div_ceil(LINE_BYTES) {
            let number = self.place(FileLine { file, line }).and_then(|line| self.numbers.get(&line));
            let Some(known) = number.map(|&number| &mut self.lines[number as usize]) else { continue };
            let declared = |byte: u64| (offset..end).contains(&(line * LINE_BYTES + byte));
            let mask = (0..LINE_BYTES).fold(0u64, |mask, byte| mask | u64::from(declared(byte)) << byte);
            known.scratch |= known.pending.stores.iter().all(|stored| stored.mask & !mask == 0);
        }
    }

    pub fn place(&self, at: FileLine) -> Option<Line> {
        let first = (*self.files.get(at.file as usize)?)?;
        Some(Line(first.0 + at.line))
    }

    fn before(&self, line: Line) -> LineBytes {
        self.base.line(line).copied().unwrap_or([0; LINE_BYTES as usize])
    }

    fn store(&mut self, step: &Step<'_>, at: Spot, data: &[u8], (way, scratch): (StoreWay, bool)) {
        let Some(line) = self.place(at.line) else { return };
        let before = self.before(line);
        let number = *self.numbers.entry(line).or_insert_with(|| {
            let digest = keyed_digest(line.0, &before);
            let (pending, none) = (Pending::new(before, self.caches_persist), false);
            let (bits, open, changed, fresh, touched) = (0.0, none, none, none, none);
            self.lines.push(Known { line, pending, digest, scratch, bits, open, changed, fresh, touched });
            self.lines.len() as u32 - 1
        });
        let offset = usize::from(at.offset);
        let known = &mut self.lines[number as usize];
        known.scratch = scratch && (known.scratch || known.pending.stores.is_empty());
        if let Some(last) = known.pending.stores.last() {
            self.pending.remove(&last.step);
        }
        let past_caches = way.past_caches() && self.sectors.is_none();
        if let Some(sectors) = &mut self.sectors {
            sectors.stored(step.record, self.step);
        }
        let by = By { step: self.step, thread: step.thread, site: step.site };
        if let Some(counters) = &mut self.counters {
            counters.store(line, offset, data, by, past_caches);
        }
        let waits = past_caches && !known.pending.waits_for(by.thread);
        known.pending.store(Stored::of(by, past_caches, offset, data));
        let digest = keyed_digest(line.0, &known.pending.newest);
        self.digest = self.digest.wrapping_sub(known.digest).wrapping_add(digest);
        known.digest = digest;
        self.pending.insert(self.step, number);
        for (list, listed) in [
            (&mut self.changed, &mut known.changed),
            (&mut self.fresh, &mut known.fresh),
            (&mut self.touched, &mut known.touched),
        ] {
            if !std::mem::replace(listed, true) {
                list.push(number);
            }
        }
        if waits {
            self.thread(by.thread).push(number);
        }
        if self.caches_persist && !past_caches {
            self.newest = Some(number);
        }
    }

    fn thread(&mut self, thread: u64) -> &mut Vec<u32> {
        let index = thread as usize;
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, Vec::new);
        }
        &mut self.threads[index]
    }

    fn flush(&mut self, step: &Step<'_>, at: FileLine, kind: FlushKind) {
        let Some(line) = self.place(at) else { return };
        let Some(&number) = self.numbers.get(&line).filter(|_| !self.is_idle(kind)) else { return };
        if let Some(counters) = &mut self.counters {
            counters.flush(step.thread, line, kind);
        }
        let pending = &mut self.lines[number as usize].pending;
        if pending.stores.is_empty() {
            return;
        }
        if kind.at_once() {
            self.settle(number, Pending::flush_at_once);
        } else {
            let waits = !pending.waits_for(step.thread);
            pending.flush(step.thread, self.step, step.site);
            if waits {
                self.thread(step.thread).push(number);
            }
        }
    }

    fn fence(&mut self, thread: u64) {
        if let Some(counters) = &mut self.counters {
            counters.fence(thread);
        }
        let mut lines = std::mem::take(self.thread(thread));
        for &number in &lines {
            self.settle(number, |pending| pending.fence(thread));
        }
        lines.clear();
        *self.thread(thread) = lines;
    }

    /// It is no fence of the program, but what it does is told where nothing else does it.
    fn fence_by_chance(&mut self, step: &Step<'_>) {
        for &number in self.threads.get(step.thread as usize).into_iter().flatten() {
            self.lines[number as usize].pending.fence_by_chance(step.thread, step.site);
        }
    }

    /// Makes something of a line surely durable.
    fn settle(&mut self, number: u32, cover: impl FnOnce(&mut Pending)) {
        let known = &mut self.lines[number as usize];
        let last = known.pending.stores.last().map(|stored| stored.step);
        cover(&mut known.pending);
        self.durable = self.durable.max(known.pending.durable);
        if let (Some(last), true) = (last, known.pending.stores.is_empty()) {
            self.pending.remove(&last);
        }
        if !std::mem::replace(&mut known.changed, true) {
            self.changed.push(number);
        }
    }

    /// Brings [`Memory::bits`] and [`Memory::undecided`] up to date.
    pub fn count(&mut self) {
        for number in std::mem::take(&mut self.changed) {
            let known = &mut self.lines[number as usize];
            known.changed = false;
            let (bits, open) = match known.pending.stores.is_empty() {
                true => (0.0, false),
                false => {
                    let contents = known.pending.contents();
                    (contents.bits, contents.open())
                }
            };
            self.bits += bits - std::mem::replace(&mut known.bits, bits);
            self.undecided = self.undecided + usize::from(open) - usize::from(std::mem::replace(&mut known.open, open));
        }
        if self.undecided == 0 {
            // Sums of differences do not end at zero by themselves.
            self.bits = 0.0;
        }
    }

    /// A crash point has been passed.
    pub fn passed(&mut self) {
        self.marked = false;
        for number in self.fresh.drain(..) {
            self.lines[number as usize].fresh = false;
        }
    }

    /// Whether the line was stored to since the last crash point.
    pub fn is_fresh(&self, number: u32) -> bool {
        self.lines[number as usize].fresh
    }

    /// Calls `show` with each line that was stored to since the last call.
    pub fn take_touched(&mut self, mut show: impl FnMut(&Known)) {
        for number in self.touched.drain(..) {
            let known = &mut self.lines[number as usize];
            known.touched = false;
            show(known);
        }
    }

    /// The number of a line that was stored to.
    pub fn number(&self, line: Line) -> u32 {
        self.numbers[&line]
    }

    /// What the line holds if everything has arrived.
    pub fn newest(&self, line: Line) -> LineBytes {
        match self.numbers.get(&line) {
            Some(&number) => self.lines[number as usize].pending.newest,
            None => self.before(line),
        }
    }
}
