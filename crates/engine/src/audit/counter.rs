//! The auditor's own counter-mode cryptography: it unpacks counter blocks and makes pads with the `aes` crate, and
//! shares no code with the mechanisms that it checks. A mistake would have to be made twice in the same way to go
//! unnoticed.

use super::aes_blocks::{Aes, xor};
use super::direct::DirectCipher;
use super::facts::{CounterLayout, WordFacts};
use crate::layout::Coverage;
use crate::message::{Line, LineBytes};

/// The counter of one line. A global counter is stored in `major`, with `minor` 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct AuditedCounter {
    pub major: u64,
    pub minor: u16,
}

impl AuditedCounter {
    /// The counter of a line that was never written: it reads as zero and is not decrypted (valid flag).
    pub const NEVER: AuditedCounter = AuditedCounter { major: 0, minor: 0 };
}

/// Key and counter layout of a run.
pub(super) struct CounterCipher {
    aes: Aes,
    layout: CounterLayout,
    /// What encrypts lines, if their counters are only versions, or those of pages without counters.
    direct: Option<DirectCipher>,
    /// Whether pages have counters if their major counter is even.
    paged: bool,
    words: Option<WordFacts>,
    /// Whether a minor counter of zero means that the line reads as zeros, under any major counter.
    zero_minors: bool,
}

impl CounterCipher {
    /// A cipher with a key of 16 or 32 bytes. A block has a major counter of 64 bits and minor counters of 1 to 14 bits, or
    /// whole counters of eight lines at most.
    pub fn new(key: &[u8], layout: CounterLayout) -> Self {
        match layout {
            CounterLayout::Split { coverage, minor_bits } => {
                let bits = 64 + coverage.lines() * minor_bits as usize;
                assert!(bits <= 512, "a block of 512 bits does not hold counters of {bits} bits");
                assert!((1..=14).contains(&minor_bits), "minor counters have 1 to 14 bits, not {minor_bits}");
            }
            CounterLayout::Words { coverage, bytes } => {
                let bytes = coverage.lines() * bytes;
                assert!(bytes <= 64, "a block of 64 bytes does not hold counters of {bytes} bytes");
            }
        }
        Self { aes: Aes::new(key), layout, direct: None, paged: false, words: None, zero_minors: false }
    }

    /// The same for lines that are encrypted with `direct`, whose counters are only versions.
    pub fn with_versions(self, direct: Option<DirectCipher>) -> Self {
        Self { direct, ..self }
    }

    /// The same where `direct` encrypts the lines of pages whose major counter is odd.
    pub fn with_pages(self, direct: Option<DirectCipher>) -> Self {
        if direct.is_some() { Self { direct, paged: true, ..self } } else { self }
    }

    /// The same for lines whose words have one of two counters.
    pub fn with_words(self, words: Option<WordFacts>) -> Self {
        Self { words, ..self }
    }

    /// The same where a minor counter of zero means that the line reads as zeros, if it does.
    pub fn with_zero_minors(self, zero_minors: bool) -> Self {
        Self { zero_minors, ..self }
    }

    /// Whether a line with this counter reads as zeros and is not decrypted.
    pub fn reads_as_zeros(&self, counter: AuditedCounter) -> bool {
        counter == AuditedCounter::NEVER || self.zero_minors && counter.minor == 0
    }

    /// The words of lines, if these have one of two counters.
    pub fn words(&self) -> Option<WordFacts> {
        self.words
    }

    /// The counter with which the epoch of `counter` began.
    pub fn epoch(&self, counter: AuditedCounter) -> AuditedCounter {
        let Some(words) = self.words else { return counter };
        match self.layout {
            CounterLayout::Split { .. } => AuditedCounter {
                minor: (u64::from(counter.minor) / words.epoch_writes * words.epoch_writes) as u16,
                ..counter
            },
            CounterLayout::Words { .. } => {
                AuditedCounter { major: counter.major / words.epoch_writes * words.epoch_writes, ..counter }
            }
        }
    }

