//! The auditors' own reading of the log that hardware writes (easy-pm section III). It shares no code with the
//! mechanisms: it has its own addresses, its own reading of headers, and cipher feedback mode built from single AES
//! blocks.
//!
//! It tracks the log metadata registers, and keeps for every line what it would hold once a boot has undone the
//! transactions in flight ([`Record::booted`]). A set of registers is walked again only if the registers or a line that
//! its last walk read have changed.
//!
//! Layout, in lines of a bucket: separate records are a header and seven logged lines each, in counter mode. Chains are
//! a line of metadata, all headers, and all logged lines without gaps, each chain in cipher feedback mode. A header is
//! seven addresses of eight bytes, then four bytes with the number of valid ones and four with the number of the record
//! in its transaction. Metadata are the initial vector of the headers, that of the lines, and four bytes of Valid
//! Header Number.
//!
//! [`Record::booted`]: super::line_record::Record::booted

use super::aes_blocks::Aes;
use super::counter::CounterCipher;
use super::facts::{CounterLayout, LogFacts};
use super::hashes::mix;
use super::line_record::Id;
use super::lines::Lines;
use crate::layout::LogLayout;
use crate::message::{CoreId, Line, LineBytes};
use std::cmp::Reverse;
use std::ops::Range;

const LINES_OF_RECORD: u64 = 7;
const COUNT: Range<usize> = 56..60;
const SEQUENCE: Range<usize> = 60..64;
const HEADER_IV: Range<usize> = 0..16;
const LOG_IV: Range<usize> = 16..32;
const VALID_HEADERS: Range<usize> = 32..36;

impl LogFacts {
    fn bucket_lines(&self) -> u64 {
        let metadata = match self.layout {
            LogLayout::Records => 0,
            LogLayout::Chains => 1,
        };
        u64::from(self.records) * (1 + LINES_OF_RECORD) + metadata
    }

    /// The lines of the log.
    pub(super) fn lines(&self) -> Range<u64> {
        self.first.0..self.first.0 + u64::from(self.buckets) * self.bucket_lines()
    }

    /// Whether `line` holds metadata of chains: security metadata, which may leave the chip unencrypted.
    pub(super) fn is_metadata(&self, line: Line) -> bool {
        self.layout == LogLayout::Chains
            && self.lines().contains(&line.0)
            && (line.0 - self.first.0).is_multiple_of(self.bucket_lines())
    }

    /// The cipher of log lines that have counters; `None` for chains, whose lines have none.
    pub(super) fn counter_cipher(&self, counters: CounterLayout) -> Option<CounterCipher> {
        (self.layout == LogLayout::Records).then(|| CounterCipher::new(&self.key, counters))
    }
}

/// What a boot's undo of one core's transaction finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct UndoReport {
    /// Number of restored log entries.
    pub entries: u32,
    /// Number of headers that should be valid but cannot be headers.
    pub unreadable: u32,
}

/// The registers of one core's transaction, and what a boot would do with them.
#[derive(Default)]
struct Set {
    /// Buckets and their valid headers, in the order in which the transaction got them.
    buckets: Vec<(u32, u32)>,
    stale: bool,
    /// Restored lines, in the order of the boot; a line may be restored more than once.
    restored: Vec<(Id, LineBytes)>,
    report: UndoReport,
    hash: u64,
}

/// Tracks the hardware's log.
pub(super) struct HardwareLog {
    facts: LogFacts,
    aes: Aes,
    /// The registers of each core.
    sets: Vec<Set>,
    any_stale: bool,
    hash: u64,
    /// What lines held before the walks of one settling.
    before: Vec<(Id, LineBytes)>,
}

impl HardwareLog {
    pub fn new(facts: LogFacts, cores: usize) -> Self {
        let aes = Aes::new(&facts.key);
        let sets = (0..cores).map(|_| Set::default()).collect();
        Self { facts, aes, sets, any_stale: false, hash: 0, before: Vec::new() }
    }

    pub fn facts(&self) -> &LogFacts {
        &self.facts
    }

