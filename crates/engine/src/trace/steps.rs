//! A recorded program step by step, for checks of the program itself: what it stored to which line of its files, what it
//! flushed and fenced, by which thread, at which place. The recording is read once.
//!
//! In contrast to [`super::TraceProgram`], files have no place on a device yet: lines are lines of files. A locked
//! operation is a fence and then a store, as nothing that is stored before it can be overtaken by it.

use super::TraceInput;
use super::lacks::sentences;
use super::omitted::{Omitted, Omitting};
use super::ranges::Ranges;
use super::recording::{Act, AnnotationKind, FlushKind, Recording, Scratch, StoreWay};
use super::sites::Sites;
use super::summary::{CutOff, cut_off_error};
use crate::kernel::ConfigError;
use crate::message::{LINE_BYTES, NO_SITE, Site};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of a pointer.
const POINTER_BYTES: usize = 8;
/// Acts between two reports of how far the reader is.
const ACTS_PER_TELL: u64 = 1 << 14;

/// A line of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileLine {
    /// File, by order of first registration.
    pub file: u32,
    /// Number of the line in the file.
    pub line: u64,
}

/// Bytes in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The address of the first byte in the program.
    pub address: u64,
    pub line: FileLine,
    /// Offset of the first byte in the line.
    pub offset: u8,
}

/// An aligned word that was stored and holds the address of a mapped byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// Number of the word in its line, 0 to 7.
    pub word: u8,
    pub to: FileLine,
    /// Offset of the byte in that line.
    pub offset: u8,
}

/// What a step does. Flushes of lines, fences and annotations are numbered as [`super::Omitted`] numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done<'a> {
    /// `bytes` are stored within a line; `pointers` are those among them. `scratch`: the program has declared that they
    /// need not become durable.
    Store { at: Spot, bytes: &'a [u8], way: StoreWay, pointers: &'a [Pointer], scratch: bool },
    /// The program declares that what it has stored to this part of a file need not become durable.
    Scratch { file: u32, offset: u64, length: u64 },
    /// A line is flushed.
    Flush { at: Spot, kind: FlushKind, number: u64 },
    /// A flush of memory that no file is mapped to.
    FlushOutside { address: u64 },
    /// A fence.
    Fence { by: FenceBy, number: u64 },
    /// A locked operation that orders what its thread has done as a fence does, but not as one of the program's: it is in the
    /// C library or the loader, or on memory that is not persistent with nothing after it on memory that is.
    FenceByChance,
    /// The program says how the counters of these lines must become durable.
    Annotation { kind: AnnotationKind, number: u64, lines: &'a [FileLine] },
    /// The outermost transaction of all threads begins.
    TxBegin,
    /// It has ended.
    TxEnd,
    /// The program sets a mark.
    Mark(&'a [u8]),
}

/// Which instruction fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceBy {
    /// `sfence`, or a system call.
    Sfence,
    /// `mfence`.
    Mfence,
    /// A locked operation on persistent memory.
    Locked,
    /// A locked operation on other memory.
    LockedElsewhere,
}

/// A locked operation on memory that is not persistent, of which it is not known yet what follows it.
struct Waiting {
    record: u64,
    thread: u64,
    site: Site,
    number: u64,
}

/// A step of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<'a> {
    /// The record that it comes from, counting from 1.
    pub record: u64,
    pub thread: u64,
    pub site: Site,
    pub done: Done<'a>,
}

/// What is known when a recording has been read.
#[derive(Debug)]
pub struct StepsRead {
    /// The places that steps came from; empty if the format does not have them.
    pub sites: Sites,
    /// Paths of the files; bytes that are not UTF-8 are replaced.
    pub files: Vec<String>,
    /// Number of records.
    pub records: u64,
    /// How far the recording is valid, if its end is missing.
    pub cut_off: Option<CutOff>,
    /// What the recording lacks of what the program did, in sentences.
    pub lacks: Vec<String>,
    /// Number of threads.
    pub threads: u64,
    /// The addresses of the stores that are not durable at the end, if the recording itself says so.
    pub not_durable: Option<Vec<Range<u64>>>,
}

