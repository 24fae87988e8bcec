//! The boot's handling of the shadow cache (sepencr sections IV-C and IV-D): which slots hold a line, how each is
//! decrypted, and the lines that have been restored to the caches.

use super::LineCodec;
use crate::layout::{ShadowRegion, ShadowRegisters, SlotMetadata};
use crate::message::{Line, LineBytes, OnChipLine, xor};
use crate::parts::{Counter, MacSource, StampSource};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A slot of the shadow cache that holds a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LiveSlot {
    pub slot: u64,
    pub line: Line,
    /// The counter of its pad.
    pub counter: u64,
    /// Its bytes, if they have been read to be verified.
    pub verified: Option<LineBytes>,
}

/// The pad of `slot` with `counter`.
pub(super) fn slot_pad(codec: &dyn LineCodec, region: ShadowRegion, slot: u64, counter: u64) -> LineBytes {
    codec.pad(region.pad_line(slot), Counter { major: counter, minor: 0 })
}

/// What a boot finds in the shadow cache.
#[derive(Default)]
pub(super) struct ShadowContents {
    /// The slots that hold a line, in ascending order. They are restored from last to first: the third level's, the
    /// second's, then the first's, so that the newest copy of a line comes last.
    pub slots: Vec<LiveSlot>,
    /// The lines of the shadow cache that have a part in what is to be restored: those of metadata in which a slot holds
    /// something, and those of these slots once they have been read.
    pub lines: BTreeMap<Line, LineBytes>,
}

impl ShadowContents {
    /// Reads the metadata of all slots. `read` returns memory without decryption.
    pub fn read(
        region: ShadowRegion,
        stamp: StampSource,
        registers: &ShadowRegisters,
        read: &dyn Fn(Line) -> LineBytes,
    ) -> Self {
        let mut found = Self::default();
        let mut next = 0;
        while next < region.slots {
            let (line, _) = region.metadata(next);
            let group = region.slots_of_metadata(line).expect("a line of metadata speaks for slots");
            let bytes = read(line);
            for (index, slot) in group.clone().enumerate() {
                let Some(metadata) = SlotMetadata::get(&bytes, index) else { continue };
                let Some(counter) = counter_of(slot, metadata.stamp, region, stamp, registers) else { continue };
                found.lines.insert(line, bytes);
                // A tag beyond the lines of programs names nothing.
                if metadata.line < region.first {
                    found.slots.push(LiveSlot { slot, line: metadata.line, counter, verified: None });
                }
            }
            next = group.end;
        }
        found
    }

    /// Reads the lines of the slots, to be verified.
    pub fn read_slots(&mut self, region: ShadowRegion, read: &dyn Fn(Line) -> LineBytes) {
        for slot in &mut self.slots {
            let bytes = read(region.data(slot.slot));
            slot.verified = Some(bytes);
            self.lines.insert(region.data(slot.slot), bytes);
        }
    }
}

/// The slots of a shadow cache whose lines are packed: as many as the register says, under the counters that the last drain
/// reserved, each compared with its MAC.
///
/// # Errors
/// The first slot that does not match its MAC, or is not what the register says.
pub(super) fn packed_slots(
    region: ShadowRegion,
    registers: &ShadowRegisters,
    macs: Option<&dyn MacSource>,
    read: &dyn Fn(Line) -> LineBytes,
) -> Result<Vec<LiveSlot>, u64> {
    let mut count = [0; 8];
    count.copy_from_slice(&registers.root[..8]);
    let first = registers.incr_counter.wrapping_sub(region.slots);
    let mut known = (Line(u64::MAX), [0; 64], [0; 64]);
    let mut slots = Vec::new();
    for slot in 0..u64::from_le_bytes(count).min(region.slots) {
        let ((line, index), (of_macs, place)) = (region.metadata(slot), region.mac(slot));
        if known.0 != line {
            // Two lines of metadata share a line of MACs.
            let stored = if place.start == 0 { read(of_macs) } else { known.2 };
            known = (line, read(line), stored);
        }
        let metadata = SlotMetadata::get(&known.1, index);
        let bytes = read(region.data(slot));
        let counter = first.wrapping_add(slot);
        let Some(macs) = macs else {
            let of = metadata.filter(|of| of.line < region.first);
            slots.extend(of.map(|of| LiveSlot { slot, line: of.line, counter, verified: Some(bytes) }));
            continue;
        };
        let of = metadata.filter(|of| of.stamp == counter).ok_or(slot)?;
        let mac = macs.mac(of.line, &bytes, Counter { major: counter, minor: 0 });
        if mac.to_le_bytes()[..8] != known.2[place] {
            return Err(slot);
        }
        slots.push(LiveSlot { slot, line: of.line, counter, verified: Some(bytes) });
    }
    Ok(slots)
}

