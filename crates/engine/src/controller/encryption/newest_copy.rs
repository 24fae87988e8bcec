//! Where the newest copy of a line and of its counter is now. Read-only.

use super::super::encrypted::EncryptionEngine;
use super::super::in_flight::{Eviction, Origin};
use super::super::queues::wpq::Wpq;
use super::super::queues::writes::Writes;
use crate::layout::TreePlace;
use crate::message::{Content, CounterBlock, DevicePort, Line, LineBytes, MediaLine};
use crate::parts::{Counter, CounterStore, CounterUpdate, Stored};
use std::collections::VecDeque;

/// Everything on the chip that may hold a line or a counter.
pub(in crate::controller) struct View<'a> {
    pub writes: &'a Writes,
    pub evictions: &'a VecDeque<Eviction>,
    pub wpq: &'a Wpq,
    pub engine: &'a EncryptionEngine,
}

impl View<'_> {
    /// The write in flight whose bytes a read of `line` finds. Re-encryption sees only what is encrypted with the old
    /// counter, because everything else comes after it.
    pub fn newest_write(&self, line: Line, origin: Origin) -> Option<u32> {
        match origin {
            Origin::Reencryption(_) => {
                let staged = self.engine.circuits.staged.iter().copied();
                self.writes.newest_of(staged.filter(|&slot| self.writes[slot].line == line))
            }
            _ => self.writes.newest(line),
        }
    }

    /// The newest block `id` that has not reached the media, outside the counter cache: in the staging register of a
    /// write that incremented it, unless a newer one has been queued since; evicted and waiting for a slot; or queued.
    pub fn on_chip_block(&self, id: CounterBlock) -> Option<LineBytes> {
        let counters = &self.engine.counters;
        if counters.store != CounterStore::Region {
            let entry = self.wpq.newest(MediaLine::data(counters.line(id, 0)));
            return entry.and_then(|entry| entry.beside).map(|(_, block)| block);
        }
        let media = MediaLine::counter(id);
        let queued = self.wpq.newest(media).map(|entry| (entry.increment, &entry.bytes));
        let evicted = self.evictions.iter().rev().find(|eviction| eviction.media == media);
        let evicted = evicted.map(|eviction| (eviction.increment, &eviction.block));
        // A write with a global counter has no copy of the block, and a write whose counter is stored with its data has
        // no newer one.
        let stage = !counters.scheme.global() && counters.update == CounterUpdate::AtBump;
        let staged = self.engine.circuits.staged.iter().filter(|_| stage).map(|&slot| &self.writes[slot]);
        let staged = staged.filter(|write| counters.block(write.line) == id && !write.outdated);
        let staged = staged.max_by_key(|write| write.increment).map(|write| (write.increment, &write.block));
        [queued, staged, evicted].into_iter().flatten().max_by_key(|(increment, _)| *increment).map(|(_, block)| *block)
    }

    /// The newest block `id` outside the counter cache, on the chip or on the media.
    pub fn newest_block<D: DevicePort>(&self, device: &D, id: CounterBlock) -> LineBytes {
        if let Some(block) = self.on_chip_block(id) {
            return block;
        }
        match device.content(MediaLine::counter(id)) {
            Content::Stored(block) => *block,
            // A tree of counters has marked it.
            Content::Base(_) | Content::Never => match self.engine.tree() {
                Some(tree) => tree.scheme.initial(TreePlace::leaf(id)),
                None => self.engine.counters.initial(device, id),
            },
        }
    }

    /// The counter that the newest queued or stored copy of `line` is encrypted with.
    pub fn counter_of<D: DevicePort>(&self, device: &D, line: Line) -> Counter {
        let counters = &self.engine.counters;
        let (id, index) = (counters.block(line), counters.index(line));
        let updates = counters.fetch_of(id).map(|fetch| &counters.fetches[fetch].updates);
        if let Some((_, counter)) = updates.and_then(|updates| updates.iter().rev().find(|(other, _)| *other == line)) {
            return *counter;
        }
        match counters.cache.peek(MediaLine::counter(id)) {
            Some(block) => counters.scheme.counter(block, index),
            None => counters.scheme.counter(&self.newest_block(device, id), index),
        }
    }

    /// The newest copy of `media`, a line of MACs or a tree node, outside its cache, if one is on the chip: evicted and
    /// waiting for a slot, or queued.
    pub fn on_chip_metadata(&self, media: MediaLine) -> Option<&LineBytes> {
        // What was evicted first enters the queue first.
        let evicted = self.evictions.iter().rev().find(|eviction| eviction.media == media);
        evicted.map(|eviction| &eviction.block).or_else(|| self.wpq.newest(media).map(|entry| &entry.bytes))
    }

    /// The counter of `line` in the page under re-encryption, from before its major counter was incremented.
    pub fn old_counter(&self, line: Line) -> Option<Counter> {
        let counters = &self.engine.counters;
        self.engine.rsr.old_block.as_ref().map(|old| counters.scheme.counter(old, counters.index(line)))
    }

    /// The counter that decrypts the newest queued or stored copy of `line`. `renewed`: that copy is encrypted with the page's new
    /// major counter, although the line's done bit is not set yet.
    fn present_counter<D: DevicePort>(&self, device: &D, line: Line, renewed: bool) -> Counter {
        let old = self.old_counter(line).filter(|_| self.engine.rsr.pending(line) && !renewed);
        old.unwrap_or_else(|| self.counter_of(device, line))
    }

    /// Whether `line` reads as zeros because its page was shredded, whatever memory and queue have.
    pub fn is_shredded<D: DevicePort>(&self, device: &D, line: Line, renewed: bool) -> bool {
        let scheme = &self.engine.counters.scheme;
        scheme.shreds() && scheme.is_shredded(self.present_counter(device, line, renewed))
    }

    /// The plaintext of the newest queued or stored copy of `line`, which is `stored`. `renewed`: as for
    /// [`View::is_shredded`].
    pub fn plaintext_of<D: DevicePort>(&self, device: &D, line: Line, stored: &Stored, renewed: bool) -> LineBytes {
        self.engine.decrypt(line, self.present_counter(device, line, renewed), stored)
    }
}
