//! Records what stages report in the window, and all contents that every line has had in the whole run.

use super::picture::hex;
use crate::kernel::{Ps, ps_to_ns};
use crate::layout::{LogRegion, MediaLayout};
use crate::message::{
    BaseImage, Circuit, CoreId, CounterBlock, CounterCacheAct, CounterGroup, GroupMask, Line, LineBytes, MediaLine,
    MediaOp, MediaUnit, Observer,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Something that a stage did, as a mark in its lane.
#[derive(Serialize)]
pub struct Mark {
    /// The number of the event.
    n: u64,
    /// The lane, as an index.
    lane: usize,
    kind: &'static str,
    /// Byte address of the line, or of the first line whose counter the block holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Whether it is about a counter block.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    block: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<CoreId>,
    /// The number of the circuit or bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<u32>,
    /// Begin and end in ns, if it takes time.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<(f64, f64)>,
    /// The bytes of the line, in hexadecimal digits: what the controller gets, what becomes durable.
    #[serde(skip_serializing_if = "String::is_empty")]
    bytes: String,
    /// What happened, if the kind does not say it completely.
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

/// The contents that a line has had.
struct Versions {
    latest: LineBytes,
    known: FxHashSet<u64>,
}

/// Observes a run and records the marks of the window.
pub struct Recorder {
    window: RangeInclusive<u64>,
    layout: MediaLayout,
    /// The log that hardware writes, if there is one.
    log: Option<LogRegion>,
    base: Arc<dyn BaseImage>,
    /// Number of completed events.
    events: u64,
    cores: usize,
    queued: i64,
    versions: FxHashMap<Line, Versions>,
    /// Lines that something happened to in the window, and lines that persisted in the last event.
    touched: FxHashSet<Line>,
    persisted: FxHashSet<MediaLine>,
    /// Time of each event of the window, in ns; see the document.
    pub ns: Vec<f64>,
    /// Entries of the write pending queue after each event; see the document.
    pub queued_after: Vec<i64>,
    /// Names of the lanes; see the document.
    pub lanes: Vec<String>,
    /// The marks of all lanes; see the document.
    pub marks: Vec<Mark>,
}

const CACHES: usize = 0;
const COUNTER_CACHE: usize = 1;
const AES: usize = 2;
const WPQ: usize = 3;
const DEVICE: usize = 4;
const HARDWARE_LOG: usize = 5;

impl Recorder {
    /// Records the events of `window`. Memory starts as `base`; `layout` says how counters are laid out.
    pub fn new(
        window: RangeInclusive<u64>,
        layout: MediaLayout,
        base: Arc<dyn BaseImage>,
        cores: CoreId,
        log: Option<LogRegion>,
    ) -> Self {
        let stages = ["caches", "counter cache", "AES", "WPQ", "device", "hardware log"];
        let stages = stages.iter().take(if log.is_some() { 6 } else { 5 });
        let lanes = (0..cores).map(|core| format!("core {core}")).chain(stages.map(|&name| name.to_owned()));
        Self {
            window,
            layout,
            log,
            base,
            events: 0,
            cores: usize::from(cores),
            queued: 0,
            versions: FxHashMap::default(),
            touched: FxHashSet::default(),
            persisted: FxHashSet::default(),
            ns: Vec::new(),
            queued_after: Vec::new(),
            lanes: lanes.collect(),
            marks: Vec::new(),
        }
    }

    /// Number of completed events.
    pub fn event(&self) -> u64 {
        self.events
    }

    /// Whether `line` has held these bytes, before the run or since.
    pub fn has_held(&self, line: Line, bytes: &LineBytes) -> bool {
        let base = self.base.line(line).map_or(*bytes == [0; 64], |base| base == bytes);
        base || self.versions.get(&line).is_some_and(|versions| versions.known.contains(&hash_of(bytes)))
    }

    /// What was last stored to `line`, or what the controller wrote to it if it belongs to the hardware's log.
    pub fn latest(&self, line: Line) -> Option<&LineBytes> {
        self.versions.get(&line).map(|versions| &versions.latest)
    }

    /// Whether something happened to `line` in the window.
    pub fn touched(&self, line: Line) -> bool {
        self.touched.contains(&line)
    }

    /// Whether `line` or its counter persisted in the last event.
    pub fn just_persisted(&self, line: Line) -> bool {
        let block = MediaLine::counter(self.layout.coverage.block(line));
        self.persisted.contains(&MediaLine::data(line)) || self.persisted.contains(&block)
    }

    fn records(&self) -> bool {
        self.window.contains(&(self.events + 1))
    }

    fn add(&mut self, lane: usize, kind: &'static str) -> Option<&mut Mark> {
        if !self.records() {
            return None;
        }
        let (n, text, bytes) = (self.events + 1, String::new(), String::new());
        let (line, block, core, unit, span) = (None, false, None, None, None);
        self.marks.push(Mark { n, lane, kind, line, block, core, unit, span, bytes, text });
        self.marks.last_mut()
    }

    /// Records something that a core did.
    fn core(&mut self, core: CoreId, kind: &'static str, line: Option<Line>) {
        if let Some(mark) = self.add(usize::from(core), kind) {
            mark.core = Some(core);
            mark.line = line.map(Line::address);
            self.touched.extend(line);
        }
    }

    /// Records something that happened in a stage behind the cores.
    fn stage(&mut self, stage: usize, kind: &'static str, media: MediaLine) -> Option<&mut Mark> {
        if !self.records() {
            return None;
        }
        let place = match media.unit() {
            MediaUnit::Data(line) => {
                self.touched.insert(line);
                line
            }
            MediaUnit::Counter(block) => self.layout.coverage.line(block, 0),
            MediaUnit::Mac(block) => self.layout.macs.and_then(|macs| macs.lines(block).next()).unwrap_or_default(),
            MediaUnit::Modified(line) => line,
            MediaUnit::Node(_) | MediaUnit::Table(_) => Line::default(),
        };
        let mark = self.add(self.cores + stage, kind)?;
        mark.line = Some(place.address());
        mark.block = media.is_metadata();
        Some(mark)
    }

    /// Records that `media` entered the queue (+1) or left it (-1). A counter that moves with its line has no separate
    /// entry.
    fn queue(&mut self, media: MediaLine, change: i64) {
        if !self.layout.moves_with_line(media) {
            self.queued += change;
        }
    }
}

fn hash_of(bytes: &LineBytes) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl Observer for Recorder {
    fn stored(&mut self, _now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        let base = &self.base;
        let versions = self.versions.entry(line).or_insert_with(|| Versions {
            latest: base.line(line).copied().unwrap_or([0; 64]),
            known: FxHashSet::default(),
        });
        versions.latest[offset..offset + data.len()].copy_from_slice(data);
        versions.known.insert(hash_of(&versions.latest));
        if let Some(mark) = self.stage(CACHES, "store", MediaLine::data(line)) {
            mark.core = Some(core);
            mark.text = format!("{} bytes at offset {offset}", data.len());
        }
    }
    fn marked_counter_atomic(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.core(core, "counter-atomic from now on", Some(line));
    }
    fn flushed(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.core(core, "flush", Some(line));
    }
    fn counters_flushed(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.core(core, "counter cache writeback", Some(line));
    }
    fn fenced(&mut self, _now: Ps, core: CoreId) {
        self.core(core, "fence complete", None);
    }
    fn transaction_began(&mut self, _now: Ps, core: CoreId, number: u64) {
        if let Some(mark) = self.add(usize::from(core), "transaction begins") {
            mark.core = Some(core);
            mark.text = format!("transaction {number}");
        }
    }
    fn transaction_ended(&mut self, _now: Ps, core: CoreId, number: u64) {
        if let Some(mark) = self.add(usize::from(core), "transaction ends") {
            mark.core = Some(core);
            mark.text = format!("transaction {number}");
        }
    }
    fn evicted(&mut self, _now: Ps, line: Line) {
        self.stage(CACHES, "evict", MediaLine::data(line));
    }
    fn read_arrived(&mut self, _now: Ps, line: Line, _answered: bool) {
        if let Some(mark) = self.stage(CACHES, "read", MediaLine::data(line)) {
            mark.text = "the controller gets the read".into();
        }
    }
    fn write_arrived(&mut self, _now: Ps, line: Line, plaintext: &LineBytes) {
        if self.log.is_some_and(|log| log.contains(line)) {
            let new = || Versions { latest: [0; 64], known: FxHashSet::default() };
            let versions = self.versions.entry(line).or_insert_with(new);
            versions.latest = *plaintext;
            versions.known.insert(hash_of(plaintext));
        }
        if let Some(mark) = self.stage(CACHES, "write-back", MediaLine::data(line)) {
            mark.text = "the controller gets the line".into();
            mark.bytes = hex(plaintext);
        }
    }
    fn counter_cache(&mut self, _now: Ps, block: CounterBlock, act: CounterCacheAct) {
        let kind = match act {
            CounterCacheAct::Hit => "hit",
            CounterCacheAct::Miss => "miss",
            CounterCacheAct::SecondaryMiss => "secondary miss",
            CounterCacheAct::Filled => "fill",
            CounterCacheAct::Evicted { dirty: true } => "evict, dirty",
            CounterCacheAct::Evicted { dirty: false } => "evict",
        };
        self.stage(COUNTER_CACHE, kind, MediaLine::counter(block));
    }
    fn pad(&mut self, line: Line, circuit: Circuit, from: Ps, until: Ps) {
        let (kind, unit) = match circuit {
            Circuit::Read(unit) => ("pad for a read", unit),
            Circuit::Write(unit) => ("pad for a write", unit),
        };
        if let Some(mark) = self.stage(AES, kind, MediaLine::data(line)) {
            mark.unit = Some(unit);
            mark.span = Some((ps_to_ns(from), ps_to_ns(until)));
        }
    }
    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.queue(media, 1);
        let kind = match media.unit() {
            MediaUnit::Data(_) => "data persists",
            MediaUnit::Counter(_) => "counter persists",
            MediaUnit::Mac(_) => "MAC persists",
            MediaUnit::Node(_) => "tree persists",
            MediaUnit::Table(_) => "table persists",
            MediaUnit::Modified(_) => "modified bits persist",
        };
        let is_data = matches!(media.unit(), MediaUnit::Data(_));
        if let Some(mark) = self.stage(WPQ, kind, media).filter(|_| is_data) {
            mark.bytes = hex(bytes);
        }
        if self.records() {
            self.persisted.insert(media);
        }
    }
    fn coalesced(&mut self, _now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.queue(media, -1);
        self.stage(WPQ, "older counter entry removed", media);
    }
    fn bus_write(&mut self, _now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.queue(media, -1);
        let kind = match media.unit() {
            MediaUnit::Data(_) => "data leaves",
            MediaUnit::Counter(_) => "counter leaves",
            MediaUnit::Mac(_) => "MAC leaves",
            MediaUnit::Node(_) => "tree leaves",
            MediaUnit::Table(_) => "table leaves",
            MediaUnit::Modified(_) => "modified bits leave",
        };
        self.stage(WPQ, kind, media);
    }
    fn device_access(&mut self, now: Ps, bank: u16, media: MediaLine, op: MediaOp, until: Ps) {
        let kind = match op {
            MediaOp::Read => "device read",
            MediaOp::Write => "device write",
        };
        if let Some(mark) = self.stage(DEVICE, kind, media) {
            mark.unit = Some(u32::from(bank));
            mark.span = Some((ps_to_ns(now), ps_to_ns(until)));
        }
    }
    fn logged(&mut self, _now: Ps, core: CoreId, line: Line) {
        if let Some(mark) = self.stage(HARDWARE_LOG, "line logged", MediaLine::data(line)) {
            mark.core = Some(core);
        }
    }
    fn log_extended(&mut self, _now: Ps, core: CoreId, bucket: u32, records: u32) {
        if let Some(mark) = self.add(self.cores + HARDWARE_LOG, "record durable") {
            mark.core = Some(core);
            mark.text = format!("record {records} of bucket {bucket}");
        }
    }
    fn log_freed(&mut self, _now: Ps, core: CoreId) {
        if let Some(mark) = self.add(self.cores + HARDWARE_LOG, "log freed") {
            mark.core = Some(core);
        }
    }
    fn reencryption(&mut self, _now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        let kind = match (done, finished) {
            (0, _) => "re-encryption begins",
            (_, true) => "re-encryption ends",
            _ => "line re-encrypted",
        };
        if let Some(mark) = self.add(self.cores + AES, kind) {
            mark.line = Some(group.line(0).address());
            mark.text = format!("old major counter {old_major}, {} of {} lines done", done.count_ones(), group.lines());
        }
    }
    fn event_over(&mut self, now: Ps) {
        self.events += 1;
        if self.window.contains(&self.events) {
            self.ns.push(ps_to_ns(now));
            self.queued_after.push(self.queued);
        }
    }
}

impl Recorder {
    /// Handles that the last event has been judged.
    pub fn judged(&mut self) {
        self.persisted.clear();
    }
}
