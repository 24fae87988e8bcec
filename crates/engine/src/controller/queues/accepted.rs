//! Writes that are accepted before they are encrypted (Han et al., MICRO 2021, Dolos). A minor security unit makes an entry of
//! the write pending queue ready to leave on battery; from then on its write is durable. Then the controller does what every
//! write needs. When the write is queued, it takes over its entry in the same event.
//!
//! An entry has a pad, made at boot, under which it leaves the chip at most once before the next boot.

use super::super::encrypted::Encrypted;
use super::super::in_flight::Origin;
use super::super::interface::AcceptedParts;
use crate::kernel::Ps;
use crate::message::{ControllerEvent, DevicePort, Line, LineBytes, Observer, OnChipLine, xor};
use std::collections::VecDeque;

/// Entries that must be free when a write takes one: what it needs beside its own must find room.
const FREE_WITH_OWN: usize = 2;

/// The accepted writes.
#[derive(Clone)]
pub(in crate::controller) struct AcceptedWrites {
    parts: AcceptedParts,
    /// The write in each entry.
    entries: Vec<Option<u32>>,
    /// Writes that have arrived and wait for an entry, in order.
    waiting: VecDeque<u32>,
    /// Until when the minor unit is busy, in picoseconds.
    busy_until: Ps,
}

impl AcceptedWrites {
    pub fn new(parts: AcceptedParts) -> Self {
        Self { entries: vec![None; parts.pads.len()], parts, waiting: VecDeque::new(), busy_until: 0 }
    }

    /// Adds a write that has arrived.
    fn arrived(&mut self, slot: u32) {
        self.waiting.push_back(slot);
    }

    /// The oldest write that waits for an entry, and the first free entry.
    fn next(&self) -> Option<(u32, usize)> {
        self.waiting.front().copied().zip(self.entries.iter().position(Option::is_none))
    }

    /// Puts the oldest write that waits into `entry`; returns when the minor unit is done with it.
    fn take(&mut self, entry: usize, now: Ps) -> Ps {
        self.entries[entry] = self.waiting.pop_front();
        self.busy_until = now.max(self.busy_until) + self.parts.latency;
        self.busy_until
    }

    /// Empties the entry of the write in `slot`.
    fn leave(&mut self, slot: u32) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| **entry == Some(slot)) {
            *entry = None;
        }
    }

    /// The writes in entries, with these.
    pub fn writes(&self) -> impl Iterator<Item = (usize, u32)> {
        self.entries.iter().enumerate().filter_map(|(entry, slot)| Some((entry, (*slot)?)))
    }

    /// The line of the write `(line, plaintext)` in `entry`, as it rests there.
    pub fn resting(&self, entry: usize, line: Line, plaintext: LineBytes) -> OnChipLine {
        let resident = xor(&plaintext, &self.parts.pads[entry]);
        OnChipLine { slot: entry as u64, level: 0, core: 0, line, resident, plaintext, newest: true }
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Whether the write in `slot` waits to be accepted before anything else is done for it.
    pub fn awaits_acceptance(&mut self, slot: u32) -> bool {
        let is_of_caches = matches!(self.memory.writes[slot].origin, Origin::Caches(_));
        let Some(accepted) = self.engine.accepted.as_mut().filter(|_| is_of_caches) else { return false };
        accepted.arrived(slot);
        self.memory.writes.arrive_unaccepted(slot);
        true
    }

    /// Gives the oldest write that has arrived an entry, if there is room.
    pub fn accept_next(&mut self) -> bool {
        let Some(accepted) = &mut self.engine.accepted else { return false };
        let Some((slot, entry)) = accepted.next() else { return false };
        if self.memory.banks.room(false, 0) < FREE_WITH_OWN {
            self.memory.press();
            return false;
        }
        self.memory.banks.wpq.reserve();
        let at = accepted.take(entry, self.memory.queue.now());
        let stats = &mut self.memory.meter.stats;
        (stats.macs, stats.hashes) = (stats.macs + accepted.parts.macs, stats.hashes + accepted.parts.hashes);
        self.memory.queue.schedule(at, ControllerEvent::Accepted { slot });
        true
    }

    /// `ControllerEvent::Accepted`: the write is durable. It is acknowledged, and encrypted when it is the first of its line.
    pub fn accepted(&mut self, slot: u32) {
        let write = &mut self.memory.writes[slot];
        write.accepted = true;
        let Origin::Caches(token) = write.origin else { return };
        if !self.memory.banks.acknowledges_written {
            self.memory.acknowledge(token);
        }
        self.memory.writes.start_accepted(slot);
    }

    /// The write in `slot` takes over its entry, if it has one.
    pub fn take_over_entry(&mut self, slot: u32) {
        if !self.memory.writes[slot].accepted {
            return;
        }
        if let Some(accepted) = &mut self.engine.accepted {
            accepted.leave(slot);
            self.memory.banks.wpq.unreserve();
        }
    }

    /// Entries that the write in `slot` has of those that it needs: one if it was accepted.
    pub fn has_entry(&self, slot: u32) -> usize {
        usize::from(self.memory.writes[slot].accepted)
    }
}
