//! Lines of MACs and tree nodes that are fetched from the media. A node is used when the node above it vouches for it:
//! that one is fetched, too, if it is not in the cache, and so on up to one that is, or to the root.

use super::super::encrypted::Encrypted;
use super::super::encryption::metadata_cache::Evicted;
use super::super::in_flight::{BankRead, Eviction, MetadataFetch, MetadataWaiter};
use super::shadow_table::Noted;
use crate::layout::TreePlace;
use crate::message::{
    Content, ControllerEvent, CounterCacheAct, DevicePort, Line, LineBytes, MediaLine, MediaUnit, Observer, TreeNode,
};
use crate::parts::{Counter, TreeUpdate};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Whether `media` is in its cache; if not, it is fetched, and then `waiter` is informed.
    pub fn metadata_cached(&mut self, media: MediaLine, waiter: MetadataWaiter) -> bool {
        let hit = self.engine.metadata_cache().get_mut(media).is_some();
        let secondary = !hit && self.engine.metadata_fetch_of(media).is_some();
        let stats = &mut self.memory.meter.stats;
        *match (hit, secondary) {
            (true, _) => &mut stats.metadata_hits,
            (false, false) => &mut stats.metadata_misses,
            (false, true) => &mut stats.metadata_secondary_misses,
        } += 1;
        if !hit {
            self.fetch_metadata(media, Some(waiter));
        }
        hit
    }

    /// Whether `node`, which is to vouch for something, is the root or in its cache; if not, it is fetched, and then
    /// `waiter` is informed.
    pub fn vouching_node(&mut self, node: TreeNode, waiter: MetadataWaiter) -> bool {
        self.engine.is_root(node) || self.metadata_cached(MediaLine::node(node), waiter)
    }

    /// Reads the nodes from `node` up that are not on the chip, for a block that leaves at once and does not wait for them: what
    /// leaves is in the registers meanwhile.
    pub fn read_behind(&mut self, node: TreeNode) {
        let mut place = TreePlace::from(node);
        while let Some((parent, _)) = self.engine.parent_of(place)
            && self.is_only_on_media(place.media())
        {
            self.fetch_metadata(place.media(), None);
            place = parent.into();
        }
    }

    /// Fetches `media` from memory, and then informs `waiter`.
    pub fn fetch_metadata(&mut self, media: MediaLine, waiter: Option<MetadataWaiter>) {
        let from_media = self.view().on_chip_metadata(media).is_none();
        let now = self.memory.now();
        let fetch = self.engine.metadata_fetch_of(media);
        let integrity = self.engine.integrity.as_mut().expect("only integrity has metadata");
        if let Some(slot) = fetch {
            return integrity.fetches[slot].waiters.extend(waiter);
        }
        let slot = integrity.fetches.insert(MetadataFetch { media, from_media, waiters: Vec::from_iter(waiter) });
        integrity.fetching.push(slot);
        if !from_media {
            let at = now + self.engine.counters.latency;
            return self.memory.queue.schedule(at, ControllerEvent::MetadataFetched { slot });
        }
        match media.unit() {
            MediaUnit::Mac(_) => self.memory.meter.stats.mac_reads += 1,
            _ => self.memory.meter.stats.tree_reads += 1,
        }
        self.memory.ask_bank(BankRead::Metadata(slot, media));
    }

    /// `ControllerEvent::MetadataFetched`: a line of MACs or a node has arrived. A node from the media is verified first.
    pub fn metadata_arrived(&mut self, slot: u32) {
        let integrity = self.engine.integrity.as_ref().expect("only integrity has metadata");
        let MetadataFetch { media, from_media, .. } = integrity.fetches[slot];
        match media.unit() {
            MediaUnit::Node(node) if from_media => {
                let (parent, _) = self.engine.parent_of(node.into()).expect("the root is never fetched");
                if self.vouching_node(parent, MetadataWaiter::Node(slot)) {
                    self.verify_node(slot);
                }
            }
            _ => self.metadata_fetched(slot),
        }
    }

    fn verify_node(&mut self, slot: u32) {
        let at = self.engine.hash_done(self.memory.now());
        self.memory.queue.schedule(at, ControllerEvent::NodeVerified { slot });
    }

    /// A line of MACs has arrived, or a node is verified: it goes into its cache, and what waits for it continues.
    pub fn metadata_fetched(&mut self, slot: u32) {
        let integrity = self.engine.integrity.as_mut().expect("only integrity has metadata");
        let at = integrity.fetching.iter().position(|&other| other == slot).expect("a fetch under way");
        integrity.fetching.remove(at);
        let empty = MetadataFetch { media: MediaLine::with_code(0), from_media: false, waiters: Vec::new() };
        let MetadataFetch { media, from_media, waiters } = std::mem::replace(&mut integrity.fetches[slot], empty);
        integrity.fetches.release(slot);
        let is_table = matches!(media.unit(), MediaUnit::Table(_));
        if !is_table && !self.engine.metadata_cache().contains(media) {
            let block = self.newest_metadata(media);
            // It may have been changed and evicted while it was on its way, or have left for the media.
            let is_on_chip = self.view().on_chip_metadata(media).is_some();
            if let (MediaUnit::Node(node), false) = (media.unit(), is_on_chip) {
                self.check_vouched(node.into(), &block, from_media);
            }
            self.put_in_metadata_cache(media, block, false);
        }
        for waiter in waiters {
            match waiter {
                MetadataWaiter::Write(write) => self.metadata_ready(write),
                MetadataWaiter::Read(read) => self.mac_known(read),
                MetadataWaiter::Counter(fetch) => self.verify_counter(fetch),
                MetadataWaiter::Node(fetch) => self.verify_node(fetch),
                MetadataWaiter::Eviction(media) => self.parent_ready(media),
            }
        }
    }

    /// Counts an alarm if the node above `place` does not vouch for `block`, which is on the media and not on the chip.
    /// `fetched`: it was fetched from there. Otherwise it was on the chip when it was asked for; hardware keeps those bytes
    /// and computes no hash, while here the media may have been changed since.
    pub fn check_vouched(&mut self, place: TreePlace, block: &LineBytes, fetched: bool) {
        self.memory.meter.stats.hashes += u64::from(fetched);
        if !self.memory.bytes {
            return;
        }
        let Some((parent, index)) = self.engine.parent_of(place) else { return };
        let vouching = self.trusted_node(parent);
        let tree = self.engine.tree().expect("there is a parent");
        if !tree.scheme.vouches(&vouching, index, place, block) {
            self.refuse(place.media());
        }
    }

    /// The newest copy of `node`: the root's register, in its cache, elsewhere on the chip, or on the media.
    pub fn newest_node(&mut self, node: TreeNode) -> LineBytes {
        let forest = self.engine.integrity.as_ref().and_then(|integrity| integrity.forest.as_ref());
        if let Some(root) = forest.and_then(|forest| forest.root(node.into())) {
            return root;
        }
        match &self.engine.integrity {
            Some(integrity) if forest.is_none() && self.engine.tree().is_some_and(|tree| tree.shape.root() == node) => {
                integrity.root
            }
            _ => self.newest_metadata(MediaLine::node(node)),
        }
    }

    /// The newest copy of `node`. Where it comes from the media, because its cache has evicted it since it was fetched, it is
    /// verified again up to what is on the chip: time is not counted for this, because hardware keeps what it has
    /// verified until it has used it.
    pub fn trusted_node(&mut self, node: TreeNode) -> LineBytes {
        let newest = self.newest_node(node);
        let (mut place, mut block) = (TreePlace::from(node), newest);
        while self.memory.bytes && self.is_only_on_media(place.media()) {
            let Some((parent, index)) = self.engine.parent_of(place) else { break };
            let vouching = self.newest_node(parent);
            let tree = self.engine.tree().expect("there is a parent");
            if !tree.scheme.vouches(&vouching, index, place, &block) {
                self.refuse(place.media());
            }
            (place, block) = (parent.into(), vouching);
        }
        newest
    }

    /// Whether no copy of `media` is on the chip.
    fn is_only_on_media(&mut self, media: MediaLine) -> bool {
        !self.engine.metadata_cache().contains(media) && self.view().on_chip_metadata(media).is_none()
    }

    /// The newest copy of `media`: in its cache, elsewhere on the chip, or on the media.
    pub fn newest_metadata(&mut self, media: MediaLine) -> LineBytes {
        if let Some(block) = self.engine.metadata_cache().peek(media) {
            return *block;
        }
        if let Some(block) = self.view().on_chip_metadata(media) {
            return *block;
        }
        match self.memory.device.content(media) {
            Content::Stored(block) => *block,
            Content::Base(_) | Content::Never if !self.memory.bytes => [0; 64],
            Content::Base(_) | Content::Never => match media.unit() {
                MediaUnit::Table(_) => [0; 64],
                MediaUnit::Node(node) => self.engine.tree().map_or([0; 64], |tree| tree.scheme.initial(node.into())),
                _ => self.initial_macs(media),
            },
        }
    }

    /// A line of MACs before the run has written any of its lines: those that were populated are encrypted with their
    /// first counters.
    fn initial_macs(&mut self, media: MediaLine) -> LineBytes {
        let mut block = [0; 64];
        let (Some(integrity), MediaUnit::Mac(id)) = (&self.engine.integrity, media.unit()) else { return block };
        let layout = integrity.parts.mac_layout;
        for line in layout.lines(id) {
            if let Some(mac) = self.initial_mac(line) {
                layout.set(&mut block, line, mac);
            }
        }
        block
    }

    /// The MAC of `line` before the run, if it was populated.
    fn initial_mac(&self, line: Line) -> Option<u128> {
        let counters = &self.engine.counters;
        let plaintext = self.memory.device.base(line)?;
        // Its counter does not depend on those beside it.
        let index = counters.index(line);
        let counter = counters.scheme.counter(&counters.scheme.initial(1 << index), index);
        let ciphertext = self.engine.pads.encrypt(line, counter, plaintext);
        Some(self.engine.integrity.as_ref()?.parts.macs.mac(line, &ciphertext, counter))
    }

    /// Counts an alarm if the stored MAC of `line` is not that of its bytes on the media under `counter`.
    pub fn check_mac(&mut self, line: Line, counter: Counter) {
        let layout = self.engine.integrity.as_ref().expect("only integrity has MACs").parts.mac_layout;
        let block = self.newest_metadata(MediaLine::mac(layout.block(line)));
        if let (Content::Stored(ciphertext), Some(integrity)) =
            (self.memory.device.content(MediaLine::data(line)), &self.engine.integrity)
        {
            let computed = integrity.parts.macs.mac(line, ciphertext, counter);
            if computed != layout.get(&block, line) {
                self.refuse(MediaLine::data(line));
            }
        }
    }

    /// Counts an alarm: a check of `media` fails.
    pub fn refuse(&mut self, media: MediaLine) {
        self.memory.meter.stats.alarms += 1;
        self.memory.observer.refused(self.memory.queue.now(), media);
    }

    /// Puts a line of MACs or a node into its cache. `dirty`: it is newer than memory.
    pub fn put_in_metadata_cache(&mut self, media: MediaLine, block: LineBytes, dirty: bool) {
        let cache = self.engine.metadata_cache();
        let (was_there, was_dirty) = (cache.contains(media), cache.is_dirty(media));
        let evicted = match cache.peek_mut(media) {
            Some(cached) => {
                *cached = block;
                None
            }
            None => cache.insert(media, block),
        };
        if dirty {
            cache.set_dirty(media);
        } else {
            cache.set_clean(media);
        }
        self.evicted(evicted);
        if !was_there {
            self.note(media, Noted::Filled);
        }
        match (was_dirty, dirty) {
            (false, true) => self.note(media, Noted::FirstChanged),
            (true, true) => self.note(media, Noted::ChangedAgain),
            (true, false) => self.note(media, Noted::Written),
            (false, false) => {}
        }
    }

    /// Handles what was evicted from a cache. A dirty block claims an entry of the queue, in a lazy tree when the node
    /// above it is there to vouch for it.
    pub fn evicted(&mut self, evicted: Option<Evicted>) {
        let Some(Evicted { media, block, dirty }) = evicted else { return };
        if let MediaUnit::Counter(id) = media.unit() {
            self.memory.meter.stats.counter_evictions += 1;
            self.memory.observer.counter_cache(self.memory.queue.now(), id, CounterCacheAct::Evicted { dirty });
        }
        if !dirty {
            return;
        }
        if self.engine.leaves_at_once() {
            self.mark_stale(media, false);
        }
        let increment = self.memory.writes.last_increment();
        let lazy = self.engine.tree().is_some_and(|tree| tree.parts.update != TreeUpdate::Eager);
        let parent = TreePlace::of(media).filter(|_| lazy).and_then(|place| self.engine.parent_of(place));
        // Beside a shadow table it leaves in this event, because its entry is about to be replaced.
        let parent = parent.filter(|_| !self.engine.leaves_at_once());
        // An older copy that waits is queued first, although the node may be there since.
        let mut older = self.memory.admission.evictions.iter().filter(|eviction| eviction.media == media);
        let waits_for_parent = older.any(|eviction| eviction.waits_for_parent)
            || parent.is_some_and(|(node, _)| !self.vouching_node(node, MetadataWaiter::Eviction(media)));
        self.memory.admission.evict(Eviction { media, block, increment, waits_for_parent });
    }

    /// The node that vouches for the evicted block `media` is there.
    fn parent_ready(&mut self, media: MediaLine) {
        for eviction in self.memory.admission.evictions.iter_mut().filter(|eviction| eviction.media == media) {
            eviction.waits_for_parent = false;
        }
        self.memory.admission.look_again();
    }
}
