//! A digest of the memory that a program finds after the boot, updated as lines change: equal for two power failures
//! after which the program's own recovery finds the same bytes.

use super::line_record::Id;
use super::lines::Lines;
use crate::kernel::keyed_digest;
use crate::message::LineBytes;

/// The sum, over the program's lines, of the digest of a line's contents minus the digest of its contents before the
/// run. An unchanged line contributes nothing.
pub(super) struct ImageDigest {
    /// One past the program's last byte address.
    end: u64,
    sum: u128,
    /// What each line contributes, by its record.
    terms: Vec<u128>,
}

const EMPTY: LineBytes = [0; 64];

impl ImageDigest {
    /// The digest before the run; `end` is one past the program's last byte address.
    pub fn new(end: u64) -> Self {
        Self { end, sum: 0, terms: Vec::new() }
    }

    /// Updates the contribution of the line of record `id`, which may have changed.
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
