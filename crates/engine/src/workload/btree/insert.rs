//! Inserts into either tree: the search, the leaf, and the splits that may reach the root.

use super::{
    BTree, CHILDREN_MAX, HEIGHT, HEIGHT_MAX, INNER_CHILDREN, INNER_COUNT, INNER_KEYS, INNER_MARK, INNER_USED,
    LEAF_HEAD, LEAF_MARK, LEAF_NEXT, LEAVES_USED, LeafOrder, ROOT,
};
use crate::workload::transaction::Transaction;

/// The inner nodes from the root down to a leaf, and which child was taken in each.
#[derive(Default)]
struct Path {
    steps: [(u64, usize); HEIGHT_MAX],
    length: usize,
}

/// The head of a leaf, as a program would keep it in registers: the number of items, and their slots.
struct LeafHead([u8; LEAF_HEAD]);

impl LeafHead {
    fn of(slots: &[u8]) -> Self {
        let mut head = [0; LEAF_HEAD];
        head[0] = slots.len() as u8;
        head[1..=slots.len()].copy_from_slice(slots);
        LeafHead(head)
    }
    /// The head of `count` items in the first slots.
    fn in_order(count: usize) -> Self {
        let mut head = [0; LEAF_HEAD];
        head[0] = count as u8;
        for (slot, place) in (0..).zip(&mut head[1..=count]) {
            *place = slot;
        }
        LeafHead(head)
    }
    fn slots(&self) -> &[u8] {
        &self.0[1..1 + usize::from(self.0[0])]
    }
    /// The lowest slot that holds no item.
    fn free_slot(&self) -> u8 {
        let taken = self.slots().iter().fold(0u32, |taken, &slot| taken | 1 << slot);
        taken.trailing_ones() as u8
    }
    fn insert(&mut self, position: usize, slot: u8) {
        let count = usize::from(self.0[0]);
        self.0.copy_within(1 + position..1 + count, 2 + position);
        self.0[1 + position] = slot;
        self.0[0] += 1;
    }
    /// The bytes of the head that are in use.
    fn used(&self) -> &[u8] {
        &self.0[..1 + self.slots().len()]
    }
}

impl BTree {
    /// Inserts `key`, or gives it a new value if it exists.
    pub(in super::super) fn insert(&self, tx: &mut Transaction<'_>, key: u64) {
        let mut path = Path::default();
        let mut node = tx.read_word(self.start + ROOT, false);
        let height = tx.read_word(self.start + HEIGHT, false) as usize;
        for _ in 0..height {
            let child = self.search_inner(tx, node, key);
            path.steps[path.length] = (node, child);
            path.length += 1;
            node = tx.read_word(node + INNER_CHILDREN + 8 * child as u64, true);
        }
        let mut head = self.read_head(tx, node);
        let position = match self.search_leaf(tx, node, &head, key) {
            Ok(position) => {
                let address = self.item(node, head.slots()[position]);
                let version = tx.read_word(address + 8, false) + 1;
                return tx.write_item(address, key, version, self.item_bytes);
            }
            Err(position) => position,
        };
        if head.slots().len() < self.slots {
            self.insert_into_leaf(tx, node, &mut head, position, key);
        } else {
            let (separator, right) = self.split_leaf(tx, node, &head, position, key);
            self.insert_above(tx, &path, separator, right);
        }
    }

    fn read_head(&self, tx: &mut Transaction<'_>, leaf: u64) -> LeafHead {
        match self.order {
            LeafOrder::Named => {
                let mut head = LeafHead([0; LEAF_HEAD]);
                tx.read(leaf, &mut head.0, true);
                head
            }
            LeafOrder::Sorted => LeafHead::in_order(tx.read_word(leaf, true) as usize),
        }
    }

    fn write_head(&self, tx: &mut Transaction<'_>, leaf: u64, head: &LeafHead) {
        match self.order {
            LeafOrder::Named => tx.write(leaf, head.used()),
            LeafOrder::Sorted => tx.write_word(leaf, head.slots().len() as u64),
        }
    }

    fn move_item(&self, tx: &mut Transaction<'_>, from: u64, to: u64) {
        let item = tx.read_block(from, self.item_bytes);
        tx.write_block(to, item);
    }

    fn insert_into_leaf(&self, tx: &mut Transaction<'_>, leaf: u64, head: &mut LeafHead, position: usize, key: u64) {
        let count = head.slots().len();
        match self.order {
            LeafOrder::Named => {
                let slot = head.free_slot();
                tx.write_item(self.item(leaf, slot), key, 0, self.item_bytes);
                head.insert(position, slot);
            }
            LeafOrder::Sorted => {
                for slot in (position..count).rev() {
                    self.move_item(tx, self.item(leaf, slot as u8), self.item(leaf, slot as u8 + 1));
                }
                tx.write_item(self.item(leaf, position as u8), key, 0, self.item_bytes);
                *head = LeafHead::in_order(count + 1);
            }
        }
        self.write_head(tx, leaf, head);
    }

