//! The hash of lines in a small tree over the shadow cache.

use crate::cipher::MacCipher;
use crate::layout::LineHash;
use crate::message::LineBytes;

/// Hashes with one key, cut to 8 bytes.
pub struct ShortHash {
    /// The cipher of hashes.
    pub cipher: MacCipher,
}

impl LineHash for ShortHash {
    fn hash(&self, bytes: &LineBytes) -> [u8; 8] {
        self.cipher.short(bytes)
    }
}