/// The counter of the pad of `slot`, whose metadata have this stamp; `None` if it holds nothing that is to be restored.
fn counter_of(
    slot: u64,
    stamp: u64,
    region: ShadowRegion,
    source: StampSource,
    registers: &ShadowRegisters,
) -> Option<u64> {
    let unless_consumed = |stamp: u64| (stamp > registers.consumed).then_some(stamp);
    match source {
        StampSource::Nowhere => None,
        StampSource::Metadata => unless_consumed(stamp),
        StampSource::Location => Some(registers.incr_counter.wrapping_sub(region.slots).wrapping_add(slot)),
        StampSource::BootCounter => Some(registers.boot_counter),
        StampSource::LowestBit => unless_consumed(newest_with_bit_of(stamp, registers.boot_counter)),
    }
}

/// The newest stamp before `boot_counter` that has the same lowest bit as `stamp`.
fn newest_with_bit_of(stamp: u64, boot_counter: u64) -> u64 {
    let last = boot_counter.saturating_sub(1);
    last.saturating_sub((last ^ stamp) & 1)
}

/// The newest stamp that is consumed once every slot is restored: the largest that a drain has used. A design has one
/// of the two counters; the other has its initial value.
pub(super) fn last_stamp(registers: &ShadowRegisters) -> u64 {
    (registers.incr_counter - 1).max(registers.boot_counter - 1)
}

struct Restored {
    line: Line,
    plaintext: LineBytes,
    /// The pad that the line is encrypted with; zeros if it is not encrypted.
    pad: LineBytes,
}

/// The dirty lines that a boot has restored to the caches.
#[derive(Default)]
pub(super) struct Cached {
    slots: BTreeMap<u64, Restored>,
    /// The slot of the newest copy of each line: slots are numbered level by level from the first.
    newest: FxHashMap<Line, u64>,
}

impl Cached {
    /// Puts an unencrypted line into `slot`.
    pub fn put(&mut self, slot: u64, line: Line, plaintext: LineBytes) {
        self.slots.insert(slot, Restored { line, plaintext, pad: [0; 64] });
        let newest = self.newest.entry(line).or_insert(slot);
        *newest = slot.min(*newest);
    }

    /// The newest copy of `line`.
    pub fn line(&self, line: Line) -> Option<&LineBytes> {
        self.newest.get(&line).map(|slot| &self.slots[slot].plaintext)
    }

    /// Writes the newest copy of `line`; returns false if there is none.
    pub fn write(&mut self, line: Line, plaintext: &LineBytes) -> bool {
        let copy = self.newest.get(&line).and_then(|slot| self.slots.get_mut(slot));
        copy.map(|copy| copy.plaintext = *plaintext).is_some()
    }

    /// The first occupied slot at or after `from`.
    pub fn next_slot(&self, from: u64) -> Option<u64> {
        self.slots.range(from..).next().map(|(&slot, _)| slot)
    }

    /// Encrypts the line in `slot` with `pad`.
    pub fn encrypt(&mut self, slot: u64, pad: LineBytes) {
        if let Some(copy) = self.slots.get_mut(&slot) {
            copy.pad = pad;
        }
    }

    /// All restored lines, in the order of their slots. A boot does not know which cache a slot belongs to.
    pub fn on_chip(&self) -> Vec<OnChipLine> {
        let of = |(&slot, copy): (&u64, &Restored)| OnChipLine {
            slot,
            level: 0,
            core: 0,
            line: copy.line,
            resident: xor(&copy.plaintext, &copy.pad),
            plaintext: copy.plaintext,
            newest: self.newest.get(&copy.line) == Some(&slot),
        };
        self.slots.iter().map(of).collect()
    }
}
