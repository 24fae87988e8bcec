//! A queue of linked nodes; a transaction enqueues or dequeues one (easy-pm section IV-A).
//!
//! ```text
//! header   head | tail | free | positions given out
//! node     56 bytes unused | next || item of tx_size bytes
//! ```
//!
//! Enqueue takes a node from the free list, fills it and links it after the tail. Dequeue unlinks the node at the head
//! and puts it at the front of the free list. Memory is reused, newest first, and never grows. The pointer is at the
//! end of the node's first line: pointer and item are one contiguous range and the item is line-aligned. Address 0 is
//! not a node (it belongs to a log ring). An item is determined by its position, which only increases and begins at a
//! random number.

use super::initial::{InitialContents, Part, put_word};
use super::item;
use super::nodes::Nodes;
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::kernel::{Random, Shuffle};
use crate::message::{ByteView, LINE_BYTES};
use std::ops::Range;

const HEAD: u64 = 0;
const TAIL: u64 = 8;
const FREE: u64 = 16;
/// The position of the next item.
const POSITIONS: u64 = 24;
const HEADER_BYTES: u64 = 32;

const NEXT: u64 = 56;
const ITEM: u64 = 64;

pub(super) struct ChainQueue {
    start: u64,
    nodes: Nodes,
    item_bytes: u64,
    origin: u64,
    shuffle: Shuffle,
    seed: u64,
}

impl ChainQueue {
    pub(super) fn new(share: Share) -> Self {
        let node_bytes = ITEM + share.tx_size;
        let count = Nodes::fitting(&share, node_bytes).max(2);
        Self {
            start: share.start,
            nodes: Nodes::new(&share, node_bytes, count),
            item_bytes: share.tx_size,
            origin: item::scatter(share.seed) >> 8,
            shuffle: Shuffle::new(count, share.seed),
            seed: share.seed,
        }
    }

    fn key(&self, position: u64) -> u64 {
        item::nth(self.seed, position)
    }

    /// Enqueues the next item if a node is free. Returns whether it did.
    fn enqueue(&self, tx: &mut Transaction<'_>) -> bool {
        let node = tx.read_word(self.start + FREE, false);
        tx.compare();
        if node == 0 {
            return false;
        }
        let free = tx.read_word(node + NEXT, true);
        let position = tx.read_word(self.start + POSITIONS, false);
        let tail = tx.read_word(self.start + TAIL, false);
        tx.write_word(node + NEXT, 0);
        tx.write_item(node + ITEM, self.key(position), position, self.item_bytes);
        let link = if tail == 0 { self.start + HEAD } else { tail + NEXT };
        tx.write_word(link, node);
        tx.write_word(self.start + TAIL, node);
        tx.write_word(self.start + FREE, free);
        tx.write_word(self.start + POSITIONS, position + 1);
        true
    }

    /// Dequeues the oldest item if there is one. Returns whether it did.
    fn dequeue(&self, tx: &mut Transaction<'_>) -> bool {
        let node = tx.read_word(self.start + HEAD, false);
        tx.compare();
        if node == 0 {
            return false;
        }
        let next = tx.read_word(node + NEXT, true);
        tx.read_block(node + ITEM, self.item_bytes);
        let free = tx.read_word(self.start + FREE, false);
        tx.write_word(self.start + HEAD, next);
        if next == 0 {
            tx.write_word(self.start + TAIL, 0);
        }
        tx.write_word(self.start + FREE, node);
        tx.write_word(node + NEXT, free);
        true
    }

    /// Nodes in the populated queue; the others are free.
    fn queued(&self) -> u64 {
        self.nodes.count / 2
    }

    /// The address of node `place`, counted over the populated queue and then the free list. Nodes are in shuffled
    /// order, as after many random operations.
    fn placed(&self, place: u64) -> u64 {
        self.nodes.address(self.shuffle.forward(place))
    }

    fn populate_node(&self, place: u64, bytes: &mut [u8]) {
        let last = place + 1 == self.queued() || place + 1 == self.nodes.count;
        put_word(bytes, NEXT as usize, if last { 0 } else { self.placed(place + 1) });
        // A free node still holds its dequeued item.
        let position = self.origin + (place + self.nodes.count - self.queued()) % self.nodes.count;
        item::fill(self.key(position), position, &mut bytes[ITEM as usize..]);
    }

