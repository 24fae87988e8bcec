//! The boot sequence after a power failure: from what survived to memory that the program can read.
//!
//! ```text
//! media + drained persistence domain + registers -> Boot: drain -> load registers -> the design's recovery steps
//!                                                -> ByteView through the decrypting read path -> program recovery
//! ```
//!
//! A boot uses the design's own mechanisms (a [`LineCodec`]) as the machine would. Whether they are correct is checked
//! by the auditors, which recompute everything independently. Each step is one indivisible hardware step, so power can
//! fail again between any two steps. The state at that moment is a [`HeldState`], and the next boot begins with what
//! survives of it.

mod boot;
mod checks;
mod codec;
mod direct;
mod integrity;
mod media_writer;
mod restore;
mod restored;
mod survivors;
#[cfg(test)]
mod tests;
mod trial;
mod undo;
mod updates;
mod watched;
mod work;

pub use boot::{Boot, BootStep};
pub use codec::SchemeCodec;
pub use direct::DirectCodec;
pub use integrity::{Alarm, CountersInTable, IntegrityCodec, TreeCodec};
pub use media_writer::{MediaWriter, WriteStep};
pub use survivors::{AdrSnapshot, GlobalCounter, HeldState, Media, Memory, ReencryptionStatus};
pub use undo::LogCodec;
pub use work::{Lines, Work};

use crate::layout::{Coverage, ShadowRegion};
use crate::message::{CounterBlock, Line, LineBytes};
use crate::parts::{Counter, Stored};

/// The encryption mechanisms of a design, as a boot needs them. Blocks are 64-byte counter blocks as stored on the
/// media.
pub trait LineCodec: Sync {
    /// Whether lines have counters. If not, blocks are not stored, and no bytes of one matter.
    fn has_counters(&self) -> bool {
        true
    }
    /// Whether lines are encrypted with pads, which must not be used twice.
    fn makes_pads(&self) -> bool {
        self.has_counters()
    }
    /// Whether `line` is encrypted with a pad, if its counter is the one in `block`.
    fn pads_line(&self, _line: Line, _block: &LineBytes) -> bool {
        self.makes_pads()
    }
    /// How many lines share a counter block.
    fn coverage(&self) -> Coverage;
    /// The contents of `block` if it was never stored: each populated line has been written once.
    fn base_block(&self, block: CounterBlock) -> LineBytes;
    /// Decrypts `line` with its counter block and the status register, which has the major counter of its page. A line
    /// whose counter is that of a line never written reads as zero.
    fn decrypt(&self, line: Line, stored: &Stored, block: &LineBytes, status: Option<&ReencryptionStatus>)
    -> LineBytes;
    /// The counter of `line` in `block`; the status register has the major counter of its page.
    fn counter(&self, line: Line, block: &LineBytes, status: Option<&ReencryptionStatus>) -> Counter;
    /// Whether a line with this counter reads as zeros, whatever lies in memory.
    fn is_zero(&self, counter: Counter) -> bool {
        counter == Counter::NEVER
    }
    /// What protects integrity; `None` if nothing does.
    fn integrity(&self) -> Option<&IntegrityCodec> {
        None
    }
    /// The stored bytes of `line` before the run, if it was populated.
    fn first_ciphertext(&self, _line: Line) -> Option<LineBytes> {
        None
    }
    /// The MAC of `line` before the run, if it was populated and lines have MACs.
    fn first_mac(&self, _line: Line) -> Option<u128> {
        None
    }
    /// Encrypts all of `line` with its counter in `block`. No re-encryption may be in progress.
    fn encrypt(&self, line: Line, plaintext: &LineBytes, block: &LineBytes) -> Stored;
    /// The ciphertext of `line`, which was populated and not written since, with its counter in `block`.
    fn encrypt_first(&self, line: Line, plaintext: &LineBytes, block: &LineBytes) -> LineBytes {
        self.encrypt(line, plaintext, block).bytes
    }
    /// Whether bits of words lie beside lines, and survive.
    fn keeps_modified(&self) -> bool {
        false
    }
    /// Gives `line` its next counter in `block`: for global counters, the one after `register`, which is updated.
    /// Returns false, and changes nothing, if a minor counter overflows.
    fn increment(&self, line: Line, block: &mut LineBytes, register: &mut u64) -> bool;
    /// Gives `line` this counter in its `block`.
    fn set_counter(&self, _line: Line, _block: &mut LineBytes, _counter: Counter) {}
    /// The major counter of `block`.
    fn major(&self, block: &LineBytes) -> u64;
    /// The largest global counter in `block`.
    fn largest(&self, block: &LineBytes) -> u64;
    /// Increments the major counter of `block` to the one after `old_major`, if it is not there yet. Minor counters stay.
    fn increment_major(&self, old_major: u64, block: &mut LineBytes);
    /// Gives `line` its first counter after an overflow: major counter `old_major` + 1, minor counter 0.
    fn renew(&self, line: Line, old_major: u64, block: &mut LineBytes);
    /// The pad of `line`, which may be outside memory, with `counter`.
    fn pad(&self, line: Line, counter: Counter) -> LineBytes;
    /// Whether each line has a flag on the media that shows whether it was ever written. Otherwise only the counter 0
    /// shows it.
    fn has_valid_flags(&self) -> bool {
        false
    }
    /// The region of the shadow cache, if there is one.
    fn shadow(&self) -> Option<ShadowRegion> {
        None
    }
    /// The reader of the log that hardware writes, if it writes one.
    fn log(&self) -> Option<LogCodec<'_>> {
        None
    }
}
