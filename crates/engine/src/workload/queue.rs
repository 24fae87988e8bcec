//! A ring of entries with head and tail in a header line; a transaction enqueues or dequeues one (secpm section 4.1).
//!
//! Head and tail are positions that only increase. They begin at a random number, so that the header line is as
//! distinctive as any other data. The entry at a position is determined by the position.

use super::item;
use super::structure::{Share, Structure, WriteBound, fill_items, put_word};
use super::transaction::Transaction;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES, PAGE_BYTES};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

const HEAD: u64 = 0;
const TAIL: u64 = 8;

pub(super) struct Queue {
    start: u64,
    entries_start: u64,
    capacity: u64,
    entry_bytes: u64,
    origin: u64,
    seed: u64,
}

impl Queue {
    pub(super) fn new(share: Share) -> Self {
        // The header has its own page, and entries begin on a page.
        let capacity = ((share.bytes - PAGE_BYTES.min(share.bytes)) / share.tx_size).max(2);
        Self {
            start: share.start,
            entries_start: share.start + PAGE_BYTES,
            capacity,
            entry_bytes: share.tx_size,
            origin: item::scatter(share.seed) >> 8,
            seed: share.seed,
        }
    }

    fn address(&self, position: u64) -> u64 {
        self.entries_start + (position - self.origin) % self.capacity * self.entry_bytes
    }

    fn key(&self, position: u64) -> u64 {
        item::nth(self.seed, position)
    }

    fn enqueue(&self, tx: &mut Transaction<'_>, tail: u64) {
        tx.write_item(self.address(tail), self.key(tail), tail, self.entry_bytes);
        tx.write_word(self.start + TAIL, tail + 1);
    }

    fn dequeue(&self, tx: &mut Transaction<'_>, head: u64) {
        tx.read_block(self.address(head), self.entry_bytes);
        tx.write_word(self.start + HEAD, head + 1);
    }
}

impl Structure for Queue {
    fn populated(&self) -> Vec<Range<u64>> {
        vec![
            self.start..self.start + LINE_BYTES,
            self.entries_start..self.entries_start + self.capacity / 2 * self.entry_bytes,
        ]
    }

    fn end(&self) -> u64 {
        self.entries_start + self.capacity * self.entry_bytes
    }

    fn populate(&self, extent: usize, bytes: &mut [u8], stop: &AtomicBool) {
        if extent == 0 {
            put_word(bytes, HEAD as usize, self.origin);
            put_word(bytes, TAIL as usize, self.origin + self.capacity / 2);
            return;
        }
        fill_items(bytes, self.entry_bytes as usize, stop, |number, entry| {
            let position = self.origin + number;
            item::fill(self.key(position), position, entry);
        });
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        let head = tx.read_word(self.start + HEAD, false);
        let tail = tx.read_word(self.start + TAIL, false);
        tx.compare();
        let wants_enqueue = random.below(2) == 0;
        let length = tail - head;
        if length == 0 || (wants_enqueue && length < self.capacity) {
            self.enqueue(tx, tail);
        } else {
            self.dequeue(tx, head);
        }
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let head = view.read_u64(self.start + HEAD);
        let tail = view.read_u64(self.start + TAIL);
        if head < self.origin || tail < head || tail - head > self.capacity {
            return Err(format!("queue header is garbage: head {head:#x}, tail {tail:#x}"));
        }
        for position in head..tail {
            let address = self.address(position);
            if item::verify(view, address, self.entry_bytes) != Some((self.key(position), position)) {
                return Err(format!("queue entry {} from the head, at {address:#x}, is not its own", position - head));
            }
        }
        Ok(())
    }

    fn write_bound(&self) -> WriteBound {
        WriteBound { ranges: 2, bytes: self.entry_bytes + 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::rig::Rig;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn queues_like_a_deque(lines in 1..5u64, wants in prop::collection::vec(any::<bool>(), 1..300)) {
            let mut rig = Rig::new(Queue::new, 4096 + lines * 64 * 20, lines * 64, 0, 7);
            let capacity = rig.structure.capacity;
            let mut reference: VecDeque<u64> =
                (0..capacity / 2).map(|index| rig.structure.key(rig.structure.origin + index)).collect();
            let (mut head, mut tail) = (rig.structure.origin, rig.structure.origin + capacity / 2);
            for enqueue in wants {
                if enqueue && (reference.len() as u64) < capacity {
                    rig.run(|queue, tx| queue.enqueue(tx, tail));
                    reference.push_back(rig.structure.key(tail));
                    tail += 1;
                } else if !enqueue && !reference.is_empty() {
                    rig.run(|queue, tx| queue.dequeue(tx, head));
                    reference.pop_front();
                    head += 1;
                }
                prop_assert_eq!(rig.memory.read_u64(rig.structure.start + HEAD), head);
                prop_assert_eq!(rig.memory.read_u64(rig.structure.start + TAIL), tail);
            }
            for (position, key) in (head..).zip(reference) {
                prop_assert_eq!(rig.memory.read_u64(rig.structure.address(position)), key);
            }
        }
    }

    #[test]
    fn disturbed_entries_and_headers_are_noticed() {
        let mut rig = Rig::new(Queue::new, 8192, 128, 0, 1);
        let [header, entries] = rig.structure.populated().try_into().unwrap();
        // A head that is a few positions off is a valid result of other operations.
        rig.disturb(header.start..header.start + 8, 95);
        rig.disturb(entries, 100);
    }
}