    /// The registers now record that `bucket` belongs to the transaction of `core` and has `records` valid headers.
    pub fn extended(&mut self, core: CoreId, bucket: u32, records: u32) {
        self.change(core, |buckets| match buckets.iter_mut().find(|(known, _)| *known == bucket) {
            Some((_, valid)) => *valid = records,
            None => buckets.push((bucket, records)),
        });
    }

    /// The registers of the transaction of `core` are freed.
    pub fn freed(&mut self, core: CoreId) {
        self.change(core, Vec::clear);
    }

    fn change(&mut self, core: CoreId, change: impl FnOnce(&mut Vec<(u32, u32)>)) {
        // Registers that do not survive count as empty.
        let Some(set) = self.sets.get_mut(usize::from(core)).filter(|_| self.facts.registers_survive) else { return };
        change(&mut set.buckets);
        set.stale = true;
        self.any_stale = true;
        let empty = mix(0x1b87_3593_cc9e_2d51, u64::from(core));
        let hash = set
            .buckets
            .iter()
            .fold(empty, |hash, &(bucket, records)| mix(hash, u64::from(bucket) << 32 | u64::from(records)));
        self.hash ^= std::mem::replace(&mut set.hash, if set.buckets.is_empty() { 0 } else { hash });
        self.hash ^= set.hash;
    }

    /// A hash of the registers; 0 if all are free.
    pub fn state_hash(&self) -> u64 {
        self.hash
    }

    /// What the undo finds for `core`.
    pub fn report(&self, core: CoreId) -> UndoReport {
        self.sets.get(usize::from(core)).map_or(UndoReport::default(), |set| set.report)
    }

    /// Updates [`super::line_record::Record::booted`]. `changed` contains the lines whose durable bytes have changed; lines
    /// with a new result of the undo are added.
    pub fn settle(&mut self, lines: &mut Lines, changed: &mut Vec<Id>) {
        for &id in &*changed {
            let readers = std::mem::take(&mut lines.record_mut(id).undo_readers);
            if readers != 0 {
                for core in (0..self.sets.len()).filter(|&core| readers & reader(core) != 0) {
                    self.sets[core].stale = true;
                    self.any_stale = true;
                }
            }
        }
        if !std::mem::take(&mut self.any_stale) {
            return;
        }
        for core in 0..self.sets.len() {
            if !std::mem::take(&mut self.sets[core].stale) {
                continue;
            }
            let (restored, report) = self.walk(lines, core);
            let old = std::mem::replace(&mut self.sets[core].restored, restored);
            self.sets[core].report = report;
            for &(id, _) in old.iter().chain(&self.sets[core].restored) {
                self.before.push((id, *lines.record(id).booted()));
            }
            for (id, _) in old {
                lines.record_mut(id).restored = None;
            }
        }
        // Transactions do not share lines. If a broken log says that they do, the last restored bytes stay.
        for &(id, bytes) in self.sets.iter().flat_map(|set| &set.restored) {
            lines.record_mut(id).restored = Some(bytes);
        }
        let differs = |(id, bytes): &(Id, LineBytes)| lines.record(*id).booted() != bytes;
        changed.extend(self.before.iter().filter(|before| differs(before)).map(|&(id, _)| id));
        self.before.clear();
    }

    /// Walks the log of `core`.
    fn walk(&self, lines: &mut Lines, core: usize) -> (Vec<(Id, LineBytes)>, UndoReport) {
        let mut walk = Walk { facts: &self.facts, aes: &self.aes, lines, core, entries: Vec::new(), unreadable: 0 };
        for &(bucket, records) in &self.sets[core].buckets {
            match self.facts.layout {
                LogLayout::Records => walk.records(bucket, records),
                LogLayout::Chains => walk.chains(bucket),
            }
        }
        let Walk { mut entries, unreadable, .. } = walk;
        let report = UndoReport { entries: entries.len() as u32, unreadable };
        // Newest first, so that the oldest bytes of a line that was logged twice stay.
        entries.sort_by_key(|entry| Reverse((entry.sequence, entry.index)));
        (entries.into_iter().map(|entry| (lines.id(entry.line), entry.old)).collect(), report)
    }
}

