//! Writes between their arrival and their entry in the write pending queue: one at a time for each line, in the order in
//! which they arrived.

use super::request::{Origin, Stage, Write};
use crate::kernel::Slab;
use crate::message::{Line, LineBytes};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// The writes that are not yet admitted, by slot.
#[derive(Default)]
pub(super) struct Writes {
    slots: Slab<Write>,
    /// Those that have arrived, in that order.
    pub active: Vec<u32>,
    /// Those whose turn has come, in the order in which it came.
    starting: VecDeque<u32>,
    arrivals: u64,
    bumps: u64,
}

impl Writes {
    /// A write that has yet to arrive.
    pub fn add(&mut self, line: Line, bytes: &LineBytes, origin: Origin) -> u32 {
        self.slots.insert(Write::new(line, bytes, origin))
    }

    /// The write in `slot` has arrived. It starts unless it goes behind another one of its line.
    pub fn arrive(&mut self, slot: u32, behind: bool) {
        self.arrivals += 1;
        self.slots[slot].arrival = self.arrivals;
        self.active.push(slot);
        if behind {
            self.slots[slot].stage = Stage::BehindSameLine;
        } else {
            self.start(slot);
        }
    }

    /// How many have arrived.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The turn of the write in `slot` has come.
    pub fn start(&mut self, slot: u32) {
        self.slots[slot].stage = Stage::Starting;
        self.starting.push_back(slot);
    }

    /// Takes the oldest write whose turn has come.
    pub fn take_starting(&mut self) -> Option<u32> {
        self.starting.pop_front()
    }

    /// The number of the next counter bump, or of what takes a place in their order.
    pub fn next_bump(&mut self) -> u64 {
        self.bumps += 1;
        self.bumps
    }

    /// The number of the last one.
    pub fn last_bump(&self) -> u64 {
        self.bumps
    }

    /// What was in `slot` is over, and the next write of its line may start.
    pub fn finish(&mut self, slot: u32) {
        let at = self.active.iter().position(|&other| other == slot).expect("what ends was active");
        self.active.remove(at);
        let line = self.slots[slot].line;
        self.slots.release(slot);
        if let Some(next) = self.next_of_line(line) {
            self.start(next);
        }
    }

    /// The write of `line` that starts when another one of that line is over: re-encryption first, then the oldest, unless
    /// that one waits for something else.
    fn next_of_line(&self, line: Line) -> Option<u32> {
        let behind = |&slot: &u32| self.slots[slot].stage == Stage::BehindSameLine;
        let mut of_line = self.active.iter().copied().filter(|&slot| self.slots[slot].line == line);
        let oldest = of_line.clone().next()?;
        let reencryption = of_line.find(|slot| matches!(self.slots[*slot].origin, Origin::Reencryption(_)));
        reencryption.or(Some(oldest)).filter(behind)
    }

    /// Of the writes in `among`, the one whose bytes a read of `line` finds: the newest that the caches sent; a line under
    /// re-encryption itself only if there is none.
    pub fn newest_of(&self, among: &[u32], line: Line) -> Option<u32> {
        let of_line = among
            .iter()
            .copied()
            .filter(|&slot| self.slots[slot].line == line && !matches!(self.slots[slot].origin, Origin::Turn(_)));
        of_line.max_by_key(|&slot| {
            let Write { origin, arrival, .. } = self.slots[slot];
            (!matches!(origin, Origin::Reencryption(_)), arrival)
        })
    }
}

impl Index<u32> for Writes {
    type Output = Write;
    fn index(&self, slot: u32) -> &Write {
        &self.slots[slot]
    }
}

impl IndexMut<u32> for Writes {
    fn index_mut(&mut self, slot: u32) -> &mut Write {
        &mut self.slots[slot]
    }
}
