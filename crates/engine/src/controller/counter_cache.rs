//! The counter cache: counter blocks by number, set-associative, true LRU, with the blocks' real bytes.

use crate::message::{CounterBlock, LineBytes};

const EMPTY: u64 = u64::MAX;

/// A block that had to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Which block.
    pub id: CounterBlock,
    /// Its bytes.
    pub block: LineBytes,
    /// It holds counters that memory has not seen.
    pub dirty: bool,
}

/// The cache. Time is the controller's.
pub struct CounterCache {
    ways: usize,
    set_mask: u64,
    tags: Vec<u64>,
    used: Vec<u64>,
    dirty: Vec<bool>,
    blocks: Vec<LineBytes>,
    clock: u64,
}

impl CounterCache {
    /// A cache of `bytes` (64 per block) with `ways` ways; the number of sets must be a power of two.
    pub fn new(bytes: u64, ways: u32) -> Self {
        let ways = ways as usize;
        let sets = (bytes / 64) as usize / ways;
        debug_assert!(sets.is_power_of_two());
        let slots = sets * ways;
        Self {
            ways,
            set_mask: sets as u64 - 1,
            tags: vec![EMPTY; slots],
            used: vec![0; slots],
            dirty: vec![false; slots],
            blocks: vec![[0; 64]; slots],
            clock: 0,
        }
    }

    fn find(&self, id: CounterBlock) -> Option<usize> {
        let first = (id.0 & self.set_mask) as usize * self.ways;
        (first..first + self.ways).find(|&slot| self.tags[slot] == id.0)
    }

    /// Whether the block `id` is here; does not count as a use.
    pub fn contains(&self, id: CounterBlock) -> bool {
        self.find(id).is_some()
    }

    /// The block `id`, as a use of it.
    pub fn get_mut(&mut self, id: CounterBlock) -> Option<&mut LineBytes> {
        let slot = self.find(id)?;
        self.clock += 1;
        self.used[slot] = self.clock;
        Some(&mut self.blocks[slot])
    }

    /// The block `id` without counting as a use.
    pub fn peek(&self, id: CounterBlock) -> Option<&LineBytes> {
        self.find(id).map(|slot| &self.blocks[slot])
    }

    /// Marks the block `id` as newer than memory.
    pub fn set_dirty(&mut self, id: CounterBlock) {
        if let Some(slot) = self.find(id) {
            self.dirty[slot] = true;
        }
    }

    /// Puts the block `id` in; returns the block that made room, if one did.
    pub fn insert(&mut self, id: CounterBlock, block: LineBytes) -> Option<Evicted> {
        debug_assert!(!self.contains(id));
        let first = (id.0 & self.set_mask) as usize * self.ways;
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
        let mut cache = CounterCache::new(2 * 64 * 2, 2);
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