    /// Follows the list from `first` to its end, but at most `most` nodes. Returns the number of nodes, and the last
    /// one.
    fn walk(
        &self,
        view: &mut dyn ByteView,
        first: u64,
        most: u64,
        mut visit: impl FnMut(&mut dyn ByteView, u64, u64) -> Result<(), String>,
    ) -> Result<(u64, u64), String> {
        let (mut node, mut last, mut count) = (first, 0, 0);
        while node != 0 {
            if self.nodes.number(node).is_none() {
                return Err(format!("chain queue pointer {node:#x} leads to no node"));
            }
            if count == most {
                return Err(format!("more than {most} nodes follow {first:#x} in the chain queue"));
            }
            visit(view, node, count)?;
            (last, count) = (node, count + 1);
            node = view.read_u64(node + NEXT);
        }
        Ok((count, last))
    }
}

impl InitialContents for ChainQueue {
    fn populated(&self) -> Vec<Range<u64>> {
        vec![self.start..self.start + LINE_BYTES, self.nodes.start..self.end()]
    }

    fn populate(&self, extent: usize, part: &mut Part<'_>) {
        if extent == 0 {
            let words = [self.placed(0), self.placed(self.queued() - 1), self.placed(self.queued())];
            part.fill_items(LINE_BYTES, |_, header| {
                for (field, word) in [HEAD, TAIL, FREE].into_iter().zip(words) {
                    put_word(header, field as usize, word);
                }
                put_word(header, POSITIONS as usize, self.origin + self.nodes.count);
            });
            return;
        }
        part.fill_items(self.nodes.bytes, |node, bytes| {
            self.populate_node(self.shuffle.inverse(node), bytes);
        });
    }
}

impl Structure for ChainQueue {
    fn end(&self) -> u64 {
        self.nodes.end()
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        let wants_enqueue = random.below(2) == 0;
        let done = (wants_enqueue && self.enqueue(tx)) || self.dequeue(tx) || self.enqueue(tx);
        debug_assert!(done, "there is a node, in the queue or free");
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let [head, tail, free, positions] =
            [HEAD, TAIL, FREE, POSITIONS].map(|field| view.read_u64(self.start + field));
        let mut first = 0;
        let (queued, last) = self.walk(view, head, self.nodes.count, |view, node, count| {
            let found = item::verify(view, node + ITEM, self.item_bytes);
            first = if count == 0 { found.map_or(0, |(_, position)| position) } else { first };
            let position = first.wrapping_add(count);
            if found != Some((self.key(position), position)) {
                return Err(format!("chain queue node {node:#x}, {count} from the head, does not hold its own item"));
            }
            Ok(())
        })?;
        if last != tail {
            return Err(format!("the chain queue ends with node {last:#x}, its tail pointer says {tail:#x}"));
        }
        if positions < self.origin + self.nodes.count || (queued > 0 && first.wrapping_add(queued) != positions) {
            return Err(format!(
                "the chain queue has {queued} items from position {first:#x} on, and {positions:#x} comes next"
            ));
        }
        // Lists that share a node have the same last node.
        let (unused, last_free) = self.walk(view, free, self.nodes.count - queued, |_, _, _| Ok(()))?;
        if unused > 0 && last_free == last {
            return Err("the free list of the chain queue runs into the queue".to_owned());
        }
        if unused + queued != self.nodes.count {
            return Err(format!(
                "of the {} nodes of the chain queue {queued} are queued and {unused} are free",
                self.nodes.count
            ));
        }
        Ok(())
    }

