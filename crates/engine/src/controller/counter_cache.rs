//! The counter cache: counter blocks by number, set-associative, true LRU, with their real bytes.

use crate::message::{CounterBlock, LineBytes};

const EMPTY: u64 = u64::MAX;

/// A block that was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The block's number.
    pub id: CounterBlock,
    /// The block's bytes.
    pub block: LineBytes,
    /// Whether it holds counters that memory does not have.
    pub dirty: bool,
}

/// The counter cache. The controller adds its latency.
pub struct CounterCache {
    ways: usize,
    sets: u64,
    tags: Vec<u64>,
    used: Vec<u64>,
    dirty: Vec<bool>,
    blocks: Vec<LineBytes>,
    clock: u64,
}

impl CounterCache {
    /// A cache of `bytes` in entries of `entry_bytes` with `ways` ways, at least one set.
    pub fn new(bytes: u64, entry_bytes: u64, ways: u32) -> Self {
        let ways = ways as usize;
        let sets = (bytes / entry_bytes / ways as u64).max(1);
        let slots = sets as usize * ways;
        Self {
            ways,
            sets,
            tags: vec![EMPTY; slots],
            used: vec![0; slots],
            dirty: vec![false; slots],
            blocks: vec![[0; 64]; slots],
            clock: 0,
        }
    }

    /// Bytes of the host's memory that [`CounterCache::new`] allocates.
    pub const fn host_bytes(bytes: u64, entry_bytes: u64) -> u64 {
        let slot = size_of::<u64>() + size_of::<u64>() + size_of::<bool>() + size_of::<LineBytes>();
        bytes / entry_bytes * slot as u64
    }

    /// The first slot of the set of `id`. A cache that grows with the cores may have a number of sets that is no power
    /// of two.
    fn first_of(&self, id: CounterBlock) -> usize {
        let set = if self.sets.is_power_of_two() { id.0 & (self.sets - 1) } else { id.0 % self.sets };
        set as usize * self.ways
    }

    fn find(&self, id: CounterBlock) -> Option<usize> {
        let first = self.first_of(id);
        (first..first + self.ways).find(|&slot| self.tags[slot] == id.0)
    }

    /// Whether the block `id` is in the cache; does not count as a use.
    pub fn contains(&self, id: CounterBlock) -> bool {
        self.find(id).is_some()
    }

    /// The block `id`, if it is in the cache; counts as a use.
    pub fn get_mut(&mut self, id: CounterBlock) -> Option<&mut LineBytes> {
        let slot = self.find(id)?;
        self.clock += 1;
        self.used[slot] = self.clock;
        Some(&mut self.blocks[slot])
    }

    /// The block `id`, if it is in the cache; does not count as a use.
    pub fn peek(&self, id: CounterBlock) -> Option<&LineBytes> {
        self.find(id).map(|slot| &self.blocks[slot])
    }

    /// Whether the block `id` is in the cache and newer than memory.
    pub fn is_dirty(&self, id: CounterBlock) -> bool {
        self.find(id).is_some_and(|slot| self.dirty[slot])
    }

    /// Marks the block `id` as equal to the copy that has just entered the persistence domain.
    pub fn set_clean(&mut self, id: CounterBlock) {
        if let Some(slot) = self.find(id) {
            self.dirty[slot] = false;
        }
    }

    /// The block `id` for a change, if it is in the cache; does not count as a use.
    pub fn peek_mut(&mut self, id: CounterBlock) -> Option<&mut LineBytes> {
        self.find(id).map(|slot| &mut self.blocks[slot])
    }

    /// Marks the block `id` as newer than memory.
    pub fn set_dirty(&mut self, id: CounterBlock) {
        if let Some(slot) = self.find(id) {
            self.dirty[slot] = true;
        }
    }

    /// The blocks that are newer than memory, by slot.
    pub fn dirty(&self) -> impl Iterator<Item = (CounterBlock, &LineBytes)> {
        let dirty = (0..self.tags.len()).filter(|&slot| self.dirty[slot] && self.tags[slot] != EMPTY);
        dirty.map(|slot| (CounterBlock(self.tags[slot]), &self.blocks[slot]))
    }

    /// Inserts the block `id`; returns the block that was evicted, if any.
    pub fn insert(&mut self, id: CounterBlock, block: LineBytes) -> Option<Evicted> {
        debug_assert!(!self.contains(id));
        let first = self.first_of(id);
        let slot = (first..first + self.ways)
            .min_by_key(|&slot| if self.tags[slot] == EMPTY { 0 } else { self.used[slot] })
            .expect("a set has at least one way");
        let evicted = (self.tags[slot] != EMPTY).then(|| Evicted {
            id: CounterBlock(self.tags[slot]),
            block: self.blocks[slot],
            dirty: self.dirty[slot],
        });
        self.clock += 1;
        self.tags[slot] = id.0;
        self.used[slot] = self.clock;
        self.dirty[slot] = false;
        self.blocks[slot] = block;
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_block_makes_room() {
        let mut cache = CounterCache::new(2 * 64 * 2, 64, 2);
        assert_eq!(cache.insert(CounterBlock(0), [1; 64]), None);
        assert_eq!(cache.insert(CounterBlock(2), [2; 64]), None);
        assert_eq!(cache.insert(CounterBlock(1), [3; 64]), None, "the other set");
        cache.get_mut(CounterBlock(0)).unwrap()[0] = 9;
        cache.set_dirty(CounterBlock(2));
        let evicted = cache.insert(CounterBlock(4), [4; 64]).unwrap();
        assert_eq!((evicted.id, evicted.dirty), (CounterBlock(2), true));
        assert_eq!(cache.peek(CounterBlock(0)).unwrap()[0], 9);
        assert!(!cache.contains(CounterBlock(2)) && cache.contains(CounterBlock(1)));
    }
}
