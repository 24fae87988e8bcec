//! Cipher feedback mode over lines (easy-pm section II-B, Figure 2): CFB-128, each block exclusive-ored with the
//! encryption of the ciphertext block before it, across the four blocks of a line and from line to line. The mode is
//! RustCrypto's.

use super::Key;
use crate::config::ConfigError;
use crate::message::{CipherBlock, LineBytes};
use aes::cipher::{Array, InnerIvInit, KeyInit};
use aes::{Aes128, Aes256};
use cfb_mode::{Decryptor, Encryptor};

/// Encrypts and decrypts chains of lines under one key.
#[derive(Clone)]
pub struct FeedbackCipher {
    aes: Aes,
}

#[derive(Clone)]
enum Aes {
    Bits128(Aes128),
    Bits256(Aes256),
}

impl FeedbackCipher {
    /// A cipher with `key_bits` (128 or 256) bits of `key`.
    pub fn new(key: &Key, key_bits: u32) -> Result<Self, ConfigError> {
        let aes = match key_bits {
            128 => {
                let (first, _) = key.split_at(16);
                Aes::Bits128(Aes128::new(&Array::try_from(first).expect("half of 32 bytes is 16")))
            }
            256 => Aes::Bits256(Aes256::new(&Array::from(*key))),
            other => {
                return Err(ConfigError(format!("controller.aes_key_bits: {other} is not a key length: 128 or 256")));
            }
        };
        Ok(Self { aes })
    }

    /// The ciphertext of `plaintext` after the ciphertext block `previous`.
    pub fn encrypt(&self, previous: &CipherBlock, plaintext: &LineBytes) -> LineBytes {
        let (mut line, previous) = (*plaintext, Array::from(*previous));
        match &self.aes {
            Aes::Bits128(aes) => Encryptor::inner_iv_init(aes, &previous).encrypt(&mut line),
            Aes::Bits256(aes) => Encryptor::inner_iv_init(aes, &previous).encrypt(&mut line),
        }
        line
    }

    /// The plaintext of `ciphertext` after the ciphertext block `previous`.
    pub fn decrypt(&self, previous: &CipherBlock, ciphertext: &LineBytes) -> LineBytes {
        let (mut line, previous) = (*ciphertext, Array::from(*previous));
        match &self.aes {
            Aes::Bits128(aes) => Decryptor::inner_iv_init(aes, &previous).decrypt(&mut line),
            Aes::Bits256(aes) => Decryptor::inner_iv_init(aes, &previous).decrypt(&mut line),
        }
        line
    }
}
