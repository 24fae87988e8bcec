//! Tests of the legal states of recorded programs: an independent reference by brute force, and programs of a few lines
//! with the mistakes that are to be found.

mod causes;
mod classes;
mod contents;
mod counters;
mod marks;
mod nested;
mod reference;
mod sectors;
mod sizes;
mod watching;

use super::memory::Memory;
use super::point::{Extent, Point, Tried};
use crate::message::{BaseImage, Line, LineBytes};
use crate::trace::Trace;
use crate::trace::recorded::tests::build::{BASE, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A program under construction. The program counter of an operation is its source line: without object files, a place is
/// shown as its address.
#[derive(Clone)]
struct Program(Stream);

impl Program {
    fn new() -> Self {
        Self(Stream::with_file())
    }

    /// Stores a text to the beginning of a line, as eight bytes.
    fn store(self, at: u64, line: u64, text: &str) -> Self {
        self.bytes(0x11, at, line * 64, &word(text))
    }

    fn past_caches(self, at: u64, line: u64, text: &str) -> Self {
        self.bytes(0x12, at, line * 64, &word(text))
    }

    fn bytes(self, tag: u8, at: u64, offset: u64, bytes: &[u8]) -> Self {
        Self(self.0.store(tag, 0, at, BASE + offset, bytes))
    }

    fn clwb(self, at: u64, line: u64) -> Self {
        Self(self.0.flush(0x14, 0, at, BASE + line * 64))
    }

    fn clflush(self, at: u64, line: u64) -> Self {
        Self(self.0.flush(0x16, 0, at, BASE + line * 64))
    }

    /// A locked operation on other memory.
    fn locked(self, at: u64) -> Self {
        Self(self.0.locked(at))
    }

    fn sfence(self, at: u64) -> Self {
        Self(self.0.fence(0x17, 0, at))
    }

    /// The program asks for the counter of a line to be written back.
    fn write_back(self, at: u64, line: u64) -> Self {
        Self(self.0.annotate(0x1a, at, BASE + line * 64, 64))
    }

    /// A line is `CounterAtomic` from here on.
    fn counter_atomic(self, at: u64, line: u64) -> Self {
        Self(self.0.annotate(0x1b, at, BASE + line * 64, 64))
    }

    /// These lines need not become durable from here on.
    fn scratch(self, first: u64, lines: u64) -> Self {
        Self(self.0.scratch(1, BASE + first * 64, lines * 64))
    }

    fn thread(self, thread: u64) -> Self {
        Self(self.0.thread(thread))
    }

    fn mark(self, text: &str) -> Self {
        Self(self.0.mark(text.as_bytes()))
    }

    fn trace(self) -> Vec<u8> {
        self.0.end(0)
    }
}

fn word(text: &str) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// What the lines of the file hold, without those that hold what they held before.
type Image = BTreeMap<u64, LineBytes>;

/// The states of one crash point: the record before which power fails, the images, and how many states were shown.
struct States {
    record: u64,
    images: BTreeSet<Image>,
    shown: u64,
    tried: Tried,
    exactly: Option<u64>,
}

/// The states that are tried, point by point.
fn states(bytes: Vec<u8>, extent: Extent, budget: u64) -> Vec<States> {
    states_where(bytes, extent, budget, false)
}

/// The same where caches persist, or do not.
fn states_where(bytes: Vec<u8>, extent: Extent, budget: u64, caches_persist: bool) -> Vec<States> {
    states_of(bytes, extent, budget, |memory| memory.with_caches_that_persist(caches_persist))
}

/// The same of a memory that is set up so.
fn states_of(
    bytes: Vec<u8>,
    extent: Extent,
    budget: u64,
    set_up: impl FnOnce(Memory<'_>) -> Memory<'_>,
) -> Vec<States> {
    let trace = Trace::from_bytes("t.cptrace", bytes, false).unwrap();
    let base = trace.base();
    let mut memory = set_up(Memory::new(trace.files(), &base, |_| true));
    let mut all = Vec::new();
    let mut at_point = |memory: &mut Memory<'_>, record: u64| {
        let point = Point::of(memory);
        let (mut images, mut shown) = (BTreeSet::new(), 0);
        let mut digests = BTreeMap::new();
        let tried = point.each(extent, budget, &mut |state| {
            let mut image = Image::new();
            for known in &memory.lines {
                let open = point.lines.iter().zip(state).find(|(open, _)| open.line == known.line);
                let bytes = match open {
                    Some((open, &content)) => open.contents.list[content].bytes,
                    None => known.pending.newest,
                };
                put(&base, &mut image, known.line, bytes);
            }
            // Equal digests for equal images, and only for these.
            let digest = point.digest(state);
            assert_eq!(digests.entry(digest).or_insert_with(|| image.clone()), &image);
            assert!(images.insert(image) || digests.len() == images.len());
            shown += 1;
            ControlFlow::Continue(())
        });
        let ControlFlow::Continue(tried) = tried else { panic!("nobody breaks it off") };
        all.push(States { record, images, shown, tried, exactly: point.exactly });
        memory.passed();
    };
    let read = trace.steps(&Arc::default()).unwrap().each(false, &|_| {}, &mut |step| {
        if memory.loses_states(&step) {
            at_point(&mut memory, step.record);
        }
        memory.take(&step);
        ControlFlow::Continue(())
    });
    if !memory.fresh.is_empty() {
        at_point(&mut memory, read.unwrap().records + 1);
    }
    all
}

fn put(base: &dyn BaseImage, image: &mut Image, line: Line, bytes: LineBytes) {
    if base.line(line).copied().unwrap_or([0; 64]) != bytes {
        image.insert(line.0, bytes);
    }
}
