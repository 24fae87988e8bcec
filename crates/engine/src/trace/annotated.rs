//! The annotations that a recorded program has itself, for a design that needs them (counter-atomicity section 4.3): which
//! lines hold `CounterAtomic` variables.

use crate::message::{LINE_BYTES, Op, OpBuffer};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// The lines on the device that hold `CounterAtomic` variables.
#[derive(Default)]
pub(super) struct CounterAtomicLines(FxHashSet<u64>);

impl CounterAtomicLines {
    /// Adds the lines of a range.
    pub fn declare(&mut self, range: Range<u64>) {
        self.0.extend(range.start / LINE_BYTES..range.end.div_ceil(LINE_BYTES));
    }

    /// Whether the line of an address holds such a variable.
    pub fn hold(&self, address: u64) -> bool {
        self.0.contains(&(address / LINE_BYTES))
    }
}

/// Stores `bytes`, which lie in one line, to a `CounterAtomic` variable: the line leaves the caches with its counter from
/// then on. What would go past the caches is stored and flushed instead, as the caches know these lines.
pub(super) fn store(address: u64, bytes: &[u8], past_caches: bool, buffer: &mut OpBuffer) {
    buffer.store_counter_atomic(address, bytes);
    if past_caches {
        buffer.ops.push(Op::Clwb { address: address - address % LINE_BYTES });
    }
}
