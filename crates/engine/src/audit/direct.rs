//! The auditor's own AES-XTS: written from IEEE 1619-2018, section 5, over the block cipher alone.

use super::aes_blocks::{Aes, xor};
use super::facts::DirectFacts;
use crate::message::{Line, LineBytes};

/// The two keys of lines without counters.
pub(super) struct DirectCipher {
    data: Aes,
    tweak: Aes,
    constant: bool,
}

impl DirectCipher {
    pub fn new(facts: &DirectFacts) -> Self {
        Self { data: Aes::new(&facts.key), tweak: Aes::new(&facts.tweak), constant: facts.constant }
    }

    /// The plaintext of `ciphertext`, which is stored in `line`.
    pub fn decrypt(&self, line: Line, ciphertext: &LineBytes) -> LineBytes {
        let mask = self.mask(line);
        let mut inner = xor(ciphertext, &mask);
        for block in inner.as_chunks_mut::<16>().0 {
            *block = self.data.inverse(block);
        }
        xor(&inner, &mask)
    }

    /// What is exclusive-ored with the blocks of `line` before and after AES: the encrypted number of the line, times x once
    /// for each block before.
    fn mask(&self, line: Line) -> LineBytes {
        let unit = if self.constant { 0 } else { u128::from(line.0) };
        let first = self.tweak.block(&unit.to_le_bytes());
        let mut value = u128::from_le_bytes(first);
        let mut mask = [0; 64];
        for block in mask.as_chunks_mut::<16>().0 {
            *block = value.to_le_bytes();
            // In GF(2^128) with the polynomial x^128 + x^7 + x^2 + x + 1.
            value = value << 1 ^ if value >> 127 == 1 { 0x87 } else { 0 };
        }
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::{Keys, XtsCipher};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_reads_what_the_mechanism_stores(seed: u64, line in 0..1_u64 << 54, half: [u8; 32]) {
            let plaintext: LineBytes = [half, half].concat().try_into().unwrap();
            let keys = Keys::from_seed(seed);
            for bytes in [16, 32] {
                let stored = XtsCipher::new(&keys.data, &keys.tweak, bytes as u32 * 8).unwrap().encrypt(Line(line), &plaintext);
                let facts = DirectFacts { key: keys.data[..bytes].to_vec(), tweak: keys.tweak[..bytes].to_vec(), constant: false };
                prop_assert_eq!(DirectCipher::new(&facts).decrypt(Line(line), &stored), plaintext);
            }
        }
    }
}
