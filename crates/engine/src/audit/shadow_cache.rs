//! The auditors' own reading of the shadow cache (sepencr sections IV-C and IV-D): what a boot finds there after the
//! last reported power loss. It shares no code with the mechanisms except the arithmetic of its addresses.
//!
//! Metadata are sixteen bytes per slot, four slots per line: a tag whose highest bit says that the slot holds
//! something, then the stamp, both little-endian words. A live slot is decrypted for its own address outside memory,
//! with the counter that the design takes from the metadata, from the slot's position, or from a register, and replaces
//! the line that its tag names. Slots are numbered from the first level, so of several copies the one in the lowest
//! slot is newest.

use super::counter::{AuditedCounter, CounterCipher};
use super::hashes::{mix, unit_hash};
use super::line_record::Id;
use super::lines::Lines;
use crate::layout::{ShadowRegion, ShadowRegisters};
use crate::message::{DrainedWrite, Line, LineBytes};
use crate::parts::StampSource;

const HOLDS: u64 = 1 << 63;
const SLOT_BYTES: usize = 16;

/// A slot that holds a line to be restored.
struct Slot {
    number: u64,
    id: Id,
    counter: u64,
    bytes: LineBytes,
    plain: LineBytes,
}

/// Tracks the shadow cache.
pub(super) struct ShadowCache {
    region: ShadowRegion,
    source: StampSource,
    losses: u64,
    /// The live slots, lowest first.
    slots: Vec<Slot>,
    before: Vec<Slot>,
    /// The lines that the live slots hold.
    restored: Vec<Id>,
    /// Slot and position in the list of what left, for lines with data and for lines with metadata.
    data: Vec<(u64, usize)>,
    metadata: Vec<(u64, usize)>,
    hash: u64,
}

impl ShadowCache {
    pub fn new(region: ShadowRegion, source: StampSource) -> Self {
        Self {
            region,
            source,
            losses: 0,
            slots: Vec::new(),
            before: Vec::new(),
            restored: Vec::new(),
            data: Vec::new(),
            metadata: Vec::new(),
            hash: 0,
        }
    }

    pub fn region(&self) -> ShadowRegion {
        self.region
    }

    /// A hash of the contents of the shadow cache; empty metadata count as never written.
    pub fn state_hash(&self) -> u64 {
        self.hash
    }

    /// Power is lost: reads the lines of the shadow cache in `left` as a boot that finds `registers` will. Adds the
    /// lines with a new result of the boot to `changed`.
    pub fn power_lost(
        &mut self,
        lines: &mut Lines,
        cipher: Option<&CounterCipher>,
        left: &[DrainedWrite],
        registers: &ShadowRegisters,
        changed: &mut Vec<Id>,
    ) {
        self.sort(left);
        self.read(lines, cipher, left, registers);
        self.put_back(lines, changed);
    }

    /// Finds the lines of the shadow cache in `left`; if one was written several times, the last write.
    fn sort(&mut self, left: &[DrainedWrite]) {
        self.data.clear();
        self.metadata.clear();
        self.hash = 0;
        for (place, write) in left.iter().enumerate() {
            let Some(line) = write.media.as_line().filter(|&line| self.region.contains(line)) else { continue };
            if let Some(slot) = self.region.slot_of(line) {
                self.data.push((slot, place));
            } else if let Some(slots) = self.region.slots_of_metadata(line) {
                self.metadata.push((slots.start, place));
            }
        }
        for places in [&mut self.data, &mut self.metadata] {
            places.sort_unstable_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
            places.dedup_by_key(|(slot, _)| *slot);
        }
        self.metadata.retain(|&(_, place)| left[place].bytes != [0; 64]);
        for &(_, place) in self.data.iter().chain(&self.metadata) {
            self.hash ^= unit_hash(left[place].media, &left[place].bytes);
        }
    }

