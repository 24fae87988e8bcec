//! An open-addressing hash table with linear probing; a transaction inserts one key-value item (secpm section 4.1).
//!
//! A slot is an item, key and value inline. Keys are random 64-bit numbers, and a key's home slot is the key scaled to
//! the number of slots. Key 0 marks a free slot. Half of the slots are taken when the run begins. The keys of the run
//! come from a pool a quarter as large as the number of slots, so probes stay short however long the run is, and a
//! repeated key is an update.

use super::initial::{InitialContents, Part};
use super::item;
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::kernel::Random;
use crate::message::ByteView;
use std::ops::Range;

/// Slots that are populated separately: no probe sequence crosses from one such segment into the next.
const SEGMENT: u64 = 4096;
/// Keeps the keys of the run distinct from those of the population.
const POOL_SALT: u64 = 0x706f_6f6c;
/// In how many of 2^32 draws a slot is the home of at most 0, 1, ... keys: the Poisson distribution with mean 1/2,
/// which random keys have. More than six keys have a probability below 2^-20 and are left out.
const HOME_KEYS: [u64; 6] = [
    (0.606_530_66 * (1u64 << 32) as f64) as u64,
    (0.909_795_99 * (1u64 << 32) as f64) as u64,
    (0.985_612_32 * (1u64 << 32) as f64) as u64,
    (0.998_248_38 * (1u64 << 32) as f64) as u64,
    (0.999_827_88 * (1u64 << 32) as f64) as u64,
    (0.999_985_84 * (1u64 << 32) as f64) as u64,
];

pub(super) struct Hash {
    start: u64,
    slots: u64,
    slot_bytes: u64,
    seed: u64,
}

impl Hash {
    pub(super) fn new(share: Share) -> Self {
        Self { start: share.start, slots: share.bytes / share.tx_size, slot_bytes: share.tx_size, seed: share.seed }
    }

    fn address(&self, slot: u64) -> u64 {
        self.start + slot * self.slot_bytes
    }

    fn home(&self, key: u64) -> u64 {
        item::scale(key, self.slots)
    }

    fn after(&self, slot: u64) -> u64 {
        if slot + 1 == self.slots { 0 } else { slot + 1 }
    }

    /// Inserts `key`, or gives it a new value if it exists.
    pub(super) fn insert(&self, tx: &mut Transaction<'_>, key: u64) {
        let mut slot = self.home(key);
        loop {
            let address = self.address(slot);
            let found = tx.read_word(address, false);
            tx.compare();
            if found == 0 || found == key {
                let version = if found == key { tx.read_word(address + 8, false) + 1 } else { 0 };
                tx.write_item(address, key, version, self.slot_bytes);
                return;
            }
            slot = self.after(slot);
        }
    }

    /// The number of keys of the populated table whose home is `slot`: a Poisson draw, as for random keys.
    fn keys_at_home(&self, slot: u64) -> u64 {
        let draw = item::nth(self.seed, slot) >> 32;
        HOME_KEYS.iter().filter(|&&at_most| draw >= at_most).count() as u64
    }

    /// The `index`-th key with the home `slot`. Different indices draw from different parts of the home's key range.
    fn key(&self, slot: u64, index: u64) -> u64 {
        let home = (1u128 << 64) / u128::from(self.slots);
        let part = (home / (HOME_KEYS.len() as u128 + 1)) as u64;
        let first = (u128::from(slot) << 64).div_ceil(u128::from(self.slots)) as u64;
        let draw = item::scatter(item::nth(!self.seed, slot).wrapping_add(index));
        (first + index * part + item::scale(draw, part)).max(1)
    }

    /// The populated key of each of the adjacent `slots`. Where keys are depends on all homes before them in their
    /// segment.
    fn populated_keys(&self, slots: Range<u64>) -> Vec<Option<u64>> {
        let mut keys = vec![None; (slots.end - slots.start) as usize];
        for segment in slots.start / SEGMENT..slots.end.div_ceil(SEGMENT) {
            let first = segment * SEGMENT;
            let end = (first + SEGMENT).min(self.slots);
            // Including the pool's quarter, at least an eighth stays free even in a table of few slots.
            let mut room = (end - first) * 5 / 8;
            let mut free = first;
            'segment: for home in first..end.min(slots.end) {
                for index in 0..self.keys_at_home(home) {
                    // Inserting in the order of homes puts every key into the first free slot at or after its home.
                    let slot = home.max(free);
                    if slot >= end || room == 0 {
                        break 'segment;
                    }
                    room -= 1;
                    free = slot + 1;
                    if slots.contains(&slot) {
                        keys[(slot - slots.start) as usize] = Some(self.key(home, index));
                    }
                }
            }
        }
        keys
    }
}

