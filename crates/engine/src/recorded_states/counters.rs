//! The counters of a recorded program's lines, on designs whose counters can be apart from their data after a power
//! failure: what each line may read as then, and which of that goes together.
//!
//! The rules are those of [`Hardware`], for the history that the steps of the trace result in. Memory encrypts whole lines,
//! so a line has what it held after one of its stores: that a store may be torn is seen on plaintext memory. Page
//! re-encryption is not modelled.

use super::contents::{Content, Contents};
use super::line::By;
use super::together::{Age, Joint, Together};
use crate::assembly::{boot_codec, encryption_parts};
use crate::config::Machine;
use crate::crash::CauseKind;
use crate::kernel::ConfigError;
use crate::layout::Coverage;
use crate::legal_states::{Encoder, Hardware, History, Reading, Space, wide_minors};
use crate::message::{BaseImage, CounterBlock, Line, LineBytes, ProgramLayout};
use crate::parts::Design;
use crate::recovery::{LineCodec, SchemeCodec};
use crate::run::Annotated;
use crate::trace::{AnnotationKind, FlushKind, Trace, TraceBase};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Most versions of a line that are kept apart. Of a line with more, all are tried on plaintext memory.
const VERSIONS_MAX: usize = 16;
/// The thread of flushes that need no fence.
const AT_ONCE: u64 = u64::MAX;
/// Most ways in which a counter block may have reached the media that are told apart.
const MODES_MAX: usize = 64;
/// Most lines of a crash point whose counters are considered.
pub(super) const LINES_MAX: usize = 64;

/// What a content of a line lacks, if it is not that the store is lost which the rules of x86 allow to be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separation {
    pub by: By,
    pub missing: CauseKind,
}

/// What is known of one content, beside its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provenance {
    pub separation: Option<Separation>,
    /// The newest store that is lost as the rules of x86 allow, and the newest that is there.
    pub lost: Option<By>,
    pub kept: Option<By>,
}

/// A line that may read as more than one thing.
pub(super) struct Apartness {
    pub line: Line,
    pub contents: Rc<Contents>,
    /// Lines of a group have their counters in one block, whose ways are those in which it may have reached the media.
    pub joint: Joint,
    /// By content.
    pub provenance: Vec<Provenance>,
}

/// What is known of a design's counters before the program runs.
pub(super) struct Rules {
    hardware: Hardware,
    codec: SchemeCodec,
    base: Arc<TraceBase>,
}

impl Rules {
    /// Those of `design`; `None` if every line always decrypts.
    pub fn of(machine: &Machine, seed: u64, design: &Design, trace: &Trace) -> Result<Option<Self>, ConfigError> {
        let hardware = Hardware::of(design, machine);
        if hardware.keeps_counters() {
            return Ok(None);
        }
        let (machine, base) = (wide_minors(machine), Arc::new(trace.base()));
        let dynamic = Arc::clone(&base) as Arc<dyn BaseImage>;
        let Some(parts) = encryption_parts(&machine, design, seed, &dynamic)? else {
            return Ok(None);
        };
        let codec = boot_codec(&machine, 1, parts, dynamic, None);
        Ok(Some(Self { hardware, codec, base }))
    }
}

/// The counters.
pub(super) struct Counters<'a> {
    rules: &'a Rules,
    history: History,
    annotated: Annotated,
    /// By line, the newest stores, each with its number among those of the line.
    stores: FxHashMap<Line, VecDeque<(u64, By)>>,
    /// Blocks with a line that may read as more than one thing, each with the step of its newest store.
    unsettled: FxHashMap<CounterBlock, u64>,
    /// Lines that a flush without a fence has made durable since the last fence of its thread.
    at_once: Vec<(u64, Line)>,
}

impl<'a> Counters<'a> {
    /// The counters before the program runs.
    pub fn new(rules: &'a Rules, annotated: Annotated) -> Self {
        let everything = 0..u64::MAX;
        let layout = ProgramLayout { core: 0, log: 0..0, heap: everything, volatile: 0..0 };
        let coverage: Coverage = rules.codec.coverage();
        // Nobody sends transactions: the program's own recovery judges.
        let history = History::new(Arc::clone(&rules.base) as _, layout, coverage, channel().1);
        Self {
            rules,
            history: history.keeping_versions(VERSIONS_MAX),
            annotated,
            stores: FxHashMap::default(),
            unsettled: FxHashMap::default(),
            at_once: Vec::new(),
        }
    }

