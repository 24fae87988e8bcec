//! One set of log metadata registers: the buckets of a transaction, its records that are not durable yet, and the state
//! of its chains (easy-pm sections III-B to III-D).

use crate::layout::{CipherBlock, IV_BYTES, LogBucket, LogHeader, LogRegion};
use crate::message::{CoreId, Line, LineBytes};
use std::collections::VecDeque;

/// A record that is not durable yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub header: LogHeader,
    pub bucket: u32,
    /// The record's number in its bucket.
    pub place: u32,
    /// Initial vectors of the bucket: of the headers and of the logged lines.
    pub vectors: [CipherBlock; 2],
    /// Whether the record takes no more lines.
    pub closed: bool,
    /// How many of the record's lines have not persisted yet.
    pub unpersisted: u32,
    pub header_sent: bool,
}

impl Record {
    pub fn names(&self, line: Line) -> bool {
        self.header.lines[..self.header.count as usize].contains(&line)
    }
}

/// The bucket that a transaction is filling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    number: u32,
    vectors: [CipherBlock; 2],
    /// Number of records that were begun in the bucket.
    pub records: u32,
    /// Number of logged lines in the bucket.
    lines: u32,
}

/// A chain in cipher feedback mode: encrypts one line at a time, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::controller) struct Chain {
    /// Writes that are not encrypted yet, oldest first, each with an initial vector if it begins a bucket.
    pub waiting: VecDeque<(u32, Option<CipherBlock>)>,
    /// The recent-ciphertext register.
    recent: CipherBlock,
}

impl Chain {
    /// The ciphertext block that precedes the oldest waiting line.
    pub fn previous(&self) -> CipherBlock {
        self.waiting.front().and_then(|(_, vector)| *vector).unwrap_or(self.recent)
    }

    /// Removes the oldest waiting line, which is encrypted; the register takes the end of `ciphertext`.
    pub fn advance(&mut self, ciphertext: Option<&LineBytes>) {
        self.waiting.pop_front();
        if let Some(ciphertext) = ciphertext {
            self.recent.copy_from_slice(&ciphertext[ciphertext.len() - IV_BYTES..]);
        }
    }
}

/// The registers of one transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct LogSet {
    /// The core whose transaction it is; `None` if the set is unused.
    pub core: Option<CoreId>,
    /// Buckets with a persisted header: what survives a power failure.
    pub durable: Vec<LogBucket>,
    /// All buckets of the transaction.
    pub owned: Vec<u32>,
    pub bucket: Option<Bucket>,
    /// Records that are not durable, oldest first; only the last one can be open.
    pub records: VecDeque<Record>,
    sequence: u32,
    /// Whether the transaction waits for its end.
    pub ending: bool,
    pub headers: Chain,
    pub lines: Chain,
}

impl LogSet {
    pub fn take_bucket(&mut self, number: u32, vectors: [CipherBlock; 2]) {
        self.owned.push(number);
        self.bucket = Some(Bucket { number, vectors, records: 0, lines: 0 });
    }

    /// Begins a record in the bucket, which must have room for it.
    pub fn open(&mut self) {
        let bucket = self.bucket.as_mut().expect("a record is opened in a bucket");
        self.records.push_back(Record {
            header: LogHeader { sequence: self.sequence, ..LogHeader::default() },
            bucket: bucket.number,
            place: bucket.records,
            vectors: bucket.vectors,
            closed: false,
            unpersisted: 0,
            header_sent: false,
        });
        bucket.records += 1;
        self.sequence += 1;
    }

    /// Adds `line` to the open record. Returns the place for its old bytes, and the number of the record.
    pub fn put(&mut self, region: LogRegion, line: Line) -> (Line, u32) {
        let bucket = self.bucket.as_mut().expect("an open record has a bucket");
        let record = self.records.back_mut().expect("a record is open");
        let index = record.header.count;
        let place = region.entry(record.bucket, record.place, index, bucket.lines);
        record.header.lines[index as usize] = line;
        record.header.count += 1;
        record.unpersisted += 1;
        bucket.lines += 1;
        (place, record.header.sequence)
    }

    /// Number of logged lines that have not persisted yet.
    pub fn pending(&self) -> u32 {
        self.records.iter().map(|record| record.unpersisted).sum()
    }

    /// The record with the number `sequence`, which must not be durable.
    pub fn record_mut(&mut self, sequence: u32) -> &mut Record {
        let first = self.records.front().expect("a record that is not durable").header.sequence;
        &mut self.records[(sequence - first) as usize]
    }

    /// Removes the oldest record, which has become durable. Returns its bucket's new state.
    pub fn extend(&mut self) -> LogBucket {
        let Record { bucket, place, .. } = self.records.pop_front().expect("a record has become durable");
        match self.durable.last_mut().filter(|last| last.bucket == bucket) {
            Some(last) => last.records = place + 1,
            None => self.durable.push(LogBucket { bucket, records: place + 1 }),
        }
        LogBucket { bucket, records: place + 1 }
    }

    /// Ends the transaction. Keeps the memory of its lists.
    pub fn clear(&mut self) {
        self.core = None;
        self.durable.clear();
        self.owned.clear();
        self.bucket = None;
        self.records.clear();
        self.sequence = 0;
        self.ending = false;
        debug_assert!(self.headers.waiting.is_empty() && self.lines.waiting.is_empty());
    }
}
