//! The auditor's own MACs: CMAC written from RFC 4493 over the block cipher alone. It needs them where a recovery finds
//! counters by trial: then the counter of a line is the one that its MAC belongs to.

use super::aes_blocks::Aes;
use super::counter::AuditedCounter;
use super::facts::TrialFacts;
use crate::layout::MacLayout;
use crate::message::{Line, LineBytes};
use crate::parts::MacInputs;

/// The MACs of data lines.
pub(super) struct AuditedMacs {
    aes: Aes,
    subkeys: [u128; 2],
    pub layout: MacLayout,
    inputs: MacInputs,
    pub steps: u64,
}

impl AuditedMacs {
    pub fn new(facts: &TrialFacts) -> Self {
        let aes = Aes::new(&facts.key);
        let double = |value: u128| value << 1 ^ if value >> 127 == 1 { 0x87 } else { 0 };
        let first = double(u128::from_be_bytes(aes.block(&[0; 16])));
        Self { aes, subkeys: [first, double(first)], layout: facts.layout, inputs: facts.inputs, steps: facts.steps }
    }

    /// The MAC of `line`, stored as `ciphertext` under `counter`: over the ciphertext, the line number, the major and the
    /// minor counter, 81 bytes in all, so that the last block has one byte of them. Of a minor counter of more than a byte, the
    /// rest is in the last byte of the line number.
    pub fn of(&self, line: Line, ciphertext: &LineBytes, counter: AuditedCounter) -> u128 {
        let mut message = [0; 96];
        message[..64].copy_from_slice(ciphertext);
        message[64..72].copy_from_slice(&line.0.to_le_bytes());
        message[72..80].copy_from_slice(&counter.major.to_le_bytes());
        message[80] = counter.minor as u8;
        match self.inputs {
            MacInputs::All => {}
            MacInputs::WithoutAddress => message[64..72].fill(0xff),
            MacInputs::WithoutCounter => message[72..81].fill(0xff),
        }
        if self.inputs != MacInputs::WithoutCounter {
            message[71] ^= (counter.minor >> 8) as u8;
        }
        message[81] = 0x80;
        let [.., padded] = self.subkeys;
        let blocks = message.chunks_exact(16).map(|block| {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(block);
            u128::from_be_bytes(bytes)
        });
        let (mut state, last) = (0, message.len() / 16 - 1);
        for (place, block) in blocks.enumerate() {
            let input = state ^ block ^ if place == last { padded } else { 0 };
            state = u128::from_be_bytes(self.aes.block(&input.to_be_bytes()));
        }
        u128::from_le_bytes(state.to_be_bytes()) & u128::MAX >> (u128::BITS - self.layout.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::{Keys, MacCipher};
    use crate::layout::Coverage;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn auditors_macs_are_those_of_the_mechanism(
            seed: u64, half: [u8; 32], line in 0..1u64 << 48, major: u64, minor in 0..1u16 << 14, bits in prop::sample::select(vec![56u32, 64, 128]),
        ) {
            let key = Keys::from_seed(seed).mac;
            let layout = MacLayout { coverage: Coverage::LINE, beside_bytes: 0, bits };
            let audited = AuditedMacs::new(&TrialFacts { key: key[..16].to_vec(), layout, inputs: MacInputs::All, steps: 4 });
            let bytes: LineBytes = [half, half].concat().try_into().unwrap();
            let mechanism = MacCipher::new(&key).line(&bytes, Some(Line(line)), Some((major, minor)));
            let computed = audited.of(Line(line), &bytes, AuditedCounter { major, minor });
            prop_assert_eq!(computed, mechanism & u128::MAX >> (128 - bits));
        }
    }
}