    /// Moves the upper half of the full leaf `leaf` to a new leaf and inserts `key` into the right one of the two.
    /// Returns the smallest key of the new leaf, and its address.
    fn split_leaf(
        &self,
        tx: &mut Transaction<'_>,
        leaf: u64,
        head: &LeafHead,
        position: usize,
        key: u64,
    ) -> (u64, u64) {
        let right = self.leaf(self.allocate(tx, LEAVES_USED));
        let stays = if position <= self.slots / 2 { self.slots / 2 } else { self.slots.div_ceil(2) };
        let (low, high) = head.slots().split_at(stays);
        let (mut left_head, mut right_head) = (LeafHead::of(low), LeafHead::in_order(high.len()));
        for (slot, &from) in (0..).zip(high) {
            self.move_item(tx, self.item(leaf, from), self.item(right, slot));
        }
        // A key between the halves stays in the left leaf, so the first item that moved stays the right leaf's
        // smallest.
        if position <= stays {
            self.insert_into_leaf(tx, leaf, &mut left_head, position, key);
            self.write_head(tx, right, &right_head);
        } else {
            self.insert_into_leaf(tx, right, &mut right_head, position - stays, key);
            self.write_head(tx, leaf, &left_head);
        }
        let separator = tx.read_word(self.item(right, 0), false);
        let next = tx.read_word(leaf + LEAF_NEXT, false);
        tx.write_word(right + LEAF_MARK, self.mark(right));
        tx.write_word(right + LEAF_NEXT, next);
        tx.write_word(leaf + LEAF_NEXT, right);
        (separator, right)
    }

    /// Links `right`, whose keys start at `separator`, next to the child that `path` leads to.
    fn insert_above(&self, tx: &mut Transaction<'_>, path: &Path, mut separator: u64, mut right: u64) {
        for &(node, child) in path.steps[..path.length].iter().rev() {
            match self.insert_into_inner(tx, node, child, separator, right) {
                Some(split) => (separator, right) = split,
                None => return,
            }
        }
        let left = tx.read_word(self.start + ROOT, false);
        let root = self.inner(self.allocate(tx, INNER_USED));
        self.write_inner(tx, root, &[separator], &[left, right]);
        tx.write_word(root + INNER_MARK, self.mark(root));
        tx.write_word(self.start + ROOT, root);
        tx.write_word(self.start + HEIGHT, path.length as u64 + 1);
    }

    /// Inserts into an inner node after child `child`. If the node was split, returns the key between the halves and
    /// the new node.
    fn insert_into_inner(
        &self,
        tx: &mut Transaction<'_>,
        node: u64,
        child: usize,
        separator: u64,
        right: u64,
    ) -> Option<(u64, u64)> {
        let count = tx.read_word(node + INNER_COUNT, false) as usize;
        let mut keys = [0; CHILDREN_MAX];
        let mut children = [0; CHILDREN_MAX + 1];
        read_words(tx, node + INNER_KEYS + 8 * child as u64, &mut keys[child..count - 1]);
        read_words(tx, node + INNER_CHILDREN + 8 * child as u64, &mut children[child..count]);
        if count < CHILDREN_MAX {
            keys.copy_within(child..count - 1, child + 1);
            children.copy_within(child + 1..count, child + 2);
            keys[child] = separator;
            children[child + 1] = right;
            write_words(tx, node + INNER_KEYS + 8 * child as u64, &keys[child..count]);
            write_words(tx, node + INNER_CHILDREN + 8 * (child + 1) as u64, &children[child + 1..=count]);
            tx.write_word(node + INNER_COUNT, count as u64 + 1);
            return None;
        }
        read_words(tx, node + INNER_KEYS, &mut keys[..child]);
        read_words(tx, node + INNER_CHILDREN, &mut children[..child]);
        keys.copy_within(child..count - 1, child + 1);
        children.copy_within(child + 1..count, child + 2);
        keys[child] = separator;
        children[child + 1] = right;
        let stays = CHILDREN_MAX.div_ceil(2);
        let new = self.inner(self.allocate(tx, INNER_USED));
        self.write_inner(tx, node, &keys[..stays - 1], &children[..stays]);
        self.write_inner(tx, new, &keys[stays..], &children[stays..]);
        tx.write_word(new + INNER_MARK, self.mark(new));
        Some((keys[stays - 1], new))
    }

    fn write_inner(&self, tx: &mut Transaction<'_>, node: u64, keys: &[u64], children: &[u64]) {
        tx.write_word(node + INNER_COUNT, children.len() as u64);
        write_words(tx, node + INNER_KEYS, keys);
        write_words(tx, node + INNER_CHILDREN, children);
    }

    /// Takes the next node of the arena whose number of used nodes is in the anchor at `field`.
    fn allocate(&self, tx: &mut Transaction<'_>, field: u64) -> u64 {
        let used = tx.read_word(self.start + field, false);
        debug_assert!(used < if field == LEAVES_USED { self.leaf_capacity } else { self.inner_capacity });
        tx.write_word(self.start + field, used + 1);
        used
    }

    /// The child of `node` that `key` belongs to: after the keys that are not greater.
    fn search_inner(&self, tx: &mut Transaction<'_>, node: u64, key: u64) -> usize {
        let count = tx.read_word(node + INNER_COUNT, true) as usize;
        let (mut low, mut high) = (0, count - 1);
        while low < high {
            let middle = (low + high) / 2;
            let found = tx.read_word(node + INNER_KEYS + 8 * middle as u64, true);
            tx.compare();
            if found <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The position of `key` among the leaf's items, or the position at which it would be inserted.
    fn search_leaf(&self, tx: &mut Transaction<'_>, leaf: u64, head: &LeafHead, key: u64) -> Result<usize, usize> {
        let slots = head.slots();
        let (mut low, mut high) = (0, slots.len());
        while low < high {
            let middle = (low + high) / 2;
            let found = tx.read_word(self.item(leaf, slots[middle]), true);
            tx.compare();
            match found.cmp(&key) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}

fn read_words(tx: &mut Transaction<'_>, address: u64, words: &mut [u64]) {
    let mut bytes = [0; 8 * (CHILDREN_MAX + 1)];
    let bytes = &mut bytes[..8 * words.len()];
    tx.read(address, bytes, false);
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    }
}

fn write_words(tx: &mut Transaction<'_>, address: u64, words: &[u64]) {
    let mut bytes = [0; 8 * (CHILDREN_MAX + 1)];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    if !words.is_empty() {
        tx.write(address, &bytes[..8 * words.len()]);
    }
}
