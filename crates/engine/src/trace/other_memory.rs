//! Memory of a recorded program that is not persistent: its stack, its heap, what its libraries keep. A recording has its loads
//! and stores without what they move: those of lines that the thread has not accessed lately one by one, the others by number.
//!
//! Its pages are placed behind the files, in the order in which the program first accesses them; those of several instances of
//! the program in turn, as an operating system would that gives pages to programs which do the same at the same time. What is
//! stored there is never flushed, and nobody needs it after a power failure.

use super::recording::{Act, Deed};
use crate::message::{LINE_BYTES, LINES_PER_PAGE, Op, OpBuffer, PAGE_BYTES};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Bytes that an access moves.
const WORD: usize = 8;
/// So many of the newest lines are those that are accessed again.
const NEWEST: usize = 8;

/// Loads and stores of lines that the thread has accessed lately, in what it executes before an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Near {
    pub loads: u64,
    pub stores: u64,
}

impl Near {
    pub fn any(self) -> bool {
        self != Self::default()
    }

    pub fn add(&mut self, more: Self) {
        self.loads = self.loads.saturating_add(more.loads);
        self.stores = self.stores.saturating_add(more.stores);
    }
}

/// What a recording has of other memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct OtherMemory {
    /// Number of loads.
    pub loads: u64,
    /// Number of stores.
    pub stores: u64,
    /// Number of different lines.
    pub lines: u64,
    /// Bytes of its pages.
    pub size: u64,
}

/// Where its lines are: page by page, from 0, in the order of their first accesses.
#[derive(Default)]
pub(super) struct OtherPages {
    /// By number in the program: number here, and which lines have been accessed.
    pages: FxHashMap<u64, (u64, u64)>,
    lines: u64,
    accesses: Near,
}

impl OtherPages {
    /// Counts loads and stores.
    pub fn count(&mut self, accesses: Near) {
        self.accesses.add(accesses);
    }

    /// The offset of a line that is accessed, by its number in the program.
    pub fn place(&mut self, line: u64) -> u64 {
        let next = self.pages.len() as u64;
        let (page, accessed) = self.pages.entry(line / LINES_PER_PAGE).or_insert((next, 0));
        let bit = 1 << (line % LINES_PER_PAGE);
        self.lines += u64::from(*accessed & bit == 0);
        *accessed |= bit;
        *page * PAGE_BYTES + line % LINES_PER_PAGE * LINE_BYTES
    }

    /// What there is of it so far.
    pub fn summary(&self) -> OtherMemory {
        let (Near { loads, stores }, size) = (self.accesses, self.pages.len() as u64 * PAGE_BYTES);
        OtherMemory { loads, stores, lines: self.lines, size }
    }
}

/// The pages of one of several instances.
#[derive(Clone, Copy, Default)]
pub(super) struct OwnPages {
    /// Where the pages of all instances begin on the device.
    pub base: u64,
    /// Which of the instances it is, and how many there are.
    pub index: u64,
    pub instances: u64,
}

impl OwnPages {
    /// The device address of what is at an [offset](OtherPages::place).
    pub fn address(self, offset: u64) -> u64 {
        let page = offset / PAGE_BYTES * self.instances + self.index;
        self.base + page * PAGE_BYTES + offset % PAGE_BYTES
    }
}

/// What a program does to other memory.
#[derive(Default)]
pub(super) struct OtherAccesses {
    /// The lines accessed last, and stored to last, to which the accesses go of which only the number is recorded, in turn.
    accessed: VecDeque<u64>,
    stored: VecDeque<u64>,
    values: u64,
    /// If the program leaves out these accesses, the instructions that stand for those since the last act.
    left_out: Option<u64>,
}

impl OtherAccesses {
    /// Those of a program that leaves them out.
    pub fn left_out() -> Self {
        Self { left_out: Some(0), ..Self::default() }
    }

    /// What `deed` is in the program; nothing if it is left out.
    pub fn keep(&mut self, deed: Deed) -> Option<Deed> {
        let Some(left_out) = &mut self.left_out else { return Some(deed) };
        let instructions = deed.instructions + std::mem::take(left_out);
        if let Act::Other { .. } = deed.act {
            *left_out = instructions + u64::from(!deed.joined);
            return None;
        }
        Some(Deed { instructions, near: Near::default(), ..deed })
    }

