//! An entry of a shadow table with the contents of a block (Abu Zubair and Awad, ISCA 2019, Anubis for SGX trees): 64 bytes
//! with the block's number, a MAC of 56 bits, and the lowest 49 bits of each of its eight counters. An entry that only names a
//! counter block has the number alone.

use crate::message::{LineBytes, MediaLine};

/// Bits of a counter that an entry has.
pub const ENTRY_COUNTER_BITS: usize = 49;
const COUNTERS: usize = 8;
const MAC: std::ops::Range<usize> = 8..15;
/// The first bit of the counters.
const FIRST_BIT: usize = MAC.end * 8;

/// What an entry says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// The block in the slot.
    pub media: MediaLine,
    /// A MAC over its whole counters and its place, 56 bits.
    pub mac: u64,
    /// The lowest bits of its counters.
    pub counters: [u64; COUNTERS],
}

impl TableEntry {
    /// The entry as stored.
    pub fn pack(&self) -> LineBytes {
        let mut bytes = [0; 64];
        bytes[..MAC.start].copy_from_slice(&self.media.code().to_le_bytes());
        bytes[MAC].copy_from_slice(&self.mac.to_le_bytes()[..MAC.len()]);
        for (index, counter) in self.counters.iter().enumerate() {
            for bit in (0..ENTRY_COUNTER_BITS).filter(|bit| counter >> bit & 1 == 1) {
                let at = FIRST_BIT + index * ENTRY_COUNTER_BITS + bit;
                bytes[at / 8] |= 1 << (at % 8);
            }
        }
        bytes
    }

    /// What stored bytes say; `None` for an empty entry.
    pub fn unpack(bytes: &LineBytes) -> Option<Self> {
        let word = |first: usize| {
            let mut word = [0; 16];
            let end = (first + 8).min(64);
            word[..end - first].copy_from_slice(&bytes[first..end]);
            u128::from_le_bytes(word)
        };
        let mut mac = [0; 8];
        mac[..MAC.len()].copy_from_slice(&bytes[MAC]);
        let counter = |index: usize| {
            let bit = FIRST_BIT + index * ENTRY_COUNTER_BITS;
            (word(bit / 8) >> (bit % 8)) as u64 & ((1 << ENTRY_COUNTER_BITS) - 1)
        };
        (*bytes != [0; 64]).then(|| Self {
            media: MediaLine::with_code(word(0) as u64),
            mac: u64::from_le_bytes(mac),
            counters: std::array::from_fn(counter),
        })
    }
}

/// The entry that only names `media`.
pub fn table_name(media: MediaLine) -> LineBytes {
    let mut bytes = [0; 64];
    bytes[..MAC.start].copy_from_slice(&media.code().to_le_bytes());
    bytes
}

/// Whether an entry speaks of a counter block.
pub fn names_counters(entry: &LineBytes) -> bool {
    TableEntry::unpack(entry).is_some_and(|said| said.media.is_counter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CounterBlock;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_undoes_packing(block in 0..1u64 << 40, mac in 0..1u64 << 56, values: [u64; 8]) {
            let counters = values.map(|value| value & ((1 << ENTRY_COUNTER_BITS) - 1));
            let entry = TableEntry { media: MediaLine::counter(CounterBlock(block)), mac, counters };
            prop_assert_eq!(TableEntry::unpack(&entry.pack()), Some(entry));
        }
    }

    #[test]
    fn empty_entry_says_nothing() {
        assert_eq!(TableEntry::unpack(&[0; 64]), None);
    }
}
