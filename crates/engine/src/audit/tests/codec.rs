//! For tests: encryption written out with single AES blocks and bit by bit, independent of both the auditors' and the
//! engine's.

use super::fixture::{KEY, LOG_KEY, Populated};
use crate::audit::CounterLayout;
use crate::cipher::FeedbackCipher;
use crate::layout::{CipherBlock, Coverage, LogRegion};
use crate::message::{BaseImage, CounterBlock, Line, LineBytes, Page};
use crate::parts::{Counter, Stored};
use crate::recovery::{LineCodec, LogCodec, ReencryptionStatus};
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use std::sync::Arc;

/// Exclusive-ors `bytes` with the pad of data line `line` for (major, minor).
pub fn crypt(line: Line, major: u64, minor: u8, bytes: &LineBytes) -> LineBytes {
    crypt_under(&KEY, line, major, minor.into(), bytes)
}

/// Exclusive-ors `bytes` with the pad of `line` for (major, minor) and any key.
pub fn crypt_under(key: &[u8; 16], line: Line, major: u64, minor: u16, bytes: &LineBytes) -> LineBytes {
    let aes = aes::Aes128::new_from_slice(key).unwrap();
    let mut out = *bytes;
    for block in 0..4u64 {
        let mut input = [0u8; 16];
        input[..8].copy_from_slice(&major.to_be_bytes());
        input[8..].copy_from_slice(&(block + u64::from(minor) * 4 + line.0 * 1024).to_be_bytes());
        let mut input = input.into();
        aes.encrypt_block(&mut input);
        for (n, pad) in input.iter().enumerate() {
            out[block as usize * 16 + n] ^= pad;
        }
    }
    out
}

/// The next line of a chain with the log's key; `recent` is the chain's recent ciphertext.
pub fn cfb_encrypt(recent: &mut CipherBlock, plaintext: &LineBytes) -> LineBytes {
    let aes = aes::Aes128::new_from_slice(&LOG_KEY).unwrap();
    let mut out = *plaintext;
    for block in out.chunks_exact_mut(16) {
        let mut pad = (*recent).into();
        aes.encrypt_block(&mut pad);
        for (byte, pad) in block.iter_mut().zip(pad) {
            *byte ^= pad;
        }
        recent.copy_from_slice(block);
    }
    out
}

/// The design's side of encryption, for boots of the scripted machine.
pub struct TestCodec {
    pub base: Arc<Populated>,
    pub counters: CounterLayout,
    log: Option<(LogRegion, FeedbackCipher)>,
}

impl TestCodec {
    pub fn new(base: Arc<Populated>, counters: CounterLayout) -> Self {
        Self { base, counters, log: None }
    }

    pub fn split(base: Arc<Populated>, minor_bits: u32) -> Self {
        Self::new(base, CounterLayout::Split { coverage: Coverage::PAGE, minor_bits })
    }

    /// Adds a hardware log in `region`, with its own key.
    pub fn keep_log(&mut self, region: LogRegion) {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&LOG_KEY);
        self.log = Some((region, FeedbackCipher::new(&key, 128).unwrap()));
    }

    fn key(&self, line: Line) -> &'static [u8; 16] {
        match &self.log {
            Some((region, _)) if region.contains(line) => &LOG_KEY,
            _ => &KEY,
        }
    }

    fn minor_bits(&self) -> u32 {
        match self.counters {
            CounterLayout::Split { minor_bits, .. } => minor_bits,
            CounterLayout::Words { .. } => panic!("a global counter has no minors"),
        }
    }

    pub fn pack(&self, major: u64, minors: &[u8; 64]) -> LineBytes {
        crate::audit::counter::tests::pack(major, minors, self.minor_bits())
    }

    pub fn minors(&self, block: &LineBytes) -> [u8; 64] {
        let bits = self.minor_bits() as usize;
        std::array::from_fn(|index| {
            (0..bits)
                .map(|bit| 64 + index * bits + bit)
                .enumerate()
                .map(|(bit, at)| (block[at / 8] >> (at % 8) & 1) << bit)
                .sum()
        })
    }

    /// Major and minor of `line`; a global counter is all major.
    pub fn counter(&self, line: Line, block: &LineBytes) -> (u64, u8) {
        match self.counters {
            CounterLayout::Split { .. } => (self.major(block), self.minors(block)[line.index_in_page()]),
            CounterLayout::Words { coverage, .. } => {
                let at = (line.0 % coverage.lines() as u64) as usize;
                (u64::from_le_bytes(block[at * 8..at * 8 + 8].try_into().unwrap()), 0)
            }
        }
    }
}

