//! The cache of security metadata: counter blocks, lines of MACs and tree nodes, set-associative, true LRU, with their
//! real bytes. A machine may have one for all of them, or one for counter blocks and one for the others.

use crate::message::{LineBytes, MediaLine};

const EMPTY: u64 = u64::MAX;

/// A block that was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Which block it is.
    pub media: MediaLine,
    /// The block's bytes.
    pub block: LineBytes,
    /// Whether it is newer than memory.
    pub dirty: bool,
}

/// The cache. The controller adds its latency.
#[derive(Clone)]
pub struct MetadataCache {
    ways: usize,
    sets: u64,
    tags: Vec<u64>,
    used: Vec<u64>,
    dirty: Vec<bool>,
    blocks: Vec<LineBytes>,
    clock: u64,
}

impl MetadataCache {
    /// A cache of `bytes` in entries of `entry_bytes` with `ways` ways, at least one set.
    pub fn new(bytes: u64, entry_bytes: u64, ways: u32) -> Self {
        let (sets, ways) = Self::shape(bytes, entry_bytes, ways);
        let ways = ways as usize;
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

    /// The sets and ways of a cache of `bytes` in entries of `entry_bytes` with `ways` ways.
    pub fn shape(bytes: u64, entry_bytes: u64, ways: u32) -> (u64, u64) {
        ((bytes / entry_bytes / u64::from(ways)).max(1), u64::from(ways))
    }

    /// Bytes of the host's memory that [`MetadataCache::new`] allocates.
    pub const fn host_bytes(bytes: u64, entry_bytes: u64) -> u64 {
        let slot = size_of::<u64>() + size_of::<u64>() + size_of::<bool>() + size_of::<LineBytes>();
        bytes / entry_bytes * slot as u64
    }

    /// The first slot of the set of `media`.
    fn first_of(&self, media: MediaLine) -> usize {
        media.cache_set(self.sets) as usize * self.ways
    }

    /// The blocks in the set of `media` that are newer than memory, by slot.
    pub fn dirty_beside(&self, media: MediaLine) -> impl Iterator<Item = (MediaLine, &LineBytes)> {
        let first = self.first_of(media);
        let dirty = (first..first + self.ways).filter(|&slot| self.dirty[slot] && self.tags[slot] != EMPTY);
        dirty.map(|slot| (self.media_of(slot), &self.blocks[slot]))
    }

    fn media_of(&self, slot: usize) -> MediaLine {
        MediaLine::with_code(self.tags[slot])
    }

    fn find(&self, media: MediaLine) -> Option<usize> {
        let first = self.first_of(media);
        let place = self.tags[first..first + self.ways].iter().position(|&tag| tag == media.code())?;
        Some(first + place)
    }

    /// Number of blocks that the cache holds.
    pub fn slots(&self) -> usize {
        self.tags.len()
    }

    /// The slot of the block `media`, if it is in the cache.
    pub fn slot(&self, media: MediaLine) -> Option<usize> {
        self.find(media)
    }

    /// Whether the block `media` is in the cache; does not count as a use.
    pub fn contains(&self, media: MediaLine) -> bool {
        self.find(media).is_some()
    }

    /// The block `media`, if it is in the cache; counts as a use.
    pub fn get_mut(&mut self, media: MediaLine) -> Option<&mut LineBytes> {
        let slot = self.find(media)?;
        self.clock += 1;
        self.used[slot] = self.clock;
        Some(&mut self.blocks[slot])
    }

    /// The block `media`, if it is in the cache; does not count as a use.
    pub fn peek(&self, media: MediaLine) -> Option<&LineBytes> {
        self.find(media).map(|slot| &self.blocks[slot])
    }

    /// Whether the block `media` is in the cache and newer than memory.
    pub fn is_dirty(&self, media: MediaLine) -> bool {
        self.find(media).is_some_and(|slot| self.dirty[slot])
    }

    /// Marks the block `media` as equal to the copy that has just entered the persistence domain.
    pub fn set_clean(&mut self, media: MediaLine) {
        if let Some(slot) = self.find(media) {
            self.dirty[slot] = false;
        }
    }

    /// The block `media` for a change, if it is in the cache; does not count as a use.
    pub fn peek_mut(&mut self, media: MediaLine) -> Option<&mut LineBytes> {
        self.find(media).map(|slot| &mut self.blocks[slot])
    }

    /// Marks the block `media` as newer than memory.
    pub fn set_dirty(&mut self, media: MediaLine) {
        if let Some(slot) = self.find(media) {
            self.dirty[slot] = true;
        }
    }

    /// The blocks that are newer than memory, by slot.
    pub fn dirty(&self) -> impl Iterator<Item = (MediaLine, &LineBytes)> {
        let dirty = (0..self.tags.len()).filter(|&slot| self.dirty[slot] && self.tags[slot] != EMPTY);
        dirty.map(|slot| (self.media_of(slot), &self.blocks[slot]))
    }

    /// Whether a way in the set of `media` is empty.
    pub fn has_empty_way(&self, media: MediaLine) -> bool {
        let first = self.first_of(media);
        self.tags[first..first + self.ways].contains(&EMPTY)
    }

    /// Puts the clean block `media` into an empty way of a cache that nothing has used yet, last used at `stamp`, at most
    /// [`MetadataCache::slots`]. Whatever follows is used later.
    pub fn insert_used(&mut self, media: MediaLine, block: LineBytes, stamp: u64) {
        debug_assert!(self.has_empty_way(media));
        self.insert(media, block);
        let slot = self.find(media).expect("it has just been inserted");
        self.used[slot] = stamp;
        self.clock = self.slots() as u64;
    }

    /// Inserts the block `media`; returns the block that was evicted, if any.
    pub fn insert(&mut self, media: MediaLine, block: LineBytes) -> Option<Evicted> {
        debug_assert!(!self.contains(media));
        let first = self.first_of(media);
        let slot = (first..first + self.ways)
            .min_by_key(|&slot| if self.tags[slot] == EMPTY { 0 } else { self.used[slot] })
            .expect("a set has at least one way");
        let evicted = (self.tags[slot] != EMPTY).then(|| Evicted {
            media: self.media_of(slot),
            block: self.blocks[slot],
            dirty: self.dirty[slot],
        });
        self.clock += 1;
        self.tags[slot] = media.code();
        self.used[slot] = self.clock;
        self.dirty[slot] = false;
        self.blocks[slot] = block;
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CounterBlock;

    fn block(number: u64) -> MediaLine {
        MediaLine::counter(CounterBlock(number))
    }

    #[test]
    fn least_recently_used_block_makes_room() {
        let mut cache = MetadataCache::new(2 * 64 * 2, 64, 2);
        assert_eq!(cache.insert(block(0), [1; 64]), None);
        assert_eq!(cache.insert(block(2), [2; 64]), None);
        assert_eq!(cache.insert(block(1), [3; 64]), None, "the other set");
        cache.get_mut(block(0)).unwrap()[0] = 9;
        cache.set_dirty(block(2));
        let evicted = cache.insert(block(4), [4; 64]).unwrap();
        assert_eq!((evicted.media, evicted.dirty), (block(2), true));
        assert_eq!(cache.peek(block(0)).unwrap()[0], 9);
        assert!(!cache.contains(block(2)) && cache.contains(block(1)));
    }
}
