//! The computation between two transactions: instructions that access no memory, or some of which load and store
//! volatile data of the program.
//!
//! Loads and stores move 8 bytes and are spread evenly over the instructions; no load waits for another. A share of the
//! accesses goes to the first eighth of the data, the others to the rest, each to a random word of it. The data lies in
//! memory of its own that the program never flushes, and a program that starts again after a power failure does not
//! read it.

use super::memory::Memory;
use crate::config;
use crate::kernel::Random;
use crate::message::{ByteView, Op, OpBuffer, ProgramLayout};
use std::ops::Range;

/// Bytes that an access moves.
const WORD: u64 = 8;
/// The part of the data that is accessed most is one in so many.
const HOT_PARTS: u64 = 8;

/// The computations of one program, one after another.
pub(super) struct Think {
    /// Instructions of each computation.
    pub instructions: u32,
    /// Of 100 instructions, how many are loads.
    loads: u32,
    /// Of 100 instructions, how many are stores.
    stores: u32,
    /// Of 100 accesses, how many go to the first part of the data.
    hot: u64,
    data: Range<u64>,
    random: Random,
    /// The part of an access that is due, in hundredths.
    access_due: u32,
    /// The part of a store that is due, in accesses for each hundred instructions.
    store_due: u32,
}

impl Think {
    /// The computations of the program with the memory `layout`.
    pub fn new(config: &config::Program, layout: &ProgramLayout, seed: u64) -> Self {
        Self {
            instructions: config.think_instructions,
            loads: config.think_load_percent,
            stores: config.think_store_percent,
            hot: u64::from(config.think_hot_percent),
            data: layout.volatile.clone(),
            random: Random::stream(seed, &format!("computation of core {}", layout.core)),
            access_due: 0,
            store_due: 0,
        }
    }

    /// No computation.
    #[cfg(test)]
    pub fn none() -> Self {
        let random = Random::stream(0, "none");
        Self { instructions: 0, loads: 0, stores: 0, hot: 0, data: 0..0, random, access_due: 0, store_due: 0 }
    }

    /// Whether any of the instructions are loads or stores.
    pub fn accesses_memory(&self) -> bool {
        self.loads + self.stores > 0
    }

    /// Appends the instructions of the next computation, and stores into `memory` what they store.
    pub fn perform(&mut self, memory: &mut Memory, ops: &mut OpBuffer) {
        for _ in 0..self.instructions {
            if take_due(&mut self.access_due, self.loads + self.stores, 100) {
                let address = self.address();
                if take_due(&mut self.store_due, self.stores, self.loads + self.stores) {
                    let value = self.random.next_u64();
                    ops.store(address, &value.to_le_bytes(), WORD as usize);
                    memory.write_u64(address, value);
                } else if ops.without_values {
                    ops.load_unknown(address, WORD as u8);
                } else {
                    ops.load(address, &memory.read_u64(address).to_le_bytes(), WORD as usize, false);
                }
            } else if let Some(Op::Compute { instructions }) = ops.ops.last_mut() {
                *instructions += 1;
            } else {
                ops.ops.push(Op::Compute { instructions: 1 });
            }
        }
    }

    fn address(&mut self) -> u64 {
        let words = (self.data.end - self.data.start) / WORD;
        let hot = words / HOT_PARTS;
        let word = if self.random.below(100) < self.hot {
            self.random.below(hot)
        } else {
            hot + self.random.below(words - hot)
        };
        self.data.start + word * WORD
    }
}

/// Adds `share` to what is `due`; takes `whole` from it if that much is due.
fn take_due(due: &mut u32, share: u32, whole: u32) -> bool {
    *due += share;
    let is_due = *due >= whole;
    if is_due {
        *due -= whole;
    }
    is_due
}
