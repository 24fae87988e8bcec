//! Cipher feedback mode for lines (easy-pm section II-B, Figure 2): CFB-128, each block exclusive-ored with the
//! encryption of the previous ciphertext block, within a line and from line to line. The implementation of the mode is
//! RustCrypto's.

use super::Key;
use super::key_schedule::Aes;
use crate::kernel::ConfigError;
use crate::layout::CipherBlock;
use crate::message::LineBytes;
use aes::cipher::{Array, InnerIvInit};

use cfb_mode::{Decryptor, Encryptor};

/// Encrypts and decrypts chains of lines with one key.
#[derive(Clone)]
pub struct FeedbackCipher {
    aes: Aes,
}

impl FeedbackCipher {
    /// A cipher with the first `key_bits` (128 or 256) bits of `key`.
    pub fn new(key: &Key, key_bits: u32) -> Result<Self, ConfigError> {
        Ok(Self { aes: Aes::new(key, key_bits)? })
    }

    /// The ciphertext of `plaintext`, which follows the ciphertext block `previous`.
    pub fn encrypt(&self, previous: &CipherBlock, plaintext: &LineBytes) -> LineBytes {
        let (mut line, previous) = (*plaintext, Array::from(*previous));
        match &self.aes {
            Aes::Bits128(aes) => Encryptor::inner_iv_init(aes.as_ref(), &previous).encrypt(&mut line),
            Aes::Bits256(aes) => Encryptor::inner_iv_init(aes.as_ref(), &previous).encrypt(&mut line),
        }
        line
    }

    /// The plaintext of `ciphertext`, which follows the ciphertext block `previous`.
    pub fn decrypt(&self, previous: &CipherBlock, ciphertext: &LineBytes) -> LineBytes {
        let (mut line, previous) = (*ciphertext, Array::from(*previous));
        match &self.aes {
            Aes::Bits128(aes) => Decryptor::inner_iv_init(aes.as_ref(), &previous).decrypt(&mut line),
            Aes::Bits256(aes) => Decryptor::inner_iv_init(aes.as_ref(), &previous).decrypt(&mut line),
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::{BlockCipherEncrypt, KeyInit};
    use aes::{Aes128, Aes256};
    use proptest::prelude::*;

    fn unhex<const N: usize>(text: &str) -> [u8; N] {
        let bytes = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap());
        bytes.collect::<Vec<u8>>().try_into().unwrap()
    }

    /// NIST SP 800-38A, F.3.13 and F.3.14 (AES-128), F.3.17 and F.3.18 (AES-256): four blocks are one line.
    #[test]
    fn sp_800_38a_cfb128_vectors() {
        let iv: CipherBlock = unhex("000102030405060708090a0b0c0d0e0f");
        let plain: LineBytes = unhex(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
             30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        );
        let mut short = [0xee; 32];
        short[..16].copy_from_slice(&unhex::<16>("2b7e151628aed2a6abf7158809cf4f3c"));
        let vectors: [(Key, u32, &str); 2] = [
            (
                short,
                128,
                "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b\
                 26751f67a3cbb140b1808cf187a4f4dfc04b05357c5d1c0eeac4c66f9ff7f2e6",
            ),
            (
                unhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
                256,
                "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b\
                 df10132415e54b92a13ed0a8267ae2f975a385741ab9cef82031623d55b1e471",
            ),
        ];
        for (key, bits, expected) in vectors {
            let cipher = FeedbackCipher::new(&key, bits).unwrap();
            assert_eq!(cipher.encrypt(&iv, &plain), unhex(expected), "{bits} bits");
            assert_eq!(cipher.decrypt(&iv, &unhex(expected)), plain, "{bits} bits");
        }
    }

    #[test]
    fn other_key_lengths_are_refused() {
        let error = FeedbackCipher::new(&[0; 32], 192).err().unwrap();
        assert_eq!(error.0, "controller.aes_key_bits: 192 is not a key length: 128 or 256");
    }

    /// The mode built from the block cipher alone: each ciphertext block is the input of the next.
    fn reference(key: &Key, bits: u32, iv: CipherBlock, plain: &[u8]) -> Vec<u8> {
        let (mut previous, mut out) = (iv, Vec::new());
        for block in plain.chunks_exact(16) {
            let mut pad = previous.into();
            match bits {
                128 => Aes128::new_from_slice(&key[..16]).unwrap().encrypt_block(&mut pad),
                _ => Aes256::new_from_slice(key).unwrap().encrypt_block(&mut pad),
            }
            previous = std::array::from_fn(|n| block[n] ^ pad[n]);
            out.extend(previous);
        }
        out
    }

    proptest! {
        #[test]
        fn lines_chained_by_their_last_ciphertext_block_are_one_long_stream(
            key: Key, wide: bool, iv: CipherBlock, lines in prop::collection::vec(any::<[[u8; 32]; 2]>(), 1..6)
        ) {
            let bits = if wide { 256 } else { 128 };
            let cipher = FeedbackCipher::new(&key, bits).unwrap();
            let stream: Vec<u8> = lines.iter().flatten().flatten().copied().collect();
            let expected = reference(&key, bits, iv, &stream);
            let mut previous = iv;
            for (plain, expected) in stream.chunks_exact(64).zip(expected.chunks_exact(64)) {
                let (plain, expected): (LineBytes, LineBytes) =
                    (plain.try_into().unwrap(), expected.try_into().unwrap());
                prop_assert_eq!(cipher.encrypt(&previous, &plain), expected);
                prop_assert_eq!(cipher.decrypt(&previous, &expected), plain);
                previous = expected[48..].try_into().unwrap();
            }
        }
    }
}
