//! The undo-log entry: its layout, its writer, and how a reader recognises a complete entry among stale or torn bytes.
//!
//! ```text
//! word 0   transaction number << 1 | valid      commit clears the valid bit with one 8-byte store
//! word 1   magic << 32 | body length in words
//! body     records, packed: (address / 8) << 24 | length / 8, then the old data
//! last     tag: a checksum over number, word 1 and body
//! ```
//!
//! An entry starts on a line. One fence orders all of Prepare, so its lines persist in any order over the stale bytes
//! of older laps of the ring: only the tag shows that an entry is complete. The tag covers the number, so the body of
//! an older entry cannot be mistaken for that of a newer one. Number and valid bit share a word because a line may
//! persist between two stores to it: a new valid bit with the old number would revive a committed entry.

use crate::message::{ByteView, LINE_BYTES};
use std::ops::Range;

/// Number of entries of the largest size that the ring must hold, so that the entry before the one being written is
/// never overwritten, even if the end of the ring is skipped because an entry does not fit (`recovery` relies on it).
pub(super) const RING_ENTRIES_MIN: u64 = 3;
/// Bytes of an entry before its body.
const HEADER_BYTES: u64 = 16;
/// Bytes of a record before its data.
pub(super) const RECORD_BYTES: u64 = 8;
const TAG_BYTES: u64 = 8;
const VALID: u64 = 1;
const MAGIC: u64 = 0x756e_646f;
const LENGTH_BITS: u32 = 24;
/// One past the highest address that a record can refer to.
pub(super) const ADDRESS_END: u64 = 1 << (64 - LENGTH_BITS + 3);

/// Bytes of an entry with `records` records and `data` bytes of old data in total, in whole lines.
pub(super) fn entry_bytes(records: u64, data: u64) -> u64 {
    (HEADER_BYTES + records * RECORD_BYTES + data + TAG_BYTES).next_multiple_of(LINE_BYTES)
}

/// The first word of the entry of transaction `number`.
pub(super) fn state_word(number: u64, valid: bool) -> u64 {
    number << 1 | u64::from(valid)
}

/// Builds entries in a buffer that is reused.
#[derive(Default)]
pub(super) struct EntryWriter {
    bytes: Vec<u8>,
}

impl EntryWriter {
    /// Begins the entry of transaction `number`.
    pub(super) fn begin(&mut self, number: u64) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&state_word(number, true).to_le_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
    }

    /// Appends a record of `range` (whole words) and returns the buffer for its old data.
    pub(super) fn record(&mut self, range: &Range<u64>) -> &mut [u8] {
        let length = range.end - range.start;
        debug_assert!(range.start.is_multiple_of(8) && length.is_multiple_of(8) && range.end <= ADDRESS_END);
        let word = ((range.start / 8) << LENGTH_BITS) | (length / 8);
        self.bytes.extend_from_slice(&word.to_le_bytes());
        let at = self.bytes.len();
        self.bytes.resize(at + length as usize, 0);
        &mut self.bytes[at..]
    }

    /// Returns the entry without its tag.
    pub(super) fn finish_without_tag(&mut self) -> &[u8] {
        let body_words = (self.bytes.len() as u64 - HEADER_BYTES) / 8;
        self.bytes[8..16].copy_from_slice(&(MAGIC << 32 | body_words).to_le_bytes());
        &self.bytes
    }

    /// Appends the tag and returns the whole entry.
    pub(super) fn finish(&mut self) -> &[u8] {
        self.finish_without_tag();
        let mut words = self.bytes.chunks_exact(8).map(word);
        let number = words.next().unwrap_or_default() >> 1;
        let tag = words.fold(Checksum::new(number), Checksum::add).finish();
        self.bytes.extend_from_slice(&tag.to_le_bytes());
        &self.bytes
    }
}

/// The first two words of what may be an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The byte address where the candidate starts.
    pub address: u64,
    /// The transaction's number.
    pub number: u64,
    /// Whether the entry is marked as not committed.
    pub valid: bool,
    body_words: u64,
}

impl Candidate {
    /// The candidate at `address` of the ring `log`; `None` if the line cannot be the start of an entry.
    pub(super) fn read(view: &mut dyn ByteView, log: &Range<u64>, address: u64) -> Option<Self> {
        let mut header = [0; HEADER_BYTES as usize];
        view.read(address, &mut header);
        let (state, shape) = (word(&header[..8]), word(&header[8..]));
        let body_words = shape & u64::from(u32::MAX);
        let fits = body_words * 8 <= (log.end - address).saturating_sub(HEADER_BYTES + TAG_BYTES);
        (shape >> 32 == MAGIC && body_words > 1 && fits).then_some(Self {
            address,
            number: state >> 1,
            valid: state & VALID != 0,
            body_words,
        })
    }

    /// Whether the entry is complete: the tag matches, and the records fill the body and are within `heap`.
    pub(super) fn complete(&self, view: &mut dyn ByteView, heap: &Range<u64>) -> bool {
        let mut checksum = Checksum::new(self.number).add(MAGIC << 32 | self.body_words);
        let mut chunk = [0; LINE_BYTES as usize];
        let end = self.body() + self.body_words * 8;
        let mut at = self.body();
        while at < end {
            // Read up to the end of the line, so that a view that decrypts lines decrypts each line once.
            let length = (LINE_BYTES - at % LINE_BYTES).min(end - at);
            let bytes = &mut chunk[..length as usize];
            view.read(at, bytes);
            checksum = bytes.chunks_exact(8).map(word).fold(checksum, Checksum::add);
            at += length;
        }
        checksum.finish() == view.read_u64(end) && self.records_fit(view, heap, 1)
    }

