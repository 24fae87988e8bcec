//! The integrity of memory at a boot: what is checked of a line that is read, and what the boot computes before.

use super::LineCodec;
use super::media_writer::MediaWriter;
use crate::layout::{MacLayout, MetadataShape, TreePlace, TreeShape, UpdateRing};
use crate::message::{Content, CounterBlock, Line, LineBytes, MediaLine, MediaUnit, Observer, TreeNode};
use crate::parts::{Counted, Counter, LowBitsScheme, MacSource, ShadowTree, TableScheme, TreeScheme};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thread_local::ThreadLocal;

/// What a check found wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Alarm {
    /// The MAC of this line does not match its bytes, its address and its counter.
    Mac(Line),
    /// The node above this counter block does not vouch for it.
    Counter(CounterBlock),
    /// The node above this node does not vouch for it.
    Node(TreeNode),
    /// The tree that the boot computed does not have the root that the register holds.
    Root,
    /// The shadow table, or what was newer in the metadata caches, does not have the root that its register holds.
    TableRoot,
    /// What a boot is to restore from the shadow cache does not have the root that the register holds.
    ShadowRoot,
    /// The MAC of this slot of the shadow cache does not match its bytes, its line and its counter.
    ShadowMac(u64),
    /// This entry of the shadow table does not match what is stored of its block.
    Table(u64),
}

impl Alarm {
    /// As a clause of a sentence.
    pub fn clause(self) -> String {
        match self {
            Alarm::Mac(line) => format!(
                "the MAC of the line at {:#x} does not match its bytes, its address and its counter",
                line.address()
            ),
            Alarm::Counter(block) => format!("the tree does not match counter block {:#x}", block.0),
            Alarm::Node(node) => format!("the tree does not match node {} of level {}", node.index, node.level),
            Alarm::TableRoot => "what was in the metadata caches does not match the root in its register".to_owned(),
            Alarm::ShadowRoot => {
                "what is to be restored from the shadow cache does not match the root in its register".to_owned()
            }
            Alarm::ShadowMac(slot) => {
                format!("the MAC of slot {slot} of the shadow cache does not match its bytes, its line and its counter")
            }
            Alarm::Table(entry) => {
                format!("entry {entry} of the shadow table does not match what is stored of its block")
            }
            Alarm::Root => "the tree that it computes does not match the root in the register".to_owned(),
        }
    }
}

/// What a boot needs of the integrity of memory.
pub struct IntegrityCodec {
    /// The MACs of data lines.
    pub macs: Arc<dyn MacSource>,
    /// Where they are stored.
    pub mac_layout: MacLayout,
    /// The tree over counter blocks; `None` if counters are not protected.
    pub tree: Option<TreeCodec>,
    /// The tree over the shadow cache, if there is one.
    pub shadow: Option<ShadowTree>,
    /// The ring of partial updates, if there is one.
    pub ring: Option<UpdateRing>,
    /// How far a counter may be behind the one that its line is encrypted with, if recovery finds it by trial.
    pub stop_loss: u64,
    /// The MAC of each line that was computed last, because boots ask for the same ones repeatedly. Each
    /// thread has its own.
    pub known: ThreadLocal<RefCell<FxHashMap<Line, KnownMac>>>,
}

/// A MAC, and what it is of.
pub struct KnownMac {
    ciphertext: LineBytes,
    counter: Counter,
    mac: u128,
}

impl IntegrityCodec {
    /// The MAC of `line`, which is stored as `ciphertext` under `counter`.
    fn mac(&self, line: Line, ciphertext: &LineBytes, counter: Counter) -> u128 {
        let mut known = self.known.get_or_default().borrow_mut();
        match known.get(&line) {
            Some(last) if last.counter == counter && last.ciphertext == *ciphertext => last.mac,
            _ => {
                let mac = self.macs.mac(line, ciphertext, counter);
                known.insert(line, KnownMac { ciphertext: *ciphertext, counter, mac });
                mac
            }
        }
    }
}

/// How a shadow table with contents speaks of counter blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountersInTable {
    /// Their entries have contents, as those of nodes.
    Contents,
    /// They are named, and their counters are found by trial. `checked`: the tree over the table has these counters.
    Names {
        /// Whether the tree has the counters, and not the names alone.
        checked: bool,
    },
}

