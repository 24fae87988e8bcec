//! What goes with a write for the integrity of memory: its MAC and its way up the tree. Both are computed when the line
//! is encrypted, and take effect in the event that admits what they cover.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{Cipher, Eviction, MetadataWaiter, Read, Stage, Write};
use crate::layout::{TreePlace, TreeShape};
use crate::message::{ControllerEvent, CounterBlock, DevicePort, Line, LineBytes, MediaLine, MediaUnit, Observer};
use crate::parts::{Counted, MacWrite, RootUpdate, TreeLeaves, TreeUpdate};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Looks up what the write in `slot`, of `line`, needs beside its counter: its line of MACs, and the nodes above its
    /// counter block that change with it.
    pub fn look_up_metadata(&mut self, slot: u32, line: Line) {
        let Some(integrity) = &self.engine.integrity else { return };
        let mut awaits = 0;
        if integrity.macs_apart() {
            let media = MediaLine::mac(integrity.mac_block(line));
            awaits += u8::from(!self.metadata_cached(media, MetadataWaiter::Write(slot)));
        }
        let looked_up = self.engine.tree().map(|tree| (tree.shape, tree.parts.update));
        let levels = looked_up.map_or(0, |(shape, update)| match update {
            TreeUpdate::Eager => usize::from(shape.top()),
            TreeUpdate::Shortcut => 1,
            TreeUpdate::Lazy => 0,
        });
        if let Some((shape, _)) = looked_up {
            for (node, _) in shape.path(TreePlace::leaf(self.engine.counters.block(line))).take(levels) {
                if self.engine.is_root(node) {
                    break;
                }
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
        let block = self.engine.counters.block(self.memory.writes[slot].line);
        let levels = self.engine.way_to_root(TreePlace::leaf(block)).count();
        let integrity = self.engine.integrity.as_mut().expect("only what protects integrity authenticates");
        let at = integrity.authenticated_at(now, levels);
        self.memory.queue.schedule(at, ControllerEvent::Authenticated { slot });
    }

    /// `ControllerEvent::Authenticated`: the write in `slot` claims an entry of the queue.
    pub fn authenticated(&mut self, slot: u32) {
        self.claim_entry(slot);
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
        let (parts, mac_layout) = (integrity.parts.parts, integrity.parts.mac_layout);
        let mac = if self.memory.bytes { integrity.parts.macs.mac(line, &ciphertext, counter) } else { 0 };
        if integrity.macs_apart() {
            let media = MediaLine::mac(mac_layout.block(line));
            let mut block = self.newest_metadata(media);
            mac_layout.set(&mut block, line, mac);
            let deferred = parts.mac_write == MacWrite::Deferred;
            self.put_in_metadata_cache(media, block, deferred);
            if !deferred {
                self.append_metadata(media, block);
            }
        }
        self.keep_update(line, counter, mac);
        if self.engine.tree().is_some_and(|tree| tree.parts.leaves == TreeLeaves::Current) {
            let id = self.engine.counters.block(line);
            let mut block = self.present_block(id);
            self.update_tree(id, &mut block);
        }
    }

    /// The counter block `id` with all counters of queued data: in the counter cache, or evicted from it in this event.
    pub fn present_block(&self, id: CounterBlock) -> LineBytes {
        let cached = self.engine.counters.cache.peek(MediaLine::counter(id));
        cached.copied().unwrap_or_else(|| self.view().newest_block(self.memory.device, id))
    }

    /// The major counter of the block `id`, which is now `block`, has been incremented, and the status register says so: the tree
    /// changes with the register if it protects current counters.
    pub fn major_incremented(&mut self, id: CounterBlock, block: &LineBytes) {
        if self.engine.tree().is_some_and(|tree| tree.parts.leaves == TreeLeaves::Current) {
            let mut block = *block;
            self.update_tree(id, &mut block);
        }
    }

    /// The counter block `id` enters the persistence domain as `block`: the tree changes if that is what it protects, and
    /// nodes with counters mark the block.
    pub fn counter_leaves(&mut self, id: CounterBlock, block: &mut LineBytes) {
        if self.engine.tree().is_some_and(|tree| tree.parts.leaves == TreeLeaves::Persisted) {
            self.update_tree(id, block);
        }
    }

    /// Puts a line of MACs or a node into its queue. In a tree that is not eager, the node above it vouches for it from now
    /// on.
    pub fn append_metadata(&mut self, media: MediaLine, mut block: LineBytes) {
        if let MediaUnit::Node(node) = media.unit()
            && self.engine.tree().is_some_and(|tree| tree.parts.update != TreeUpdate::Eager)
        {
            self.vouch_once(node.into(), &mut block);
        }
        self.append_block(media, block, 0);
    }

    /// Has the nodes above the counter block `id`, which is now `block`, vouch for it: all to the root in an eager tree,
    /// the next one in a lazy tree, the next one and the root's register by a shortcut.
    fn update_tree(&mut self, id: CounterBlock, block: &mut LineBytes) {
        let Some(tree) = self.engine.tree() else { return };
        let (shape, update) = (tree.shape, tree.parts.update);
        let place = TreePlace::leaf(id);
        match update {
            TreeUpdate::Eager => self.vouch_to_root(shape, place, block),
            TreeUpdate::Lazy => self.vouch_once(place, block),
            TreeUpdate::Shortcut => {
                let Some((parent, _)) = shape.parent(place) else { return };
                let before = self.newest_node(parent);
                self.vouch_once(place, block);
                let after = self.newest_node(parent);
                let place_in_root = shape.path(place).last().map_or(0, |(_, index)| index);
                self.carry_to_root(place_in_root, &before, &after);
            }
        }
    }

    fn carry_to_root(&mut self, index: usize, before: &LineBytes, after: &LineBytes) {
        let Some(integrity) = &mut self.engine.integrity else { return };
        if let Some(tree) = integrity.parts.tree.as_ref().filter(|tree| tree.parts.root_update != RootUpdate::Never) {
            tree.scheme.carry(&mut integrity.shortcut, index, before, after);
        }
    }

    /// Has every node above `place`, which is now `block`, vouch for the one below it.
    fn vouch_to_root(&mut self, shape: TreeShape, place: TreePlace, block: &mut LineBytes) {
        let (mut below, mut child) = (place, *block);
        for (node, index) in shape.path(place) {
            let mut parent = self.trusted_node(node);
            self.vouch(&mut parent, index, below, &mut child);
            if below == place {
                *block = child;
            } else {
                self.keep_node(below, child);
            }
            (below, child) = (node.into(), parent);
            if self.engine.is_root(node) {
                break;
            }
        }
        self.set_root(below, child);
        self.root_used(below);
    }

    /// The node at `place` has changed: it is in the cache, and persists if it is one of those that do.
    fn keep_node(&mut self, place: TreePlace, node: LineBytes) {
        let persists = self.engine.integrity.as_ref().is_some_and(|integrity| integrity.persists(place));
        self.put_in_metadata_cache(place.media(), node, !persists);
        if persists {
            self.append_block(place.media(), node, 0);
        }
    }

    /// Has the node above `place`, which is now `block`, vouch for it.
    fn vouch_once(&mut self, place: TreePlace, block: &mut LineBytes) {
        let Some((node, index)) = self.engine.parent_of(place) else { return };
        if self.engine.leaves_at_once() {
            self.read_behind(node);
        }
        let mut parent = self.trusted_node(node);
        let counted = self.vouch(&mut parent, index, place, block);
        if self.engine.tree().is_some_and(|tree| tree.shape.root() == node) {
            return self.set_root(node.into(), parent);
        }
        let media = MediaLine::node(node);
        self.put_in_metadata_cache(media, parent, true);
        if counted == Counted::LowBitsWrapped {
            self.put_in_metadata_cache(media, parent, false);
            let increment = self.memory.writes.last_increment();
            self.memory.admission.evict(Eviction { media, block: parent, increment, waits_for_parent: false });
        }
    }

    fn set_root(&mut self, place: TreePlace, root: LineBytes) {
        let kept = self.engine.tree().is_some_and(|tree| tree.parts.root_update == RootUpdate::Never);
        if let Some(integrity) = self.engine.integrity.as_mut().filter(|_| !kept) {
            match &mut integrity.forest {
                Some(forest) => forest.set(place, root),
                None => integrity.root = root,
            }
        }
    }

    /// Has `parent` vouch for `child` at `place`. If the counters of all its children change with that, the others are marked
    /// again.
    fn vouch(&mut self, parent: &mut LineBytes, index: usize, place: TreePlace, child: &mut LineBytes) -> Counted {
        self.memory.meter.stats.hashes += 1;
        let Some(tree) = self.engine.tree() else { return Counted::Alone };
        let counted = tree.scheme.count(parent, index, child);
        if self.memory.bytes {
            tree.scheme.mark(parent, index, place, child);
        }
        if counted == Counted::AllChanged {
            self.mark_others(parent, index, place);
        }
        counted
    }

    /// Marks all children of `parent` again but the one at `index`, which is `place`: those on the chip where they are, and
    /// those in memory with a read and a write of each.
    fn mark_others(&mut self, parent: &mut LineBytes, index: usize, place: TreePlace) {
        let Some(shape) = self.engine.tree().map(|tree| tree.shape) else { return };
        let Some((node, _)) = shape.parent(place) else { return };
        for (other, child) in shape.children(node).enumerate().filter(|(other, _)| *other != index) {
            let media = child.media();
            let mut block = match media.unit() {
                MediaUnit::Counter(id) => self.present_block(id),
                _ => self.newest_metadata(media),
            };
            self.memory.meter.stats.hashes += 1;
            if let Some(tree) = self.engine.tree().filter(|_| self.memory.bytes) {
                tree.scheme.mark(parent, other, child, &mut block);
            }
            let cache = if child.level == 0 { &mut self.engine.counters.cache } else { self.engine.metadata_cache() };
            let dirty = cache.is_dirty(media);
            if let Some(cached) = cache.peek_mut(media) {
                *cached = block;
            } else {
                self.memory.meter.stats.tree_reads += u64::from(child.level > 0);
                self.memory.meter.stats.counter_reads += u64::from(child.level == 0);
            }
            let waiting = self.memory.admission.evictions.iter_mut().find(|eviction| eviction.media == media);
            match waiting {
                Some(eviction) => eviction.block = block,
                None if !dirty => self.append_block(media, block, self.memory.writes.last_increment()),
                None => {}
            }
        }
    }
}
