//! Counter blocks and nodes computed from the lowest bits of their counters in what is below them, and what protects those that
//! are newer on the chip than in memory: a MAC over each set of a cache (Huang and Hua, HPCA 2021, STAR).

use super::low_bits::LowBits;
use super::wide_counters::{set_wide, wide};
use crate::cipher::{MAC_OFFSET, MacCipher};
use crate::layout::{LineHash, TreePlace};
use crate::message::LineBytes;
use crate::parts::LowBitsScheme;

/// Blocks with one key.
pub struct LowBitsBlocks {
    /// The cipher of MACs and hashes.
    pub cipher: MacCipher,
    /// How many bits there are.
    pub low: LowBits,
}

impl LineHash for LowBitsBlocks {
    fn hash(&self, bytes: &LineBytes) -> [u8; 8] {
        self.cipher.short(bytes)
    }
}

impl LowBitsScheme for LowBitsBlocks {
    fn of_child(&self, child: &LineBytes) -> u64 {
        let joined = child[MAC_OFFSET..].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.low.of_joined(joined)
    }

    fn of_mac(&self, mac: u128) -> u64 {
        self.low.of_joined(mac as u64)
    }

    fn restored(&self, stored: &LineBytes, low: &[u64; 8]) -> LineBytes {
        let mut block = *stored;
        for (index, low) in low.iter().enumerate() {
            set_wide(&mut block, index, self.low.replaced(wide(stored, index), *low));
        }
        block
    }

    fn set(&self, blocks: &mut dyn Iterator<Item = (TreePlace, LineBytes)>) -> LineBytes {
        let mut line = [0; 64];
        for (place, block) in blocks {
            let mac = self.cipher.cached(&block, place).to_le_bytes();
            line[32..48].copy_from_slice(&mac);
            let chained = self.cipher.node(&line).to_le_bytes();
            line[..16].copy_from_slice(&chained);
        }
        line[16..].fill(0);
        line
    }
}
