//! AES with a key of 128 or 256 bits. The block cipher is RustCrypto's (AES-NI if the processor has it).

use super::Key;
use crate::kernel::ConfigError;
use aes::cipher::{Array, KeyInit};
use aes::{Aes128, Aes256};

/// A key schedule of either length.
#[derive(Clone)]
pub(super) enum Aes {
    Bits128(Box<Aes128>),
    Bits256(Box<Aes256>),
}

impl Aes {
    /// The schedule of the first `key_bits` (128 or 256) bits of `key`.
    pub fn new(key: &Key, key_bits: u32) -> Result<Self, ConfigError> {
        match key_bits {
            128 => {
                let (first, _) = key.split_at(16);
                Ok(Aes::Bits128(Box::new(Aes128::new(&Array::try_from(first).expect("half of 32 bytes is 16")))))
            }
            256 => Ok(Aes::Bits256(Box::new(Aes256::new(&Array::from(*key))))),
            other => Err(ConfigError(format!("controller.aes_key_bits: {other} is not a key length: 128 or 256"))),
        }
    }
}
