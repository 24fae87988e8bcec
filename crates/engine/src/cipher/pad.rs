//! Counter-mode pads (secpm section 2.2): four AES blocks over line number, counters and block number.
//!
//! The 128-bit AES input is, from the most significant bit: major counter (64 bits), upper part of the minor counter (6
//! bits), line number (48 bits), lower part of the minor counter (8 bits), block number (2 bits). Every field has its own
//! bits, so that different inputs are never equal (decision: the papers do not state a layout). Because the block number
//! comes last, a pad is also exactly the key stream of standard big-endian AES-CTR, which the tests use.

use super::Key;
use super::key_schedule::Aes;
use crate::kernel::ConfigError;
use crate::message::{LINE_BYTES, Line, LineBytes};
use aes::Block;
use aes::cipher::{Array, BlockCipherEncrypt};

const BLOCK_BITS: u32 = 2;
const MINOR_LOW_BITS: u32 = 8;
const LINE_BITS: u32 = 48;

/// Makes pads with one key.
#[derive(Clone)]
pub struct PadCipher {
    aes: Aes,
}

impl PadCipher {
    /// A cipher with the first `key_bits` (128 or 256) bits of `key` for a device of `capacity` bytes.
    ///
    /// # Errors
    /// The capacity is too large for line numbers to fit into the pad's input: with truncated numbers, two lines would
    /// share a pad.
    pub fn new(key: &Key, key_bits: u32, capacity: u64) -> Result<Self, ConfigError> {
        if capacity / LINE_BYTES > 1 << LINE_BITS {
            return Err(ConfigError(format!(
                "device.capacity: {capacity} bytes hold more lines than the {LINE_BITS} bits that a pad has for a \
                 line number"
            )));
        }
        Ok(Self { aes: Aes::new(key, key_bits)? })
    }

    /// The pad of `line` with the counters `major` and `minor`.
    pub fn pad(&self, line: Line, major: u64, minor: u16) -> LineBytes {
        let mut blocks = pad_inputs(line, major, minor).map(|input| Array::from(input.to_be_bytes()));
        self.encrypt(&mut blocks);
        let mut pad = [0; 64];
        for (bytes, block) in pad.chunks_exact_mut(16).zip(&blocks) {
            bytes.copy_from_slice(block);
        }
        pad
    }

    /// All four blocks at once, so that the processor overlaps their rounds.
    fn encrypt(&self, blocks: &mut [Block; 4]) {
        match &self.aes {
            Aes::Bits128(aes) => aes.encrypt_blocks(blocks),
            Aes::Bits256(aes) => aes.encrypt_blocks(blocks),
        }
    }
}

