//! The auditor's own AES-XTS: written from IEEE 1619-2018, section 5, over the block cipher alone.

use super::aes_blocks::{Aes, xor};
use super::facts::DirectFacts;
use crate::message::{Line, LineBytes};

/// The two keys of lines without counters.
pub(super) struct DirectCipher {
    data: Aes,
    tweak: Aes,
    constant: bool,
    /// Lines of a data unit.
    unit: u64,
}

impl DirectCipher {
    pub fn new(facts: &DirectFacts) -> Self {
        Self { data: Aes::new(&facts.key), tweak: Aes::new(&facts.tweak), constant: facts.constant, unit: facts.unit }
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

    /// What is exclusive-ored with the blocks of `line` before and after AES: the encrypted number of its data unit, times x once
    /// for each block before.
    fn mask(&self, line: Line) -> LineBytes {
        let (unit, before) = if self.constant { (0, 0) } else { (line.0 / self.unit, 4 * (line.0 % self.unit)) };
        let first = self.tweak.block(&u128::from(unit).to_le_bytes());
        // In GF(2^128) with the polynomial x^128 + x^7 + x^2 + x + 1.
        let times_x = |value: u128| value << 1 ^ if value >> 127 == 1 { 0x87 } else { 0 };
        let mut value = (0..before).fold(u128::from_le_bytes(first), |value, _| times_x(value));
        let mut mask = [0; 64];
        for block in mask.as_chunks_mut::<16>().0 {
            *block = value.to_le_bytes();
            value = times_x(value);
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
        fn it_reads_what_the_mechanism_stores(seed: u64, line in 0..1_u64 << 54, half: [u8; 32], unit in 1..9_u64) {
            let plaintext: LineBytes = [half, half].concat().try_into().unwrap();
            let keys = Keys::from_seed(seed);
            for bytes in [16, 32] {
                let stored = XtsCipher::new(&keys.data, &keys.tweak, bytes as u32 * 8).unwrap();
                let stored = stored.with_units(unit).encrypt(Line(line), &plaintext);
                let [key, tweak] = [&keys.data, &keys.tweak].map(|key| key[..bytes].to_vec());
                let facts = DirectFacts { key, tweak, constant: false, unit, paged: None, in_modules: false };
                prop_assert_eq!(DirectCipher::new(&facts).decrypt(Line(line), &stored), plaintext);
            }
        }
    }
}
