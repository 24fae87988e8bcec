//! The undo of transactions that hardware logged (easy-pm section III-D, "system recovery process"): the log of each
//! surviving set of registers is read completely, then its lines are restored, newest first. The log itself is not
//! changed until its set is freed, so an interrupted boot is simply repeated.

use crate::layout::{BucketMetadata, CipherBlock, IV_BYTES, LogBucket, LogHeader, LogLayout, LogRegion, LogSnapshot};
use crate::message::{CoreId, Line, LineBytes};
use crate::parts::FeedbackSource;
use std::cmp::Reverse;

/// How a boot reads the hardware's log. Separate records are encrypted in counter mode like any other line; chains use
/// cipher feedback mode, and their lines have no counter.
#[derive(Clone, Copy)]
pub struct LogCodec<'a> {
    /// The region of the log.
    pub region: LogRegion,
    /// Cipher feedback mode with the log's key.
    pub feedback: &'a dyn FeedbackSource,
}

impl LogCodec<'_> {
    /// Whether `line` has no counter because it belongs to a log of chains.
    pub fn lacks_counter(&self, line: Line) -> bool {
        self.region.layout == LogLayout::Chains && self.region.contains(line)
    }

    /// The entries of `set`, newest first: the order in which they are restored. `read` returns a line through the
    /// decrypting read path, but lines of chains as they are on the media.
    fn entries(&self, set: &LogSnapshot, read: &dyn Fn(Line) -> LineBytes) -> Vec<(Line, LineBytes)> {
        let mut entries = Vec::new();
        for bucket in &set.buckets {
            match self.region.layout {
                LogLayout::Records => self.records(bucket, read, &mut entries),
                LogLayout::Chains => self.chains(bucket.bucket, read, &mut entries),
            }
        }
        entries.sort_by_key(|entry| Reverse((entry.sequence, entry.index)));
        entries.into_iter().map(|entry| (entry.line, entry.old)).collect()
    }

    /// An invalid header is skipped: the next header has a fixed place.
    fn records(&self, bucket: &LogBucket, read: &dyn Fn(Line) -> LineBytes, entries: &mut Vec<Entry>) {
        for record in 0..bucket.records.min(self.region.records) {
            let header = read(self.region.header(bucket.bucket, record));
            let Some(header) = LogHeader::decode(&header, self.region.first) else { continue };
            for index in 0..header.count {
                let old = read(self.region.entry(bucket.bucket, record, index, 0));
                entries.push(Entry::new(&header, index, old));
            }
        }
    }

    /// An invalid header ends the walk: the number of its lines is not known, so neither is the place of the next
    /// header's lines.
    fn chains(&self, bucket: u32, read: &dyn Fn(Line) -> LineBytes, entries: &mut Vec<Entry>) {
        let metadata = BucketMetadata::decode(&read(self.region.metadata(bucket)));
        let (mut last_header, mut last_line) = (metadata.header_iv, metadata.log_iv);
        let mut before = 0;
        for record in 0..metadata.valid_headers.min(self.region.records) {
            let header = self.next(&read(self.region.header(bucket, record)), &mut last_header);
            let Some(header) = LogHeader::decode(&header, self.region.first) else { return };
            for index in 0..header.count {
                let old = self.next(&read(self.region.entry(bucket, record, index, before)), &mut last_line);
                entries.push(Entry::new(&header, index, old));
                before += 1;
            }
        }
    }

    /// Decrypts the next line of a chain; `recent` is the chain's recent ciphertext.
    fn next(&self, ciphertext: &LineBytes, recent: &mut CipherBlock) -> LineBytes {
        let plaintext = self.feedback.decrypt(recent, ciphertext);
        recent.copy_from_slice(&ciphertext[64 - IV_BYTES..]);
        plaintext
    }
}

struct Entry {
    sequence: u32,
    index: u32,
    line: Line,
    old: LineBytes,
}

impl Entry {
    fn new(header: &LogHeader, index: u32, old: LineBytes) -> Self {
        Self { sequence: header.sequence, index, line: header.lines[index as usize], old }
    }
}

/// What is left to undo.
pub(super) struct Undo {
    /// The sets and their entries; the next one is last.
    sets: Vec<(CoreId, Vec<(Line, LineBytes)>)>,
}

/// The next step of an undo.
pub(super) enum UndoStep {
    /// Restore the line's old bytes.
    Restore(Line, LineBytes),
    /// Free the registers of this core's transaction.
    Free(CoreId),
}

impl Undo {
    /// Reads the logs of `sets`, see [`LogCodec::entries`].
    pub fn read(log: &LogCodec<'_>, sets: &[LogSnapshot], read: &dyn Fn(Line) -> LineBytes) -> Self {
        let entries = |set: &LogSnapshot| {
            let mut entries = log.entries(set, read);
            entries.reverse();
            (set.core, entries)
        };
        Self { sets: sets.iter().rev().map(entries).collect() }
    }

    pub fn next(&mut self) -> Option<UndoStep> {
        let (core, entries) = self.sets.last_mut()?;
        let core = *core;
        Some(match entries.pop() {
            Some((line, old)) => UndoStep::Restore(line, old),
            None => {
                self.sets.pop();
                UndoStep::Free(core)
            }
        })
    }
}