/// The AES inputs of a line's four blocks.
fn pad_inputs(line: Line, major: u64, minor: u16) -> [u128; 4] {
    debug_assert!(line.0 >> LINE_BITS == 0, "line {} does not fit a pad's input", line.0);
    let [low, high] = minor.to_le_bytes().map(u64::from);
    let low = (high << LINE_BITS | line.0) << (MINOR_LOW_BITS + BLOCK_BITS) | low << BLOCK_BITS;
    [0, 1, 2, 3].map(|block| u128::from(major) << 64 | u128::from(low | block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Keys;
    use crate::message::xor;
    use aes::{Aes128, Aes256};
    use ctr::cipher::{KeyIvInit, StreamCipher};
    use proptest::prelude::*;

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    fn cipher(key: &str) -> PadCipher {
        let key = unhex(key);
        let mut material = [0xee; 32];
        material[..key.len()].copy_from_slice(&key);
        PadCipher::new(&material, key.len() as u32 * 8, 16 << 30).unwrap()
    }

    fn encrypt(cipher: &PadCipher, inputs: [&str; 4]) -> Vec<Vec<u8>> {
        let mut blocks = inputs.map(|input| Array::try_from(&unhex(input)[..]).unwrap());
        cipher.encrypt(&mut blocks);
        blocks.iter().map(|block| block.to_vec()).collect()
    }

    #[test]
    fn fips_197_vectors() {
        let plain = "00112233445566778899aabbccddeeff";
        let vectors = [
            ("000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"),
            ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "8ea2b7ca516745bfeafc49904b496089"),
        ];
        for (key, expected) in vectors {
            assert_eq!(encrypt(&cipher(key), [plain; 4]), vec![unhex(expected); 4]);
        }
    }

    /// NIST SP 800-38A, F.5.1 (AES-128) and F.5.5 (AES-256): counter blocks, plaintext, ciphertext.
    #[test]
    fn sp_800_38a_counter_mode_vectors() {
        let counters = [
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff00",
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff01",
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff02",
        ];
        let plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                     30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
        let vectors = [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
                 5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
            ),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
                 2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
            ),
        ];
        for (key, expected) in vectors {
            let pad: LineBytes = encrypt(&cipher(key), counters).concat().try_into().unwrap();
            let plain: LineBytes = unhex(plain).try_into().unwrap();
            assert_eq!(xor(&plain, &pad).to_vec(), unhex(expected));
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let key = Keys::from_seed(1).data;
        assert!(PadCipher::new(&key, 128, 1 << 54).is_ok());
        let error = PadCipher::new(&key, 128, (1 << 54) + 64).err().unwrap();
        assert!(error.0.contains("device.capacity"), "{error}");
        let error = PadCipher::new(&key, 192, 1 << 30).err().unwrap();
        assert_eq!(error.0, "controller.aes_key_bits: 192 is not a key length: 128 or 256");
    }

    #[test]
    fn data_and_log_pads_differ() {
        let keys = Keys::from_seed(5);
        for bits in [128, 256] {
            let pads = [keys.data, keys.log].map(|key| PadCipher::new(&key, bits, 1 << 30).unwrap().pad(Line(3), 1, 1));
            assert_ne!(pads[0], pads[1]);
        }
    }

    fn fields() -> impl Strategy<Value = (u64, u64, u16)> {
        // Small and extreme values together, so that equal fields and full fields both happen.
        let line = prop_oneof![0..4u64, Just((1 << 48) - 1), 0..1u64 << 48];
        let major = prop_oneof![0..4u64, Just(u64::MAX), any::<u64>()];
        (line, major, prop_oneof![0..4u16, 254..258u16, Just((1 << 14) - 1), 0..1u16 << 14])
    }

    proptest! {
        #[test]
        fn pad_is_the_key_stream_of_standard_counter_mode((line, major, minor) in fields(), seed: u64) {
            let key = Keys::from_seed(seed).data;
            let iv = pad_inputs(Line(line), major, minor)[0].to_be_bytes();
            let mut expected = [[0u8; 64]; 2];
            ctr::Ctr128BE::<Aes128>::new(key[..16].try_into().unwrap(), &iv.into()).apply_keystream(&mut expected[0]);
            ctr::Ctr128BE::<Aes256>::new(&key.into(), &iv.into()).apply_keystream(&mut expected[1]);
            for (bits, expected) in [128, 256].into_iter().zip(expected) {
                prop_assert_eq!(PadCipher::new(&key, bits, 1 << 54).unwrap().pad(Line(line), major, minor), expected);
            }
        }

        #[test]
        fn different_inputs_share_no_block(a in fields(), b in fields()) {
            let inputs = |(line, major, minor)| pad_inputs(Line(line), major, minor);
            prop_assume!(a != b);
            for x in inputs(a) {
                prop_assert!(!inputs(b).contains(&x));
            }
            for (i, x) in inputs(a).iter().enumerate() {
                prop_assert_eq!(inputs(a).iter().position(|y| y == x), Some(i));
            }
        }

        #[test]
        fn pad_takes_itself_away(line: [u8; 32], pad: [u8; 32]) {
            let widen = |half: [u8; 32]| -> LineBytes { [half, half].concat().try_into().unwrap() };
            let (line, pad) = (widen(line), widen(pad));
            prop_assert_eq!(xor(&xor(&line, &pad), &pad), line);
        }
    }
}