    fn read(
        &mut self,
        lines: &mut Lines,
        cipher: Option<&CounterCipher>,
        left: &[DrainedWrite],
        registers: &ShadowRegisters,
    ) {
        std::mem::swap(&mut self.slots, &mut self.before);
        self.slots.clear();
        // With MACs, the register of the root has the number of slots.
        let held = if self.region.macs { word(&registers.root, 0) } else { u64::MAX };
        let (mut data, mut before) = (self.data.iter().peekable(), self.before.iter().peekable());
        for &(first, place) in &self.metadata {
            for (number, entry) in (first..self.region.slots).zip(left[place].bytes.chunks_exact(SLOT_BYTES)) {
                let (tag, stamp) = (word(entry, 0), word(entry, 8));
                let line = Line(tag & !HOLDS);
                if tag & HOLDS == 0 || line >= self.region.first || number >= held {
                    continue;
                }
                let counter = match self.source {
                    StampSource::Nowhere => continue,
                    // After the first power loss, no stamp is older than its lowest bit can tell.
                    StampSource::Metadata | StampSource::LowestBit if stamp <= registers.consumed => continue,
                    StampSource::Metadata | StampSource::LowestBit => stamp,
                    StampSource::Location => {
                        registers.incr_counter.wrapping_sub(self.region.slots).wrapping_add(number)
                    }
                    StampSource::BootCounter => registers.boot_counter,
                };
                while data.next_if(|&&(slot, _)| slot < number).is_some() {}
                // What was never written reads as zeros.
                let bytes = data.next_if(|&&(slot, _)| slot == number).map_or([0; 64], |&(_, place)| left[place].bytes);
                while before.next_if(|slot| slot.number < number).is_some() {}
                let known = before.next_if(|slot| slot.number == number);
                let plain = match (known, cipher) {
                    (Some(known), _) if known.counter == counter && known.bytes == bytes => known.plain,
                    (_, Some(cipher)) => {
                        cipher.apply(self.region.pad_line(number), AuditedCounter { major: counter, minor: 0 }, &bytes)
                    }
                    (_, None) => bytes,
                };
                let id = known.map(|known| known.id).filter(|&id| lines.record(id).line == line);
                let id = id.unwrap_or_else(|| lines.id(line));
                self.slots.push(Slot { number, id, counter, bytes, plain });
            }
        }
    }

    /// Restores the lines of the slots, and cancels what the previous power loss had restored.
    fn put_back(&mut self, lines: &mut Lines, changed: &mut Vec<Id>) {
        self.losses += 1;
        let known = self.restored.len();
        for slot in &self.slots {
            let record = lines.record_mut(slot.id);
            if record.shadowed == self.losses {
                // A level above holds a newer copy.
                continue;
            }
            record.shadowed = self.losses;
            self.restored.push(slot.id);
            if record.restored.as_ref() != Some(&slot.plain) {
                record.restored = Some(slot.plain);
                changed.push(slot.id);
            }
        }
        for id in self.restored.drain(..known) {
            let record = lines.record_mut(id);
            if record.shadowed != self.losses {
                record.restored = None;
                changed.push(id);
            }
        }
    }

    /// The slot in which the boot finds the line, and the counter that decrypts it.
    pub fn slot_with(&self, id: Id) -> Option<(u64, u64)> {
        self.slots.iter().find(|slot| slot.id == id).map(|slot| (slot.number, slot.counter))
    }
}

/// A hash of the registers that survive.
pub(super) fn registers_hash(registers: &ShadowRegisters) -> u64 {
    let &ShadowRegisters { incr_counter, boot_counter, consumed, ref root } = registers;
    let words = root.chunks_exact(8).map(|entry| word(entry, 0));
    [incr_counter, boot_counter, consumed].into_iter().chain(words).fold(0x6a09_e667_f3bc_c909, mix)
}

fn word(entry: &[u8], at: usize) -> u64 {
    entry[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