    /// Whether the counters of lines are only versions.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some() && !self.paged
    }

    /// How counters are laid out in a block.
    pub fn layout(&self) -> CounterLayout {
        self.layout
    }

    /// How many lines share a counter block.
    pub fn coverage(&self) -> Coverage {
        match self.layout {
            CounterLayout::Split { coverage, .. } | CounterLayout::Words { coverage, .. } => coverage,
        }
    }

    /// The counter of a populated line that the run has not written.
    pub fn base(&self) -> AuditedCounter {
        match self.layout {
            CounterLayout::Split { .. } => AuditedCounter { major: 0, minor: 1 },
            CounterLayout::Words { .. } => AuditedCounter { major: 1, minor: 0 },
        }
    }

    /// The one-time pad of `line` with `counter`: four AES blocks over line, counter and block number, packed into 128
    /// bits (model.md section 6). The bits of the minor counter beyond eight come before the line.
    pub fn pad(&self, line: Line, counter: AuditedCounter) -> LineBytes {
        let (over, minor) = (u128::from(counter.minor >> 8), u128::from(counter.minor & 0xff));
        let tweak = u128::from(counter.major) << 64 | over << 58 | u128::from(line.0) << 10 | minor << 2;
        let mut blocks: [aes::Block; 4] = std::array::from_fn(|k| (tweak | k as u128).to_be_bytes().into());
        self.aes.encrypt(&mut blocks);
        let mut pad = [0; 64];
        for (to, from) in pad.chunks_exact_mut(16).zip(&blocks) {
            to.copy_from_slice(from);
        }
        pad
    }

    /// Exclusive-ors `bytes` with the pad: encrypts or decrypts. Where counters are only versions, decrypts. Where words have
    /// one of two counters, no word is modified.
    pub fn apply(&self, line: Line, counter: AuditedCounter, bytes: &LineBytes) -> LineBytes {
        match &self.direct {
            Some(direct) if !self.paged || counter.major % 2 == 1 => direct.decrypt(line, bytes),
            _ => xor(bytes, &self.pad(line, self.epoch(counter))),
        }
    }

    /// The same for a line whose words are modified where a bit of `modified` is set.
    pub fn apply_words(&self, line: Line, counter: AuditedCounter, bytes: &LineBytes, modified: u64) -> LineBytes {
        let mut plain = self.apply(line, counter, bytes);
        let Some(words) = self.words.filter(|_| modified != 0) else { return plain };
        let leading = self.pad(line, counter);
        for at in (0..64).filter(|at| modified >> (at / words.bytes) & 1 == 1) {
            plain[at] = bytes[at] ^ leading[at];
        }
        plain
    }

    /// The counter of line `index` in a counter block. Split counters are a little-endian 64-bit major counter and the
    /// minor counters of all lines, packed from the least significant bit. Other counters are little-endian words of 8 or 7 bytes.
    pub fn unpack(&self, block: &LineBytes, index: usize) -> AuditedCounter {
        let word = |n: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&block[n * 8..n * 8 + 8]);
            u64::from_le_bytes(bytes)
        };
        let minor_bits = match self.layout {
            CounterLayout::Split { minor_bits, .. } => minor_bits,
            CounterLayout::Words { bytes, .. } => {
                let value = block[index * bytes..(index + 1) * bytes].iter().rev();
                return AuditedCounter { major: value.fold(0, |value, byte| value << 8 | u64::from(*byte)), minor: 0 };
            }
        };
        let bits = minor_bits as usize;
        let bit = index * bits;
        let (at, shift) = (1 + bit / 64, bit % 64);
        let mut value = word(at) >> shift;
        if shift + bits > 64 {
            value |= word(at + 1) << (64 - shift);
        }
        AuditedCounter { major: word(0), minor: (value & ((1 << bits) - 1)) as u16 }
    }
}

