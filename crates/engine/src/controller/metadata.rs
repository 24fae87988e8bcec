//! What goes with a write for the integrity of memory: its MAC and its way up the tree. Both are computed when the line
//! is encrypted, and take effect in the event that admits what they cover.

use super::encrypted::Encrypted;
use super::interface::IntegrityParts;
use super::request::{Cipher, MetadataWaiter, Read, Stage, Write};
use crate::message::{CounterBlock, DevicePort, Event, Line, LineBytes, MediaLine, Observer, TreePlace};
use crate::parts::{MacWrite, RootUpdate, TreeLeaves, TreeUpdate};

impl<D: DevicePort, O: Observer> Encrypted<'_, D, O> {
    /// Looks up what the write in `slot`, of `line`, needs beside its counter: its line of MACs, and in an eager tree the
    /// nodes above its counter block.
    pub fn look_up_metadata(&mut self, slot: u32, line: Line) {
        let Some(integrity) = &self.engine.integrity else { return };
        let mut awaits = 0;
        if integrity.macs_apart() {
            let media = MediaLine::mac(integrity.mac_block(line));
            awaits += u8::from(!self.metadata_cached(media, MetadataWaiter::Write(slot)));
        }
        let tree = self.engine.tree().filter(|tree| tree.parts.update == TreeUpdate::Eager);
        if let Some(shape) = tree.map(|tree| tree.shape) {
            for (node, _) in shape.path(TreePlace::leaf(self.engine.counters.block(line))) {
                awaits += u8::from(!self.vouching_node(node, MetadataWaiter::Write(slot)));
            }
        }
        self.memory.writes[slot].awaits = awaits;
    }

    /// One of the lines of MACs and nodes that the write in `slot` waits for is there. Copies of them stay with the
    /// write's way up the tree, even if the cache evicts them.
    pub fn metadata_ready(&mut self, slot: u32) {
        let write = &mut self.memory.writes[slot];
        write.awaits -= 1;
        if write.awaits == 0 && write.stage == Stage::Authenticating {
            self.begin_authentication(slot);
        }
    }

    /// The line of the write in `slot` is encrypted: its MAC and its way up the tree are computed.
    pub fn authenticate(&mut self, slot: u32) {
        self.memory.writes[slot].stage = Stage::Authenticating;
        if self.memory.writes[slot].awaits == 0 {
            self.begin_authentication(slot);
        }
    }

    fn begin_authentication(&mut self, slot: u32) {
        let now = self.memory.now();
        let integrity = self.engine.integrity.as_mut().expect("only what protects integrity authenticates");
        let at = integrity.authenticated_at(now);
        self.memory.queue.schedule(at, Event::Authenticated { slot });
    }

    /// `Event::Authenticated`: the write in `slot` requests an entry of the queue.
    pub fn authenticated(&mut self, slot: u32) {
        self.wants_slots(slot);
    }

    /// Begins to check the read in `slot`, whose line comes from the media.
    pub fn check_read(&mut self, slot: u32) {
        let Read { line, .. } = self.memory.reads[slot];
        self.memory.reads[slot].checked = true;
        self.memory.meter.stats.macs += 1;
        let integrity = self.engine.integrity.as_ref().expect("only what protects integrity checks");
        if integrity.macs_apart() {
            let media = MediaLine::mac(integrity.mac_block(line));
            if self.metadata_cached(media, MetadataWaiter::Read(slot)) {
                let at = self.memory.now() + self.engine.counters.latency;
                self.memory.reads[slot].mac_at = Some(at);
            }
        }
    }

    /// The MAC of the read in `slot` is known.
    pub fn mac_known(&mut self, slot: u32) {
        self.memory.reads[slot].mac_at = Some(self.memory.now());
        self.memory.finish_read_if_known(slot);
    }

    /// Number of entries that the write in `slot` needs for its MAC and for nodes that persist with its data.
    pub fn metadata_with_data(&self, slot: u32) -> usize {
        let Some(integrity) = &self.engine.integrity else { return 0 };
        let counter = self.engine.cipher_of(self.memory.writes[slot].origin) == Cipher::Counter;
        if counter { integrity.entries_with_data() } else { 0 }
    }

    /// Number of entries that a counter block needs for nodes that persist with it.
    pub fn nodes_with_counter(&self) -> usize {
        self.engine.integrity.as_ref().map_or(0, |integrity| integrity.entries_with_counter())
    }

    /// The data of the write in `slot` has entered the persistence domain: its MAC does, too, or is newer in the cache
    /// from now on; and if the tree protects current counters, it changes.
    pub fn commit_metadata(&mut self, slot: u32) {
        let Some(integrity) = &self.engine.integrity else { return };
        let Write { line, ciphertext, counter, origin, .. } = self.memory.writes[slot];
        if self.engine.cipher_of(origin) != Cipher::Counter {
            return;
        }
        self.memory.meter.stats.macs += 1;
        if integrity.macs_apart() {
            let IntegrityParts { parts, mac_layout, .. } = integrity.parts;
            let media = MediaLine::mac(mac_layout.block(line));
            let mac = if self.memory.bytes { integrity.parts.macs.mac(line, &ciphertext, counter) } else { 0 };
            let mut block = self.newest_metadata(media);
            mac_layout.set(&mut block, line, mac);
            let deferred = parts.mac_write == MacWrite::Deferred;
            self.put_in_metadata_cache(media, block, deferred);
            if !deferred {
                self.append_metadata(media, block);
            }
        }
        if self.engine.tree().is_some_and(|tree| tree.parts.leaves == TreeLeaves::Current) {
            let id = self.engine.counters.block(line);
            let block = self.present_block(id);
            self.update_tree(id, &block);
        }
    }

    /// The counter block `id` with all counters of queued data: in the counter cache, or evicted from it in this event.
    pub fn present_block(&self, id: CounterBlock) -> LineBytes {
        let cached = self.engine.counters.cache.peek(MediaLine::counter(id));
        cached.copied().unwrap_or_else(|| self.view().newest_block(self.memory.device, id))
    }

    /// The major counter of the block `id`, which is now `block`, has advanced, and the status register says so: the tree
    /// changes with the register if it protects current counters.
    pub fn major_advanced(&mut self, id: CounterBlock, block: &LineBytes) {
        if self.engine.tree().is_some_and(|tree| tree.parts.leaves == TreeLeaves::Current) {
            self.update_tree(id, block);
        }
    }

    /// The counter block `id` has entered the persistence domain as `block`: the tree changes if that is what it
    /// protects.
    pub fn counter_left(&mut self, id: CounterBlock, block: &LineBytes) {
        if self.engine.tree().is_some_and(|tree| tree.parts.leaves == TreeLeaves::Persisted) {
            self.update_tree(id, block);
        }
    }

    /// Puts a line of MACs or a node into its queue. In a lazy tree, the node above it vouches for it from now on.
    pub fn append_metadata(&mut self, media: MediaLine, block: LineBytes) {
        self.append_block(media, block, 0);
        if let crate::message::MediaUnit::Node(node) = media.unit()
            && self.engine.tree().is_some_and(|tree| tree.parts.update == TreeUpdate::Lazy)
        {
            self.vouch_once(node.into(), &block);
        }
    }

    /// Has the nodes above the counter block `id`, which is now `block`, vouch for it: all to the root in an eager tree,
    /// the next one in a lazy tree.
    fn update_tree(&mut self, id: CounterBlock, block: &LineBytes) {
        let Some(tree) = self.engine.tree() else { return };
        let (shape, update) = (tree.shape, tree.parts.update);
        let place = TreePlace::leaf(id);
        if update == TreeUpdate::Lazy {
            return self.vouch_once(place, block);
        }
        let (mut below, mut child) = (place, *block);
        for (node, index) in shape.path(place) {
            if node == shape.root() {
                return self.vouch_in_root(index, below, &mut child);
            }
            let mut parent = self.trusted_node(node);
            self.vouch(&mut parent, index, below, &mut child);
            let media = MediaLine::node(node);
            let persists = self.engine.integrity.as_ref().is_some_and(|integrity| integrity.persists(node));
            self.put_in_metadata_cache(media, parent, !persists);
            if persists {
                self.append_block(media, parent, 0);
            }
            (below, child) = (node.into(), parent);
        }
    }

    /// Has the node above `place`, which is now `block`, vouch for it.
    fn vouch_once(&mut self, place: TreePlace, block: &LineBytes) {
        let Some((node, index)) = self.engine.parent_of(place) else { return };
        let mut child = *block;
        if self.engine.tree().is_some_and(|tree| tree.shape.root() == node) {
            return self.vouch_in_root(index, place, &mut child);
        }
        let mut parent = self.trusted_node(node);
        self.vouch(&mut parent, index, place, &mut child);
        self.put_in_metadata_cache(MediaLine::node(node), parent, true);
    }

    fn vouch_in_root(&mut self, index: usize, place: TreePlace, child: &mut LineBytes) {
        let Some(integrity) = &self.engine.integrity else { return };
        let mut root = integrity.root;
        self.vouch(&mut root, index, place, child);
        let kept = self.engine.tree().is_some_and(|tree| tree.parts.root_update == RootUpdate::Never);
        if let Some(integrity) = self.engine.integrity.as_mut().filter(|_| !kept) {
            integrity.root = root;
        }
    }

    fn vouch(&mut self, parent: &mut LineBytes, index: usize, place: TreePlace, child: &mut LineBytes) {
        self.memory.meter.stats.hashes += 1;
        if let Some(tree) = self.engine.tree().filter(|_| self.memory.bytes) {
            tree.scheme.vouch(parent, index, place, child);
        }
    }
}
