//! The write pending queue: what lies here survives a power failure (ADR). Entries wait per bank in arrival order;
//! counter entries carry one flag bit, so that CWR looks at them alone (secpm section 3.4.3).

use crate::kernel::Slab;
use crate::message::{LineBytes, Location, MediaLine};

const NONE: u32 = u32::MAX;

/// One queued write.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What is written.
    pub media: MediaLine,
    /// Where it goes.
    pub location: Location,
    /// Its bytes.
    pub bytes: LineBytes,
    /// Admission number: later entries have higher ones.
    pub sequence: u64,
    /// A bank is taking its data.
    pub issued: bool,
    /// Measurement period in which it was admitted.
    pub epoch: u32,
    /// For a counter block, the bump it was copied after; zero for data.
    pub bump: u64,
    next: u32,
    previous: u32,
}

/// The queue.
pub struct Wpq {
    capacity: usize,
    entries: Slab<Entry>,
    /// Media codes by slot, for associative search; `EMPTY` where the slot is free.
    codes: Vec<u64>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    sequence: u64,
}

const EMPTY: u64 = u64::MAX;

impl Wpq {
    /// A queue of `capacity` lines in front of `banks` banks.
    pub fn new(capacity: u32, banks: usize) -> Self {
        Self {
            capacity: capacity as usize,
            entries: Slab::default(),
            codes: Vec::with_capacity(capacity as usize),
            heads: vec![NONE; banks],
            tails: vec![NONE; banks],
            sequence: 0,
        }
    }

    /// Entries queued or on their way into a bank.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Slots that are free.
    pub fn free(&self) -> usize {
        self.capacity - self.entries.len()
    }

    /// The entry in `slot`.
    pub fn entry(&self, slot: u32) -> &Entry {
        &self.entries[slot]
    }

    /// Appends a write; the caller has checked that a slot is free.
    pub fn push(&mut self, media: MediaLine, location: Location, bytes: LineBytes, epoch: u32, bump: u64) -> u32 {
        debug_assert!(self.free() > 0, "an entry was pushed into a full write pending queue");
        self.sequence += 1;
        let bank = location.bank as usize;
        let previous = self.tails[bank];
        let slot = self.entries.insert(Entry {
            media,
            location,
            bytes,
            sequence: self.sequence,
            issued: false,
            epoch,
            bump,
            next: NONE,
            previous,
        });
        if self.codes.len() <= slot as usize {
            self.codes.resize(slot as usize + 1, EMPTY);
        }
        self.codes[slot as usize] = media.code();
        if previous == NONE {
            self.heads[bank] = slot;
        } else {
            self.entries[previous].next = slot;
        }
        self.tails[bank] = slot;
        slot
    }

    /// The newest entry for `media`, issued or not.
    pub fn newest(&self, media: MediaLine) -> Option<&Entry> {
        let code = media.code();
        let slots = self.codes.iter().enumerate().filter(|(_, queued)| **queued == code);
        slots.map(|(slot, _)| &self.entries[slot as u32]).max_by_key(|entry| entry.sequence)
    }

    /// The entry that a new counter block of the same address makes superfluous: queued and not issued.
    pub fn superseded(&self, media: MediaLine) -> Option<u32> {
        debug_assert!(media.is_counter());
        let code = media.code();
        (0..self.codes.len() as u32).find(|&slot| self.codes[slot as usize] == code && !self.entries[slot].issued)
    }

    /// The oldest entry that waits for `bank`.
    pub fn oldest(&self, bank: u16) -> Option<u32> {
        let head = self.heads[bank as usize];
        (head != NONE).then_some(head)
    }

    /// The oldest data entry that waits for `row` of `bank`. Same-address order is kept: equal addresses share a row.
    pub fn oldest_data_in(&self, bank: u16, row: u32) -> Option<u32> {
        let mut slot = self.heads[bank as usize];
        while slot != NONE {
            let entry = &self.entries[slot];
            if entry.location.row == row && !entry.media.is_counter() {
                return Some(slot);
            }
            slot = entry.next;
        }
        None
    }

    /// Whether anything waits for `bank`.
    pub fn waits_for(&self, bank: u16) -> bool {
        self.heads[bank as usize] != NONE
    }

    /// Takes `slot` out of its bank's line: the bank is taking its data. The entry stays until [`Wpq::remove`].
    pub fn mark_issued(&mut self, slot: u32) {
        self.unlink(slot);
        self.entries[slot].issued = true;
    }

    /// Removes an entry: accepted by its bank, or superseded.
    pub fn remove(&mut self, slot: u32) -> &Entry {
        if !self.entries[slot].issued {
            self.unlink(slot);
        }
        self.codes[slot as usize] = EMPTY;
        self.entries.release(slot);
        &self.entries[slot]
    }

    /// Everything queued, oldest first: what ADR drains.
    pub fn in_order(&self) -> Vec<&Entry> {
        let slots = (0..self.codes.len() as u32).filter(|&slot| self.codes[slot as usize] != EMPTY);
        let mut entries: Vec<&Entry> = slots.map(|slot| &self.entries[slot]).collect();
        entries.sort_unstable_by_key(|entry| entry.sequence);
        entries
    }

    fn unlink(&mut self, slot: u32) {
        let Entry { next, previous, location, .. } = self.entries[slot];
        let bank = location.bank as usize;
        if previous == NONE {
            self.heads[bank] = next;
        } else {
            self.entries[previous].next = next;
        }
        if next == NONE {
            self.tails[bank] = previous;
        } else {
            self.entries[next].previous = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{CounterBlock, Line};

    fn at(bank: u16, row: u32) -> Location {
        Location { bank, row }
    }

    #[test]
    fn a_bank_sees_its_entries_in_order() {
        let mut wpq = Wpq::new(8, 2);
        let a = wpq.push(MediaLine::data(Line(1)), at(0, 5), [1; 64], 0, 0);
        let b = wpq.push(MediaLine::data(Line(2)), at(0, 6), [2; 64], 0, 0);
        let c = wpq.push(MediaLine::data(Line(3)), at(1, 6), [3; 64], 0, 0);
        assert_eq!((wpq.oldest(0), wpq.oldest_data_in(0, 6), wpq.oldest_data_in(0, 9)), (Some(a), Some(b), None));
        wpq.mark_issued(a);
        assert_eq!(wpq.oldest(0), Some(b));
        assert_eq!(wpq.len(), 3, "an issued entry keeps its slot until the bank accepted it");
        wpq.remove(a);
        wpq.mark_issued(c);
        assert!(!wpq.waits_for(1) && wpq.waits_for(0));
        assert_eq!(wpq.in_order().iter().map(|entry| entry.bytes[0]).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn only_an_entry_that_is_not_issued_is_superseded() {
        let mut wpq = Wpq::new(4, 1);
        let media = MediaLine::counter(CounterBlock(7));
        let first = wpq.push(media, at(0, 0), [1; 64], 0, 0);
        assert_eq!(wpq.superseded(media), Some(first));
        wpq.mark_issued(first);
        assert_eq!(wpq.superseded(media), None);
        let second = wpq.push(media, at(0, 0), [2; 64], 0, 0);
        assert_eq!(wpq.superseded(media), Some(second));
        assert_eq!(wpq.newest(media).unwrap().bytes[0], 2);
        assert_eq!(wpq.superseded(MediaLine::counter(CounterBlock(8))), None);
    }
}
