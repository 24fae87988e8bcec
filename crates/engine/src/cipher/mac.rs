//! Message authentication codes: AES-128-CMAC (RFC 4493, NIST SP 800-38B), truncated to the bits that are stored. The
//! algorithm is RustCrypto's.
//!
//! The input of a line's MAC is, in this order: the ciphertext (64 bytes), the line number (8 bytes), the major counter
//! (8 bytes) and the minor counter (1 byte), all little-endian. The upper bits of a minor counter of more than 8 are added to
//! those of the line number, which are zero. The input of a node's hash is its 64 bytes: the place in
//! the parent says which node it is. The input of the MAC of a node of a tree of counters is its 56 bytes of counters, its
//! level (1 byte), its number in the level (8 bytes) and its counter in its parent (8 bytes).

use super::{Key, mac_memo};
use crate::layout::TreePlace;
use crate::message::{Line, LineBytes};
use aes::Aes128;
use aes::cipher::Array;
use cmac::{Cmac, KeyInit, Mac};

/// Where the MAC of a node of a tree of counters is, and that of a counter block; the counters are before, and it covers them.
pub const MAC_OFFSET: usize = 56;

/// Computes MACs with one key.
#[derive(Clone)]
pub struct MacCipher {
    cmac: Cmac<Aes128>,
    key: u128,
}

impl MacCipher {
    /// A cipher with the first half of `key`.
    pub fn new(key: &Key) -> Self {
        let (first, _) = key.split_at(16);
        let first: [u8; 16] = first.try_into().expect("half of 32 bytes is 16");
        Self { cmac: Cmac::new(&Array::from(first)), key: u128::from_le_bytes(first) }
    }

    /// The MAC of `line` as `ciphertext`, with what else it covers: the address and the counter, if they are given.
    pub fn line(&self, ciphertext: &LineBytes, line: Option<Line>, counter: Option<(u64, u16)>) -> u128 {
        let mut tail = [0; 17];
        let (major, minor) = counter.unwrap_or((u64::MAX, u8::MAX.into()));
        let [low, high] = minor.to_le_bytes();
        tail[..8].copy_from_slice(&line.map_or(u64::MAX, |line| line.0).to_le_bytes());
        tail[7] ^= high;
        tail[8..16].copy_from_slice(&major.to_le_bytes());
        tail[16] = low;
        self.of(&joined::<81>(ciphertext, &tail))
    }

    /// The hash of a counter block or of a tree node.
    pub fn node(&self, bytes: &LineBytes) -> u128 {
        self.of(bytes)
    }

    /// The MAC of `block`, a node of a tree of counters or a counter block: over its counters, which are its first 56 bytes,
    /// its place and its counter in its parent.
    pub fn child(&self, block: &LineBytes, place: TreePlace, counter: u64) -> u128 {
        let mut tail = [0; 17];
        tail[0] = place.level;
        tail[1..9].copy_from_slice(&place.index.to_le_bytes());
        tail[9..].copy_from_slice(&counter.to_le_bytes());
        self.of(&joined::<73>(&block[..MAC_OFFSET], &tail))
    }

    /// The MAC of a node, or of a counter block, that is in a cache. No node has this counter in its parent, so it is no MAC
    /// that the node has in memory.
    pub fn cached(&self, block: &LineBytes, place: TreePlace) -> u128 {
        self.child(block, place, u64::MAX)
    }

    /// The first 8 bytes of the hash of a line.
    pub fn short(&self, bytes: &LineBytes) -> [u8; 8] {
        let hash = self.node(bytes).to_le_bytes();
        std::array::from_fn(|byte| hash[byte])
    }

    // Where this is inlined, the length is known.
    #[inline(always)]
    fn of(&self, message: &[u8]) -> u128 {
        mac_memo::known_or(self.key, message, || {
            let mut cmac = self.cmac.clone();
            cmac.update(message);
            u128::from_le_bytes(cmac.finalize().into_bytes().into())
        })
    }
}