/// A recording that is about to be read.
pub struct Steps {
    recording: Box<dyn Recording>,
    flushes: u64,
    fences: u64,
    annotations: u64,
    /// Locked operations since the last operation on persistent memory, the first of each thread.
    waiting: Vec<Waiting>,
    /// What is left out.
    omitted: Omitting,
    /// The lines of the newest annotation.
    annotated: Vec<FileLine>,
    /// Addresses where stores need not become durable.
    scratch: Ranges,
    bytes: u64,
    read: Arc<AtomicU64>,
    /// Once this is set, nothing more is read.
    end: Option<Arc<AtomicBool>>,
}

impl Steps {
    /// Opens the recording at `path`. Once `cancel` is set, it cannot be read further.
    ///
    /// # Errors
    /// The file cannot be opened, is no recording of a program, or its format does not show what is flushed.
    pub fn open(path: &Path, cancel: &Arc<AtomicBool>) -> Result<Self, ConfigError> {
        Self::new(&TraceInput::file(path, Arc::clone(cancel))?)
    }

    /// Opens a recording in memory; `name` is its name in errors.
    ///
    /// # Errors
    /// The errors of [`Steps::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Self, ConfigError> {
        Self::new(&TraceInput::bytes(name, bytes.into()))
    }

    /// Opens the recording `input` without the operations `omitted`; it ends early, as if the visitor had ended it, once
    /// `end` is set.
    pub(super) fn until(input: &TraceInput, omitted: &Omitted, end: &Arc<AtomicBool>) -> Result<Self, ConfigError> {
        Ok(Self { omitted: omitted.begin(), end: Some(Arc::clone(end)), ..Self::new(input)? })
    }

    fn new(input: &TraceInput) -> Result<Self, ConfigError> {
        let opened = input.open()?;
        let read = Arc::clone(&opened.read);
        let mut recording = opened.recording()?;
        if !recording.of_files() {
            let (name, (what, _)) = (recording.name(), recording.kind());
            return Err(ConfigError(format!("{name}: check: this {what} has no flushes and no files to check")));
        }
        recording.watch_sites();
        Ok(Self {
            recording,
            flushes: 0,
            fences: 0,
            annotations: 0,
            waiting: Vec::new(),
            omitted: Omitted::default().begin(),
            annotated: Vec::new(),
            scratch: Ranges::default(),
            bytes: input.file_bytes(),
            read,
            end: None,
        })
    }

    /// Bytes of the file, compressed or not.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Calls `visit` with every step, until it breaks. `progress` is called with the number of bytes read since the last
    /// call.
    ///
    /// # Errors
    /// A record is malformed or the file cannot be read; or its end is missing, unless `allow_truncated`.
    pub fn each(
        mut self,
        allow_truncated: bool,
        progress: &dyn Fn(u64),
        visit: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
    ) -> Result<StepsRead, ConfigError> {
        let (mut acts, mut told) = (0u64, 0);
        let mut over = false;
        let cut_off = loop {
            let deed = self.recording.next_deed(&mut |_| Ok(()))?;
            if let Act::Over { cut_off } = deed.act {
                break cut_off;
            }
            over = over || self.visit(deed.act, visit).is_break();
            acts += 1;
            if acts.is_multiple_of(ACTS_PER_TELL) {
                let read = self.read.load(Ordering::Relaxed);
                progress(read - told);
                told = read;
                over = over || self.end.as_ref().is_some_and(|end| end.load(Ordering::Relaxed));
            }
            if over {
                break false;
            }
        };
        if !over {
            self.end_waiting(visit);
            progress(self.bytes.saturating_sub(told));
        }
        if cut_off && !allow_truncated {
            return Err(cut_off_error(&*self.recording, "checks"));
        }
        let (records, bytes) = (self.recording.records(), self.recording.offset());
        let not_durable = if cut_off || over { None } else { self.recording.not_durable() };
        let names = self.recording.files().iter().map(|file| String::from_utf8_lossy(&file.path).into_owned());
        Ok(StepsRead {
            files: names.collect(),
            records,
            lacks: sentences(&self.recording.lacks(cut_off)),
            threads: self.recording.totals().threads,
            cut_off: cut_off.then_some(CutOff { records, bytes }),
            sites: self.recording.take_sites(),
            not_durable,
        })
    }

    fn visit(&mut self, act: Act, visit: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        self.show(act, &mut |step| {
            if flow.is_continue() {
                flow = visit(step);
            }
        });
        flow
    }

    fn show(&mut self, act: Act, visit: &mut dyn FnMut(Step<'_>)) {
        if !self.waiting.is_empty() && self.goes_on(act) {
            for Waiting { record, thread, site, number } in std::mem::take(&mut self.waiting) {
                let done = Done::Fence { by: FenceBy::LockedElsewhere, number };
                visit(Step { record, thread, site, done });
            }
        }
        match act {
            Act::Store { address, size, way } => {
                if way == StoreWay::Atomic {
                    self.fence(FenceBy::Locked, visit);
                }
                self.store(address, u64::from(size), way, visit);
            }
            Act::Flush { address, end, kind } => self.flush(address, end, kind, visit),
            Act::Fence => self.fence(FenceBy::Sfence, visit),
            Act::FullFence => self.fence(FenceBy::Mfence, visit),
            Act::Locked => self.locked_elsewhere(visit),
            Act::DeepSync { address, end } => {
                self.flush(address, end, FlushKind::Clwb, visit);
                self.fence(FenceBy::Sfence, visit);
            }
            Act::Scratch { address, end, what } => self.scratch(address, end, what, visit),
            Act::TxBegin => visit(self.step(NO_SITE, Done::TxBegin)),
            Act::TxEnd => visit(self.step(NO_SITE, Done::TxEnd)),
            Act::Transactional | Act::Commit | Act::Nothing => {
                if let Some(text) = self.recording.mark() {
                    visit(self.step(NO_SITE, Done::Mark(text)));
                }
            }
            Act::Annotation { address, end, kind } => self.annotation(address, end, kind, visit),
            Act::Load { .. } | Act::Other { .. } | Act::Follows { .. } | Act::Over { .. } => {}
        }
    }

    fn step<'a>(&self, site: Site, done: Done<'a>) -> Step<'a> {
        Step { record: self.recording.records(), thread: self.recording.thread(), site, done }
    }

    fn fence(&mut self, by: FenceBy, visit: &mut dyn FnMut(Step<'_>)) {
        let site = self.recording.site();
        if !self.omitted.fence() {
            // Before the fourth version of the format an MFENCE may be a locked operation.
            let done = match by != FenceBy::Sfence && self.recording.in_library() {
                true => Done::FenceByChance,
                false => Done::Fence { by, number: self.fences },
            };
            visit(self.step(site, done));
        }
        self.fences += 1;
    }

    /// A locked operation on other memory: what follows says whether it is a fence of the program.
    fn locked_elsewhere(&mut self, visit: &mut dyn FnMut(Step<'_>)) {
        if self.recording.in_library() {
            return self.fence(FenceBy::LockedElsewhere, visit);
        }
        let (thread, number) = (self.recording.thread(), self.fences);
        self.fences += 1;
        // Of several of a thread with nothing in between, the first has done everything.
        if !self.omitted.fence() && self.waiting.iter().all(|waiting| waiting.thread != thread) {
            let (record, site) = (self.recording.records(), self.recording.site());
            self.waiting.push(Waiting { record, thread, site, number });
        }
    }

    /// Whether an act shows that the program goes on with persistent memory.
    fn goes_on(&mut self, act: Act) -> bool {
        match act {
            Act::Locked | Act::Load { .. } | Act::Other { .. } => false,
            Act::Follows { .. } | Act::Scratch { .. } | Act::Over { .. } => false,
            Act::Flush { address, end, .. } | Act::Annotation { address, end, .. } => {
                self.recording.first_placed(address, end).is_some()
            }
            Act::Transactional | Act::Commit | Act::Nothing => self.recording.mark().is_some(),
            Act::Store { .. } | Act::Fence | Act::FullFence | Act::DeepSync { .. } | Act::TxBegin | Act::TxEnd => true,
        }
    }

    /// Nothing follows the locked operations that wait.
    fn end_waiting(&mut self, visit: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>) {
        for Waiting { record, thread, site, .. } in std::mem::take(&mut self.waiting) {
            if visit(Step { record, thread, site, done: Done::FenceByChance }).is_break() {
                return;
            }
        }
    }

    fn annotation(&mut self, address: u64, end: u64, kind: AnnotationKind, visit: &mut dyn FnMut(Step<'_>)) {
        let site = self.recording.site();
        if !self.omitted.annotation() {
            let mut lines = std::mem::take(&mut self.annotated);
            lines.clear();
            self.each_line(address, end, |_, at| lines.push(at.line));
            lines.dedup();
            visit(self.step(site, Done::Annotation { kind, number: self.annotations, lines: &lines }));
            self.annotated = lines;
        }
        self.annotations += 1;
    }

    fn store(&mut self, address: u64, size: u64, way: StoreWay, visit: &mut dyn FnMut(Step<'_>)) {
        let site = self.recording.site();
        let mut pointers = Vec::new();
        let (mut at, end) = (address, address + size);
        while at < end {
            // The reader has checked that all of it is mapped.
            let Some((start, place)) = self.recording.first_placed(at, end) else { break };
            let within = place.offset % LINE_BYTES;
            let length = place.length.min(LINE_BYTES - within);
            let line = FileLine { file: place.file as u32, line: place.offset / LINE_BYTES };
            self.pointers((start - address) as usize, within as usize, length as usize, &mut pointers);
            let spot = Spot { address: start, line, offset: within as u8 };
            let scratch = self.scratch.contain(&(start..start + length));
            let from = (start - address) as usize;
            let bytes = &self.recording.bytes()[from..from + length as usize];
            let stored = Done::Store { at: spot, bytes, way, pointers: &pointers, scratch };
            visit(self.step(site, stored));
            at = start + length;
        }
    }

    fn scratch(&mut self, start: u64, end: u64, what: Scratch, visit: &mut dyn FnMut(Step<'_>)) {
        match what {
            Scratch::Begins => self.scratch.add(start..end),
            Scratch::Ends => self.scratch.remove(start..end),
            Scratch::Stored => {
                let mut at = start;
                while let Some((from, place)) = self.recording.first_placed(at, end) {
                    let (file, offset, length) = (place.file as u32, place.offset, place.length);
                    visit(self.step(NO_SITE, Done::Scratch { file, offset, length }));
                    at = from + length;
                }
            }
        }
    }

    /// The pointers among `length` bytes of the newest store from byte `from`, which lie at `within` in their line.
    fn pointers(&mut self, from: usize, within: usize, length: usize, found: &mut Vec<Pointer>) {
        found.clear();
        for word in within.div_ceil(POINTER_BYTES)..(within + length) / POINTER_BYTES {
            let begin = from + word * POINTER_BYTES - within;
            let Some(bytes) = self.recording.bytes().get(begin..begin + POINTER_BYTES) else { return };
            let value = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            if let Some(place) = self.recording.place(value) {
                let to = FileLine { file: place.file as u32, line: place.offset / LINE_BYTES };
                found.push(Pointer { word: word as u8, to, offset: (place.offset % LINE_BYTES) as u8 });
            }
        }
    }

    fn flush(&mut self, address: u64, end: u64, kind: FlushKind, visit: &mut dyn FnMut(Step<'_>)) {
        let site = self.recording.site();
        let mut outside = true;
        self.each_line(address, end, |steps, at| {
            outside = false;
            if !steps.omitted.flush() {
                visit(steps.step(site, Done::Flush { at, kind, number: steps.flushes }));
            }
            steps.flushes += 1;
        });
        if outside && address < end {
            visit(self.step(site, Done::FlushOutside { address }));
        }
    }

    /// Calls `each` with the first byte of every line of files in a range of addresses.
    fn each_line(&mut self, address: u64, end: u64, mut each: impl FnMut(&mut Self, Spot)) {
        let mut at = address;
        while let Some((start, place)) = self.recording.first_placed(at, end) {
            let first = place.offset / LINE_BYTES;
            for number in first..(place.offset + place.length).div_ceil(LINE_BYTES) {
                let skipped = (number * LINE_BYTES).saturating_sub(place.offset);
                let offset = (place.offset + skipped) % LINE_BYTES;
                let line = FileLine { file: place.file as u32, line: number };
                each(self, Spot { address: start + skipped, line, offset: offset as u8 });
            }
            at = start + place.length;
        }
    }
}
