//! Nodes of equal size, one after the other, one page after the start of a heap. The page before them holds a
//! structure's header.

use super::structure::Share;
use crate::message::PAGE_BYTES;

/// Where the nodes are, how large, and how many.
pub(super) struct Nodes {
    /// Byte address of the first node.
    pub start: u64,
    /// Bytes of one node.
    pub bytes: u64,
    /// Number of nodes.
    pub count: u64,
}

impl Nodes {
    /// How many nodes of `bytes` bytes fit into the footprint of `share`.
    pub fn fitting(share: &Share, bytes: u64) -> u64 {
        (share.bytes - PAGE_BYTES.min(share.bytes)) / bytes
    }

    pub fn new(share: &Share, bytes: u64, count: u64) -> Self {
        Self { start: share.start + PAGE_BYTES, bytes, count }
    }

    /// The byte address of node `number`.
    pub fn address(&self, number: u64) -> u64 {
        self.start + number * self.bytes
    }

    /// The number of the node that begins at `address`; `None` if no node begins there.
    pub fn number(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.start)?;
        let number = offset / self.bytes;
        (offset.is_multiple_of(self.bytes) && number < self.count).then_some(number)
    }

    /// One past the last byte address of the nodes.
    pub fn end(&self) -> u64 {
        self.address(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ItemMetadata;

    #[test]
    fn address_has_a_number_where_a_node_begins_and_nowhere_else() {
        let share =
            Share { start: 8192, bytes: 3 * PAGE_BYTES, tx_size: 64, room: 0, seed: 0, metadata: ItemMetadata::Beside };
        assert_eq!(Nodes::fitting(&share, 192), 2 * PAGE_BYTES / 192);
        assert_eq!(Nodes::fitting(&Share { bytes: 64, ..share }, 192), 0);
        let nodes = Nodes::new(&share, 192, 5);
        assert_eq!((nodes.start, nodes.end()), (8192 + PAGE_BYTES, nodes.start + 5 * 192));
        for address in (0..nodes.start + 10 * 192).chain([u64::MAX]) {
            let expected = (0..5).find(|&number| nodes.address(number) == address);
            assert_eq!(nodes.number(address), expected, "{address}");
        }
    }
}
