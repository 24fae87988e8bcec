//! Partial updates of counter blocks and lines of MACs that stay in the metadata caches (Han et al., HPCA 2023, Thoth): the
//! counter and the MAC of each write, combined in a few lines on the chip, in the persistence domain. A full line goes to its
//! place in a ring in memory. What was there before leaves the ring, and is first written to its block if the block in the cache
//! says that this has not happened since.

use super::super::encrypted::Encrypted;
use crate::layout::{PartialUpdate, UpdateRing};
use crate::message::{DevicePort, Line, LineBytes, MediaLine, MediaUnit, Observer};
use crate::parts::{Counter, PartialUpdates};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A line on the chip, and its place in the ring.
#[derive(Clone, Copy)]
struct ChipLine {
    number: u64,
    bytes: LineBytes,
    used: usize,
}

/// The lines on the chip, and what cached blocks say of their parts.
#[derive(Clone)]
pub(in crate::controller) struct Updates {
    pub ring: UpdateRing,
    policy: PartialUpdates,
    /// The oldest first.
    lines: VecDeque<ChipLine>,
    /// The place of the next line on the chip.
    next: u64,
    /// For each dirty block in the caches, a bit for each line whose counter or MAC in it has changed since it was written.
    dirty: FxHashMap<MediaLine, u128>,
}

impl Updates {
    /// Nothing is in `ring` yet.
    pub fn new(ring: UpdateRing, policy: PartialUpdates) -> Self {
        Self { ring, policy, lines: VecDeque::with_capacity(ring.on_chip), next: 0, dirty: FxHashMap::default() }
    }

    /// The lines on the chip, as they would be in memory.
    pub fn lines(&self) -> impl Iterator<Item = (MediaLine, LineBytes)> {
        self.lines.iter().map(|line| (MediaLine::table(line.number), line.bytes))
    }

    /// Part `index` of the block `media` has changed in its cache.
    fn changed(&mut self, media: MediaLine, index: usize) {
        *self.dirty.entry(media).or_default() |= 1 << index;
    }

    /// The block `media` enters the persistence domain as it is in its cache.
    pub fn persisted(&mut self, media: MediaLine) {
        self.dirty.remove(&media);
    }

    /// Whether the block `media` must be written because an update of its part `index` leaves the ring.
    fn must_persist(&self, media: MediaLine, index: usize) -> bool {
        let dirty = self.dirty.get(&media).copied().unwrap_or(0);
        match self.policy {
            PartialUpdates::DirtyBlocks => dirty != 0,
            PartialUpdates::DirtyParts => dirty >> index & 1 == 1,
            PartialUpdates::None | PartialUpdates::Dropped => false,
        }
    }

    /// Puts `update` on the chip, in the place of an older one of its line or in the newest line. `None` if that is full.
    fn put(&mut self, update: &PartialUpdate) -> Option<(MediaLine, LineBytes)> {
        let ring = self.ring;
        let at = |line: &ChipLine| {
            (0..line.used).find(|index| ring.get(&line.bytes, *index).is_some_and(|other| other.line == update.line))
        };
        let older = self.lines.iter_mut().find_map(|line| at(line).map(|index| (line, index)));
        let (line, index) = match older {
            Some(found) => found,
            None => {
                let line = self.lines.back_mut().filter(|line| line.used < ring.in_line())?;
                line.used += 1;
                let index = line.used - 1;
                (line, index)
            }
        };
        ring.put(&mut line.bytes, index, update);
        Some((MediaLine::table(line.number), line.bytes))
    }

    /// Begins a new line on the chip for place [`Updates::next`], whose updates have left the ring; returns the oldest line if
    /// it has no room beside it.
    fn begin_line(&mut self) -> Option<(MediaLine, LineBytes)> {
        let oldest = if self.lines.len() == self.ring.on_chip { self.lines.pop_front() } else { None };
        self.lines.push_back(ChipLine { number: self.next, bytes: [0; 64], used: 0 });
        self.next = (self.next + 1) % self.ring.lines;
        oldest.map(|line| (MediaLine::table(line.number), line.bytes))
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// The data of `line` has entered the persistence domain under `counter` and with `mac`: so does a partial update, if there is
    /// a ring for them.
    pub fn keep_update(&mut self, line: Line, counter: Counter, mac: u128) {
        let blocks = self.blocks_of(line);
        let Some(updates) = self.engine.updates() else { return };
        for (media, index) in blocks.into_iter().flatten() {
            updates.changed(media, index);
        }
        let number = updates.ring.number(counter.major, counter.minor);
        let update = updates.ring.update(line, number, mac);
        let put = match updates.put(&update) {
            Some(put) => Some(put),
            None => {
                self.begin_update_line();
                self.engine.updates().and_then(|updates| updates.put(&update))
            }
        };
        if let Some((media, bytes)) = put {
            self.memory.observer.chip_line(self.memory.queue.now(), media, &bytes);
        }
    }

    /// The counter block and the line of MACs of `line`, if MACs have lines of their own, with its place in each.
    fn blocks_of(&self, line: Line) -> [Option<(MediaLine, usize)>; 2] {
        let counters = &self.engine.counters;
        let macs = self.engine.integrity.as_ref().filter(|integrity| integrity.macs_apart());
        let macs = macs.map(|integrity| integrity.parts.mac_layout);
        [
            Some((MediaLine::counter(counters.block(line)), counters.index(line))),
            macs.map(|layout| (MediaLine::mac(layout.block(line)), layout.coverage.index(line))),
        ]
    }

    /// The updates that the next line of the ring has leave it, and a line on the chip takes its place.
    fn begin_update_line(&mut self) {
        let Some(updates) = self.engine.updates() else { return };
        let (ring, place) = (updates.ring, MediaLine::table(updates.next));
        let leaving = self.newest_metadata(place);
        if leaving != [0; 64] {
            // Nothing waits for the read: the line is known long before its place is needed.
            self.fetch_metadata(place, None);
        }
        for update in ring.updates(&leaving) {
            for (media, index) in self.blocks_of(update.line).into_iter().flatten() {
                if self.engine.updates().is_some_and(|updates| updates.must_persist(media, index)) {
                    self.persist_cached(media);
                }
            }
        }
        if let Some((media, bytes)) = self.engine.updates().and_then(Updates::begin_line) {
            self.append_block(media, bytes, 0);
        }
    }

    /// Writes the block `media` as it is in its cache. If it has just been evicted, it leaves in this event anyway.
    fn persist_cached(&mut self, media: MediaLine) {
        match media.unit() {
            MediaUnit::Counter(id) => {
                let Some(block) = self.engine.counters.cache.peek(media).copied() else { return };
                self.counter_clean(id);
                let increment = self.memory.writes.last_increment();
                self.append_counter(id, block, increment);
                self.block_went_alone(id, increment);
                self.retry_writebacks(id);
            }
            _ => {
                let Some(block) = self.engine.metadata_cache().peek(media).copied() else { return };
                self.put_in_metadata_cache(media, block, false);
                self.append_metadata(media, block);
            }
        }
    }
}
