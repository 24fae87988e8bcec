//! Reads between their arrival and their answer, and reads that wait for room.

use super::super::in_flight::{Origin, Read};
use crate::config::{Integrity, MacPlacement, ReadVerification};
use crate::kernel::{Ps, Slab, ns_to_ps};
use crate::message::{Line, LineBytes};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// The reads in flight, by slot.
#[derive(Clone)]
pub(in crate::controller) struct Reads {
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
    /// How MACs are checked, if lines have any.
    pub check: Option<ReadCheck>,
}

/// How the MAC of a read is checked.
#[derive(Clone)]
pub(in crate::controller) struct ReadCheck {
    /// Time that a check takes, in picoseconds.
    latency: Ps,
    /// Whether data is given out only when it is checked.
    before_use: bool,
    /// Whether a MAC comes with its line.
    beside: bool,
    /// For each circuit, until when it is busy, in picoseconds.
    busy_until: Vec<Ps>,
}

impl ReadCheck {
    /// The checks of a machine with these settings.
    pub fn new(integrity: &Integrity) -> Self {
        Self {
            latency: ns_to_ps(integrity.mac_latency_ns),
            before_use: integrity.read_verification == ReadVerification::BeforeUse,
            beside: integrity.mac_placement != MacPlacement::Region,
            busy_until: vec![0; integrity.mac_units as usize],
        }
    }

    /// Begins a check in the first free circuit, not before `known`; returns when it is over.
    fn check(&mut self, known: Ps) -> Ps {
        let busy = self.busy_until.iter_mut().min().expect("one circuit at least");
        *busy = known.max(*busy) + self.latency;
        *busy
    }
}

impl Reads {
    pub fn new(entries: u32, forwarding: Ps, with_counter: bool, check: Option<ReadCheck>) -> Self {
        let (slots, waiting) = (Slab::default(), VecDeque::new());
        Self { slots, taken: 0, entries, waiting, forwarding, with_counter, check }
    }

    /// When the read in `slot` can be answered, if everything that it needs is known: its line, its pad, and, if it is
    /// checked, its counter and its MAC. Must be called once when the last of them becomes known.
    pub fn ready_at(&mut self, slot: u32) -> Option<Ps> {
        let Read { data_at, pad_at, counter_at, mac_at, checked, .. } = self.slots[slot];
        let (data, decrypted) = (data_at?, data_at?.max(pad_at?));
        let Some(check) = self.check.as_mut().filter(|_| checked) else { return Some(decrypted) };
        let mac = if check.beside { data } else { mac_at? };
        let done = check.check(data.max(mac).max(counter_at?));
        Some(if check.before_use { done.max(decrypted) } else { decrypted })
    }

    /// Registers a read that will arrive later. Returns its slot.
    pub fn add(&mut self, line: Line, origin: Origin) -> u32 {
        self.slots.insert(Read {
            line,
            origin,
            bytes: [0; 64],
            data_at: None,
            pad_at: None,
            tweak_at: None,
            direct_from: None,
            counter_at: None,
            mac_at: None,
            pads: 1,
            checked: false,
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
