//! The boot's access to a cipher without counters.

use super::{LineCodec, ReencryptionStatus};
use crate::layout::Coverage;
use crate::message::{BaseImage, CounterBlock, Line, LineBytes};
use crate::parts::{Counter, LineCipher, Stored};
use std::sync::Arc;

/// Lines that are encrypted without counters. Each has a flag on the media that shows whether it was ever written.
pub struct DirectCodec {
    cipher: Arc<dyn LineCipher>,
    base: Arc<dyn BaseImage>,
}

impl DirectCodec {
    /// The codec of memory that started as `base`.
    pub fn new(cipher: Arc<dyn LineCipher>, base: Arc<dyn BaseImage>) -> Self {
        Self { cipher, base }
    }

    /// The codec of memory that started as `base` and holds plaintext: an attacker changes that as well.
    pub fn in_the_clear(base: Arc<dyn BaseImage>) -> Self {
        Self::new(Arc::new(Plaintext), base)
    }
}

/// No cipher: what is stored is plaintext.
struct Plaintext;

impl LineCipher for Plaintext {
    fn encrypt(&self, _line: Line, plaintext: &LineBytes) -> LineBytes {
        *plaintext
    }
    fn decrypt(&self, _line: Line, ciphertext: &LineBytes) -> LineBytes {
        *ciphertext
    }
}

impl LineCodec for DirectCodec {
    fn has_counters(&self) -> bool {
        false
    }

    fn coverage(&self) -> Coverage {
        Coverage::LINE
    }

    fn base_block(&self, _block: CounterBlock) -> LineBytes {
        [0; 64]
    }

    fn decrypt(
        &self,
        line: Line,
        stored: &Stored,
        _block: &LineBytes,
        _status: Option<&ReencryptionStatus>,
    ) -> LineBytes {
        self.cipher.decrypt(line, &stored.bytes)
    }

    fn counter(&self, _line: Line, _block: &LineBytes, _status: Option<&ReencryptionStatus>) -> Counter {
        Counter::NEVER
    }

    fn first_ciphertext(&self, line: Line) -> Option<LineBytes> {
        Some(self.cipher.encrypt(line, self.base.line(line)?))
    }

    fn encrypt(&self, line: Line, plaintext: &LineBytes, _block: &LineBytes) -> Stored {
        Stored::whole(self.cipher.encrypt(line, plaintext))
    }

    fn increment(&self, _line: Line, _block: &mut LineBytes, _register: &mut u64) -> bool {
        true
    }

    fn major(&self, _block: &LineBytes) -> u64 {
        0
    }

    fn largest(&self, _block: &LineBytes) -> u64 {
        0
    }

    fn increment_major(&self, _old_major: u64, _block: &mut LineBytes) {}

    fn renew(&self, _line: Line, _old_major: u64, _block: &mut LineBytes) {}

    fn pad(&self, _line: Line, _counter: Counter) -> LineBytes {
        unreachable!("a cipher without counters makes no pads")
    }

    fn has_valid_flags(&self) -> bool {
        true
    }
}
