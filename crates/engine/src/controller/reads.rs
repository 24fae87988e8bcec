//! Reads between their arrival and their answer, and reads that wait for room.

use super::request::{Origin, Read};
use crate::kernel::{Ps, Slab};
use crate::message::{Line, LineBytes};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// The reads in flight, by slot.
pub(super) struct Reads {
    slots: Slab<Read>,
    /// Number of reads that have room in the read queue.
    taken: u32,
    /// Most reads that have room.
    entries: u32,
    waiting: VecDeque<u32>,
    /// How long an answer from a write in flight takes, in picoseconds.
    pub forwarding: Ps,
    /// Whether each line brings its counter with it.
    pub with_counter: bool,
}

impl Reads {
    pub fn new(entries: u32, forwarding: Ps, with_counter: bool) -> Self {
        Self { slots: Slab::default(), taken: 0, entries, waiting: VecDeque::new(), forwarding, with_counter }
    }

    /// Registers a read that will arrive later. Returns its slot.
    pub fn add(&mut self, line: Line, origin: Origin) -> u32 {
        self.slots.insert(Read {
            line,
            origin,
            bytes: [0; 64],
            data_at: None,
            pad_at: None,
            blank: false,
            has_room: false,
        })
    }

    /// Whether there is room for a read.
    pub fn room(&self) -> bool {
        self.taken < self.entries
    }

    /// Whether the read in `slot`, which has arrived, can start. If not, it waits. Reads for re-encryption need no
    /// room.
    pub fn take_room(&mut self, slot: u32) -> bool {
        if !self.room() && matches!(self.slots[slot].origin, Origin::Caches(_)) {
            self.waiting.push_back(slot);
            return false;
        }
        self.give_room(slot);
        true
    }

    fn give_room(&mut self, slot: u32) {
        self.taken += 1;
        self.slots[slot].has_room = true;
    }

    /// Frees the room of the read in `slot`.
    pub fn free_room(&mut self, slot: u32) {
        self.taken -= u32::from(std::mem::take(&mut self.slots[slot].has_room));
    }

    /// The waiting read that starts next, if there is room for one. It takes the room.
    pub fn start_waiting(&mut self) -> Option<u32> {
        let next = if self.room() { self.waiting.pop_front() } else { None };
        if let Some(slot) = next {
            self.give_room(slot);
        }
        next
    }

    /// Completes the read in `slot`: returns its origin, its line and its bytes.
    pub fn finish(&mut self, slot: u32) -> (Origin, Line, LineBytes) {
        self.free_room(slot);
        let Read { line, origin, bytes, .. } = self.slots[slot];
        self.slots.release(slot);
        (origin, line, bytes)
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
