//! What every data structure is to the rest of the workloads: a layout that can populate itself, run one
//! transaction and check its invariants. Structures hold addresses, never contents: all state is persistent bytes.

use super::transaction::Transaction;
use crate::kernel::Random;
use crate::message::ByteView;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most that one transaction of a structure can write; sizes the log ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteBound {
    /// Separate ranges.
    pub ranges: u64,
    /// Bytes in all of them, each rounded out to whole words.
    pub bytes: u64,
}

/// A data structure on one core's heap.
pub(super) trait Structure: Send + Sync {
    /// The populated extents, in ascending order, whole lines, within the heap.
    fn populated(&self) -> Vec<Range<u64>>;
    /// One past the last byte it may ever use.
    fn end(&self) -> u64;
    /// Fills populated extent `extent` (an index into [`Structure::populated`]), which arrives zeroed. May use
    /// several threads; the result must not depend on how many.
    /// Fills through [`fill_items`], or little enough not to matter, so that `stop` is obeyed soon.
    fn populate(&self, extent: usize, bytes: &mut [u8], stop: &AtomicBool);
    /// Runs one operation.
    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random);
    /// Walks everything; the error says which invariant is broken and where. Never panics, never reads outside the
    /// heap and ends on any garbage.
    fn check(&self, view: &mut dyn ByteView) -> Result<(), String>;
    /// The largest write set of one transaction.
    fn write_bound(&self) -> WriteBound;
}

/// What a structure is built from: its part of the footprint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// First byte of the heap, page-aligned.
    pub start: u64,
    /// Bytes to populate.
    pub bytes: u64,
    /// Bytes of user data in a transaction.
    pub tx_size: u64,
    /// Transactions to have room for.
    pub room: u64,
    /// Seed of the contents.
    pub seed: u64,
}

/// Bytes that one thread fills between two looks at the stop flag: well under a millisecond.
const BATCH_BYTES: usize = 256 << 10;

/// Fills items of `item_bytes` that lie one behind the other, on several threads: `fill(n, bytes)` fills number n.
/// Returns early, with some items unfilled, once `stop` is set.
pub(super) fn fill_items(bytes: &mut [u8], item_bytes: usize, stop: &AtomicBool, fill: impl Fn(u64, &mut [u8]) + Sync) {
    let batch_items = (BATCH_BYTES / item_bytes).max(1);
    bytes.par_chunks_mut(batch_items * item_bytes).enumerate().for_each(|(batch, bytes)| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        for (index, item) in bytes.chunks_mut(item_bytes).enumerate() {
            fill((batch * batch_items + index) as u64, item);
        }
    });
}

/// Writes little-endian `value` at `offset` of `bytes`.
pub(super) fn put_word(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}
