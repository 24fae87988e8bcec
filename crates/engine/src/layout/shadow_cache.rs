//! The shadow cache: a part of memory with a slot for every data slot of the caches, to which their dirty lines are drained on
//! battery (sepencr section IV-C).
//!
//! ```text
//! region:  data lines, one per slot | metadata lines, one per four slots | lines of MACs, one per eight slots, if slots have MACs
//! ```
//!
//! Slots are numbered level by level from the first, cache by cache, way by way. The pad of slot `n` is made for
//! address `memory + n x 64`, which no data line has.

use super::{LineHash, LineTree};
use crate::message::{LINE_BYTES, Line, LineBytes, PAGE_BYTES};
use std::collections::BTreeMap;

/// How many slots share a line of metadata.
const SLOTS_PER_LINE: u64 = 4;
/// How many slots share a line of MACs.
const MACS_PER_LINE: u64 = 8;
const TAG_VALID: u64 = 1 << 63;

/// The region of memory that holds the shadow cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowRegion {
    /// The region's first line.
    pub first: Line,
    /// Number of slots: the data slots of all caches.
    pub slots: u64,
    /// Lines of the whole memory, and so the first line number that no data line has.
    pub memory_lines: u64,
    /// Whether each slot has a MAC.
    pub macs: bool,
}

impl ShadowRegion {
    /// Bytes that a shadow cache of `slots` slots takes, in whole pages.
    pub fn bytes(slots: u64, macs: bool) -> u64 {
        let region = Self { first: Line(0), slots, memory_lines: 0, macs };
        (region.lines() * LINE_BYTES).next_multiple_of(PAGE_BYTES)
    }
    /// Lines of the region.
    pub fn lines(&self) -> u64 {
        let macs = if self.macs { self.slots.div_ceil(MACS_PER_LINE) } else { 0 };
        self.slots + self.slots.div_ceil(SLOTS_PER_LINE) + macs
    }
    /// The line that holds the MAC of `slot`, and the place of its eight bytes there.
    pub fn mac(&self, slot: u64) -> (Line, std::ops::Range<usize>) {
        debug_assert!(self.macs && slot < self.slots);
        let line = self.slots + self.slots.div_ceil(SLOTS_PER_LINE) + slot / MACS_PER_LINE;
        let first = (slot % MACS_PER_LINE) as usize * 8;
        (Line(self.first.0 + line), first..first + 8)
    }
    /// Whether `line` belongs to the region.
    pub fn contains(&self, line: Line) -> bool {
        line.0 >= self.first.0 && line.0 - self.first.0 < self.lines()
    }
    /// The line that holds the data of `slot`.
    pub fn data(&self, slot: u64) -> Line {
        debug_assert!(slot < self.slots);
        Line(self.first.0 + slot)
    }
    /// The slot whose data is in `line`, if it is a data line of the region.
    pub fn slot_of(&self, line: Line) -> Option<u64> {
        line.0.checked_sub(self.first.0).filter(|&slot| slot < self.slots)
    }
    /// The line that holds the metadata of `slot`, and the position in it, 0 to 3.
    pub fn metadata(&self, slot: u64) -> (Line, usize) {
        debug_assert!(slot < self.slots);
        (Line(self.first.0 + self.slots + slot / SLOTS_PER_LINE), (slot % SLOTS_PER_LINE) as usize)
    }
    /// The slots whose metadata are in `line`, if it is a metadata line of the region.
    pub fn slots_of_metadata(&self, line: Line) -> Option<std::ops::Range<u64>> {
        let group = line.0.checked_sub(self.first.0 + self.slots)?;
        let first = group * SLOTS_PER_LINE;
        (first < self.slots).then(|| first..(first + SLOTS_PER_LINE).min(self.slots))
    }
    /// The root of the tree over the region if only `held` is in it, with the number of hashes that it takes. An empty shadow
    /// cache has the root zero, which no other has.
    pub fn root(&self, held: &BTreeMap<Line, LineBytes>, hash: &dyn LineHash) -> (LineBytes, u64) {
        if held.is_empty() {
            return ([0; 64], 0);
        }
        let numbered = held.iter().map(|(line, bytes)| (line.0 - self.first.0, *bytes));
        LineTree::root_over(self.lines(), numbered, hash)
    }
    /// The line number that the pad of `slot` is made for: outside memory (sepencr section IV-C: "16GB + N x 64B").
    pub fn pad_line(&self, slot: u64) -> Line {
        Line(self.memory_lines + slot)
    }
}

