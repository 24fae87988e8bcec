//! A ring of entries with head and tail in a header line; a transaction enqueues or dequeues one (secpm section 4.1).
//!
//! Head and tail are positions that only increase. They begin at a random number, so that the header line is as
//! distinctive as any other data. The entry at a position is determined by the position.
//!
//! If a transaction is to write nothing but its entry, there is no header. An entry holds its position, and dequeuing
//! marks it there. Head and tail are where the marks and the positions change; the program knows them without a load,
//! and finds them again by a search after a power failure.

use super::initial::{InitialContents, Part, put_word};
use super::item;
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::config::ItemMetadata;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES, PAGE_BYTES};
use std::ops::Range;

const HEAD: u64 = 0;
const TAIL: u64 = 8;
/// Where an entry holds its position.
const POSITION: u64 = 8;
/// The mark, beside its position, of an entry that has been dequeued.
const TAKEN: u64 = 1 << 63;

pub(super) struct Queue {
    start: u64,
    entries_start: u64,
    capacity: u64,
    entry_bytes: u64,
    origin: u64,
    seed: u64,
    metadata: ItemMetadata,
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
            metadata: share.metadata,
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
        if self.metadata == ItemMetadata::Beside {
            tx.write_word(self.start + TAIL, tail + 1);
        }
    }

    fn dequeue(&self, tx: &mut Transaction<'_>, head: u64) {
        tx.read_block(self.address(head), self.entry_bytes);
        match self.metadata {
            ItemMetadata::Beside => tx.write_word(self.start + HEAD, head + 1),
            ItemMetadata::Inside => tx.write_word(self.address(head) + POSITION, head | TAKEN),
        }
    }

    /// Head and tail of a queue without a header; `word` is the word at an address. The slots hold successive positions
    /// up to the last that was enqueued, and all before the head are marked, so both are found by bisection. Of garbage
    /// it finds something.
    fn ends(&self, mut word: impl FnMut(u64) -> u64) -> (u64, u64) {
        let mut position = |slot: u64| word(self.entries_start + slot * self.entry_bytes + POSITION);
        let first = position(0) & !TAKEN;
        let follows = |slot, found: u64| found & !TAKEN == first.wrapping_add(slot);
        let tail = first.wrapping_add(bisect(1, self.capacity, |slot| follows(slot, position(slot))));
        let oldest = tail.saturating_sub(self.capacity).max(self.origin);
        let head = bisect(oldest, tail.max(oldest), |at| position((at - self.origin) % self.capacity) & TAKEN != 0);
        (head, tail)
    }

    /// Checks every entry of a queue without a header.
    fn check_entries(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let (head, tail) = self.ends(|address| view.read_u64(address));
        if head < self.origin || tail < head || tail - head > self.capacity {
            return Err(format!("queue entries are garbage: head {head:#x}, tail {tail:#x}"));
        }
        for position in tail.saturating_sub(self.capacity).max(self.origin)..tail {
            let address = self.address(position);
            let found = view.read_u64(address + POSITION);
            let is_own = match position < head {
                true => found == position | TAKEN,
                false => item::verify(view, address, self.entry_bytes) == Some((self.key(position), position)),
            };
            if !is_own {
                return Err(format!("queue entry of position {position:#x}, at {address:#x}, is not its own"));
            }
        }
        Ok(())
    }
}

/// The first of `from..until` for which `holds` does not hold, if it holds for none after that; `until` if there is none.
fn bisect(mut from: u64, mut until: u64, mut holds: impl FnMut(u64) -> bool) -> u64 {
    while from < until {
        let middle = from + (until - from) / 2;
        if holds(middle) { from = middle + 1 } else { until = middle }
    }
    from
}

impl InitialContents for Queue {
    fn populated(&self) -> Vec<Range<u64>> {
        let entries = self.entries_start..self.entries_start + self.capacity / 2 * self.entry_bytes;
        match self.metadata {
            ItemMetadata::Beside => vec![self.start..self.start + LINE_BYTES, entries],
            ItemMetadata::Inside => std::iter::once(entries).collect(),
        }
    }

    fn populate(&self, extent: usize, part: &mut Part<'_>) {
        if self.metadata == ItemMetadata::Beside && extent == 0 {
            part.fill_items(LINE_BYTES, |_, header| {
                put_word(header, HEAD as usize, self.origin);
                put_word(header, TAIL as usize, self.origin + self.capacity / 2);
            });
            return;
        }
        part.fill_items(self.entry_bytes, |number, entry| {
            let position = self.origin + number;
            item::fill(self.key(position), position, entry);
        });
    }
}

impl Structure for Queue {
    fn end(&self) -> u64 {
        self.entries_start + self.capacity * self.entry_bytes
    }

    fn transact(&self, tx: &mut Transaction<'_>, random: &mut Random) {
        let (head, tail) = match self.metadata {
            ItemMetadata::Beside => (tx.read_word(self.start + HEAD, false), tx.read_word(self.start + TAIL, false)),
            ItemMetadata::Inside => self.ends(|address| tx.known_word(address)),
        };
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
        if self.metadata == ItemMetadata::Inside {
            return self.check_entries(view);
        }
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
        match self.metadata {
            ItemMetadata::Beside => WriteBound { ranges: 2, bytes: self.entry_bytes + 8 },
            ItemMetadata::Inside => WriteBound { ranges: 1, bytes: self.entry_bytes },
        }
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn without_a_header_it_finds_its_ends(lines in 1..5u64, wants in prop::collection::vec(any::<bool>(), 1..300)) {
            let bytes = 4096 + lines * 64 * 9;
            let mut rig = Rig::keeping(ItemMetadata::Inside, Queue::new, bytes, lines * 64, 0, 7);
            let capacity = rig.structure.capacity;
            let (mut head, mut tail) = (rig.structure.origin, rig.structure.origin + capacity / 2);
            for enqueue in wants {
                if enqueue && tail - head < capacity {
                    rig.run(|queue, tx| queue.enqueue(tx, tail));
                    tail += 1;
                } else if !enqueue && head < tail {
                    rig.run(|queue, tx| queue.dequeue(tx, head));
                    head += 1;
                }
                let found = rig.structure.ends(|address| rig.memory.read_u64(address));
                prop_assert_eq!(found, (head, tail));
            }
        }
    }

    #[test]
    fn queue_without_a_header_is_found_empty_and_full() {
        let mut rig = Rig::keeping(ItemMetadata::Inside, Queue::new, 4096 + 64 * 4, 64, 0, 7);
        let origin = rig.structure.origin;
        let ends = |rig: &mut Rig<Queue>| rig.structure.ends(|address| rig.memory.read_u64(address));
        assert_eq!(ends(&mut rig), (origin, origin + 2));
        for tail in [2, 3] {
            rig.run(|queue, tx| queue.enqueue(tx, origin + tail));
        }
        assert_eq!(ends(&mut rig), (origin, origin + 4));
        for head in 0..4 {
            rig.run(|queue, tx| queue.dequeue(tx, origin + head));
        }
        assert_eq!(ends(&mut rig), (origin + 4, origin + 4));
        rig.run(|queue, tx| queue.enqueue(tx, origin + 4));
        assert_eq!(ends(&mut rig), (origin + 4, origin + 5));
    }

    #[test]
    fn disturbed_entries_without_a_header_are_noticed() {
        let mut rig = Rig::keeping(ItemMetadata::Inside, Queue::new, 8192, 128, 0, 1);
        let [entries] = rig.structure.populated().try_into().unwrap();
        // A mark or a position more at an end is a valid result of other operations.
        rig.disturb(entries, 98);
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
