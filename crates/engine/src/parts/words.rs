//! Lines of which a write encrypts only some words anew.

use super::counters::Counter;
use crate::message::{Line, LineBytes};
use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// Which words of a line a write encrypts anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum ReencryptedWords {
    /// All, with the line's new counter.
    #[default]
    #[strum(props(paper = "secpm, section 2.2"))]
    All,
    /// Those that have been modified since the line's epoch began, with the new counter. The others stay encrypted with the
    /// counter that the epoch began with. A bit of each word says which counter it has; these bits lie beside the line and
    /// are written with it.
    #[strum(props(paper = "Young et al., ASPLOS 2015 (DEUCE)"))]
    Modified,
    /// As `modified`, with the bits of words on the chip alone, where a loss of power takes them.
    #[strum(props(paper = "seeded fault"))]
    ModifiedVolatile,
    /// As `modified`, but a modified word keeps the counter that the epoch began with.
    #[strum(props(paper = "seeded fault"))]
    ModifiedInPlace,
}

/// A line as it lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Its ciphertext.
    pub bytes: LineBytes,
    /// For each of its words, lowest first, whether it has been modified since the line's epoch began. Zero where all words
    /// have the same counter.
    pub modified: u64,
}

impl Stored {
    /// A line whose words all have the same counter.
    pub fn whole(bytes: LineBytes) -> Self {
        Self { bytes, modified: 0 }
    }
    /// The bits of words as they lie beside their line, in the form of a block: in the first 8 bytes.
    pub fn block_of(modified: u64) -> LineBytes {
        let mut block = [0; 64];
        block[..8].copy_from_slice(&modified.to_le_bytes());
        block
    }
    /// The bits of words in such a block.
    pub fn modified_in(block: &LineBytes) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|at| block[at]))
    }
}

/// What encrypts lines of which a write encrypts only modified words anew.
pub trait WordSource: Send + Sync {
    /// Whether an epoch of a line begins with `counter`: then a write encrypts all its words, whatever is in memory.
    fn begins_epoch(&self, counter: Counter) -> bool;
    /// `plaintext` in `line` under `counter`, over what is `before` in memory; `None`: nothing has been written there, so that it
    /// reads as zeros.
    fn write(&self, line: Line, counter: Counter, plaintext: &LineBytes, before: Option<&Stored>) -> Stored;
    /// `plaintext` in `line` as if the epoch of `counter` had begun with it.
    fn first(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> LineBytes;
    /// The plaintext of what is `stored` in `line` under `counter`.
    fn read(&self, line: Line, counter: Counter, stored: &Stored) -> LineBytes;
    /// `plaintext` in `line` under `counter`, if nothing is known of what is in memory: all words are modified.
    fn whole(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> Stored;
}