impl InitialContents for Hash {
    fn populated(&self) -> Vec<Range<u64>> {
        std::iter::once(self.start..self.end()).collect()
    }

    fn populate(&self, _extent: usize, part: &mut Part<'_>) {
        let first = part.before / self.slot_bytes;
        let end = (part.before + part.bytes.len() as u64).div_ceil(self.slot_bytes);
        let keys = self.populated_keys(first..end);
        part.fill_items(self.slot_bytes, |slot, bytes| {
            if let Some(key) = keys[(slot - first) as usize] {
                item::fill(key, 0, bytes);
            }
        });
    }
}

impl Structure for Hash {
    fn end(&self) -> u64 {
        self.address(self.slots)
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        let pool = (self.slots / 4).max(1);
        self.insert(tx, item::nth(self.seed ^ POOL_SALT, random.below(pool)).max(1));
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let Some(free) = (0..self.slots).find(|&slot| view.read_u64(self.address(slot)) == 0) else {
            return Err("the hash table has no free slot".to_owned());
        };
        // Goes once round, from a free slot to the same slot; `run` counts the taken slots since the last free one.
        let mut slot = self.after(free);
        let mut run = 0;
        for _ in 0..self.slots {
            let address = self.address(slot);
            let key = view.read_u64(address);
            if key == 0 {
                run = 0;
                if view.read_u64(address + 8) != 0 {
                    return Err(format!("hash slot {slot} at {address:#x} is free but not empty"));
                }
            } else {
                if item::verify(view, address, self.slot_bytes).is_none() {
                    return Err(format!("hash slot {slot} at {address:#x} is garbage"));
                }
                let home = self.home(key);
                let distance = if slot >= home { slot - home } else { slot + self.slots - home };
                if distance > run {
                    return Err(format!("hash slot {slot}: key {key:#x} cannot be reached from its home slot {home}"));
                }
                let mut probe = home;
                while probe != slot {
                    if view.read_u64(self.address(probe)) == key {
                        return Err(format!("hash slots {probe} and {slot} both hold key {key:#x}"));
                    }
                    probe = self.after(probe);
                }
                run += 1;
            }
            slot = self.after(slot);
        }
        Ok(())
    }

    fn write_bound(&self) -> WriteBound {
        WriteBound { ranges: 1, bytes: self.slot_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ItemMetadata;
    use crate::workload::tests::rig::Rig;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn populated_keys_are_distinct_and_have_the_home_they_were_made_for() {
        let hash = Hash::new(Share {
            start: 0,
            bytes: 1 << 20,
            tx_size: 64,
            room: 1,
            seed: 3,
            metadata: ItemMetadata::Beside,
        });
        let mut keys = std::collections::HashSet::new();
        let mut total = 0;
        for slot in 0..hash.slots {
            total += hash.keys_at_home(slot);
            for index in 0..=HOME_KEYS.len() as u64 {
                let key = hash.key(slot, index);
                assert_eq!(hash.home(key), slot);
                assert!(keys.insert(key));
            }
        }
        let load = total as f64 / hash.slots as f64;
        assert!((0.48..0.52).contains(&load), "{load}");
    }

    /// Every key and its version, in the order of keys.
    fn contents(rig: &mut Rig<Hash>) -> Vec<(u64, u64)> {
        let slots: Vec<u64> = (0..rig.structure.slots).map(|slot| rig.structure.address(slot)).collect();
        let mut items: Vec<_> = slots
            .into_iter()
            .map(|slot| (rig.memory.read_u64(slot), rig.memory.read_u64(slot + 8)))
            .filter(|&(key, _)| key != 0)
            .collect();
        items.sort_unstable();
        items
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn keeps_what_a_map_keeps(
            lines in 1..5u64, populated in 1..8u64, keys in prop::collection::vec(0..40u64, 1..200), seed: u64,
        ) {
            let mut rig = Rig::new(Hash::new, populated * 8192 * lines, lines * 64, 512, seed);
            let mut reference: BTreeMap<u64, u64> = contents(&mut rig).into_iter().collect();
            prop_assert_eq!(reference.len(), contents(&mut rig).len());
            for key in keys {
                let key = item::nth(seed, key);
                rig.run(|structure, tx| structure.insert(tx, key));
                reference.entry(key).and_modify(|version| *version += 1).or_insert(0);
            }
            let found: Vec<(u64, u64)> = contents(&mut rig);
            prop_assert_eq!(found, reference.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn disturbed_slots_are_noticed() {
        let mut rig = Rig::new(Hash::new, 8192, 64, 0, 1);
        // Half of the words are in free slots, where only a wrong key or version can be detected.
        let range = rig.structure.start..rig.structure.end();
        rig.disturb(range, 50);
    }
}