/// The bit of a set in the records of the lines that its walk has read. Cores 64 apart share a bit, which costs an
/// unnecessary walk.
fn reader(core: usize) -> u64 {
    1 << (core % 64)
}

struct LogEntry {
    sequence: u32,
    index: usize,
    line: Line,
    old: LineBytes,
}

struct Walk<'a> {
    facts: &'a LogFacts,
    aes: &'a Aes,
    lines: &'a mut Lines,
    core: usize,
    entries: Vec<LogEntry>,
    unreadable: u32,
}

impl Walk<'_> {
    /// Line `within` of `bucket`, as a power failure leaves it.
    fn read(&mut self, bucket: u32, within: u64) -> LineBytes {
        let line = Line(self.facts.first.0 + u64::from(bucket) * self.facts.bucket_lines() + within);
        let id = self.lines.id(line);
        let record = self.lines.record_mut(id);
        record.undo_readers |= reader(self.core);
        record.durable.plain
    }

    fn records(&mut self, bucket: u32, valid: u32) {
        for record in 0..u64::from(valid.min(self.facts.records)) {
            let header = self.read(bucket, record * (1 + LINES_OF_RECORD));
            let Some(named) = self.named(&header) else {
                self.unreadable += 1;
                continue;
            };
            for (index, line) in named.into_iter().enumerate() {
                let old = self.read(bucket, record * (1 + LINES_OF_RECORD) + 1 + index as u64);
                self.entries.push(LogEntry { sequence: word(&header, SEQUENCE), index, line, old });
            }
        }
    }

    fn chains(&mut self, bucket: u32) {
        let metadata = self.read(bucket, 0);
        let vector = |range: Range<usize>| -> [u8; 16] { std::array::from_fn(|n| metadata[range.start + n]) };
        let (mut of_headers, mut of_lines) = (vector(HEADER_IV), vector(LOG_IV));
        let mut next_line = 1 + u64::from(self.facts.records);
        let valid = word(&metadata, VALID_HEADERS);
        for record in 0..valid.min(self.facts.records) {
            let header = self.read(bucket, 1 + u64::from(record));
            let header = feed_back(self.aes, &mut of_headers, &header);
            let Some(named) = self.named(&header) else {
                self.unreadable += 1;
                return;
            };
            for (index, line) in named.into_iter().enumerate() {
                let old = self.read(bucket, next_line);
                let old = feed_back(self.aes, &mut of_lines, &old);
                self.entries.push(LogEntry { sequence: word(&header, SEQUENCE), index, line, old });
                next_line += 1;
            }
        }
    }

    /// The lines that a header names; `None` if it cannot be a header: it names no line or too many, an address inside
    /// a line, or a line that is not a program's.
    fn named(&self, header: &LineBytes) -> Option<Vec<Line>> {
        let count = u64::from(word(header, COUNT));
        if !(1..=LINES_OF_RECORD).contains(&count) {
            return None;
        }
        let address =
            |n: u64| header[8 * n as usize..][..8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        (0..count)
            .map(address)
            .map(|at| (at % 64 == 0 && at / 64 < self.facts.first.0).then_some(Line(at / 64)))
            .collect()
    }
}

fn word(bytes: &LineBytes, range: Range<usize>) -> u32 {
    bytes[range].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Decrypts the next line of a chain: each block's pad is the encryption of the ciphertext block before it.
pub(super) fn feed_back(aes: &Aes, recent: &mut [u8; 16], ciphertext: &LineBytes) -> LineBytes {
    let mut plain = [0; 64];
    for block in 0..4 {
        let pad = aes.block(recent);
        for n in 0..16 {
            recent[n] = ciphertext[16 * block + n];
            plain[16 * block + n] = recent[n] ^ pad[n];
        }
    }
    plain
}

/// The log's part of an explanation.
pub(super) fn describe(report: UndoReport) -> String {
    let unreadable = match report.unreadable {
        0 => String::new(),
        1 => " One header of the log that should be valid could not be read.".to_owned(),
        many => format!(" {many} headers of the log that should be valid could not be read."),
    };
    format!("The boot put back {} lines from the hardware's log.{unreadable}", report.entries)
}
