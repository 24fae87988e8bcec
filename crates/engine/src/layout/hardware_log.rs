//! The undo log that hardware writes (easy-pm section III): where its parts are, and what the header of a record
//! contains.
//!
//! ```text
//! records (ATOM, easy-pm section III-B)    chains (easy-pm section III-D, Figure 4)
//! bucket: H L L L L L L L  H L L ...       bucket: M  H H H ...  L L L L L L L L ...
//! ```
//!
//! A record is a header and the old bytes of up to seven lines. With records apart, each header stands before its
//! seven lines. With chains, a bucket has one line of metadata (Valid Header Number and the two initial vectors), then
//! all headers, then all logged lines one after another: a record that was closed early leaves no gap.

use crate::message::{CoreId, LINE_BYTES, Line, LineBytes, PAGE_BYTES};

/// Logged lines in a record (easy-pm section III-B).
pub const LOG_RECORD_LINES: usize = 7;
/// Bytes of an initial vector: a block of AES.
pub const IV_BYTES: usize = 16;
/// A block of AES.
pub type CipherBlock = [u8; IV_BYTES];

/// How the records of a bucket are laid out.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Debug,
    Default,
    strum::VariantArray,
    strum::IntoStaticStr,
    schemars::JsonSchema,
    strum::EnumProperty,
)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum LogLayout {
    /// Each record's header comes directly before its lines.
    #[default]
    #[strum(props(paper = "easy-pm, section III-B"))]
    Records,
    /// All metadata come first, then all headers, then all lines.
    #[strum(props(paper = "easy-pm, section III-D"))]
    Chains,
}

/// The part of memory in which hardware keeps its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRegion {
    /// The region's first line.
    pub first: Line,
    /// Buckets, the unit in which log space is allocated and freed.
    pub buckets: u32,
    /// Records in a bucket.
    pub records: u32,
    /// How records are laid out in a bucket.
    pub layout: LogLayout,
}

impl LogRegion {
    /// Bytes that `buckets` buckets of `records` records take in either layout, in whole pages.
    pub fn bytes(buckets: u32, records: u32) -> u64 {
        let lines = u64::from(buckets) * bucket_lines(LogLayout::Chains, records);
        (lines * LINE_BYTES).next_multiple_of(PAGE_BYTES)
    }

    /// Lines of the whole region.
    pub fn lines(&self) -> u64 {
        u64::from(self.buckets) * bucket_lines(self.layout, self.records)
    }

    /// Whether `line` belongs to the region.
    pub fn contains(&self, line: Line) -> bool {
        line >= self.first && line.0 < self.first.0 + self.lines()
    }

    /// Whether `line` has metadata of a bucket, which rest in the clear and are nothing that the program has stored.
    pub fn holds_metadata(&self, line: Line) -> bool {
        self.layout == LogLayout::Chains
            && self.contains(line)
            && (line.0 - self.first.0).is_multiple_of(bucket_lines(self.layout, self.records))
    }

    fn bucket(&self, bucket: u32) -> u64 {
        debug_assert!(bucket < self.buckets);
        self.first.0 + u64::from(bucket) * bucket_lines(self.layout, self.records)
    }

    /// The line with Valid Header Number, H-IV and L-IV; only chains have one.
    pub fn metadata(&self, bucket: u32) -> Line {
        debug_assert_eq!(self.layout, LogLayout::Chains);
        Line(self.bucket(bucket))
    }

    /// The header of record `record` of `bucket`.
    pub fn header(&self, bucket: u32, record: u32) -> Line {
        debug_assert!(record < self.records);
        let within = match self.layout {
            LogLayout::Records => u64::from(record) * (1 + LOG_RECORD_LINES as u64),
            LogLayout::Chains => 1 + u64::from(record),
        };
        Line(self.bucket(bucket) + within)
    }

    /// The place of logged line `index` of record `record`. `before` is the number of lines that were logged earlier in
    /// the bucket.
    pub fn entry(&self, bucket: u32, record: u32, index: u32, before: u32) -> Line {
        let within = match self.layout {
            LogLayout::Records => u64::from(record) * (1 + LOG_RECORD_LINES as u64) + 1 + u64::from(index),
            LogLayout::Chains => 1 + u64::from(self.records) + u64::from(before),
        };
        Line(self.bucket(bucket) + within)
    }
}

fn bucket_lines(layout: LogLayout, records: u32) -> u64 {
    let lines = u64::from(records) * (1 + LOG_RECORD_LINES as u64);
    match layout {
        LogLayout::Records => lines,
        LogLayout::Chains => lines + 1,
    }
}

/// The contents of a record's header: seven addresses of eight bytes, then the number of valid ones and the number of
/// the record in its transaction, four bytes each, all little-endian. Undo goes from the newest line to the oldest, so
/// a line that was logged twice ends with the bytes that it had before the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogHeader {
    /// The logged lines, in the order in which they were logged.
    pub lines: [Line; LOG_RECORD_LINES],
    /// How many of the lines are valid.
    pub count: u32,
    /// Records of the transaction before this one.
    pub sequence: u32,
}

const COUNT_AT: usize = LOG_RECORD_LINES * 8;
const SEQUENCE_AT: usize = COUNT_AT + 4;

