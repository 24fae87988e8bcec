//! The invariants of both trees: every node has the type that its parent expects, keys are in order and within bounds,
//! all leaves have the same depth and are chained in order, slots are distinct, items are whole, and no allocated node
//! is lost.

use super::{
    BTree, CHILDREN_MAX, HEIGHT, HEIGHT_MAX, INNER_BYTES, INNER_CHILDREN, INNER_COUNT, INNER_KEYS, INNER_MARK,
    INNER_USED, LEAF_HEAD, LEAF_MARK, LEAF_NEXT, LEAVES_USED, LeafOrder, ROOT,
};
use crate::message::ByteView;
use crate::workload::item;
use std::ops::Range;

/// What the walk has found so far, in the order of keys.
struct Walk<'a> {
    tree: &'a BTree,
    view: &'a mut dyn ByteView,
    leaves: u64,
    inner: u64,
    /// The leaf that the previous leaf names as its next.
    expected: Option<u64>,
}

impl BTree {
    pub(super) fn check_tree(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let [root, height, leaves, inner] =
            [ROOT, HEIGHT, LEAVES_USED, INNER_USED].map(|field| view.read_u64(self.start + field));
        let name = self.name();
        if height > HEIGHT_MAX as u64 || leaves > self.leaf_capacity || inner > self.inner_capacity {
            return Err(format!(
                "the {name}'s anchor is garbage: height {height}, {leaves} leaves, {inner} inner nodes"
            ));
        }
        let mut walk = Walk { tree: self, view, leaves: 0, inner: 0, expected: None };
        walk.node(root, height, 0..1 << 64)?;
        if walk.expected != Some(0) {
            return Err(format!("the {name}'s last leaf names another one as its next"));
        }
        if (walk.leaves, walk.inner) != (leaves, inner) {
            return Err(format!(
                "the {name} has {} leaves and {} inner nodes, its anchor says {leaves} and {inner}",
                walk.leaves, walk.inner
            ));
        }
        Ok(())
    }
}

impl Walk<'_> {
    /// Checks the subtree at `node`, `height` levels above the leaves, whose keys must lie in `keys`.
    fn node(&mut self, node: u64, height: u64, keys: Range<u128>) -> Result<(), String> {
        let (start, size, capacity, mark) = if height == 0 {
            (self.tree.leaves_start, self.tree.leaf_bytes, self.tree.leaf_capacity, LEAF_MARK)
        } else {
            (self.tree.inner_start, INNER_BYTES, self.tree.inner_capacity, INNER_MARK)
        };
        let offset = node.wrapping_sub(start);
        if node < start || !offset.is_multiple_of(size) || offset / size >= capacity {
            return Err(format!("{} pointer {node:#x} leads to no node of its level", self.tree.name()));
        }
        if self.view.read_u64(node + mark) != self.tree.mark(node) {
            return Err(format!("{} node {node:#x} does not carry its mark", self.tree.name()));
        }
        if height == 0 { self.leaf(node, keys) } else { self.inner(node, height, keys) }
    }

    fn inner(&mut self, node: u64, height: u64, keys: Range<u128>) -> Result<(), String> {
        let count = self.view.read_u64(node + INNER_COUNT);
        if !(1..=CHILDREN_MAX as u64).contains(&count) {
            return Err(format!("{} node {node:#x} says it has {count} children", self.tree.name()));
        }
        self.inner += 1;
        let mut low = keys.start;
        for child in 0..count {
            let high = if child + 1 == count {
                keys.end
            } else {
                u128::from(self.view.read_u64(node + INNER_KEYS + 8 * child))
            };
            // Key ranges never grow on the way down, and an empty range ends the walk: garbage cannot cause an endless
            // loop.
            if low >= high || high > keys.end {
                return Err(format!("keys of {} node {node:#x} are out of order", self.tree.name()));
            }
            let pointer = self.view.read_u64(node + INNER_CHILDREN + 8 * child);
            self.node(pointer, height - 1, low..high)?;
            low = high;
        }
        Ok(())
    }

    fn leaf(&mut self, node: u64, keys: Range<u128>) -> Result<(), String> {
        let name = self.tree.name();
        if self.expected.is_some_and(|expected| expected != node) {
            return Err(format!("{name} leaf {node:#x} is not the next of the leaf before it"));
        }
        self.leaves += 1;
        self.expected = Some(self.view.read_u64(node + LEAF_NEXT));
        let mut head = [0; LEAF_HEAD];
        self.view.read(node, &mut head);
        let count = usize::from(head[0]);
        if count == 0 || count > self.tree.slots {
            return Err(format!("{name} leaf {node:#x} says it has {count} items"));
        }
        if self.tree.order == LeafOrder::Sorted {
            if head[1..].iter().any(|&byte| byte != 0) {
                return Err(format!("{name} leaf {node:#x} has more in its header than the number of its items"));
            }
            for (slot, place) in (0..).zip(&mut head[1..=count]) {
                *place = slot;
            }
        }
        let mut low = keys.start;
        let mut taken = 0u32;
        for &slot in &head[1..=count] {
            if usize::from(slot) >= self.tree.slots || taken & 1 << slot != 0 {
                return Err(format!("{name} leaf {node:#x} names slot {slot} twice or has no such slot"));
            }
            taken |= 1 << slot;
            let address = self.tree.item(node, slot);
            let Some((key, _)) = item::verify(self.view, address, self.tree.item_bytes) else {
                return Err(format!("{name} item at {address:#x} is garbage"));
            };
            if u128::from(key) < low || u128::from(key) >= keys.end {
                return Err(format!("{name} item at {address:#x} is out of order"));
            }
            low = u128::from(key) + 1;
        }
        Ok(())
    }
}
