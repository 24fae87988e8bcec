//! A list without a log: a new node is written and flushed, then the head pointer is replaced with one 8-byte store
//! (counter-atomicity section 2.2.3, Figure 4). It needs data and counter to be written atomically.

use super::initial::{InitialContents, Part, put_word};
use super::item;
use super::nodes::Nodes;
use super::structure::{Share, Structure, WriteBound};
use super::transaction::Transaction;
use crate::kernel::Random;
use crate::message::{ByteView, LINE_BYTES};
use std::ops::Range;

/// Offset of a node's item, after the pointer to the next older node.
const ITEM: u64 = 8;

pub(super) struct LinkedList {
    start: u64,
    nodes: Nodes,
    populated: u64,
    seed: u64,
}

impl LinkedList {
    pub(super) fn new(share: Share) -> Self {
        let populated = Nodes::fitting(&share, share.tx_size).max(1);
        Self {
            start: share.start,
            nodes: Nodes::new(&share, share.tx_size, populated + share.room),
            populated,
            seed: share.seed,
        }
    }
}

impl InitialContents for LinkedList {
    fn populated(&self) -> Vec<Range<u64>> {
        vec![self.start..self.start + LINE_BYTES, self.nodes.start..self.nodes.address(self.populated)]
    }

    fn populate(&self, extent: usize, part: &mut Part<'_>) {
        if extent == 0 {
            part.fill_items(LINE_BYTES, |_, header| put_word(header, 0, self.nodes.address(self.populated - 1)));
            return;
        }
        part.fill_items(self.nodes.bytes, |node, bytes| {
            put_word(bytes, 0, if node == 0 { 0 } else { self.nodes.address(node - 1) });
            item::fill(item::nth(self.seed, node), node, &mut bytes[ITEM as usize..]);
        });
    }
}

impl Structure for LinkedList {
    fn end(&self) -> u64 {
        self.nodes.end()
    }

    fn transact(&self, tx: &mut Transaction<'_>, _random: &mut Random) {
        let head = tx.read_word(self.start, false);
        // Nodes are never freed, so the newest has the highest address and the next free node is above it.
        let node = (head - self.nodes.start) / self.nodes.bytes + 1;
        let address = self.nodes.address(node);
        tx.write_word(address, head);
        tx.write_item(address + ITEM, item::nth(self.seed, node), node, self.nodes.bytes - ITEM);
        tx.write_word(self.start, address);
    }

    fn check(&self, view: &mut dyn ByteView) -> Result<(), String> {
        let mut address = view.read_u64(self.start);
        let Some(newest) = self.nodes.number(address) else {
            return Err(format!("the list's head pointer is garbage: {address:#x}"));
        };
        if newest + 1 < self.populated {
            return Err(format!("the list's head points at its old node {newest}: newer ones are lost"));
        }
        // Nodes are numbered in the order of creation, so the walk cannot loop.
        for node in (0..=newest).rev() {
            let found = self.nodes.number(address);
            let identity = found.and_then(|_| item::verify(view, address + ITEM, self.nodes.bytes - ITEM));
            if identity != Some((item::nth(self.seed, node), node)) {
                return Err(format!("the list's node {node}, reached at {address:#x}, is garbage"));
            }
            address = view.read_u64(address);
        }
        if address != 0 {
            return Err(format!("the list does not end with its oldest node but goes on to {address:#x}"));
        }
        Ok(())
    }

    fn write_bound(&self) -> WriteBound {
        WriteBound { ranges: 2, bytes: self.nodes.bytes + 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::rig::Rig;

    #[test]
    fn nodes_are_pushed_in_front() {
        let mut rig = Rig::new(LinkedList::new, 8192, 64, 50, 7);
        let mut head = rig.memory.read_u64(rig.structure.start);
        for _ in 0..50 {
            rig.run(|list, tx| list.transact(tx, &mut Random::stream(0, "")));
            let new = rig.memory.read_u64(rig.structure.start);
            assert_eq!(rig.memory.read_u64(new), head);
            head = new;
        }
    }

    #[test]
    fn disturbed_nodes_and_heads_are_noticed() {
        let mut rig = Rig::new(LinkedList::new, 8192, 128, 10, 1);
        let [header, nodes] = rig.structure.populated().try_into().unwrap();
        rig.disturb(header.start..header.start + 8, 100);
        rig.disturb(nodes, 100);
    }
}
