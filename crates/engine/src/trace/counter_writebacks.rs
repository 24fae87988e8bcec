//! Adds counter write-backs to a recorded program if a design asks for an annotated or a hardware-logged program.
//!
//! Most recordings have no annotations, and a program that keeps its own log is not a logged transaction of the hardware.
//! So its flushes are taken as annotations: before a fence, the counters of every line flushed since the last fence are
//! written back, block by block. Nothing is `CounterAtomic`.

use crate::message::{Op, OpBuffer, ProgramForm, counter_writebacks};
use std::ops::Range;

/// The most blocks kept. If a program flushes more of them between two fences, they are written back in several parts,
/// so that a replay needs little memory; a block may then occur in two parts.
pub(super) const BLOCKS_MAX: usize = 1 << 14;

/// The counter blocks of the lines flushed since the last fence.
pub(super) struct FlushedCounters {
    form: ProgramForm,
    blocks: Vec<u64>,
    /// Whether they are being written back, from the highest down: the rest is sorted.
    leaving: bool,
}

impl FlushedCounters {
    pub(super) fn new(form: ProgramForm) -> Self {
        Self { form, blocks: Vec::new(), leaving: false }
    }

    /// Adds the lines of `range`, which have been flushed.
    pub(super) fn add(&mut self, range: Range<u64>) {
        if matches!(self.form, ProgramForm::Plain | ProgramForm::FlushFree) {
            return;
        }
        for block in counter_writebacks(range) {
            if self.blocks.last() != Some(&block) {
                self.blocks.push(block);
            }
        }
        if self.blocks.len() >= BLOCKS_MAX {
            self.leave();
        }
    }

    /// Whether every block has been written back.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether they are being written back: then [`FlushedCounters::write_back`] must be called before anything else.
    pub(super) fn leaving(&self) -> bool {
        self.leaving
    }

    /// Starts to write them back.
    pub(super) fn leave(&mut self) {
        self.blocks.sort_unstable_by(|left, right| right.cmp(left));
        self.blocks.dedup();
        self.leaving = true;
    }

    /// Writes back as many as fit into `ops_max` operations in `buffer`, in the order of their addresses.
    pub(super) fn write_back(&mut self, buffer: &mut OpBuffer, ops_max: usize) {
        while buffer.ops.len() < ops_max {
            match self.blocks.pop() {
                Some(address) => buffer.ops.push(Op::CounterCacheWriteback { address }),
                None => {
                    self.leaving = false;
                    return;
                }
            }
        }
    }
}