/// What a boot needs of the tree.
pub struct TreeCodec {
    /// The tree's shape.
    pub shape: TreeShape,
    /// How a node vouches for its children.
    pub scheme: Arc<dyn TreeScheme>,
    /// Levels, from the first, that persist with each write.
    pub persisted_levels: u8,
    /// Whether a table in memory lists what may be behind.
    pub has_table: bool,
    /// Whether counter blocks that are read are verified.
    pub verifies_counters: bool,
    /// Whether the root's register takes new roots.
    pub root_follows: bool,
    /// The entries of the shadow table, and how many there are, if they have the contents of blocks.
    pub table: Option<(Arc<dyn TableScheme>, u64)>,
    /// How it speaks of counter blocks.
    pub counters_in_table: CountersInTable,
    /// How blocks are computed from what is below them, if they are, and the shape of the metadata caches.
    pub low_bits: Option<(Arc<dyn LowBitsScheme>, MetadataShape)>,
}

impl TreeCodec {
    /// Has `parent` vouch for `child`, the child at place `index`. Returns whether the other children must be marked again.
    fn vouch(&self, parent: &mut LineBytes, index: usize, place: TreePlace, child: &mut LineBytes) -> bool {
        let counted = self.scheme.count(parent, index, child);
        self.scheme.mark(parent, index, place, child);
        counted == Counted::AllChanged
    }
}

