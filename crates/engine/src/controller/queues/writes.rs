//! Writes between their arrival and their entry into the write pending queue: one at a time for each line, in the order
//! of their arrival.

use super::super::in_flight::{Origin, Stage, Write};
use crate::kernel::{self, Lists, Slab};
use crate::message::{Line, LineBytes};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// The writes that are not yet admitted, by slot.
#[derive(Clone)]
pub(in crate::controller) struct Writes {
    slots: Slab<Write>,
    /// One list: writes that have arrived, in order.
    active: Lists,
    /// The same by line.
    lines: kernel::Index,
    /// Writes whose turn has come, in order.
    starting: VecDeque<u32>,
    arrivals: u64,
    increments: u64,
}

impl Default for Writes {
    fn default() -> Self {
        Self {
            slots: Slab::default(),
            active: Lists::new(1),
            lines: kernel::Index::default(),
            starting: VecDeque::new(),
            arrivals: 0,
            increments: 0,
        }
    }
}

impl Writes {
    /// Registers a write that will arrive later. Returns its slot.
    pub fn add(&mut self, line: Line, bytes: &LineBytes, origin: Origin) -> u32 {
        self.slots.insert(Write::new(line, bytes, origin))
    }

    /// Handles the arrival of the write in `slot`. It starts unless it is `behind` another write of its line.
    pub fn arrive(&mut self, slot: u32, behind: bool) {
        self.arrivals += 1;
        self.slots[slot].arrival = self.arrivals;
        self.activate(slot);
        if behind {
            self.slots[slot].stage = Stage::BehindSameLine;
        } else {
            self.start(slot);
        }
    }

    /// Handles the arrival of the write in `slot`, which starts when it has been accepted.
    pub fn arrive_unaccepted(&mut self, slot: u32) {
        self.arrivals += 1;
        self.slots[slot].arrival = self.arrivals;
        self.slots[slot].stage = Stage::Unaccepted;
        self.activate(slot);
    }

    /// Starts the write in `slot`, which has been accepted, unless another one of its line has been before it.
    pub fn start_accepted(&mut self, slot: u32) {
        let line = self.slots[slot].line;
        let waits = |other: u32| other == slot || self.slots[other].stage == Stage::Unaccepted;
        if self.lines.oldest_first(line.0).all(waits) {
            self.start(slot);
        } else {
            self.slots[slot].stage = Stage::BehindSameLine;
        }
    }

    fn activate(&mut self, slot: u32) {
        self.active.push(0, slot);
        self.lines.add(slot, self.slots[slot].line.0);
    }

    /// Starts the write in `slot`, which comes from the controller itself and has no place among the arrivals.
    pub fn start_own(&mut self, slot: u32) {
        self.activate(slot);
        self.start(slot);
    }

    /// The writes that have arrived and have not ended, in the order of their arrival.
    pub fn active(&self) -> impl Iterator<Item = u32> {
        self.active.iter(0)
    }

    /// The number of these.
    pub fn active_len(&self) -> usize {
        self.lines.len()
    }

    /// Whether a write of `line` has arrived and has not ended.
    pub fn has(&self, line: Line) -> bool {
        self.lines.has(line.0)
    }

    /// Number of writes that have arrived.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Marks the write in `slot` as starting.
    pub fn start(&mut self, slot: u32) {
        self.slots[slot].stage = Stage::Starting;
        self.starting.push_back(slot);
    }

    /// Takes the oldest write whose turn has come.
    pub fn take_starting(&mut self) -> Option<u32> {
        self.starting.pop_front()
    }

    /// A new number in the order of counter increments.
    pub fn next_increment(&mut self) -> u64 {
        self.increments += 1;
        self.increments
    }

    /// The last number in the order of counter increments.
    pub fn last_increment(&self) -> u64 {
        self.increments
    }

    /// Ends the write in `slot`; the next write of its line may start.
    pub fn finish(&mut self, slot: u32) {
        self.active.remove(0, slot);
        self.lines.remove(slot);
        let line = self.slots[slot].line;
        self.slots.release(slot);
        if let Some(next) = self.next_of_line(line) {
            self.start(next);
        }
    }

    /// The write of `line` that starts when another one of that line ends: re-encryption first, then the oldest, unless
    /// that one waits for something else.
    fn next_of_line(&self, line: Line) -> Option<u32> {
        let behind = |&slot: &u32| self.slots[slot].stage == Stage::BehindSameLine;
        let oldest = self.lines.oldest_first(line.0).next()?;
        let is_reencryption = |slot: &u32| matches!(self.slots[*slot].origin, Origin::Reencryption(_));
        let reencryption = self.lines.oldest_first(line.0).find(is_reencryption);
        reencryption.or(Some(oldest)).filter(behind)
    }

    /// The active write whose bytes a read of `line` finds, see [`Writes::newest_of`].
    pub fn newest(&self, line: Line) -> Option<u32> {
        self.newest_of(self.lines.oldest_first(line.0))
    }

    /// The write among `of_line` whose bytes a read of their line finds: the newest one from the caches, or a line under
    /// re-encryption if there is none.
    pub fn newest_of(&self, of_line: impl Iterator<Item = u32>) -> Option<u32> {
        let with_bytes = of_line.filter(|&slot| !matches!(self.slots[slot].origin, Origin::Turn(_)));
        with_bytes.max_by_key(|&slot| {
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
