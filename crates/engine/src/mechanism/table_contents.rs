//! Entries of a shadow table that has the contents of blocks and nodes with eight 56-bit counters (Abu Zubair and Awad, ISCA
//! 2019, Anubis, ASIT): the lowest 49 bits of each counter, and a MAC over all bits. The others are in memory, where a block
//! must be written before its counters exceed them; at 49 bits no run comes that far.

use super::wide_counters::{set_wide, sum, wide};
use crate::cipher::MacCipher;
use crate::layout::{ENTRY_COUNTER_BITS, LineHash, TableEntry, TreePlace};
use crate::message::LineBytes;
use crate::parts::TableScheme;

/// Bits of the MAC of an entry.
const MAC_BITS: u32 = 56;

/// Entries with one key.
pub struct TableContents {
    /// The cipher of MACs and hashes.
    pub cipher: MacCipher,
}

impl TableContents {
    /// The MAC over a block.
    fn seal(&self, place: TreePlace, block: &LineBytes) -> u64 {
        let mac = self.cipher.cached(block, place);
        (mac & ((1 << MAC_BITS) - 1)) as u64
    }
}

impl LineHash for TableContents {
    fn hash(&self, bytes: &LineBytes) -> [u8; 8] {
        self.cipher.short(bytes)
    }
}

impl TableScheme for TableContents {
    fn entry(&self, place: TreePlace, block: &LineBytes) -> LineBytes {
        let low = |index: usize| wide(block, index) & ((1 << ENTRY_COUNTER_BITS) - 1);
        let (media, mac) = (place.media(), self.seal(place, block));
        TableEntry { media, mac, counters: std::array::from_fn(low) }.pack()
    }

    fn restored(&self, entry: &TableEntry, place: TreePlace, stored: &LineBytes) -> Option<LineBytes> {
        let mut block = *stored;
        for (index, low) in entry.counters.iter().enumerate() {
            set_wide(&mut block, index, wide(stored, index) >> ENTRY_COUNTER_BITS << ENTRY_COUNTER_BITS | low);
        }
        (self.seal(place, &block) == entry.mac).then_some(block)
    }

    fn is_older(&self, block: &LineBytes, other: &LineBytes) -> bool {
        sum(block) < sum(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Keys;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entry_and_an_older_block_give_the_newer_one(
            older in proptest::array::uniform8(0..1u64 << 40), more in proptest::array::uniform8(0..1u64 << 20), high in 0..127u64,
            index in 0..1u64 << 30, level in 0..9u8,
        ) {
            let scheme = TableContents { cipher: MacCipher::new(&Keys::from_seed(1).tree) };
            let place = TreePlace { level, index };
            let [mut old, mut new] = [[3; 64]; 2];
            for at in 0..8 {
                set_wide(&mut old, at, high << ENTRY_COUNTER_BITS | older[at]);
                set_wide(&mut new, at, high << ENTRY_COUNTER_BITS | (older[at] + more[at]));
            }
            let entry = TableEntry::unpack(&scheme.entry(place, &new)).unwrap();
            prop_assert_eq!(entry.media, place.media());
            prop_assert_eq!(scheme.restored(&entry, place, &old), Some(new));
            prop_assert_eq!(scheme.is_older(&old, &new), old != new);
            prop_assert!(!scheme.is_older(&new, &old));
            // A block with other upper bits, another place or another counter does not belong to the entry.
            set_wide(&mut old, 2, (high + 1) << ENTRY_COUNTER_BITS);
            prop_assert_eq!(scheme.restored(&entry, place, &old), None);
            let elsewhere = TreePlace { level, index: index + 1 };
            prop_assert_eq!(scheme.restored(&entry, elsewhere, &new), None);
            let mut changed = entry;
            changed.counters[5] ^= 1;
            prop_assert_eq!(scheme.restored(&changed, place, &new), None);
        }
    }
}
