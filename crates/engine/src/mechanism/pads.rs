//! Counter-mode pads for lines, made by the ciphers of `cipher`.

use crate::cipher::{FeedbackCipher, PadCipher};
use crate::layout::{CipherBlock, LogRegion};
use crate::message::{Line, LineBytes};
use crate::parts::{Counter, FeedbackSource, PadSource};

impl PadSource for PadCipher {
    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        PadCipher::pad(self, line, counter.major, counter.minor)
    }
}

/// Pads of a memory whose log is in a separate region with a separate key: log and data never share a pad.
pub struct LogAndDataPads {
    /// Pads of data lines.
    pub data: PadCipher,
    /// Pads of log lines.
    pub log: PadCipher,
    /// The region of the log.
    pub region: LogRegion,
}

impl PadSource for LogAndDataPads {
    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        let pads = if self.region.contains(line) { &self.log } else { &self.data };
        PadSource::pad(pads, line, counter)
    }
}

impl FeedbackSource for FeedbackCipher {
    fn encrypt(&self, previous: &CipherBlock, plaintext: &LineBytes) -> LineBytes {
        FeedbackCipher::encrypt(self, previous, plaintext)
    }
    fn decrypt(&self, previous: &CipherBlock, ciphertext: &LineBytes) -> LineBytes {
        FeedbackCipher::decrypt(self, previous, ciphertext)
    }
}
