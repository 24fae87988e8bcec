//! Hashes of what is durable, for telling states apart.

use crate::message::{LineBytes, MediaLine};

/// Mixes one more word into a hash.
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31)
}

pub(super) fn unit_hash(media: MediaLine, bytes: &LineBytes) -> u64 {
    let words = bytes.chunks_exact(8).map(|chunk| {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let hash = words.fold(mix(0x9e37_79b9_7f4a_7c15, media.code()), mix);
    mix(hash ^ hash >> 32, 0xc4ce_b9fe_1a85_ec53)
}
