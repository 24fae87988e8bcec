//! Reads between their arrival and their answer, and reads that wait for room.

use super::request::{Origin, Read};
use crate::kernel::{Ps, Slab};
use crate::message::{Line, LineBytes};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// The reads in flight, by slot.
pub(super) struct Reads {
    slots: Slab<Read>,
    /// Number of reads in flight.
    active: u32,
    /// Most reads in flight.
    entries: u32,
    waiting: VecDeque<u32>,
    /// How long an answer from a write in flight takes, in picoseconds.
    pub forwarding: Ps,
    /// Whether each line brings its counter with it.
    pub with_counter: bool,
}

impl Reads {
    pub fn new(entries: u32, forwarding: Ps, with_counter: bool) -> Self {
        Self { slots: Slab::default(), active: 0, entries, waiting: VecDeque::new(), forwarding, with_counter }
    }

    /// Registers a read that will arrive later. Returns its slot.
    pub fn add(&mut self, line: Line, origin: Origin) -> u32 {
        self.slots.insert(Read { line, origin, bytes: [0; 64], data_at: None, pad_at: None, blank: false })
    }

    /// Whether the read in `slot`, which has arrived, can start. If not, it waits. Reads for re-encryption need no
    /// room.
    pub fn take_room(&mut self, slot: u32) -> bool {
        if self.active >= self.entries && matches!(self.slots[slot].origin, Origin::Caches(_)) {
            self.waiting.push_back(slot);
            return false;
        }
        self.active += 1;
        true
    }

    /// Frees the room of a read that is not complete.
    pub fn give_room_back(&mut self) {
        self.active -= 1;
    }

    /// Completes the read in `slot`: returns its origin, its line, its bytes, and the read that starts in its place.
    pub fn finish(&mut self, slot: u32) -> (Origin, Line, LineBytes, Option<u32>) {
        let Read { origin, line, bytes, .. } = self.slots[slot];
        self.slots.release(slot);
        let next = self.waiting.pop_front();
        self.active -= u32::from(next.is_none());
        (origin, line, bytes, next)
    }
}

impl Index<u32> for Reads {
    type Output = Read;
    fn index(&self, slot: u32) -> &Read {
        &self.slots[slot]
    }
}

impl IndexMut<u32> for Reads {
    fn index_mut(&mut self, slot: u32) -> &mut Read {
        &mut self.slots[slot]
    }
}
