//! The roots of a Bonsai Merkle forest (Freij, Zhou and Solihin, MICRO 2021): nodes that are in a non-volatile cache on the chip.
//! Together they cover all counter blocks, and none is below another, so a write goes up the tree to the first of them. What is
//! above them is not used.
//!
//! In a dynamic forest a root that is used often is split into its children, and the children of a node are merged into it
//! when they have not been used meanwhile. Both are changes on the chip alone, in the event of the write that causes them.

use super::super::encrypted::Encrypted;
use super::super::interface::TreeParts;
use crate::layout::{TreePlace, TreeShape};
use crate::message::{DevicePort, LineBytes, Observer, TreeNode};
use crate::parts::TreeRoots;
use std::collections::BTreeMap;

/// A root is split when it has been used so many times.
const SPLIT_AFTER: u64 = 8;

/// A root on the chip.
#[derive(Clone, Copy)]
struct Root {
    bytes: LineBytes,
    /// Uses since it became a root.
    uses: u64,
    /// The last use, and the first of those that are counted for the next split, by the clock of all uses.
    last: u64,
    since: u64,
}

/// The roots.
#[derive(Clone)]
pub(in crate::controller) struct Forest {
    roots: BTreeMap<TreePlace, Root>,
    shape: TreeShape,
    /// Most roots that there are; a static forest never changes.
    most: usize,
    dynamic: bool,
    clock: u64,
}

impl Forest {
    /// The forest of `tree` with at most `most` roots; `None` if it has one root, in its register.
    pub fn new(tree: &TreeParts, most: usize) -> Option<Self> {
        let (shape, dynamic) = (tree.shape, tree.parts.roots == TreeRoots::Dynamic);
        let level = match tree.parts.roots {
            TreeRoots::One => return None,
            TreeRoots::Dynamic => shape.top(),
            TreeRoots::StaticLevel => {
                (1..=shape.top()).find(|&level| shape.nodes(level) <= most as u64).unwrap_or(shape.top())
            }
        };
        let places = (0..shape.nodes(level)).map(|index| TreePlace { level, index });
        let root = |place| Root { bytes: tree.scheme.initial(place), uses: 0, last: 0, since: 0 };
        Some(Self { roots: places.map(|place| (place, root(place))).collect(), shape, most, dynamic, clock: 0 })
    }

    /// Whether there is a root at `place`.
    pub fn has(&self, place: TreePlace) -> bool {
        self.roots.contains_key(&place)
    }

    /// The root at `place`.
    pub fn root(&self, place: TreePlace) -> Option<LineBytes> {
        self.roots.get(&place).map(|root| root.bytes)
    }

    /// All roots, in the order of their places.
    pub fn roots(&self) -> impl Iterator<Item = (TreePlace, LineBytes)> {
        self.roots.iter().map(|(place, root)| (*place, root.bytes))
    }

    /// The roots are these from now on.
    pub fn load(&mut self, roots: &[(TreePlace, LineBytes)]) {
        let root = |bytes| Root { bytes, uses: 0, last: 0, since: 0 };
        self.roots = roots.iter().map(|(place, bytes)| (*place, root(*bytes))).collect();
    }

    /// The root at `place` is now `bytes`.
    pub fn set(&mut self, place: TreePlace, bytes: LineBytes) {
        if let Some(root) = self.roots.get_mut(&place) {
            root.bytes = bytes;
        }
    }

    /// Counts a use of the root at `place`; returns whether it is to be split, if that is possible.
    fn used(&mut self, place: TreePlace) -> bool {
        self.clock += 1;
        let Some(root) = self.roots.get_mut(&place).filter(|_| self.dynamic && place.level > 1) else { return false };
        root.uses += 1;
        root.last = self.clock;
        root.uses.is_multiple_of(SPLIT_AFTER)
    }

    /// Whether the roots that `place` is split into find room.
    fn has_room(&self, place: TreePlace) -> bool {
        self.roots.len() - 1 + self.children(place).count() <= self.most
    }

