//! The counter side of the controller: the counter cache, the global counter's register, and fetches of counter blocks.

use super::super::in_flight::Fetch;
use super::metadata_cache::MetadataCache;
use crate::config::{Machine, MetadataCache as MetadataPlacement};
use crate::kernel::{Ps, Slab};
use crate::layout::{Coverage, MetadataShape};
use crate::message::{CounterBlock, CounterGroup, DevicePort, LINE_WORDS, Line, LineBytes, group_mask};
use crate::parts::{Counter, CounterScheme, CounterStore, CounterUpdate, Encryption};
use std::sync::Arc;

/// The counters on the chip.
#[derive(Clone)]
pub(in crate::controller) struct Counters {
    pub scheme: Arc<dyn CounterScheme>,
    /// Where counters are stored.
    pub store: CounterStore,
    /// When the cache takes a new counter.
    pub update: CounterUpdate,
    /// Lines per counter block.
    coverage: Coverage,
    pub cache: MetadataCache,
    /// Latency of the counter cache, in picoseconds.
    pub latency: Ps,
    /// The global counter: the last value that was used.
    pub register: u64,
    pub fetches: Slab<Fetch>,
    /// Slots of the fetches in flight.
    fetching: Vec<u32>,
    /// Finished fetches, kept to reuse the memory of their lists.
    spare: Vec<Fetch>,
}

/// Bytes of the counter cache, and bytes of an entry.
fn cache_shape(machine: &Machine, store: CounterStore, cores: u16) -> (u64, u64) {
    let config = &machine.controller;
    let sharers = if config.counter_cache_size_per_core { u64::from(cores) } else { 1 };
    match store {
        CounterStore::Inline => (0, 64),
        CounterStore::InlineCached => (config.counter_cache_size.0 * sharers, 8),
        CounterStore::Region => (config.counter_cache_size.0 * sharers, 64),
    }
}

/// Bytes of the host's memory that the counter cache needs.
pub fn counter_cache_host_bytes(machine: &Machine, store: CounterStore, cores: u16) -> u64 {
    let (bytes, entry_bytes) = cache_shape(machine, store, cores);
    MetadataCache::host_bytes(bytes, entry_bytes)
}

/// The shape of the metadata caches.
pub fn metadata_shape(machine: &Machine, store: CounterStore, cores: u16) -> MetadataShape {
    let (bytes, entry_bytes) = cache_shape(machine, store, cores);
    let config = &machine.integrity;
    let separate = config.metadata_cache == MetadataPlacement::Apart;
    let separate = separate.then(|| MetadataCache::shape(config.metadata_cache_size.0, 64, config.metadata_cache_ways));
    MetadataShape {
        counters: MetadataCache::shape(bytes, entry_bytes, machine.controller.counter_cache_ways),
        separate,
    }
}

/// Latency of the counter cache, in picoseconds.
pub(in crate::controller) fn latency(machine: &Machine) -> Ps {
    let cycle = 1_000_000 / u64::from(machine.core.clock_mhz);
    u64::from(machine.controller.counter_cache_latency_cycles) * cycle
}

impl Counters {
    pub fn new(machine: &Machine, parts: &Encryption, scheme: Box<dyn CounterScheme>, cores: u16) -> Self {
        let store = parts.store;
        let (bytes, entry_bytes) = cache_shape(machine, store, cores);
        Self {
            coverage: scheme.coverage(),
            scheme: Arc::from(scheme),
            store,
            update: parts.update,
            cache: MetadataCache::new(bytes, entry_bytes, machine.controller.counter_cache_ways),
            latency: latency(machine),
            register: 0,
            fetches: Slab::default(),
            fetching: Vec::with_capacity(32),
            spare: Vec::new(),
        }
    }

    /// The scheme, if a block in the region of counters has a whole word for each of its counters and nothing else.
    pub fn of_words(&self) -> Option<Arc<dyn CounterScheme>> {
        let words = self.scheme.counter_bytes() == 8 && self.coverage.lines() == usize::from(LINE_WORDS);
        (self.store == CounterStore::Region && words).then(|| Arc::clone(&self.scheme))
    }

    /// The block that has the counter of `line`.
    pub fn block(&self, line: Line) -> CounterBlock {
        self.coverage.block(line)
    }

    /// The position of the counter of `line` in its block.
    pub fn index(&self, line: Line) -> usize {
        self.coverage.index(line)
    }

    /// The lines that share the block with the counter of `line`.
    pub fn group(&self, line: Line) -> CounterGroup {
        self.coverage.group(line)
    }

    /// Whether pairs of these lines enter the queue in the order of their counters: they are of one page, or of one counter
    /// block.
    pub fn are_ordered(&self, one: Line, other: Line) -> bool {
        one.page() == other.page() || self.block(one) == self.block(other)
    }

    /// Line `index` of the block `id`.
    pub fn line(&self, id: CounterBlock, index: usize) -> Line {
        self.coverage.line(id, index)
    }

    /// The block, as the media store it, of a counter that is stored beside its line.
    pub fn block_of_one(&self, counter: Counter) -> LineBytes {
        let mut block = [0; 64];
        self.scheme.set(&mut block, 0, counter);
        block
    }

    /// The block `id` of `device` before the run has written it.
    pub fn initial<D: DevicePort>(&self, device: &D, id: CounterBlock) -> LineBytes {
        self.scheme.initial(group_mask(self.coverage.numbers_of(id), |lines| device.populated_mask(lines)))
    }

    /// The fetch in flight of the block `id`, if there is one.
    pub fn fetch_of(&self, id: CounterBlock) -> Option<u32> {
        self.fetching.iter().copied().find(|&slot| self.fetches[slot].id == id)
    }

    /// Begins a fetch of the block `id`.
    pub fn begin_fetch(&mut self, id: CounterBlock) -> u32 {
        let fetch = Fetch { id, ..self.spare.pop().unwrap_or_default() };
        let slot = self.fetches.insert(fetch);
        self.fetching.push(slot);
        slot
    }

    /// Ends the fetch in `slot`. The caller must pass it to [`Counters::recycle`].
    pub fn end_fetch(&mut self, slot: u32) -> Fetch {
        let at = self.fetching.iter().position(|&other| other == slot).expect("a fetch under way");
        self.fetching.remove(at);
        let fetch = std::mem::take(&mut self.fetches[slot]);
        self.fetches.release(slot);
        fetch
    }

    /// Keeps the memory of the lists of a finished fetch.
    pub fn recycle(&mut self, mut fetch: Fetch) {
        fetch.waiters.clear();
        fetch.updates.clear();
        self.spare.push(fetch);
    }
}