/// A block of global counters.
pub fn words(values: &[u64]) -> LineBytes {
    let mut block = [0; 64];
    for (bytes, value) in block.chunks_exact_mut(8).zip(values) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    block
}

impl LineCodec for TestCodec {
    fn coverage(&self) -> Coverage {
        match self.counters {
            CounterLayout::Split { coverage, .. } | CounterLayout::Words { coverage, .. } => coverage,
        }
    }
    fn base_block(&self, block: CounterBlock) -> LineBytes {
        match self.counters {
            CounterLayout::Split { .. } => {
                let page = Page(block.0);
                self.pack(0, &std::array::from_fn(|n| u8::from(self.base.populated(page.line(n)))))
            }
            CounterLayout::Words { coverage, .. } => {
                let lines = coverage.lines() as u64;
                let values: Vec<u64> =
                    (0..lines).map(|n| u64::from(self.base.populated(Line(block.0 * lines + n)))).collect();
                words(&values)
            }
        }
    }
    fn decrypt(
        &self,
        line: Line,
        stored: &Stored,
        block: &LineBytes,
        status: Option<&ReencryptionStatus>,
    ) -> LineBytes {
        let (major, minor) = self.counter(line, block);
        let major = match status.filter(|status| status.group.line(0).page() == line.page()) {
            Some(status) if status.done >> line.index_in_page() & 1 == 0 => status.old_major,
            Some(status) => status.old_major + 1,
            None => major,
        };
        if (major, minor) == (0, 0) {
            [0; 64]
        } else {
            crypt_under(self.key(line), line, major, minor.into(), &stored.bytes)
        }
    }
    fn pad(&self, line: Line, counter: crate::parts::Counter) -> LineBytes {
        crypt_under(self.key(line), line, counter.major, counter.minor, &[0; 64])
    }
    fn encrypt(&self, line: Line, plaintext: &LineBytes, block: &LineBytes) -> Stored {
        let (major, minor) = self.counter(line, block);
        Stored::whole(crypt_under(self.key(line), line, major, minor.into(), plaintext))
    }
    fn increment(&self, line: Line, block: &mut LineBytes, register: &mut u64) -> bool {
        if let CounterLayout::Words { coverage, .. } = self.counters {
            *register = (*register).max(1) + 1;
            let at = (line.0 % coverage.lines() as u64) as usize;
            block[at * 8..at * 8 + 8].copy_from_slice(&register.to_le_bytes());
            return true;
        }
        let mut minors = self.minors(block);
        let minor = &mut minors[line.index_in_page()];
        if u32::from(*minor) + 1 == 1 << self.minor_bits() {
            return false;
        }
        *minor += 1;
        *block = self.pack(self.major(block), &minors);
        true
    }
    fn major(&self, block: &LineBytes) -> u64 {
        u64::from_le_bytes(block[..8].try_into().unwrap())
    }
    fn largest(&self, block: &LineBytes) -> u64 {
        block.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).max().unwrap()
    }
    fn counter(&self, line: Line, block: &LineBytes, status: Option<&ReencryptionStatus>) -> Counter {
        let (major, minor) = TestCodec::counter(self, line, block);
        Counter { major: status.and_then(|status| status.major_of(line)).unwrap_or(major), minor: minor.into() }
    }
    fn increment_major(&self, old_major: u64, block: &mut LineBytes) {
        let minors = self.minors(block);
        *block = self.pack(old_major + 1, &minors);
    }
    fn renew(&self, line: Line, old_major: u64, block: &mut LineBytes) {
        let mut minors = self.minors(block);
        minors[line.index_in_page()] = 0;
        *block = self.pack(old_major + 1, &minors);
    }
    fn log(&self) -> Option<LogCodec<'_>> {
        self.log.as_ref().map(|(region, feedback)| LogCodec { region: *region, feedback })
    }
}
