//! The boot's handling of the shadow cache (sepencr sections IV-C and IV-D): which slots hold a line, how each is
//! decrypted, and the lines that have been restored to the caches.

use super::LineCodec;
use crate::message::{Line, LineBytes, OnChipLine, ShadowRegion, ShadowRegisters, SlotMetadata, xor};
use crate::parts::{Counter, StampSource};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A slot of the shadow cache that holds a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LiveSlot {
    pub slot: u64,
    pub line: Line,
    counter: u64,
}

impl LiveSlot {
    /// The line's plaintext. `read` returns memory without decryption.
    pub fn plaintext(
        &self,
        codec: &dyn LineCodec,
        region: ShadowRegion,
        read: &dyn Fn(Line) -> LineBytes,
    ) -> LineBytes {
        xor(&read(region.data(self.slot)), &slot_pad(codec, region, self.slot, self.counter))
    }
}

/// The pad of `slot` with `counter`.
pub(super) fn slot_pad(codec: &dyn LineCodec, region: ShadowRegion, slot: u64, counter: u64) -> LineBytes {
    codec.pad(region.pad_line(slot), Counter { major: counter, minor: 0 })
}

/// The slots that hold a line, in ascending order. They are restored from last to first: the third level's, the
/// second's, then the first's, so that the newest copy of a line comes last.
pub(super) fn live_slots(
    region: ShadowRegion,
    stamp: StampSource,
    registers: &ShadowRegisters,
    read: &dyn Fn(Line) -> LineBytes,
) -> Vec<LiveSlot> {
    let mut live = Vec::new();
    let mut next = 0;
    while next < region.slots {
        let (line, _) = region.metadata(next);
        let group = region.slots_of_metadata(line).expect("a line of metadata speaks for slots");
        let bytes = read(line);
        for (index, slot) in group.clone().enumerate() {
            let Some(metadata) = SlotMetadata::get(&bytes, index) else { continue };
            let counter = match stamp {
                StampSource::Nowhere => continue,
                StampSource::Metadata if metadata.stamp <= registers.consumed => continue,
                StampSource::Metadata => metadata.stamp,
                StampSource::Location => registers.incr_counter.wrapping_sub(region.slots).wrapping_add(slot),
                StampSource::BootCounter => registers.boot_counter,
                StampSource::LowestBit => match newest_with_bit_of(metadata.stamp, registers.boot_counter) {
                    stamp if stamp <= registers.consumed => continue,
                    stamp => stamp,
                },
            };
            live.push(LiveSlot { slot, line: metadata.line, counter });
        }
        next = group.end;
    }
    live
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
