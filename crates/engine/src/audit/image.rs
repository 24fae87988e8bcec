//! A digest of the memory that a program finds when the boot is over, kept as lines change: equal for two power failures
//! after which its own recovery finds the same bytes.

use super::lines::{Id, Lines};
use crate::kernel::keyed_digest;
use crate::message::LineBytes;

/// The sum, over the program's lines, of the digest of what a line holds less that of what it held before the run. So a
/// line that is as it was counts nothing, whether anything happened to it or not.
pub(super) struct ImageDigest {
    /// One past the program's last byte address.
    end: u64,
    sum: u128,
    /// What each line adds, by its record.
    terms: Vec<u128>,
}

const EMPTY: LineBytes = [0; 64];

impl ImageDigest {
    /// Of memory before the run, in which the program has the bytes up to `end`.
    pub fn new(end: u64) -> Self {
        Self { end, sum: 0, terms: Vec::new() }
    }

    /// What the line of record `id` holds may have changed.
    pub fn changed(&mut self, lines: &Lines, id: Id) {
        let record = lines.record(id);
        if record.line.address() >= self.end {
            return;
        }
        let of = |bytes| keyed_digest(record.line.0, bytes);
        let before = lines.base(record.line).unwrap_or(&EMPTY);
        let term = of(record.booted()).wrapping_sub(of(before));
        if self.terms.len() <= id as usize {
            self.terms.resize(lines.records.len(), 0);
        }
        let known = std::mem::replace(&mut self.terms[id as usize], term);
        self.sum = self.sum.wrapping_sub(known).wrapping_add(term);
    }

    /// The digest as of the last judgement.
    pub fn get(&self) -> u128 {
        self.sum
    }
}