/// The 16 bytes of unencrypted metadata of a slot: tag, state and the counter of its pad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotMetadata {
    /// The line whose bytes the slot holds.
    pub line: Line,
    /// bbe: the value of the incr-counter that encrypted the slot. sepencr: the boot counter ("epoch").
    pub stamp: u64,
}

impl SlotMetadata {
    /// Writes `metadata` at position `index` of a metadata line; `None` marks an empty slot.
    pub fn put(metadata: Option<SlotMetadata>, bytes: &mut LineBytes, index: usize) {
        let (tag, stamp) = metadata.map_or((0, 0), |of| (of.line.0 | TAG_VALID, of.stamp));
        bytes[index * 16..index * 16 + 8].copy_from_slice(&tag.to_le_bytes());
        bytes[index * 16 + 8..index * 16 + 16].copy_from_slice(&stamp.to_le_bytes());
    }
    /// Reads position `index` of a metadata line; `None` if the slot is empty.
    pub fn get(bytes: &LineBytes, index: usize) -> Option<SlotMetadata> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let tag = word(index * 16);
        (tag & TAG_VALID != 0).then(|| SlotMetadata { line: Line(tag & !TAG_VALID), stamp: word(index * 16 + 8) })
    }
}

/// The registers of designs whose caches are in the persistence domain. Registers that a design does not have keep
/// their initial value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShadowRegisters {
    /// The next value of bbe's incr-counter ("the initial value of incr-counter is 1").
    pub incr_counter: u64,
    /// The boot counter of sepencr's cache pads ("the initialization values of all counters are 1").
    pub boot_counter: u64,
    /// Slots with this stamp or a smaller one have been restored: memory has their contents.
    pub consumed: u64,
    /// The root of the tree over what the shadow cache holds; zero if it holds nothing that is to be restored.
    pub root: LineBytes,
}

impl Default for ShadowRegisters {
    fn default() -> Self {
        Self { incr_counter: 1, boot_counter: 1, consumed: 0, root: [0; 64] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_region_is_one_slots_data_or_four_slots_metadata() {
        for slots in [1, 3, 4, 5, 16, 65_537] {
            let region = ShadowRegion { first: Line(1_000), slots, memory_lines: 1 << 28, macs: false };
            for n in 0..region.lines() {
                let line = Line(1_000 + n);
                assert!(region.contains(line));
                assert!(region.slot_of(line).is_some() != region.slots_of_metadata(line).is_some());
            }
            for slot in 0..slots {
                assert_eq!(region.slot_of(region.data(slot)), Some(slot));
                let (line, index) = region.metadata(slot);
                assert_eq!(region.slots_of_metadata(line).unwrap().nth(index), Some(slot));
            }
            assert!(!region.contains(Line(999)) && !region.contains(Line(1_000 + region.lines())));
            assert!(ShadowRegion::bytes(slots, false) >= region.lines() * LINE_BYTES);
        }
    }

    #[test]
    fn metadata_come_back_as_they_were_put() {
        let mut line = [0; 64];
        let of = |n: u64| SlotMetadata { line: Line(n << 30), stamp: u64::MAX - n };
        for index in 0..4 {
            assert_eq!(SlotMetadata::get(&line, index), None);
            SlotMetadata::put(Some(of(index as u64)), &mut line, index);
        }
        for index in 0..4 {
            assert_eq!(SlotMetadata::get(&line, index), Some(of(index as u64)));
        }
        SlotMetadata::put(None, &mut line, 2);
        assert_eq!((SlotMetadata::get(&line, 2), SlotMetadata::get(&line, 3)), (None, Some(of(3))));
    }
}