    /// Accesses the line at `address`.
    pub fn access(&mut self, address: u64, store: bool, buffer: &mut OpBuffer) {
        note(&mut self.accessed, address);
        if store {
            note(&mut self.stored, address);
        }
        self.append(address, store, buffer);
    }

    /// Appends a part of the `instructions` that are left, with the loads and stores that are `near` among them, which are spread
    /// over them evenly. Returns whether nothing is left.
    pub fn compute(&mut self, instructions: &mut u64, near: &mut Near, buffer: &mut OpBuffer) -> bool {
        let accesses = near.loads + near.stores;
        let before = instructions.saturating_sub(accesses).div_ceil(accesses + 1).min(u64::from(u32::MAX));
        if before > 0 {
            buffer.ops.push(Op::Compute { instructions: before as u32 });
            *instructions -= before;
        }
        if accesses > 0 && before < u64::from(u32::MAX) {
            let store = near.stores > near.loads;
            *(if store { &mut near.stores } else { &mut near.loads }) -= 1;
            let at = buffer.ops.len();
            match (self.again(store, buffer), *instructions) {
                // One instruction has made several.
                (true, 0) if at > 0 => buffer.join(at),
                (_, 0) => {}
                (true, _) => *instructions -= 1,
                (false, _) => {
                    buffer.ops.push(Op::Compute { instructions: 1 });
                    *instructions -= 1;
                }
            }
        }
        *instructions == 0 && !near.any()
    }

    /// Accesses the next of the newest lines, if there is one: stores go to those that have been stored to.
    fn again(&mut self, store: bool, buffer: &mut OpBuffer) -> bool {
        let lines = if store { &mut self.stored } else { &mut self.accessed };
        let Some(address) = lines.pop_front() else { return false };
        lines.push_back(address);
        self.append(address, store, buffer);
        true
    }

    /// A store is of a value of its own, as what the program stores is not recorded.
    fn append(&mut self, address: u64, store: bool, buffer: &mut OpBuffer) {
        if store {
            self.values += 1;
            buffer.store(address, &self.values.to_le_bytes(), WORD);
        } else {
            buffer.load_unknown(address, WORD as u8);
        }
    }
}

fn note(lines: &mut VecDeque<u64>, address: u64) {
    if lines.contains(&address) {
        return;
    }
    if lines.len() == NEWEST {
        lines.pop_front();
    }
    lines.push_back(address);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_placed_in_the_order_of_their_first_accesses() {
        let mut pages = OtherPages::default();
        let lines = [0x7fff_f03f, 0x40, 0x7fff_f000, 0x41, 0x40, 0x80];
        assert_eq!(lines.map(|line| pages.place(line)), [0xfc0, 0x1000, 0, 0x1040, 0x1000, 0x2000]);
        let OtherMemory { lines, size, .. } = pages.summary();
        assert_eq!((lines, size), (5, 0x3000));
        let own = OwnPages { base: 0x10_0000, index: 2, instances: 3 };
        assert_eq!([0xfc0, 0x1040].map(|offset| own.address(offset)), [0x10_2fc0, 0x10_5040]);
    }

    #[test]
    fn accesses_go_to_the_newest_lines_in_turn_and_stores_to_those_that_were_stored_to() {
        let (mut newest, mut buffer) = (OtherAccesses::default(), OpBuffer::default());
        assert!(!newest.again(false, &mut buffer) && !newest.again(true, &mut buffer));
        (0..10).for_each(|line| newest.access(line * 64, line % 4 == 1, &mut buffer));
        buffer.clear();
        for store in [false, true, false, true, true, true] {
            assert!(newest.again(store, &mut buffer));
        }
        let found = buffer.ops.iter().map(|op| match op {
            Op::Load { address, length: 8, .. } => (false, address / 64),
            Op::Store { address, length: 8, .. } => (true, address / 64),
            _ => panic!("{op:?}"),
        });
        assert_eq!(found.collect::<Vec<_>>(), [(false, 2), (true, 1), (false, 3), (true, 5), (true, 9), (true, 1)]);
    }
}
