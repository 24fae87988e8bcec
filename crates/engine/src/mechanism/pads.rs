//! Counter-mode pads for lines, and lines without counters, made by the ciphers of `cipher`.

use crate::cipher::{FeedbackCipher, PadCipher, XtsCipher};
use crate::layout::{CipherBlock, LogRegion};
use crate::message::{Line, LineBytes};
use crate::parts::{Counter, FeedbackSource, LineCipher, PadSource};
use std::sync::Arc;

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

/// AES-XTS where counters are only versions, which change no ciphertext.
pub struct VersionedLines {
    /// What makes pads of what is no line.
    pub pads: PadCipher,
    /// What encrypts lines.
    pub lines: Arc<dyn LineCipher>,
}

impl PadSource for VersionedLines {
    fn makes_pads(&self) -> bool {
        false
    }
    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        PadSource::pad(&self.pads, line, counter)
    }
    fn encrypt(&self, line: Line, _counter: Counter, plaintext: &LineBytes) -> LineBytes {
        self.lines.encrypt(line, plaintext)
    }
    fn decrypt(&self, line: Line, _counter: Counter, ciphertext: &LineBytes) -> LineBytes {
        self.lines.decrypt(line, ciphertext)
    }
}

/// AES-XTS with the same tweak for every line: a seeded fault.
pub struct ConstantTweak(pub XtsCipher);

impl LineCipher for ConstantTweak {
    fn encrypt(&self, _line: Line, plaintext: &LineBytes) -> LineBytes {
        self.0.encrypt(Line(0), plaintext)
    }
    fn decrypt(&self, _line: Line, ciphertext: &LineBytes) -> LineBytes {
        self.0.decrypt(Line(0), ciphertext)
    }
}

impl LineCipher for XtsCipher {
    fn encrypt(&self, line: Line, plaintext: &LineBytes) -> LineBytes {
        XtsCipher::encrypt(self, line, plaintext)
    }
    fn decrypt(&self, line: Line, ciphertext: &LineBytes) -> LineBytes {
        XtsCipher::decrypt(self, line, ciphertext)
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
