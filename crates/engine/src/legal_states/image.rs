//! One legal state as bytes: ciphertexts with real pads, counter blocks, and the boot from them.
//!
//! Only whether a line's counter belongs to its data matters, not its value. So a line that decrypts has been written
//! once, and one whose counter is behind or ahead once more. Minor counters have all bits here for which their block
//! has room, three at least, whatever the machine has.

use super::history::LineHistory;
use super::space::Reading;
use crate::message::{BaseImage, Content, Line, LineBytes, MediaLine};
use crate::parts::Stored;
use crate::recovery::{LineCodec, Media};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What the media hold for one line.
pub(crate) struct Encoded {
    /// The ciphertext; `None` for that from before the run.
    pub ciphertext: Option<Stored>,
    /// How often the line's counter was incremented in the block on the media.
    pub increments: u32,
}

/// Encrypts lines as hardware would leave them.
pub(crate) struct Encoder<'a> {
    /// `None` if memory holds plaintext, or if counters cannot be separated from their lines.
    pub codec: Option<&'a dyn LineCodec>,
    pub base: Arc<dyn BaseImage>,
}

impl Encoder<'_> {
    /// What a boot reads from `line` if `version` was written back last and its counter is as `reading` says.
    pub fn read_back(&self, line: Line, of: &LineHistory, version: usize, reading: Reading) -> LineBytes {
        let codec = self.codec.expect("without counters lines read as they were stored");
        let encoded = self.encode(line, of, version, reading);
        let ciphertext = encoded.ciphertext.unwrap_or_else(|| self.before(codec, line));
        codec.decrypt(line, &ciphertext, &self.block_of(codec, line, encoded.increments), None)
    }

    /// The line as stored on the media.
    pub fn encode(&self, line: Line, of: &LineHistory, version: usize, reading: Reading) -> Encoded {
        let plaintext = &of.version(version).bytes;
        let written = version > 0 || of.covered_at.is_some();
        let Some(codec) = self.codec else {
            return Encoded { ciphertext: written.then_some(Stored::whole(*plaintext)), increments: 0 };
        };
        let (of_data, increments) = match (written, reading) {
            (false, Reading::CounterAhead) => (0, 1),
            (false, _) => (0, 0),
            (true, Reading::Intact) => (1, 1),
            (true, Reading::CounterAhead) => (1, 2),
            (true, Reading::CounterBehind) => (2, 1),
            (true, Reading::CounterFromBefore) => (1, 0),
        };
        let ciphertext = written.then(|| codec.encrypt(line, plaintext, &self.block_of(codec, line, of_data)));
        Encoded { ciphertext, increments }
    }

    /// The block of `line` with its counter incremented `increments` times.
    fn block_of(&self, codec: &dyn LineCodec, line: Line, increments: u32) -> LineBytes {
        let mut block = codec.base_block(codec.coverage().block(line));
        increment(codec, line, &mut block, increments);
        block
    }

    /// The ciphertext of `line` from before the run.
    fn before(&self, codec: &dyn LineCodec, line: Line) -> Stored {
        let first = |plaintext| codec.encrypt_first(line, plaintext, &self.block_of(codec, line, 0));
        Stored::whole(self.base.line(line).map_or([0; 64], first))
    }
}

/// Increments a line's counter. Here no counter, not even a global one, depends on other lines.
fn increment(codec: &dyn LineCodec, line: Line, block: &mut LineBytes, increments: u32) {
    let mut register = 16 + 4 * line.0;
    for _ in 0..increments {
        assert!(codec.increment(line, block, &mut register), "three bits hold three writes");
    }
}

/// The media in one legal state.
pub(super) struct StateImage {
    base: Arc<dyn BaseImage>,
    stored: FxHashMap<MediaLine, LineBytes>,
    /// Greater than every counter that was used.
    pub register: u64,
}

impl StateImage {
    pub fn new(encoder: &Encoder<'_>, lines: impl Iterator<Item = (Line, Encoded)>) -> Self {
        let mut image = Self { base: Arc::clone(&encoder.base), stored: FxHashMap::default(), register: 16 };
        for (line, encoded) in lines {
            image.register = image.register.max(16 + 4 * line.0 + 4);
            if let Some(ciphertext) = encoded.ciphertext {
                image.stored.insert(MediaLine::data(line), ciphertext.bytes);
                if encoder.codec.is_some_and(|codec| codec.keeps_modified()) {
                    image.stored.insert(MediaLine::modified(line), Stored::block_of(ciphertext.modified));
                }
            }
            if let Some(codec) = encoder.codec {
                let block = codec.coverage().block(line);
                let bytes = image.stored.entry(MediaLine::counter(block)).or_insert_with(|| codec.base_block(block));
                increment(codec, line, bytes, encoded.increments);
            }
        }
        image
    }
}

impl Media for StateImage {
    fn content(&self, media: MediaLine) -> Content<'_> {
        if let Some(bytes) = self.stored.get(&media) {
            return Content::Stored(bytes);
        }
        media.as_line().and_then(|line| self.base.line(line)).map_or(Content::Never, Content::Base)
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.stored.iter().for_each(|(media, bytes)| show(*media, bytes));
    }
}