    fn children(&self, place: TreePlace) -> impl Iterator<Item = TreePlace> {
        self.shape.children(TreeNode { level: place.level, index: place.index })
    }

    /// The node all of whose children are roots that have not been used for the longest time, and not since the uses of the
    /// root at `hot` are counted that is to be split; it is none of them.
    fn coldest(&self, hot: TreePlace) -> Option<TreePlace> {
        let since = self.roots.get(&hot)?.since;
        let mut groups: BTreeMap<TreePlace, (usize, u64)> = BTreeMap::new();
        for (place, root) in &self.roots {
            let Some((parent, _)) = self.shape.parent(*place) else { continue };
            let (roots, last) = groups.entry(parent.into()).or_default();
            (*roots, *last) = (*roots + 1, root.last.max(*last));
        }
        let own = self.shape.parent(hot).map(|(parent, _)| TreePlace::from(parent));
        let whole = groups.into_iter().filter(|(parent, (roots, last))| {
            Some(*parent) != own && *roots == self.children(*parent).count() && *last <= since
        });
        whole.min_by_key(|(parent, (_, last))| (*last, *parent)).map(|(parent, _)| parent)
    }

    /// The uses of the root at `place` are counted anew.
    fn count_anew(&mut self, place: TreePlace) {
        let clock = self.clock;
        if let Some(root) = self.roots.get_mut(&place) {
            root.since = clock;
        }
    }

