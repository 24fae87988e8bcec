//! An array of entries that fills the footprint; a transaction swaps two of them (secpm section 4.1).
//!
//! An entry is half a transaction, so that a swap writes `tx_size` bytes. If the size of a transaction is to be all that
//! it writes, the two entries lie in one aligned block of `tx_size` bytes: otherwise two entries of 32 bytes would take
//! two lines.

use super::initial::{InitialContents, Part};
use super::item;
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::config::ItemMetadata;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES};
use std::ops::Range;

pub(super) struct Array {
    start: u64,
    entries: u64,
    entry_bytes: u64,
    seed: u64,
    metadata: ItemMetadata,
}

impl Array {
    pub(super) fn new(share: Share) -> Self {
        let entry_bytes = share.tx_size / 2;
        let Share { start, bytes, seed, metadata, .. } = share;
        Self { start, entries: bytes / entry_bytes, entry_bytes, seed, metadata }
    }

    fn address(&self, index: u64) -> u64 {
        self.start + index * self.entry_bytes
    }

    fn swap(&self, tx: &mut Transaction<'_>, one: u64, other: u64) {
        let (one, other) = (self.address(one), self.address(other));
        let first = tx.read_block(one, self.entry_bytes);
        let second = tx.read_block(other, self.entry_bytes);
        tx.write_block(one, second);
        tx.write_block(other, first);
    }
}

impl InitialContents for Array {
    fn populated(&self) -> Vec<Range<u64>> {
        std::iter::once(self.start..self.end().next_multiple_of(LINE_BYTES)).collect()
    }

    fn populate(&self, _extent: usize, part: &mut Part<'_>) {
        part.fill_items(self.entry_bytes, |number, entry| {
            item::fill(item::nth(self.seed, number), 0, entry);
        });
    }
}

impl Structure for Array {
    fn end(&self) -> u64 {
        self.address(self.entries)
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        let (one, other) = match self.metadata {
            ItemMetadata::Beside => {
                let one = random.below(self.entries);
                (one, (one + 1 + random.below(self.entries - 1)) % self.entries)
            }
            ItemMetadata::Inside => {
                let block = random.below(self.entries / 2);
                (2 * block, 2 * block + 1)
            }
        };
        self.swap(tx, one, other);
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        // Swaps permute the entries. Two sums of hashed keys tell a different multiset from the initial one without the
        // memory of a table.
        let mut balance = (0u64, 0u64);
        for index in 0..self.entries {
            let address = self.address(index);
            let Some((key, 0)) = item::verify(view, address, self.entry_bytes) else {
                return Err(format!("array entry {index} at {address:#x} is garbage"));
            };
            let expected = item::nth(self.seed, index);
            balance.0 = balance.0.wrapping_add(item::scatter(key)).wrapping_sub(item::scatter(expected));
            balance.1 = balance.1.wrapping_add(item::scatter(!key)).wrapping_sub(item::scatter(!expected));
        }
        if balance != (0, 0) {
            return Err(
                "the array no longer holds the entries it began with: some are doubled, some are lost".to_owned()
            );
        }
        Ok(())
    }

    fn write_bound(&self) -> WriteBound {
        WriteBound { ranges: 2, bytes: 2 * self.entry_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::rig::Rig;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn swaps_like_a_vector(lines in 1..5u64, swaps in prop::collection::vec((0..64u64, 0..64u64), 1..100)) {
            let mut rig = Rig::new(Array::new, 8192, lines * 64, 0, 7);
            let entries = rig.structure.entries;
            let mut reference: Vec<u64> = (0..entries).map(|index| item::nth(7, index)).collect();
            for (one, other) in swaps {
                let (one, other) = (one % entries, other % entries);
                if one != other {
                    rig.run(|array, tx| array.swap(tx, one, other));
                    reference.swap(one as usize, other as usize);
                }
            }
            for (index, key) in (0..).zip(reference) {
                prop_assert_eq!(rig.memory.read_u64(rig.structure.address(index)), key);
            }
        }
    }

    #[test]
    fn disturbed_entries_are_noticed() {
        let mut rig = Rig::new(Array::new, 8192, 128, 0, 1);
        let range = rig.structure.start..rig.structure.end();
        rig.disturb(range, 100);
    }
}
