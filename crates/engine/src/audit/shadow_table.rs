//! The auditor's own reading of a shadow table with the contents of blocks: an entry has, from bit 120 on, the lowest 49 bits
//! of each of eight counters, after the number of the block (8 bytes) and a MAC (7 bytes).

use crate::message::{CounterBlock, LineBytes, MediaLine, MediaUnit};
use std::collections::BTreeMap;

const BITS: usize = 49;
const FIRST_BIT: usize = 120;

/// The entries of counter blocks.
#[derive(Default)]
pub(super) struct AuditedTable {
    /// For each slot, the block that its entry speaks of.
    slots: BTreeMap<u64, CounterBlock>,
    /// For each block, its entries by slot.
    blocks: BTreeMap<CounterBlock, BTreeMap<u64, [u64; 8]>>,
}

impl AuditedTable {
    /// The entry of `slot` is now `bytes`. Returns the blocks that this concerns.
    pub fn write(&mut self, slot: u64, bytes: &LineBytes) -> Vec<CounterBlock> {
        let before = self.slots.remove(&slot);
        if let Some(entries) = before.and_then(|block| self.blocks.get_mut(&block)) {
            entries.remove(&slot);
        }
        let code = bytes[..8].iter().rev().fold(0, |code, byte| code << 8 | u64::from(*byte));
        let now = match MediaLine::with_code(code).unit() {
            MediaUnit::Counter(block) => Some(block),
            _ => None,
        };
        if let Some(block) = now {
            self.slots.insert(slot, block);
            self.blocks.entry(block).or_default().insert(slot, std::array::from_fn(|index| low_bits(bytes, index)));
        }
        before.into_iter().chain(now.filter(|block| before != Some(*block))).collect()
    }

    /// The counter at place `index` of `block` that a boot finds, if memory has `stored`: if several entries speak of the
    /// block, the one with the largest counters counts.
    pub fn counter(&self, block: CounterBlock, index: usize, stored: u64) -> u64 {
        let entries = self.blocks.get(&block).into_iter().flat_map(BTreeMap::values);
        let newest = entries.max_by_key(|counters| counters.iter().map(|counter| u128::from(*counter)).sum::<u128>());
        newest.map_or(stored, |counters| stored >> BITS << BITS | counters[index])
    }
}

fn low_bits(bytes: &LineBytes, index: usize) -> u64 {
    let bits = (0..BITS).map(|bit| FIRST_BIT + index * BITS + bit);
    bits.rev().fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (bit % 8) & 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::TableEntry;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn auditor_reads_what_the_mechanism_writes(block in 0..1u64 << 40, mac in 0..1u64 << 56, values: [u64; 8], high in 0..100u64) {
            let counters = values.map(|value| value & ((1 << BITS) - 1));
            let block = CounterBlock(block);
            let entry = TableEntry { media: MediaLine::counter(block), mac, counters };
            let mut table = AuditedTable::default();
            prop_assert_eq!(table.write(3, &entry.pack()), vec![block]);
            for (index, counter) in counters.iter().enumerate() {
                prop_assert_eq!(table.counter(block, index, high << BITS | 77), high << BITS | counter);
            }
            prop_assert_eq!(table.write(3, &[0; 64]), vec![block]);
            prop_assert_eq!(table.counter(block, 5, 77), 77);
        }
    }
}
