//! MACs of data lines, with the inputs that a design's part names.

use super::low_bits::LowBits;
use crate::cipher::MacCipher;
use crate::message::{Line, LineBytes};
use crate::parts::{Counter, MacInputs, MacSource};

/// MACs with one key.
pub struct Macs {
    /// The cipher.
    pub cipher: MacCipher,
    /// What a MAC covers.
    pub inputs: MacInputs,
    /// Bits that are stored.
    pub bits: u32,
    /// The lowest bits of the line's counter that are stored with the MAC, if any are.
    pub low: Option<LowBits>,
}

impl MacSource for Macs {
    fn mac(&self, line: Line, ciphertext: &LineBytes, counter: Counter) -> u128 {
        let covered = (self.inputs != MacInputs::WithoutCounter).then_some((counter.major, counter.minor));
        let line = (self.inputs != MacInputs::WithoutAddress).then_some(line);
        let mac = self.cipher.line(ciphertext, line, covered);
        self.low.map_or(mac, |low| low.joined(mac, counter.major)) & u128::MAX >> (u128::BITS - self.bits)
    }
}
