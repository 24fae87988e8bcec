//! Rules for random programs with caches that keep data when power fails: the lines on the chip and memory's
//! acknowledged lines together are the newest version of every line, at every event; lines are stored as the design
//! says; and one counter serves one dirty period of a line on the chip.

use crate::cache::{CacheParts, data_slots};
use crate::config::Machine;
use crate::message::{Line, LineBytes, OnChipLine, xor};
use crate::parts::CachePads;

/// A different pad for each slot.
pub(super) fn pad_of_slot(slot: u64) -> LineBytes {
    std::array::from_fn(|i| ((slot + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + 2 * i as u64) >> (8 * (i % 8))) as u8)
}

/// Caches whose lines are stored with `pads`, in the persistence domain or not.
pub(super) fn parts(pads: CachePads, persistent: bool) -> CacheParts<'static> {
    CacheParts { pads, persistent, buffers: None, pad_of_slot: &pad_of_slot }
}

/// The state of the lines of a world.
pub(super) struct OnChip {
    pads: CachePads,
    persistent: bool,
    buffered: bool,
    slots: u64,
    /// For each line: whether it is dirty with a counter that no write has carried out yet.
    counted: Vec<bool>,
    /// Whether a counter has been requested.
    asked: Vec<bool>,
    pub(super) increments: u64,
}

impl OnChip {
    pub(super) fn new(machine: &Machine, cores: u16, parts: CacheParts<'_>, lines: usize) -> Self {
        let CacheParts { pads, persistent, buffers, .. } = parts;
        let slots = buffers
            .map_or_else(|| data_slots(machine, cores, pads), |buffers| u64::from(buffers.entries) * u64::from(cores));
        let (persistent, buffered) = (persistent || buffers.is_some(), buffers.is_some());
        OnChip {
            pads,
            persistent,
            buffered,
            slots,
            counted: vec![false; lines],
            asked: vec![false; lines],
            increments: 0,
        }
    }

    /// What a core does instead of `what`: such programs flush nothing, and hardware logs nothing if lines are
    /// encrypted with their own counters, or are in persist buffers.
    pub(super) fn instead_of(&self, what: u8) -> u8 {
        match what {
            8 | 9 | 10 | 12 | 15 if self.persistent => 3,
            13 | 14 if self.with_counters() || self.buffered => 0,
            _ => what,
        }
    }

    pub(super) fn flush_free(&self) -> bool {
        self.persistent
    }

    fn with_counters(&self) -> bool {
        self.pads == CachePads::AesAtAccess
    }

    /// Handles a store.
    pub(super) fn stored(&self, line: Line) {
        let counted = self.counted[line.0 as usize];
        assert!(counted || !self.with_counters(), "a store to {line:?}, whose counter has been used");
    }

    /// Handles the caches' request for the next counter of `line`.
    pub(super) fn asks(&mut self, line: Line) {
        assert!(self.with_counters());
        assert!(!self.counted[line.0 as usize], "{line:?} has a counter that has not been used");
        assert!(!std::mem::replace(&mut self.asked[line.0 as usize], true), "two counters for one turn of {line:?}");
    }

    /// Handles the answer to the request for a counter.
    pub(super) fn incremented(&mut self, line: Line) {
        assert!(std::mem::replace(&mut self.asked[line.0 as usize], false));
        self.counted[line.0 as usize] = true;
        self.increments += 1;
    }

    /// Handles a write of `line`; returns its bytes. `newest`: `None` if no bytes are kept.
    pub(super) fn leaves(&mut self, line: Line, resting: &LineBytes, pad: &LineBytes, newest: LineBytes) -> LineBytes {
        let bytes = xor(resting, pad);
        assert!(*pad == [0; 64] || self.pads == CachePads::BootPads);
        if self.with_counters() {
            assert!(std::mem::replace(&mut self.counted[line.0 as usize], false), "two writes under one counter");
            assert!(!self.asked[line.0 as usize]);
            assert!(bytes == newest || bytes == [0; 64], "an older version of {line:?} leaves");
        }
        bytes
    }

    /// The rules for all lines on the chip.
    pub(super) fn check(&self, lines: &[OnChipLine]) {
        assert!(self.buffered || lines.is_sorted_by(|a, b| a.slot < b.slot && a.level <= b.level));
        assert!(lines.len() as u64 <= self.slots);
        for (index, of) in lines.iter().enumerate() {
            assert!(of.slot < self.slots);
            let pad = if self.pads == CachePads::BootPads { pad_of_slot(of.slot) } else { [0; 64] };
            assert_eq!(xor(&of.resident, &pad), of.plaintext, "slot {}", of.slot);
            assert_eq!(of.newest, !lines[..index].iter().any(|above| above.line == of.line));
        }
    }

    /// The rules for one line: `listed` is its newest copy on the chip; `acknowledged`: memory has its newest version.
    pub(super) fn check_line(&self, line: Line, listed: Option<&OnChipLine>, acknowledged: bool) {
        assert!(!self.persistent || listed.is_some() || acknowledged, "{line:?} would be lost with power");
        assert!(!self.counted[line.0 as usize] || listed.is_some(), "memory has {line:?} under an older counter");
    }
}