impl<'a> MediaWriter<'a> {
    /// Checks `line` as a read of it would: its counter block up to the root, and its MAC.
    ///
    /// # Errors
    /// The first check that fails: then nothing of the line is used.
    pub fn verify(&self, line: Line) -> Result<(), Alarm> {
        let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) else {
            return Ok(());
        };
        if self.lacks_counter(line, codec) {
            return Ok(());
        }
        self.verify_counter(line)?;
        let status = self.status.as_ref().filter(|status| status.group.contains(line));
        let counter = codec.counter(line, &self.block(line, codec), status);
        // Nothing that is stored for a line of zeros is used.
        if codec.is_zero(counter)
            || self.stored_mac(line, codec, integrity) == self.mac_of(line, counter, codec, integrity)
        {
            return Ok(());
        }
        Err(Alarm::Mac(line))
    }

    /// Checks the counter block of `line` up to the root.
    ///
    /// # Errors
    /// The first check that fails: then nothing is computed from the counter.
    pub fn verify_counter(&self, line: Line) -> Result<(), Alarm> {
        let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) else {
            return Ok(());
        };
        match integrity.tree.as_ref().filter(|tree| tree.verifies_counters && !self.lacks_counter(line, codec)) {
            Some(tree) => self.verify_place(tree, TreePlace::leaf(codec.coverage().block(line))),
            None => Ok(()),
        }
    }

    /// The MAC that `line`, as it is stored, has under `counter`.
    pub(super) fn mac_of(
        &self,
        line: Line,
        counter: Counter,
        codec: &dyn LineCodec,
        integrity: &IntegrityCodec,
    ) -> u128 {
        self.tally.borrow_mut().work.macs += 1;
        integrity.mac(line, &self.stored(line, codec).bytes, counter)
    }

    pub(super) fn stored_mac(&self, line: Line, codec: &dyn LineCodec, integrity: &IntegrityCodec) -> u128 {
        let media = MediaLine::mac(integrity.mac_layout.block(line));
        self.tally.borrow_mut().needs_macs(media, integrity.mac_layout);
        match self.memory().content(media) {
            Content::Stored(block) => integrity.mac_layout.get(block, line),
            Content::Base(_) | Content::Never => codec.first_mac(line).unwrap_or(0),
        }
    }

    /// Checks that the nodes above `place` vouch for it, up to the root.
    fn verify_place(&self, tree: &TreeCodec, place: TreePlace) -> Result<(), Alarm> {
        if self.root.is_none() {
            return Ok(());
        }
        if self.verified.borrow().contains(&place) || self.restored.get(place).is_some() {
            return Ok(());
        }
        let Some((parent, index)) = tree.shape.parent(place) else { return Ok(()) };
        let vouching = match self.root_at(tree, parent.into()) {
            Some(root) => root,
            None => {
                self.verify_place(tree, parent.into())?;
                self.tree_bytes(tree, parent.into())
            }
        };
        self.tally.borrow_mut().work.hashes += 1;
        if place.level > 0 {
            self.tally.borrow_mut().read(place.media());
        }
        if !tree.scheme.vouches(&vouching, index, place, &self.tree_bytes(tree, place)) {
            return Err(match place.media().unit() {
                MediaUnit::Node(node) => Alarm::Node(node),
                _ => Alarm::Counter(CounterBlock(place.index)),
            });
        }
        self.verified.borrow_mut().insert(place);
        Ok(())
    }

    /// The register of the root at `place`, if it is one.
    fn root_at(&self, tree: &TreeCodec, place: TreePlace) -> Option<LineBytes> {
        if self.roots.is_empty() {
            return self.root.filter(|_| place == tree.shape.root().into());
        }
        self.roots.get(&place).copied()
    }

    /// The counter block or node at `place`, as it is stored.
    fn tree_bytes(&self, tree: &TreeCodec, place: TreePlace) -> LineBytes {
        self.restored.get(place).copied().unwrap_or_else(|| self.stored_block(tree, place))
    }

    /// What the boot needs of the tree; `None` if there is none.
    pub(super) fn tree_codec(&self) -> Option<&'a TreeCodec> {
        self.codec()?.integrity()?.tree.as_ref()
    }

    /// Computes the nodes that do not persist with each write, from the highest level that does, or from the counter
    /// blocks, and compares the root with its register. A boot without a register takes the computed root.
    ///
    /// # Errors
    /// The root differs from its register.
    pub fn rebuild_tree(&mut self) -> Result<(), Alarm> {
        let Some(tree) = self.tree_codec() else { return Ok(()) };
        let mut below: BTreeMap<TreePlace, LineBytes> = BTreeMap::new();
        let mut stale: BTreeSet<TreePlace> = BTreeSet::new();
        self.memory().stored(&mut |media, bytes| {
            let place = match media.unit() {
                MediaUnit::Counter(id) => TreePlace::leaf(id),
                MediaUnit::Node(node) => TreePlace::from(node),
                MediaUnit::Data(_) | MediaUnit::Mac(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => return,
            };
            if place.level == tree.persisted_levels {
                self.tally.borrow_mut().read(media);
                below.insert(place, *bytes);
            } else if place.level > tree.persisted_levels {
                stale.insert(place);
            }
        });
        let root = TreePlace::from(tree.shape.root());
        let mut computed = tree.scheme.initial(root);
        let mut roots: BTreeMap<TreePlace, LineBytes> =
            self.roots.keys().map(|place| (*place, tree.scheme.initial(*place))).collect();
        while !below.is_empty() {
            let mut above: BTreeMap<TreePlace, LineBytes> = BTreeMap::new();
            for (place, mut child) in below {
                if let Some(root) = roots.get_mut(&place) {
                    *root = child;
                    continue;
                }
                let Some((parent, index)) = tree.shape.parent(place) else { continue };
                let parent = TreePlace::from(parent);
                let node = above.entry(parent).or_insert_with(|| tree.scheme.initial(parent));
                tree.vouch(node, index, place, &mut child);
                self.tally.get_mut().work.hashes += 1;
                if place.level > tree.persisted_levels {
                    stale.remove(&place);
                    self.store(place.media(), &child);
                }
            }
            if let Some(node) = above.remove(&root) {
                computed = node;
                roots.entry(root).and_modify(|of_forest| *of_forest = node);
            }
            below = above;
        }
        for place in stale {
            self.store(place.media(), &tree.scheme.initial(place));
        }
        if !self.roots.is_empty() {
            return if self.roots == roots { Ok(()) } else { Err(Alarm::Root) };
        }
        match self.root {
            Some(root) if root != computed => Err(Alarm::Root),
            _ => {
                self.root = Some(computed);
                Ok(())
            }
        }
    }

    /// The counter blocks and nodes that the shadow table lists. It is not protected: an entry that says nothing sensible
    /// is passed over, and what it should have said is missed when the root is compared.
    pub(super) fn listed(&self) -> BTreeSet<TreePlace> {
        let mut listed = BTreeSet::new();
        let Some(tree) = self.tree_codec() else { return listed };
        self.memory().stored(&mut |media, bytes| {
            let MediaUnit::Table(_) = media.unit() else { return };
            self.tally.borrow_mut().read(media);
            for entry in bytes.as_chunks::<8>().0 {
                let place = match MediaLine::with_code(u64::from_le_bytes(*entry)).unit() {
                    MediaUnit::Counter(id) => TreePlace::leaf(id),
                    MediaUnit::Node(node) => TreePlace::from(node),
                    _ => continue,
                };
                if tree.shape.has(place) {
                    listed.insert(place);
                }
            }
        });
        listed
    }

    /// Computes the nodes that the shadow table lists from what is below them, the lowest first, and compares the root with
    /// its register. A boot without a register takes the computed root.
    ///
    /// # Errors
    /// The root differs from its register.
    pub fn restore_nodes(&mut self) -> Result<(), Alarm> {
        let Some(tree) = self.tree_codec() else { return Ok(()) };
        for place in self.listed().into_iter().filter(|place| place.level > 0) {
            let node = self.vouching_for_children(tree, TreeNode { level: place.level, index: place.index });
            self.tally.get_mut().read(place.media());
            if node != self.tree_bytes(tree, place) {
                self.store(place.media(), &node);
            }
        }
        let computed = self.vouching_for_children(tree, tree.shape.root());
        match self.root {
            Some(root) if root != computed => Err(Alarm::Root),
            _ => {
                self.root = Some(computed);
                Ok(())
            }
        }
    }

    /// The node that vouches for what is stored below it.
    fn vouching_for_children(&self, tree: &TreeCodec, node: TreeNode) -> LineBytes {
        let mut computed = [0; 64];
        for (index, child) in tree.shape.children(node).enumerate() {
            let mut tally = self.tally.borrow_mut();
            tally.read(child.media());
            tally.work.hashes += 1;
            drop(tally);
            tree.vouch(&mut computed, index, child, &mut self.tree_bytes(tree, child));
        }
        computed
    }

    /// The MAC of `line`, and the nodes above its counter block, follow what has just been stored.
    pub(super) fn protect(&mut self, line: Line, observer: &mut impl Observer) {
        let Some((codec, integrity)) = self.codec().and_then(|codec| Some((codec, codec.integrity()?))) else { return };
        let block = self.block(line, codec);
        let status = None;
        let mac = self.mac_of(line, codec.counter(line, &block, status), codec, integrity);
        let layout = integrity.mac_layout;
        let media = MediaLine::mac(layout.block(line));
        self.tally.get_mut().needs_macs(media, layout);
        let mut macs = self.line_of_macs(media, layout, codec);
        layout.set(&mut macs, line, mac);
        self.put(media, &macs);
        observer.persisted(0, media, &macs);
        self.protect_counter(line, observer);
    }

    /// The line of MACs `media`, as it is stored or as it was at first.
    pub(super) fn line_of_macs(&self, media: MediaLine, layout: MacLayout, codec: &dyn LineCodec) -> LineBytes {
        match (self.memory().content(media), media.unit()) {
            (Content::Stored(block), _) => *block,
            (Content::Base(_) | Content::Never, MediaUnit::Mac(id)) => {
                let mut macs = [0; 64];
                for other in layout.lines(id) {
                    codec.first_mac(other).into_iter().for_each(|mac| layout.set(&mut macs, other, mac));
                }
                macs
            }
            (Content::Base(_) | Content::Never, _) => [0; 64],
        }
    }

    /// The nodes above the counter block of `line` follow what has just been stored.
    pub(super) fn protect_counter(&mut self, line: Line, observer: &mut impl Observer) {
        if let (Some(codec), Some(tree)) = (self.codec(), self.tree_codec()) {
            self.climb(tree, TreePlace::leaf(codec.coverage().block(line)), observer);
        }
    }

    /// Has the nodes above `place` vouch for what is stored there, up to the root or to one in the metadata caches. What is
    /// in them needs nothing before it leaves.
    pub(super) fn climb(&mut self, tree: &TreeCodec, place: TreePlace, observer: &mut impl Observer) {
        if self.root.is_none() {
            return;
        }
        let (mut below, mut child) = (place, self.tree_bytes(tree, place));
        for (node, index) in tree.shape.path(place) {
            if self.restored.get(below).is_some() {
                return;
            }
            let root = self.root_at(tree, node.into());
            let mut parent = root.unwrap_or_else(|| self.tree_bytes(tree, node.into()));
            let unmarked = child;
            self.tally.get_mut().work.hashes += 1;
            let renewed = tree.vouch(&mut parent, index, below, &mut child);
            if below != place || child != unmarked {
                self.put_vouched(below, &child, observer);
            }
            if renewed {
                for (other, sibling) in tree.shape.children(node).enumerate().filter(|(other, _)| *other != index) {
                    let mut block = self.tree_bytes(tree, sibling);
                    tree.scheme.mark(&mut parent, other, sibling, &mut block);
                    self.put_vouched(sibling, &block, observer);
                }
            }
            self.change_restored(node.into(), &parent, observer);
            (below, child) = (node.into(), parent);
            if root.is_some() {
                break;
            }
        }
        if tree.root_follows {
            match self.roots.get_mut(&below) {
                Some(root) => *root = child,
                None => self.root = Some(child),
            }
        }
    }

    fn put_vouched(&mut self, place: TreePlace, bytes: &LineBytes, observer: &mut impl Observer) {
        self.put(place.media(), bytes);
        observer.persisted(0, place.media(), bytes);
    }
}
