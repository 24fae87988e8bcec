//! The part of the document about crash points: the state after each event of the window, recorded when it changes.

use super::boots::Step;
use crate::audit::Violation;
use crate::message::{CoreId, LineBytes};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hash;

/// How a boot would find a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    AsFlushed,
    Newer,
    Older,
    Zero,
    Garbage,
    InTheClear,
    Chained,
    BeforeTheRun,
}

/// The names of the states, in the order of [`State`].
pub const STATES: [&str; 8] = [
    "as flushed",
    "newer, in flight",
    "older",
    "reads as zero",
    "does not decrypt",
    "in the clear",
    "in the log's chain",
    "as before the run",
];
/// The name of [`State::AsFlushed`] where caches persist.
pub const AS_STORED: &str = "as stored";

/// A counter as major and minor.
pub type ShownCounter = (u64, u16);

/// What a power failure leaves of a line, and what happens to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub state: State,
    /// The durable counter.
    pub counter: Option<ShownCounter>,
    /// The counter that the data was encrypted with.
    pub data_counter: Option<ShownCounter>,
    /// Whether stores to the line are in flight.
    pub in_flight: bool,
    /// Whether the line breaks the line rule.
    pub wrong: bool,
    /// Whether the boot restores the line, from the shadow cache or from the hardware's log.
    pub restored: bool,
    /// What a boot finds in it, as a position in [`Picture::contents`].
    pub found: usize,
}

/// A line whose result has changed.
#[derive(Clone, Copy, Serialize)]
#[serde(into = "LineRow")]
pub struct LineChange {
    /// The line's position in the list of lines.
    pub line: usize,
    pub now: Seen,
}

/// The fields of [`LineChange`], in order.
type LineRow = (usize, u8, Option<ShownCounter>, Option<ShownCounter>, bool, bool, bool, usize);

impl From<LineChange> for LineRow {
    fn from(change: LineChange) -> Self {
        let Seen { state, counter, data_counter, in_flight, wrong, restored, found } = change.now;
        (change.line, state as u8, counter, data_counter, in_flight, wrong, restored, found)
    }
}

/// A core whose transaction or stage has changed.
#[derive(Clone, Copy, Serialize)]
#[serde(into = "CoreRow")]
pub struct CoreChange {
    pub core: CoreId,
    /// The transaction in flight, or the next one.
    pub transaction: Option<u64>,
    pub stage: Option<&'static str>,
}

/// The fields of [`CoreChange`], in order.
type CoreRow = (CoreId, Option<u64>, Option<&'static str>);

impl From<CoreChange> for CoreRow {
    fn from(CoreChange { core, transaction, stage }: CoreChange) -> Self {
        (core, transaction, stage)
    }
}

/// What changed in an event.
#[derive(Default, Serialize)]
pub struct Point {
    pub n: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<usize>,
}

impl Point {
    pub fn says_nothing(&self) -> bool {
        let changes = (self.registers, self.boot, self.verdict);
        self.lines.is_empty() && self.cores.is_empty() && changes == (None, None, None)
    }
}

/// The verdict after an event.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Verdict {
    /// Whether every rule holds that a power failure now could break.
    pub recovers: bool,
    /// Which violations hold.
    pub violations: Vec<usize>,
}

#[derive(Serialize)]
pub struct ToldLine {
    pub address: u64,
    pub role: String,
}

/// The part of the document about crash points.
#[derive(Serialize)]
pub struct Picture {
    /// The last event of the window.
    pub last: u64,
    /// "split": major and minor counters; "word": one number; null: memory holds plaintext.
    pub counters: Option<&'static str>,
    pub states: [&'static str; 8],
    /// The 64 bytes of lines, in hexadecimal digits.
    pub contents: Vec<String>,
    pub lines: Vec<ToldLine>,
    pub registers: Vec<Vec<(&'static str, String)>>,
    pub boots: Vec<Vec<Step>>,
    pub verdicts: Vec<Verdict>,
    pub violations: Vec<Violation>,
    pub points: Vec<Point>,
    pub internal_errors: Vec<String>,
}

/// The bytes of a line in hexadecimal digits.
pub fn hex(bytes: &LineBytes) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let digit = |of: u8| char::from_digit(of.into(), 16).unwrap_or_default();
        text.extend([digit(byte >> 4), digit(byte & 15)]);
        text
    })
}

/// Different values, each stored once.
pub struct Table<T> {
    pub index: FxHashMap<T, usize>,
    pub values: Vec<T>,
}

impl<T: Clone + Eq + Hash> Table<T> {
    pub fn new() -> Self {
        Self { index: FxHashMap::default(), values: Vec::new() }
    }

    pub fn place(&mut self, value: T) -> usize {
        *self.index.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            self.values.len() - 1
        })
    }
}