    /// Replaces the root or roots at `gone` by `new` ones.
    fn replace(&mut self, gone: impl Iterator<Item = TreePlace>, new: impl Iterator<Item = (TreePlace, LineBytes)>) {
        for place in gone {
            self.roots.remove(&place);
        }
        let clock = self.clock;
        self.roots.extend(new.map(|(place, bytes)| (place, Root { bytes, uses: 0, last: clock, since: clock })));
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// A write has gone up to the root at `place`: a dynamic forest splits it if it is used often.
    pub fn root_used(&mut self, place: TreePlace) {
        if !self.forest().is_some_and(|forest| forest.used(place)) {
            return;
        }
        if self.has_all_children(place) && self.make_room(place) {
            self.split(place);
        } else if let Some(forest) = self.forest() {
            forest.count_anew(place);
        }
    }

    fn forest(&mut self) -> Option<&mut Forest> {
        self.engine.integrity.as_mut()?.forest.as_mut()
    }

    /// Whether all children of the root at `place` are in their cache. Those that are not are fetched; nothing waits for them.
    fn has_all_children(&mut self, place: TreePlace) -> bool {
        let Some(shape) = self.engine.tree().map(|tree| tree.shape) else { return false };
        let mut all = true;
        for child in shape.children(TreeNode { level: place.level, index: place.index }) {
            if !self.engine.metadata_cache().contains(child.media()) {
                all = false;
                self.fetch_metadata(child.media(), None);
            }
        }
        all
    }

    /// Merges roots until what the root at `place` is split into finds room; returns whether it does.
    fn make_room(&mut self, place: TreePlace) -> bool {
        while let Some(forest) = self.forest() {
            if forest.has_room(place) {
                return true;
            }
            let Some(cold) = forest.coldest(place) else { return false };
            self.merge(cold);
        }
        false
    }

    /// The children of the root at `place`, which are in their cache, are roots instead of it.
    fn split(&mut self, place: TreePlace) {
        let Some(shape) = self.engine.tree().map(|tree| tree.shape) else { return };
        let cache = self.engine.metadata_cache();
        let mut children = Vec::with_capacity(shape.arity());
        for child in shape.children(TreeNode { level: place.level, index: place.index }) {
            let Some(bytes) = cache.peek(child.media()).copied() else { return };
            children.push((child, bytes));
        }
        // The copies in the cache and in memory are not used until they are merged.
        children.iter().for_each(|(child, _)| cache.set_clean(child.media()));
        if let Some(forest) = self.forest() {
            forest.replace(std::iter::once(place), children.into_iter());
        }
    }

    /// The node at `place` is a root instead of its children, which go to their cache.
    fn merge(&mut self, place: TreePlace) {
        let Some(integrity) = self.engine.integrity.as_mut() else { return };
        let (Some(tree), Some(forest)) = (&integrity.parts.tree, &mut integrity.forest) else { return };
        let mut merged = tree.scheme.initial(place);
        let mut children = Vec::with_capacity(tree.shape.arity());
        for (index, child) in tree.shape.children(TreeNode { level: place.level, index: place.index }).enumerate() {
            let mut bytes = forest.root(child).unwrap_or([0; 64]);
            if self.memory.bytes {
                tree.scheme.mark(&mut merged, index, child, &mut bytes);
            }
            self.memory.meter.stats.hashes += 1;
            children.push((child, bytes));
        }
        forest.replace(children.iter().map(|(child, _)| *child), std::iter::once((place, merged)));
        for (child, bytes) in children {
            self.put_in_metadata_cache(child.media(), bytes, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CounterBlock;
    use proptest::prelude::*;

    /// A forest over `leaves` counter blocks, at first with the one root at the top.
    fn forest(leaves: u64, most: usize) -> Forest {
        let shape = TreeShape::new(leaves, 8);
        let top = TreePlace::from(shape.root());
        let root = Root { bytes: [0; 64], uses: 0, last: 0, since: 0 };
        Forest { roots: BTreeMap::from([(top, root)]), shape, most, dynamic: true, clock: 0 }
    }

    /// The roots above a counter block.
    fn above(forest: &Forest, block: u64) -> Vec<TreePlace> {
        let path = forest.shape.path(TreePlace::leaf(CounterBlock(block)));
        path.map(|(node, _)| node.into()).filter(|place| forest.has(*place)).collect()
    }

    /// As a write of `block` does, with every node in its cache.
    fn write(forest: &mut Forest, block: u64) {
        let root = above(forest, block)[0];
        if !forest.used(root) {
            return;
        }
        while !forest.has_room(root) {
            let Some(cold) = forest.coldest(root) else { return forest.count_anew(root) };
            let children: Vec<TreePlace> = forest.children(cold).collect();
            forest.replace(children.into_iter(), std::iter::once((cold, [1; 64])));
        }
        let children: Vec<(TreePlace, LineBytes)> = forest.children(root).map(|child| (child, [2; 64])).collect();
        forest.replace(std::iter::once(root), children.into_iter());
    }

    proptest! {
        #[test]
        fn every_block_has_one_root_above_it_and_there_are_never_too_many(
            leaves in 1..5_000u64, most in 1..80usize, blocks in prop::collection::vec((0..5_000u64, 1..40u8), 1..60),
        ) {
            let mut forest = forest(leaves, most);
            for (block, times) in blocks {
                for _ in 0..times {
                    write(&mut forest, block % leaves);
                    prop_assert!(forest.roots.len() <= most);
                }
                for block in (0..leaves).step_by(7).chain([leaves - 1]) {
                    prop_assert_eq!(above(&forest, block).len(), 1);
                }
            }
        }
    }

    #[test]
    fn block_that_is_written_often_gets_a_root_right_above_it_and_loses_it_to_another() {
        let mut forest = forest(4_096, 24);
        let level = |forest: &Forest, block| above(forest, block)[0].level;
        assert_eq!(level(&forest, 0), 4);
        (0..3 * SPLIT_AFTER).for_each(|_| write(&mut forest, 0));
        assert_eq!((level(&forest, 0), level(&forest, 4_095)), (1, 3));
        assert_eq!(forest.roots.len(), 7 + 7 + 8);
        // There is room for two roots more, and seven are needed: those of the first block are merged when they are cold.
        (0..8 * SPLIT_AFTER).for_each(|_| write(&mut forest, 4_095));
        assert_eq!((level(&forest, 4_095), level(&forest, 0) > 1), (1, true));
    }
}
