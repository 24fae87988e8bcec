//! Finds slots by a key: what a queue searches for in constant time, however long it is.

use super::Lists;

/// Number of hashes of an index that has not grown.
const HASHES: usize = 64;

/// Slots by key. Several slots may have one key; they keep the order in which they were added. It allocates only while
/// it grows.
#[derive(Clone, Debug)]
pub struct Index {
    /// A queue for each hash.
    slots: Lists,
    /// By slot.
    keys: Vec<u64>,
    /// How far a product is shifted to give a hash.
    shift: u32,
    len: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { slots: Lists::new(HASHES), keys: Vec::new(), shift: shift(HASHES), len: 0 }
    }
}

fn shift(hashes: usize) -> u32 {
    64 - hashes.trailing_zeros()
}

impl Index {
    #[inline]
    fn hash(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Adds `slot`, which is not in the index, under `key`.
    #[inline]
    pub fn add(&mut self, slot: u32, key: u64) {
        if self.len == self.slots.count() {
            self.grow();
        }
        self.len += 1;
        if self.keys.len() <= slot as usize {
            self.keys.resize(slot as usize + 1, 0);
        }
        self.keys[slot as usize] = key;
        self.slots.push(self.hash(key), slot);
    }

    /// Removes `slot`, which is in the index.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.len -= 1;
        self.slots.remove(self.hash(self.key(slot)), slot);
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The key of `slot`, which is in the index.
    #[inline]
    pub fn key(&self, slot: u32) -> u64 {
        self.keys[slot as usize]
    }

    /// Whether a slot has `key`.
    #[inline]
    pub fn has(&self, key: u64) -> bool {
        self.oldest_first(key).next().is_some()
    }

    /// The slots that have `key`, in the order in which they were added.
    #[inline]
    pub fn oldest_first(&self, key: u64) -> impl Iterator<Item = u32> {
        self.slots.iter(self.hash(key)).filter(move |&slot| self.key(slot) == key)
    }

    /// The slots that have `key`, the one that was added last first.
    #[inline]
    pub fn newest_first(&self, key: u64) -> impl Iterator<Item = u32> {
        self.slots.backwards(self.hash(key)).filter(move |&slot| self.key(slot) == key)
    }

    #[cold]
    fn grow(&mut self) {
        let more = Lists::new(2 * self.slots.count());
        let before = std::mem::replace(&mut self.slots, more);
        self.shift = shift(self.slots.count());
        for slot in (0..before.count()).flat_map(|hash| before.iter(hash)) {
            self.slots.push(self.hash(self.keys[slot as usize]), slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn index_finds_what_was_added_in_order(steps in prop::collection::vec((0..300u32, 0..40u64), 0..600)) {
            let (mut index, mut expected) = (Index::default(), Vec::<(u32, u64)>::new());
            for (slot, key) in steps {
                match expected.iter().position(|&(other, _)| other == slot) {
                    Some(at) => {
                        index.remove(slot);
                        expected.remove(at);
                    }
                    None => {
                        index.add(slot, key);
                        expected.push((slot, key));
                    }
                }
                let of_key = || expected.iter().filter(|(_, other)| *other == key).map(|&(slot, _)| slot);
                prop_assert!(index.oldest_first(key).eq(of_key()));
                prop_assert!(index.newest_first(key).eq(of_key().rev()));
                prop_assert_eq!(index.has(key), of_key().next().is_some());
                prop_assert_eq!((index.len(), index.is_empty()), (expected.len(), expected.is_empty()));
                prop_assert!(expected.iter().all(|&(slot, key)| index.key(slot) == key));
            }
        }
    }
}