    /// A store; one past the caches leaves with the next fence of its thread.
    pub fn store(&mut self, line: Line, offset: usize, data: &[u8], by: By, past_caches: bool) {
        self.history.stored(line, offset, data);
        let number = self.history.lines[&line].stores;
        let stores = self.stores.entry(line).or_default();
        stores.push_back((number, by));
        if stores.len() > VERSIONS_MAX + 1 {
            stores.pop_front();
        }
        self.unsettled.insert(self.history.coverage.block(line), by.step);
        if past_caches {
            self.history.flushed(by.thread, line);
        }
    }

    /// A flush of a line that was stored to.
    pub fn flush(&mut self, thread: u64, line: Line, kind: FlushKind) {
        if !kind.at_once() {
            self.history.flushed(thread, line);
            return;
        }
        // It needs no fence, and is ordered with stores as a fence is.
        self.history.flushed(AT_ONCE, line);
        self.complete(AT_ONCE);
        if self.annotated == Annotated::ByAssumption {
            self.at_once.push((thread, line));
        }
    }

    /// What the program says of the counter of a line.
    pub fn annotate(&mut self, thread: u64, line: Line, kind: AnnotationKind) {
        match kind {
            _ if self.annotated != Annotated::ByItself => {}
            AnnotationKind::Atomic => self.history.marked(line),
            AnnotationKind::Writeback => self.history.counters_flushed(thread, line),
        }
    }

    /// Whether the next fence of the thread makes counters durable whose data need no fence.
    pub fn would_complete(&self, thread: u64) -> bool {
        self.history.flushed_by(thread).1 || self.at_once.iter().any(|(by, _)| *by == thread)
    }

    pub fn fence(&mut self, thread: u64) {
        if self.annotated == Annotated::ByAssumption {
            let mut lines: Vec<Line> = self.history.flushed_by(thread).0.collect();
            lines.extend(self.at_once.extract_if(.., |(by, _)| *by == thread).map(|(_, line)| line));
            for line in lines {
                self.history.counters_flushed(thread, line);
            }
        }
        self.complete(thread);
    }

    fn complete(&mut self, thread: u64) {
        let hardware = &self.rules.hardware;
        self.history.fenced(thread, hardware.writeback_complete(), |line| hardware.carries(line));
    }

    /// What lines may read as now, in the order of the newest stores to their blocks, and how that goes together.
    pub fn lines(&mut self) -> (Vec<Apartness>, Together) {
        let mut blocks: Vec<(u64, CounterBlock)> = self.unsettled.iter().map(|(block, step)| (*step, *block)).collect();
        blocks.sort_unstable_by(|left, right| right.cmp(left));
        let encoder =
            Encoder { codec: Some(&self.rules.codec as &dyn LineCodec), base: Arc::clone(&self.rules.base) as _ };
        let mut together = Together::default();
        let mut found: Vec<Apartness> = Vec::new();
        for (_, block) in blocks {
            if found.len() >= LINES_MAX {
                together.complete = false;
                break;
            }
            let space = self.rules.hardware.space_of(&self.history, &encoder, &[block]);
            together.busy_max = space.busy_max;
            if space.groups.is_empty() {
                self.unsettled.remove(&block);
                continue;
            }
            self.add(&space, &mut together, &mut found);
        }
        found.reverse();
        (found, together)
    }

    /// Adds the lines of a space of one block.
    fn add(&self, space: &Space, together: &mut Together, found: &mut Vec<Apartness>) {
        for of in &space.groups {
            let group = together.groups.len();
            together.groups.push(of.modes.min(MODES_MAX));
            together.complete &= of.modes <= MODES_MAX;
            // The nearest way is always among those that are told apart.
            let first = if of.nearest < MODES_MAX { 0 } else { of.modes - MODES_MAX };
            for &index in of.lines.iter().rev() {
                let open = &space.lines[index];
                let modes = &open.candidates[first..(first + MODES_MAX).min(of.modes)];
                let mut listed = Listed { counters: self, line: open.line, contents: Vec::new(), known: Vec::new() };
                for (mode, candidates) in modes.iter().enumerate() {
                    for candidate in candidates {
                        listed.add(candidate.version, candidate.reading, candidate.bytes, candidate.busy, mode);
                    }
                }
                found.extend(listed.finish(group));
            }
        }
    }

