//! AES-XTS over lines (IEEE 1619-2018): a line is a data unit of four blocks, or a part of a larger one, and the number of the
//! unit is the tweak. There are no counters: the same plaintext in the same line always has the same ciphertext. The mode is the `xts-mode` crate's, AES is
//! RustCrypto's.

use super::Key;
use crate::kernel::ConfigError;
use crate::message::{Line, LineBytes};
use aes::cipher::{Array, KeyInit};
use aes::{Aes128, Aes256};
use std::sync::Arc;
use xts_mode::{Xts128, get_tweak_default};

/// Bytes of the largest data unit.
const UNIT_MAX: usize = 512;

/// Encrypts and decrypts lines with one pair of keys.
#[derive(Clone)]
pub struct XtsCipher {
    mode: Mode,
    /// Lines of a data unit.
    unit: u64,
}

#[derive(Clone)]
enum Mode {
    Aes128(Arc<Xts128<Aes128>>),
    Aes256(Arc<Xts128<Aes256>>),
}

impl XtsCipher {
    /// A cipher with the first `key_bits` (128 or 256) bits of the key of data and of that of tweaks.
    pub fn new(data: &Key, tweak: &Key, key_bits: u32) -> Result<Self, ConfigError> {
        let mode = match key_bits {
            128 => {
                let [data, tweak] = [data, tweak].map(|key| {
                    let (first, _) = key.split_at(16);
                    Aes128::new(&Array::try_from(first).expect("half of 32 bytes is 16"))
                });
                Mode::Aes128(Arc::new(Xts128::new(data, tweak)))
            }
            256 => {
                let [data, tweak] = [data, tweak].map(|key| Aes256::new(&Array::from(*key)));
                Mode::Aes256(Arc::new(Xts128::new(data, tweak)))
            }
            other => {
                return Err(ConfigError(format!("controller.aes_key_bits: {other} is not a key length: 128 or 256")));
            }
        };
        Ok(Self { mode, unit: 1 })
    }

    /// The same over data units of so many lines, at most eight.
    #[must_use]
    pub fn with_units(self, lines: u64) -> Self {
        Self { unit: lines, ..self }
    }

    /// The ciphertext of `plaintext` in `line`.
    pub fn encrypt(&self, line: Line, plaintext: &LineBytes) -> LineBytes {
        self.in_unit(line, plaintext, |unit, bytes| self.mode.encrypt(unit, bytes))
    }

    /// The plaintext of `ciphertext` in `line`.
    pub fn decrypt(&self, line: Line, ciphertext: &LineBytes) -> LineBytes {
        self.in_unit(line, ciphertext, |unit, bytes| self.mode.decrypt(unit, bytes))
    }

    /// What becomes of `bytes` in their place in the data unit: a block depends on its place and on nothing else of the unit.
    fn in_unit(&self, line: Line, bytes: &LineBytes, mode: impl Fn(u128, &mut [u8])) -> LineBytes {
        let (number, at) = (line.0 / self.unit, (line.0 % self.unit) as usize * bytes.len());
        let mut unit = [0; UNIT_MAX];
        let unit = &mut unit[..at + bytes.len()];
        unit[at..].copy_from_slice(bytes);
        mode(number.into(), unit);
        let mut line = [0; 64];
        line.copy_from_slice(&unit[at..]);
        line
    }
}

impl Mode {
    /// Encrypts the data unit with this number.
    fn encrypt(&self, unit: u128, bytes: &mut [u8]) {
        let tweak = get_tweak_default(unit);
        match self {
            Mode::Aes128(mode) => mode.encrypt_sector(bytes, tweak),
            Mode::Aes256(mode) => mode.encrypt_sector(bytes, tweak),
        }
    }