/// The bits of words in the block that lies beside their line: the first 8 bytes, little-endian.
pub(super) fn modified_in(block: &LineBytes) -> u64 {
    block[..8].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEVEN_BITS: CounterLayout = CounterLayout::Split { coverage: Coverage::PAGE, minor_bits: 7 };

    /// Packs bit by bit: slow and simple, and independent of `unpack`.
    pub fn pack<T: Copy + Into<u64>>(major: u64, minors: &[T], minor_bits: u32) -> LineBytes {
        let mut block = [0u8; 64];
        block[..8].copy_from_slice(&major.to_le_bytes());
        for (index, minor) in minors.iter().map(|&minor| minor.into()).enumerate() {
            for bit in 0..minor_bits as usize {
                if minor >> bit & 1 == 1 {
                    let at = 64 + index * minor_bits as usize + bit;
                    block[at / 8] |= 1 << (at % 8);
                }
            }
        }
        block
    }

    proptest! {
        #[test]
        fn unpacking_undoes_packing(
            major: u64, raw in prop::collection::vec(any::<u16>(), 128), lines in prop::sample::select(vec![16u32, 32, 64, 128]),
            narrower in 0u32..14,
        ) {
            let bits = (448 / lines).min(14).saturating_sub(narrower).max(1);
            let minors: Vec<u16> = raw.iter().take(lines as usize).map(|raw| raw & ((1 << bits) - 1)).collect();
            let layout = CounterLayout::Split { coverage: Coverage::of(lines), minor_bits: bits };
            let cipher = CounterCipher::new(&[7; 16], layout);
            let block = pack(major, &minors, bits);
            for (index, &minor) in minors.iter().enumerate() {
                prop_assert_eq!(cipher.unpack(&block, index), AuditedCounter { major, minor });
            }
        }

        #[test]
        fn global_counters_are_words(values: [u64; 8]) {
            let block: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let block: LineBytes = block.try_into().unwrap();
            for coverage in [Coverage::EIGHT_LINES, Coverage::LINE] {
                let cipher = CounterCipher::new(&[7; 16], CounterLayout::Words { coverage, bytes: 8 });
                for (index, &major) in values.iter().enumerate().take(coverage.lines()) {
                    prop_assert_eq!(cipher.unpack(&block, index), AuditedCounter { major, minor: 0 });
                }
            }
            let wide: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..7].to_vec()).chain([0xff; 8]).collect();
            let wide: LineBytes = wide.try_into().unwrap();
            let layout = CounterLayout::Words { coverage: Coverage::EIGHT_LINES, bytes: 7 };
            for (index, &major) in values.iter().enumerate() {
                let major = major & ((1 << 56) - 1);
                prop_assert_eq!(CounterCipher::new(&[7; 16], layout).unpack(&wide, index), AuditedCounter { major, minor: 0 });
            }
        }
    }

    #[test]
    fn pad_is_aes_of_the_tweak() {
        // FIPS-197 appendix C.1 gives AES-128 of a known block; choose line and counter so that block 1 of the pad
        // is that block: 00112233445566778899aabbccddeeff.
        let key: [u8; 16] = std::array::from_fn(|n| n as u8);
        let block = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128;
        let (k, line) = ((block & 3) as usize, Line((block >> 10) as u64 & ((1 << 48) - 1)));
        let counter = AuditedCounter {
            major: (block >> 64) as u64,
            minor: (block >> 2) as u16 & 0xff | ((block >> 58) as u16 & 0x3f) << 8,
        };
        let pad = CounterCipher::new(&key, SEVEN_BITS).pad(line, counter);
        let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
        assert_eq!(pad[k * 16..k * 16 + 16], expected);
    }

    #[test]
    fn longer_key_is_aes_256() {
        let [long, short] = [&[1; 32][..], &[1; 16]].map(|key| CounterCipher::new(key, SEVEN_BITS));
        assert_ne!(long.pad(Line(3), long.base()), short.pad(Line(3), short.base()));
    }
}