    /// The store that version `version` of a line ends with, if it was during the run.
    fn by(&self, line: Line, version: usize) -> Option<By> {
        let number = self.history.lines[&line].stores_in(version);
        self.stores.get(&line)?.iter().find(|(of, _)| *of == number).map(|(_, by)| *by)
    }
}

/// The contents of one line under construction.
struct Listed<'a> {
    counters: &'a Counters<'a>,
    line: Line,
    contents: Vec<Content>,
    known: Vec<Known>,
}

/// What is known of a content of the line.
struct Known {
    of: Age,
    /// In the first way, if it is legal there.
    first: Option<Age>,
    modes: u64,
    busy: bool,
    provenance: Provenance,
}

/// From the best to the worst.
fn rank(reading: Reading) -> u8 {
    match reading {
        Reading::Intact => 0,
        Reading::CounterAhead => 1,
        Reading::CounterBehind => 2,
        Reading::CounterFromBefore => 3,
    }
}

impl Listed<'_> {
    /// Adds what the line reads as if this version of it and its counter have reached the media, the block in way `mode`.
    fn add(&mut self, version: usize, reading: Reading, bytes: LineBytes, busy: bool, mode: usize) {
        let of = Age { version, rank: rank(reading) };
        match self.contents.iter().position(|known| known.bytes == bytes) {
            Some(at) => {
                let known = &mut self.known[at];
                known.modes |= 1 << mode;
                known.busy |= busy;
                if mode == 0 {
                    known.first = Some(known.first.map_or(of, |first| first.worse(of)));
                }
            }
            None => {
                let provenance = self.provenance(version, reading);
                self.contents.push(Content { bytes, lost: None, kept: None, torn: None });
                self.known.push(Known { of, first: (mode == 0).then_some(of), modes: 1 << mode, busy, provenance });
            }
        }
    }

    fn provenance(&self, version: usize, reading: Reading) -> Provenance {
        let newest = self.counters.history.lines[&self.line].newest();
        let by = |version: usize| self.counters.by(self.line, version);
        let lost = (version < newest).then(|| by(newest)).flatten();
        let separation = |version: usize, missing: CauseKind| by(version).map(|by| Separation { by, missing });
        match reading {
            Reading::Intact => {
                Provenance { separation: None, lost, kept: (version > 0).then(|| by(version)).flatten() }
            }
            Reading::CounterAhead => {
                Provenance { separation: separation(version + 1, CauseKind::CounterAhead), lost, kept: None }
            }
            Reading::CounterBehind | Reading::CounterFromBefore => {
                Provenance { separation: separation(version, CauseKind::CounterNotDurable), lost, kept: None }
            }
        }
    }

    /// The line, with the content first that has everything.
    fn finish(mut self, group: usize) -> Option<Apartness> {
        let history = &self.counters.history.lines[&self.line];
        let newest = history.version(history.newest()).bytes;
        let at = self.contents.iter().position(|content| content.bytes == newest)?;
        self.contents.swap(0, at);
        self.known.swap(0, at);
        let lacks = (0..self.known.len()).filter_map(|at| Some((self.known[at].first?.lack(), at)));
        let base = lacks.max().map_or(0, |(_, at)| at);
        let intact = |version: usize| {
            let bytes = history.version(version).bytes;
            let content = self.contents.iter().position(|content| content.bytes == bytes)?;
            Some((self.counters.by(self.line, version)?.step, content))
        };
        let arrivals = (1..=history.newest()).filter_map(intact).collect();
        let bits = (self.contents.len() as f64).log2();
        let contents = Contents { list: self.contents, base, complete: history.is_whole(), bits, arrivals };
        Some(Apartness {
            line: self.line,
            contents: Rc::new(contents),
            joint: Joint {
                group,
                modes: self.known.iter().map(|known| known.modes).collect(),
                busy: self.known.iter().map(|known| known.busy).collect(),
                ages: self.known.iter().map(|known| known.of).collect(),
            },
            provenance: self.known.into_iter().map(|known| known.provenance).collect(),
        })
    }
}
