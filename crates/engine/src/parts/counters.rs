//! Counters of lines: how a scheme lays them out in blocks, and which one follows.

use super::encryption::{CounterKind, MinorReset};
use crate::config::Counters;
use crate::layout::Coverage;
use crate::message::{GroupMask, LineBytes};

/// Which counter a line has, and how counters are laid out in a 64-byte block.
pub trait CounterScheme: Send + Sync {
    /// How many lines share a block.
    fn coverage(&self) -> Coverage;
    /// Bytes of a line's counter, in blocks with a whole counter for each line.
    fn counter_bytes(&self) -> usize {
        8
    }
    /// Whether counters come from the global register, so that a write gets its counter without a block.
    fn global(&self) -> bool;
    /// The block before the run has written to it. Bit `i` of `populated` says that its line `i` holds data.
    fn initial(&self, populated: GroupMask) -> LineBytes;
    /// The counter of line `index` of the block.
    fn counter(&self, block: &LineBytes, index: usize) -> Counter;
    /// The next counter of line `index`: the one after its counter in `block`, or after `register` if counters are
    /// global.
    fn next(&self, block: &LineBytes, index: usize, register: u64) -> NextCounter;
    /// Puts the counter of line `index` into the block. A minor counter must belong to the block's major counter.
    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter);
    /// Whether a write of a line with this counter gives it the next one. If not, [`CounterScheme::next`] is the same counter.
    fn counts(&self, _counter: Counter) -> bool {
        true
    }
    /// Handles an overflow: increments the major counter and, with [`MinorReset::AtOnce`], restarts all minor counters.
    fn increment_major(&self, block: &mut LineBytes, reset: MinorReset);
    /// The counter with which line `index` begins after an overflow.
    fn restarted(&self, block: &LineBytes, index: usize) -> Counter {
        Counter { minor: 0, ..self.counter(block, index) }
    }
    /// Puts it into the block, for a boot, which has no seeded faults.
    fn restart_line(&self, block: &mut LineBytes, index: usize) {
        let counter = self.restarted(block, index);
        self.set(block, index, counter);
    }
    /// Whether a line with this counter reads as zeros, whatever lies in memory.
    fn is_zero(&self, counter: Counter) -> bool {
        counter == Counter::NEVER
    }
    /// The same of a line that has been written once, or its page shredded.
    fn is_shredded(&self, counter: Counter) -> bool {
        self.is_zero(counter) && counter != Counter::NEVER
    }
    /// Whether blocks can be [shredded](Self::shred).
    fn shreds(&self) -> bool {
        false
    }
    /// Makes all lines of the block read as zeros.
    fn shred(&self, _block: &mut LineBytes) {
        unreachable!("pages are filled with zeros by stores")
    }
}

/// The counters of a design: a built-in kind, or a scheme written in Rust.
#[derive(Clone, Copy)]
pub enum CounterPart {
    /// A kind that a design file can name.
    Kind(CounterKind),
    /// A scheme that the caller supplies; the function creates it for a machine's counter settings.
    Custom(fn(&Counters) -> Box<dyn CounterScheme>),
}

/// The counter of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// The counter that the lines of a block share. For a global counter, the value itself.
    pub major: u64,
    /// The line's own counter. For a global counter, zero.
    pub minor: u16,
}

impl Counter {
    /// The counter of a line that was never written.
    pub const NEVER: Counter = Counter { major: 0, minor: 0 };
}

/// The counter of a line's next write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextCounter {
    /// The counter to use.
    Is(Counter),
    /// The line's minor counter would overflow: its page must be re-encrypted first.
    Overflow,
}