    fn write_bound(&self) -> WriteBound {
        // The new node, the pointer to it, the header.
        WriteBound { ranges: 3, bytes: 8 + self.item_bytes + 8 + HEADER_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::rig::Rig;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, VecDeque};

    /// The nodes of the list that begins at header field `field`, in order.
    fn list(rig: &mut Rig<ChainQueue>, field: u64) -> VecDeque<u64> {
        let mut nodes = VecDeque::new();
        let mut node = rig.memory.read_u64(rig.structure.start + field);
        while node != 0 {
            nodes.push_back(node);
            node = rig.memory.read_u64(node + NEXT);
        }
        nodes
    }

    /// The positions of the queued items, oldest first.
    fn contents(rig: &mut Rig<ChainQueue>) -> VecDeque<u64> {
        list(rig, HEAD).into_iter().map(|node| rig.memory.read_u64(node + ITEM + 8)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn queues_like_a_deque_and_allocates_like_a_stack(
            lines in 1..5u64, nodes in 2..20u64, enqueues_in_four in 0..5u64,
            draws in prop::collection::vec(0..4u64, 1..300), seed: u64,
        ) {
            let bytes = 4096 + nodes * (lines * 64 + 64);
            let mut rig = Rig::new(ChainQueue::new, bytes, lines * 64, 0, seed);
            prop_assert_eq!(rig.structure.nodes.count, nodes);
            let mut items = contents(&mut rig);
            let (mut queued, mut free) = (list(&mut rig, HEAD), list(&mut rig, FREE));
            prop_assert_eq!((queued.len() as u64, free.len() as u64), (nodes / 2, nodes - nodes / 2));
            let mut next = items.back().unwrap() + 1;
            for draw in draws {
                let mut done = false;
                if draw < enqueues_in_four {
                    rig.run(|queue, tx| done = queue.enqueue(tx));
                    prop_assert_eq!(done, !free.is_empty());
                    if let Some(node) = free.pop_front() {
                        queued.push_back(node);
                        items.push_back(next);
                        next += 1;
                    }
                } else {
                    rig.run(|queue, tx| done = queue.dequeue(tx));
                    prop_assert_eq!(done, !queued.is_empty());
                    items.pop_front();
                    if let Some(node) = queued.pop_front() {
                        free.push_front(node);
                    }
                }
                prop_assert_eq!(&list(&mut rig, HEAD), &queued);
                prop_assert_eq!(&list(&mut rig, FREE), &free);
                prop_assert_eq!(&contents(&mut rig), &items);
            }
        }
    }

    #[test]
    fn full_queue_dequeues_and_an_empty_one_enqueues() {
        let mut rig = Rig::new(ChainQueue::new, 4096 + 4 * 128, 64, 0, 5);
        let mut lengths = BTreeSet::new();
        let mut random = Random::stream(1, "test");
        for _ in 0..200 {
            let before = list(&mut rig, HEAD).len();
            rig.run(|queue, tx| queue.transact(tx, &mut random));
            let after = list(&mut rig, HEAD).len();
            assert_eq!(before.abs_diff(after), 1);
            lengths.insert(after);
        }
        assert_eq!(lengths, BTreeSet::from([0, 1, 2, 3, 4]));
    }

    /// Writes `value` at `address`; the check must report `sentence`.
    fn caught(rig: &mut Rig<ChainQueue>, address: u64, value: u64, sentence: &str) {
        let before = rig.memory.read_u64(address);
        rig.memory.write_u64(address, value);
        let error = rig.structure.check(&mut rig.memory).unwrap_err();
        assert!(error.contains(sentence), "'{error}' does not say '{sentence}'");
        rig.memory.write_u64(address, before);
        rig.structure.check(&mut rig.memory).unwrap();
    }

    #[test]
    fn lists_that_are_too_short_too_long_or_run_together_are_noticed() {
        let mut rig = Rig::new(ChainQueue::new, 4096 + 8 * 128, 64, 0, 5);
        let (queued, free) = (list(&mut rig, HEAD), list(&mut rig, FREE));
        let start = rig.structure.start;
        caught(&mut rig, start + HEAD, queued[1], "3 are queued and 4 are free");
        caught(&mut rig, start + HEAD, 0, "its tail pointer says");
        caught(&mut rig, start + TAIL, queued[2], "its tail pointer says");
        caught(&mut rig, start + FREE, free[1], "4 are queued and 3 are free");
        caught(&mut rig, start + POSITIONS, u64::MAX, "comes next");
        caught(&mut rig, queued[3] + NEXT, free[0], "does not hold its own item");
        caught(&mut rig, queued[1] + NEXT, queued[3], "does not hold its own item");
        caught(&mut rig, free[3] + NEXT, free[0], "more than 4 nodes");
        // The number of nodes is right, but two of them are queued too, and two are lost.
        caught(&mut rig, free[1] + NEXT, queued[2], "runs into the queue");
        caught(&mut rig, free[1] + NEXT, start, "leads to no node");
    }

    #[test]
    fn disturbed_nodes_and_headers_are_noticed() {
        let mut rig = Rig::new(ChainQueue::new, 16384, 256, 0, 1);
        let [header, nodes] = rig.structure.populated().try_into().unwrap();
        rig.disturb(header.start..header.start + HEADER_BYTES, 100);
        // Half of the nodes are free and hold only a pointer; seven of forty words of the others are unused.
        rig.disturb(nodes, 36);
    }
}