/// `first` and `second`, one after the other; their lengths add up to `N`.
#[inline(always)]
fn joined<const N: usize>(first: &[u8], second: &[u8]) -> [u8; N] {
    let mut joined = [0; N];
    let (before, after) = joined.split_at_mut(first.len());
    before.copy_from_slice(first);
    after.copy_from_slice(second);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::BlockCipherEncrypt;
    use proptest::prelude::*;

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    fn key(hex: &str) -> Key {
        let mut key = [0xee; 32];
        key[..16].copy_from_slice(&unhex(hex));
        key
    }

    /// RFC 4493, section 4, examples 1 to 4.
    #[test]
    fn rfc_4493_vectors() {
        let message = unhex(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
             30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        );
        let cipher = MacCipher::new(&key("2b7e151628aed2a6abf7158809cf4f3c"));
        for (length, expected) in [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ] {
            assert_eq!(cipher.of(&message[..length]).to_le_bytes().to_vec(), unhex(expected), "{length}");
        }
        let whole: LineBytes = message.try_into().unwrap();
        assert_eq!(cipher.node(&whole).to_le_bytes().to_vec(), unhex("51f0bebf7e3b9d92fc49741779363cfe"));
    }

    /// CMAC as RFC 4493 writes it down, block by block.
    fn reference(key: &Key, message: &[u8]) -> u128 {
        let aes = aes::Aes128::new(&Array::try_from(&key[..16]).unwrap());
        let encrypt = |block: u128| {
            let mut block = Array::from(block.to_be_bytes());
            aes.encrypt_block(&mut block);
            u128::from_be_bytes(block.into())
        };
        let double = |value: u128| value << 1 ^ if value >> 127 == 1 { 0x87 } else { 0 };
        let (first, second) = (double(encrypt(0)), double(double(encrypt(0))));
        let mut blocks: Vec<Vec<u8>> = message.chunks(16).map(<[u8]>::to_vec).collect();
        let mut last = blocks.pop().unwrap_or_default();
        let subkey = if last.len() == 16 {
            first
        } else {
            last.push(0x80);
            last.resize(16, 0);
            second
        };
        let number = |block: &[u8]| u128::from_be_bytes(block.try_into().unwrap());
        let state = blocks.iter().fold(0, |state, block| encrypt(state ^ number(block)));
        u128::from_le_bytes(encrypt(state ^ number(&last) ^ subkey).to_be_bytes())
    }

    proptest! {
        /// Also where the places of what was computed before are taken again and again.
        #[test]
        fn what_was_computed_before_is_not_mixed_up(
            keys in prop::array::uniform2(any::<[u8; 32]>()),
            asked in prop::collection::vec((0..2usize, 0..100usize, 0..3u8), 1..60),
        ) {
            let ciphers = keys.map(|key| MacCipher::new(&key));
            for (cipher, length, fill) in asked {
                let message = vec![fill; length];
                let expected = reference(&keys[cipher], &message);
                prop_assert_eq!(ciphers[cipher].of(&message), expected);
            }
        }

        #[test]
        fn mac_is_cmac_over_what_it_covers(
            key: [u8; 32], half: [u8; 32], line in 0..1u64 << 48, major: u64, minor in 0..1u16 << 14,
        ) {
            let bytes: LineBytes = [half, half].concat().try_into().unwrap();
            let cipher = MacCipher::new(&key);
            let (low, high) = (minor as u8, u64::from(minor >> 8));
            let message = [&bytes[..], &(line + (high << 56)).to_le_bytes(), &major.to_le_bytes(), &[low]].concat();
            prop_assert_eq!(cipher.line(&bytes, Some(Line(line)), Some((major, minor))), reference(&key, &message));
            prop_assert_eq!(cipher.node(&bytes), reference(&key, &bytes));
            let place = TreePlace { level: low, index: line };
            let message = [&bytes[..56], &[low], &line.to_le_bytes(), &major.to_le_bytes()].concat();
            prop_assert_eq!(cipher.child(&bytes, place, major), reference(&key, &message));
        }
    }
}