impl LogHeader {
    /// The header's 64 bytes.
    pub fn encode(&self) -> LineBytes {
        let mut bytes = [0; 64];
        for (place, line) in bytes.chunks_exact_mut(8).zip(&self.lines[..self.count as usize]) {
            place.copy_from_slice(&line.address().to_le_bytes());
        }
        bytes[COUNT_AT..SEQUENCE_AT].copy_from_slice(&self.count.to_le_bytes());
        bytes[SEQUENCE_AT..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    /// Reads a header. `end` is one past the last line that a program may write. Returns `None` if the bytes cannot be
    /// a header of a log before `end`: no lines or more than seven, or an address that is not a line's or is not below
    /// `end`. This detects headers that decrypt to noise.
    pub fn decode(bytes: &LineBytes, end: Line) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let count = word(COUNT_AT);
        if count == 0 || count as usize > LOG_RECORD_LINES {
            return None;
        }
        let mut lines = [Line::default(); LOG_RECORD_LINES];
        for (line, place) in lines.iter_mut().zip(bytes.chunks_exact(8)).take(count as usize) {
            let address = u64::from_le_bytes(place.try_into().expect("eight bytes"));
            if !address.is_multiple_of(LINE_BYTES) || Line::containing(address) >= end {
                return None;
            }
            *line = Line::containing(address);
        }
        Some(Self { lines, count, sequence: word(SEQUENCE_AT) })
    }
}

/// The contents of a bucket's metadata line, which is not encrypted: initial vectors are not secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketMetadata {
    /// Headers of the chain that are valid.
    pub valid_headers: u32,
    /// Initial vector of the header chain.
    pub header_iv: CipherBlock,
    /// Initial vector of the chain of logged lines.
    pub log_iv: CipherBlock,
}

impl BucketMetadata {
    /// The metadata line's 64 bytes: H-IV, L-IV, then the Valid Header Number (four bytes, little-endian), then zeros.
    pub fn encode(&self) -> LineBytes {
        let mut bytes = [0; 64];
        bytes[..16].copy_from_slice(&self.header_iv);
        bytes[16..32].copy_from_slice(&self.log_iv);
        bytes[32..36].copy_from_slice(&self.valid_headers.to_le_bytes());
        bytes
    }

    /// Reads a metadata line.
    pub fn decode(bytes: &LineBytes) -> Self {
        let vector = |at: usize| bytes[at..at + IV_BYTES].try_into().expect("sixteen bytes");
        Self {
            valid_headers: u32::from_le_bytes(bytes[32..36].try_into().expect("four bytes")),
            header_iv: vector(0),
            log_iv: vector(16),
        }
    }
}

/// What the log metadata registers hold for one bucket of a transaction: after a power failure, `records` headers are
/// valid in it. In designs with chains, the bucket's own metadata line has the number; the register has the same value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogBucket {
    /// The bucket's number.
    pub bucket: u32,
    /// Headers that have persisted.
    pub records: u32,
}

/// The log metadata registers of one transaction as a power failure finds them (easy-pm sections III-B and III-D).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSnapshot {
    /// The core whose transaction it is.
    pub core: CoreId,
    /// The transaction's buckets that have a persisted header, in the order in which they were allocated.
    pub buckets: Vec<LogBucket>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn parts_of_all_buckets_lie_apart_and_fill_the_region() {
        for layout in [LogLayout::Records, LogLayout::Chains] {
            let region = LogRegion { first: Line(640), buckets: 3, records: 4, layout };
            let mut places = HashSet::new();
            for bucket in 0..3 {
                if layout == LogLayout::Chains {
                    assert!(places.insert(region.metadata(bucket)));
                }
                for record in 0..4 {
                    assert!(places.insert(region.header(bucket, record)));
                    for index in 0..7 {
                        assert!(places.insert(region.entry(bucket, record, index, record * 7 + index)));
                    }
                }
            }
            assert!(places.iter().all(|&line| region.contains(line)));
            assert_eq!(places.len() as u64, region.lines());
            assert!(!region.contains(Line(639)) && !region.contains(Line(640 + region.lines())));
            assert!(region.lines() * LINE_BYTES <= LogRegion::bytes(3, 4));
        }
    }

    proptest! {
        #[test]
        fn header_reads_back(lines in prop::collection::vec(0u64..1000, 1..=7), sequence: u32) {
            let mut header = LogHeader { count: lines.len() as u32, sequence, ..LogHeader::default() };
            for (place, line) in header.lines.iter_mut().zip(&lines) {
                *place = Line(*line);
            }
            prop_assert_eq!(LogHeader::decode(&header.encode(), Line(1000)), Some(header));
            let beyond = *lines.iter().max().unwrap();
            prop_assert_eq!(LogHeader::decode(&header.encode(), Line(beyond)), None);
        }

        #[test]
        fn metadata_reads_back(valid_headers: u32, header_iv: CipherBlock, log_iv: CipherBlock) {
            let metadata = BucketMetadata { valid_headers, header_iv, log_iv };
            prop_assert_eq!(BucketMetadata::decode(&metadata.encode()), metadata);
        }
    }

    #[test]
    fn what_is_no_header_is_told() {
        assert_eq!(LogHeader::decode(&[0; 64], Line(1000)), None);
        assert_eq!(LogHeader::decode(&[0xff; 64], Line(u64::MAX)), None);
        let mut odd = LogHeader { count: 1, ..LogHeader::default() }.encode();
        odd[0] = 8;
        assert_eq!(LogHeader::decode(&odd, Line(1000)), None);
    }
}
