//! What lies in the caches when power fails, and the shadow cache: a part of the memory with a slot for every data slot
//! of the caches, where their dirty lines go on battery (sepencr section IV-C).
//!
//! ```text
//! region:  data lines, one per slot | metadata lines, one per four slots
//! ```
//!
//! Slots are numbered level by level from the first, cache by cache, way by way. The pad of slot `n` is made for address
//! `memory + n x 64`, which no data line ever has.

use super::{CoreId, LINE_BYTES, Line, LineBytes, MediaLine, PAGE_BYTES};

/// Slots whose metadata share a line.
const SLOTS_PER_LINE: u64 = 4;
const TAG_VALID: u64 = 1 << 63;

/// A dirty line in the caches, as power loss finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnChipLine {
    /// The slot that it lies in, over all caches.
    pub slot: u64,
    /// 1 to 3; 0 where nobody has said to which level the slot belongs.
    pub level: u8,
    /// The core whose cache it is; 0 for a shared cache.
    pub core: CoreId,
    /// Its tag.
    pub line: Line,
    /// What the data array holds: ciphertext where lines rest encrypted.
    pub resident: LineBytes,
    /// What the program has stored: for those who watch, not for the drain.
    pub plaintext: LineBytes,
    /// No level above holds the line dirty: of all copies this one is the newest.
    pub newest: bool,
}

/// A write that left the chip on battery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrainedWrite {
    /// Where it went.
    pub media: MediaLine,
    /// The bytes that crossed the bus.
    pub bytes: LineBytes,
    /// The cached line that they hold and its plaintext, if they hold one.
    pub carries: Option<(Line, LineBytes)>,
    /// It is flagged as lying in the clear.
    pub in_the_clear: bool,
}

/// Where the shadow cache lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowRegion {
    /// Its first line.
    pub first: Line,
    /// Data slots of all caches.
    pub slots: u64,
    /// Lines of the whole memory: the first line number that no data line has.
    pub memory_lines: u64,
}

impl ShadowRegion {
    /// Bytes that the shadow cache of `slots` slots takes: whole pages.
    pub fn bytes(slots: u64) -> u64 {
        ((slots + slots.div_ceil(SLOTS_PER_LINE)) * LINE_BYTES).next_multiple_of(PAGE_BYTES)
    }
    /// Lines that it takes.
    pub fn lines(&self) -> u64 {
        self.slots + self.slots.div_ceil(SLOTS_PER_LINE)
    }
    /// Whether `line` belongs to it.
    pub fn contains(&self, line: Line) -> bool {
        line.0 >= self.first.0 && line.0 - self.first.0 < self.lines()
    }
    /// The line that holds the data of `slot`.
    pub fn data(&self, slot: u64) -> Line {
        debug_assert!(slot < self.slots);
        Line(self.first.0 + slot)
    }
    /// The slot whose data lies in `line`, if it is a data line of the region.
    pub fn slot_of(&self, line: Line) -> Option<u64> {
        line.0.checked_sub(self.first.0).filter(|&slot| slot < self.slots)
    }
    /// The line that holds the metadata of `slot`, and the place in it, 0 to 3.
    pub fn metadata(&self, slot: u64) -> (Line, usize) {
        debug_assert!(slot < self.slots);
        (Line(self.first.0 + self.slots + slot / SLOTS_PER_LINE), (slot % SLOTS_PER_LINE) as usize)
    }
    /// The slots whose metadata lie in `line`, if it is a metadata line of the region.
    pub fn slots_of_metadata(&self, line: Line) -> Option<std::ops::Range<u64>> {
        let group = line.0.checked_sub(self.first.0 + self.slots)?;
        let first = group * SLOTS_PER_LINE;
        (first < self.slots).then(|| first..(first + SLOTS_PER_LINE).min(self.slots))
    }
    /// The line number for which the pad of `slot` is made: outside the memory (sepencr section IV-C: "16GB + N x 64B").
    pub fn pad_line(&self, slot: u64) -> Line {
        Line(self.memory_lines + slot)
    }
}

/// What 16 bytes of metadata say of a slot, in the clear: tag and state, and the counter of its pad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotMetadata {
    /// The line whose bytes the slot holds.
    pub line: Line,
    /// bbe: the value of the incr-counter under which the slot was encrypted. sepencr: the boot counter ("epoch").
    pub stamp: u64,
}

impl SlotMetadata {
    /// Puts `metadata` at place `index` of a metadata line; `None`: the slot holds nothing.
    pub fn put(metadata: Option<SlotMetadata>, bytes: &mut LineBytes, index: usize) {
        let (tag, stamp) = metadata.map_or((0, 0), |of| (of.line.0 | TAG_VALID, of.stamp));
        bytes[index * 16..index * 16 + 8].copy_from_slice(&tag.to_le_bytes());
        bytes[index * 16 + 8..index * 16 + 16].copy_from_slice(&stamp.to_le_bytes());
    }
    /// Reads place `index` of a metadata line.
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

/// The registers of designs whose caches lie in the persistence domain. A design has those that it declares; the others
/// keep their first value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ShadowRegisters {
    /// The next value of bbe's incr-counter ("the initial value of incr-counter is 1").
    pub incr_counter: u64,
    /// The boot counter under which sepencr's cache pads are made ("the initialization values of all counters are 1").
    pub boot_counter: u64,
    /// Slots with this stamp or a smaller one have been consumed: what they held is in memory.
    pub consumed: u64,
}

impl Default for ShadowRegisters {
    fn default() -> Self {
        Self { incr_counter: 1, boot_counter: 1, consumed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_region_is_one_slots_data_or_four_slots_metadata() {
        for slots in [1, 3, 4, 5, 16, 65_537] {
            let region = ShadowRegion { first: Line(1_000), slots, memory_lines: 1 << 28 };
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
            assert!(ShadowRegion::bytes(slots) >= region.lines() * LINE_BYTES);
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
