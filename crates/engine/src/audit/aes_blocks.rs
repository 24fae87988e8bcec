//! The block cipher that the auditors' own cryptography is written over: the `aes` crate, and nothing of the mechanisms that
//! they check.

use crate::message::LineBytes;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

/// The block cipher with one key.
pub(super) enum Aes {
    Bits128(Box<aes::Aes128>),
    Bits256(Box<aes::Aes256>),
}

impl Aes {
    /// The cipher for a key of 16 or 32 bytes.
    pub fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Self::Bits128(Box::new(aes::Aes128::new_from_slice(key).expect("16 bytes are an AES-128 key"))),
            32 => Self::Bits256(Box::new(aes::Aes256::new_from_slice(key).expect("32 bytes are an AES-256 key"))),
            bytes => panic!("an AES key has 16 or 32 bytes, not {bytes}"),
        }
    }

    /// Encrypts four blocks.
    pub fn encrypt(&self, blocks: &mut [aes::Block; 4]) {
        match self {
            Self::Bits128(aes) => aes.encrypt_blocks(blocks),
            Self::Bits256(aes) => aes.encrypt_blocks(blocks),
        }
    }

    /// Encrypts one block.
    pub fn block(&self, input: &[u8; 16]) -> [u8; 16] {
        let mut block = (*input).into();
        match self {
            Self::Bits128(aes) => aes.encrypt_block(&mut block),
            Self::Bits256(aes) => aes.encrypt_block(&mut block),
        }
        block.into()
    }

    /// Decrypts one block.
    pub fn inverse(&self, input: &[u8; 16]) -> [u8; 16] {
        let mut block = (*input).into();
        match self {
            Self::Bits128(aes) => aes.decrypt_block(&mut block),
            Self::Bits256(aes) => aes.decrypt_block(&mut block),
        }
        block.into()
    }
}

/// `a` exclusive-or `b`.
pub(super) fn xor(a: &LineBytes, b: &LineBytes) -> LineBytes {
    std::array::from_fn(|n| a[n] ^ b[n])
}
