//! The counter cache: counter blocks by page, set-associative, true LRU, with the blocks' real bytes.

use crate::message::{LineBytes, Page};

const EMPTY: u64 = u64::MAX;

/// A block that had to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its page.
    pub page: Page,
    /// Its bytes.
    pub block: LineBytes,
    /// It holds counters that memory has not seen.
    pub dirty: bool,
}

/// The cache. Time is the controller's.
pub struct CounterCache {
    ways: usize,
    set_mask: u64,
    pages: Vec<u64>,
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
            pages: vec![EMPTY; slots],
            used: vec![0; slots],
            dirty: vec![false; slots],
            blocks: vec![[0; 64]; slots],
            clock: 0,
        }
    }

    fn find(&self, page: Page) -> Option<usize> {
        let first = (page.0 & self.set_mask) as usize * self.ways;
        (first..first + self.ways).find(|&slot| self.pages[slot] == page.0)
    }

    /// Whether the block of `page` is here; does not count as a use.
    pub fn contains(&self, page: Page) -> bool {
        self.find(page).is_some()
    }

    /// The block of `page`, as a use of it.
    pub fn get_mut(&mut self, page: Page) -> Option<&mut LineBytes> {
        let slot = self.find(page)?;
        self.clock += 1;
        self.used[slot] = self.clock;
        Some(&mut self.blocks[slot])
    }

    /// The block of `page` without counting as a use.
    pub fn peek(&self, page: Page) -> Option<&LineBytes> {
        self.find(page).map(|slot| &self.blocks[slot])
    }

    /// Marks the block of `page` as newer than memory.
    pub fn set_dirty(&mut self, page: Page) {
        if let Some(slot) = self.find(page) {
            self.dirty[slot] = true;
        }
    }

    /// Puts the block of `page` in; returns the block that made room, if one did.
    pub fn insert(&mut self, page: Page, block: LineBytes) -> Option<Evicted> {
        debug_assert!(!self.contains(page));
        let first = (page.0 & self.set_mask) as usize * self.ways;
        let slot = (first..first + self.ways)
            .min_by_key(|&slot| if self.pages[slot] == EMPTY { 0 } else { self.used[slot] })
            .expect("a set has at least one way");
        let evicted = (self.pages[slot] != EMPTY).then(|| Evicted {
            page: Page(self.pages[slot]),
            block: self.blocks[slot],
            dirty: self.dirty[slot],
        });
        self.clock += 1;
        self.pages[slot] = page.0;
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
        assert_eq!(cache.insert(Page(0), [1; 64]), None);
        assert_eq!(cache.insert(Page(2), [2; 64]), None);
        assert_eq!(cache.insert(Page(1), [3; 64]), None, "the other set");
        cache.get_mut(Page(0)).unwrap()[0] = 9;
        cache.set_dirty(Page(2));
        let evicted = cache.insert(Page(4), [4; 64]).unwrap();
        assert_eq!((evicted.page, evicted.dirty), (Page(2), true));
        assert_eq!(cache.peek(Page(0)).unwrap()[0], 9);
        assert!(!cache.contains(Page(2)) && cache.contains(Page(1)));
    }
}
