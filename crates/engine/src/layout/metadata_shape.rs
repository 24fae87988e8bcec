//! The shape of the caches of security metadata.

use crate::message::MediaLine;

/// The sets and ways of the metadata caches.
#[derive(Clone, Copy, Debug)]
pub struct MetadataShape {
    /// Of the counter cache.
    pub counters: (u64, u64),
    /// Of the cache of MACs and nodes, if it is apart.
    pub separate: Option<(u64, u64)>,
}

impl MetadataShape {
    /// Blocks that the caches hold.
    pub fn slots(self) -> u64 {
        [Some(self.counters), self.separate].into_iter().flatten().map(|(sets, ways)| sets * ways).sum()
    }

    /// Sets of all caches.
    pub fn sets(self) -> u64 {
        self.counters.0 + self.separate.map_or(0, |(sets, _)| sets)
    }

    /// The number of the set of `media` among them.
    pub fn set(self, media: MediaLine) -> u64 {
        match self.separate.filter(|_| !media.is_counter()) {
            Some((sets, _)) => self.counters.0 + media.cache_set(sets),
            None => media.cache_set(self.counters.0),
        }
    }
}