    fn decrypt(&self, unit: u128, bytes: &mut [u8]) {
        let tweak = get_tweak_default(unit);
        match self {
            Mode::Aes128(mode) => mode.decrypt_sector(bytes, tweak),
            Mode::Aes256(mode) => mode.decrypt_sector(bytes, tweak),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Keys;
    use proptest::prelude::*;

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    fn cipher(data: &str, tweak: &str) -> XtsCipher {
        let [one, two] = [data, tweak].map(unhex);
        let [mut first, mut second] = [[0xee; 32]; 2];
        first[..one.len()].copy_from_slice(&one);
        second[..two.len()].copy_from_slice(&two);
        XtsCipher::new(&first, &second, one.len() as u32 * 8).unwrap()
    }

    /// IEEE 1619-2007, annex B, vectors 1 to 3: keys, number of the data unit, plaintext, ciphertext.
    #[test]
    fn ieee_1619_vectors_of_two_blocks() {
        let vectors = [
            (
                ["00000000000000000000000000000000"; 2],
                0,
                "0000000000000000000000000000000000000000000000000000000000000000",
                "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e",
            ),
            (
                ["11111111111111111111111111111111", "22222222222222222222222222222222"],
                0x33_3333_3333,
                "4444444444444444444444444444444444444444444444444444444444444444",
                "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
            ),
            (
                ["fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "22222222222222222222222222222222"],
                0x33_3333_3333,
                "4444444444444444444444444444444444444444444444444444444444444444",
                "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89",
            ),
        ];
        for ([data, tweak], unit, plain, expected) in vectors {
            let cipher = cipher(data, tweak);
            let mut bytes = unhex(plain);
            cipher.mode.encrypt(unit, &mut bytes);
            assert_eq!(bytes, unhex(expected));
            cipher.mode.decrypt(unit, &mut bytes);
            assert_eq!(bytes, unhex(plain));
        }
    }

    /// The first line's worth of IEEE 1619-2007, annex B, vectors 4 (AES-128) and 10 (AES-256): a block depends on its place
    /// in its data unit alone.
    #[test]
    fn ieee_1619_vectors_of_a_line() {
        let plain: LineBytes = std::array::from_fn(|at| at as u8);
        let vectors = [
            (
                ["27182818284590452353602874713526", "31415926535897932384626433832795"],
                0,
                "27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c\
                 c78cf7f5e543445f8333d8fa7f56000005279fa5d8b5e4ad40e736ddb4d35412",
            ),
            (
                [
                    "2718281828459045235360287471352662497757247093699959574966967627",
                    "3141592653589793238462643383279502884197169399375105820974944592",
                ],
                0xff,
                "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b\
                 5d31e276f8fe4a8d66b317f9ac683f44680a86ac35adfc3345befecb4bb188fd",
            ),
        ];
        for ([data, tweak], line, expected) in vectors {
            let cipher = cipher(data, tweak);
            assert_eq!(cipher.encrypt(Line(line), &plain).to_vec(), unhex(expected));
        }
    }

    /// NIST CAVP, XTSGenAES128 (128 bits, count 1) and XTSGenAES256 (256 bits, count 1): keys, tweak, plaintext, ciphertext.
    #[test]
    fn nist_vectors() {
        let vectors = [
            (
                ["a1b90cba3f06ac353b2c343876081762", "090923026e91771815f29dab01932f2f"],
                "4faef7117cda59c66e4b92013e768ad5",
                "ebabce95b14d3c8d6fb350390790311c",
                "778ae8b43cb98d5a825081d5be471c63",
            ),
            (
                [
                    "1ea661c58d943a0e4801e42f4b0947149e7f9f8e3e68d0c7505210bd311a0e7c",
                    "d6e13ffdf2418d8d1911c004cda58da3d619b7e2b9141e58318eea392cf41b08",
                ],
                "adf8d92627464ad2f0428e84a9f87564",
                "2eedea52cd8215e1acc647e810bbc3642e87287f8d2e57e36c0a24fbc12a202e",
                "cbaad0e2f6cea3f50b37f934d46a9b130b9d54f07e34f36af793e86f73c6d7db",
            ),
        ];
        for ([data, tweak], unit, plain, expected) in vectors {
            let (cipher, mut bytes) = (cipher(data, tweak), unhex(plain));
            let unit = u128::from_le_bytes(unhex(unit).try_into().unwrap());
            cipher.mode.encrypt(unit, &mut bytes);
            assert_eq!(bytes, unhex(expected));
            cipher.mode.decrypt(unit, &mut bytes);
            assert_eq!(bytes, unhex(plain));
        }
    }

    /// Against the whole unit at once.
    #[test]
    fn a_line_of_a_larger_unit_goes_on_where_the_one_before_it_ends() {
        let (all, keys) = ((0..512).map(|at| at as u8).collect::<Vec<u8>>(), Keys::from_seed(3));
        let whole = XtsCipher::new(&keys.data, &keys.tweak, 256).unwrap();
        let mut expected = all.clone();
        whole.mode.encrypt(0xff, &mut expected);
        let by_lines = whole.with_units(8);
        for (at, plain) in all.as_chunks::<64>().0.iter().enumerate() {
            let line = Line(0xff * 8 + at as u64);
            let stored = by_lines.encrypt(line, plain);
            assert_eq!(stored[..], expected[at * 64..][..64], "line {at}");
            assert_eq!(by_lines.decrypt(line, &stored), *plain);
        }
    }

    #[test]
    fn other_key_lengths_are_refused() {
        let keys = Keys::from_seed(1);
        let error = XtsCipher::new(&keys.data, &keys.tweak, 192).err().unwrap();
        assert_eq!(error.0, "controller.aes_key_bits: 192 is not a key length: 128 or 256");
    }

    proptest! {
        #[test]
        fn decryption_undoes_encryption_and_places_differ(line in 0..1u64 << 54, half: [u8; 32], seed: u64) {
            let plain: LineBytes = [half, half].concat().try_into().unwrap();
            let keys = Keys::from_seed(seed);
            for bits in [128, 256] {
                let cipher = XtsCipher::new(&keys.data, &keys.tweak, bits).unwrap();
                let stored = cipher.encrypt(Line(line), &plain);
                prop_assert_eq!(cipher.decrypt(Line(line), &stored), plain);
                prop_assert_ne!(&stored[..32], &stored[32..], "equal blocks in other places");
                prop_assert_ne!(cipher.encrypt(Line(line + 1), &plain), stored, "in another line");
                prop_assert_eq!(cipher.encrypt(Line(line), &plain), stored, "in the same line");
            }
        }
    }
}