    /// Whether a recovery without tags would accept the entry: the records fill the body and are within `heap`. Records
    /// that were not written look empty.
    pub(super) fn plausible(&self, view: &mut dyn ByteView, heap: &Range<u64>) -> bool {
        self.records_fit(view, heap, 0)
    }

    /// Calls `undo` for every record, with the view, the record's range of memory and the place of its old data in the
    /// log.
    pub(super) fn for_each_record(
        &self,
        view: &mut dyn ByteView,
        mut undo: impl FnMut(&mut dyn ByteView, Range<u64>, u64),
    ) {
        let end = self.body() + self.body_words * 8;
        let mut at = self.body();
        while at < end {
            let (range, data) = read_record(view, at);
            at = data.saturating_add(range.end - range.start);
            undo(view, range, data);
        }
    }

    /// Whether the records fill the body and are within `heap`. `least`: the fewest bytes that a record may have.
    fn records_fit(&self, view: &mut dyn ByteView, heap: &Range<u64>, least: u64) -> bool {
        let end = self.body() + self.body_words * 8;
        let mut at = self.body();
        while at < end {
            let (range, data) = read_record(view, at);
            let length = range.end - range.start;
            if length < least || (length > 0 && (range.start < heap.start || range.end > heap.end)) {
                return false;
            }
            at = data + (range.end - range.start);
        }
        at == end
    }

    fn body(&self) -> u64 {
        self.address + HEADER_BYTES
    }
}

/// The range that the record at `at` restores, and where its old data starts.
fn read_record(view: &mut dyn ByteView, at: u64) -> (Range<u64>, u64) {
    let word = view.read_u64(at);
    let start = (word >> LENGTH_BITS) * 8;
    let length = (word & ((1 << LENGTH_BITS) - 1)) * 8;
    (start..start + length, at + RECORD_BYTES)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// A 64-bit multiply-rotate checksum. Each step is a bijection of the state, so every change of a single word is
/// detected.
#[derive(Clone, Copy)]
struct Checksum(u64);

impl Checksum {
    fn new(number: u64) -> Self {
        Checksum(0x2545_f491_4f6c_dd1d).add(number)
    }
    fn add(self, word: u64) -> Self {
        Checksum((self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
    fn finish(self) -> u64 {
        super::item::scatter(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::flat::Flat;

    fn entry(number: u64) -> Vec<u8> {
        let mut writer = EntryWriter::default();
        writer.begin(number);
        writer.record(&(4096..4160)).fill(7);
        writer.record(&(8192..8200)).fill(9);
        writer.finish().to_vec()
    }

    #[test]
    fn sixty_four_bytes_in_two_records_cost_two_lines() {
        assert_eq!(entry_bytes(1, 64), 128);
        assert_eq!(entry_bytes(5, 64), 128);
        assert_eq!(entry_bytes(6, 64), 192);
        assert_eq!(entry(1).len() as u64, 16 + 2 * 8 + 72 + 8);
    }

    #[test]
    fn entry_reads_back_and_any_changed_bit_makes_it_incomplete() {
        let (log, heap) = (0..1024, 4096..16384);
        let mut view = Flat::new(16384);
        let bytes = entry(3);
        view.write(64, &bytes);
        let candidate = Candidate::read(&mut view, &log, 64).unwrap();
        assert_eq!((candidate.number, candidate.valid), (3, true));
        assert!(candidate.complete(&mut view, &heap));
        let mut ranges = Vec::new();
        candidate.for_each_record(&mut view, |_, range, data| ranges.push((range, data)));
        assert_eq!(ranges, [(4096..4160, 64 + 24), (8192..8200, 64 + 96)]);
        for bit in 1..bytes.len() * 8 {
            let mut torn = bytes.clone();
            torn[bit / 8] ^= 1 << (bit % 8);
            view.write(64, &torn);
            let complete = Candidate::read(&mut view, &log, 64).is_some_and(|c| c.complete(&mut view, &heap));
            assert!(!complete, "bit {bit}");
        }
    }

    #[test]
    fn entry_that_names_memory_outside_the_heap_is_refused() {
        let mut view = Flat::new(16384);
        view.write(0, &entry(3));
        let candidate = Candidate::read(&mut view, &(0..1024), 0).unwrap();
        assert!(!candidate.complete(&mut view, &(4096..8192)));
        assert!(!candidate.complete(&mut view, &(4104..16384)));
    }

    #[test]
    fn entry_longer_than_the_rest_of_the_ring_is_no_candidate() {
        let mut view = Flat::new(16384);
        let bytes = entry(3);
        view.write(0, &bytes);
        let length = bytes.len() as u64;
        assert!(Candidate::read(&mut view, &(0..length), 0).is_some());
        assert!(Candidate::read(&mut view, &(0..length - 1), 0).is_none());
    }
}
