//! The boot sequence after a power failure: what survived goes in, readable memory comes out.
//!
//! ```text
//! media + drained persistence domain + registers -> Boot: drain -> load registers -> the design's recovery steps
//!                                                -> ByteView through the decrypting read path -> program recovery
//! ```
//!
//! A boot uses the design's own mechanisms (a [`LineCodec`]) as the machine would; whether they got it right is for the
//! auditors, which recompute everything on their own. Each step is one indivisible hardware step, so that power can
//! fail again between any two; what is held then is a [`HeldState`], and the next boot begins with what survives of it.

mod boot;
mod codec;
mod media_writer;
mod restore;
mod survivors;
#[cfg(test)]
mod tests;
mod undo;

pub use boot::{Boot, BootStep};
pub use codec::SchemeCodec;
pub use media_writer::{MediaWriter, WriteStep};
pub use survivors::{AdrSnapshot, GlobalCounter, HeldState, Media, ReencryptionStatus};
pub use undo::LogCodec;

use crate::message::{CounterBlock, Coverage, Line, LineBytes, ShadowRegion};
use crate::parts::Counter;

/// The encryption mechanisms of a design, as a boot needs them. Blocks are 64-byte counter blocks as they lie on the
/// media.
pub trait LineCodec {
    /// How many lines share a counter block.
    fn coverage(&self) -> Coverage;
    /// What `block` reads as if none was ever stored: the populated lines written once.
    fn base_block(&self, block: CounterBlock) -> LineBytes;
    /// The plaintext of `line` from its ciphertext, its counter block and the status register, which has the major counter
    /// of its page. A line whose counter says never written reads as zero.
    fn decrypt(
        &self,
        line: Line,
        ciphertext: &LineBytes,
        block: &LineBytes,
        status: Option<&ReencryptionStatus>,
    ) -> LineBytes;
    /// The ciphertext of `line` under the counter that `block` now holds for it; no re-encryption is going on.
    fn encrypt(&self, line: Line, plaintext: &LineBytes, block: &LineBytes) -> LineBytes;
    /// Gives `line` its next counter in `block`: a global one comes after `register`, which then holds it. False, and
    /// nothing changed, if a minor counter overflows.
    fn bump(&self, line: Line, block: &mut LineBytes, register: &mut u64) -> bool;
    /// The major counter of `block`.
    fn major(&self, block: &LineBytes) -> u64;
    /// The largest global counter in `block`.
    fn largest(&self, block: &LineBytes) -> u64;
    /// Gives `line` its first counter after an overflow in `block`: major counter `old_major` + 1, minor counter 0.
    fn renew(&self, line: Line, old_major: u64, block: &mut LineBytes);
    /// The pad of `line`, which may lie outside the memory, under `counter`.
    fn pad(&self, line: Line, counter: Counter) -> LineBytes;
    /// Where the shadow cache lies, if there is one.
    fn shadow(&self) -> Option<ShadowRegion> {
        None
    }
    /// How the log is read that hardware writes, if it writes one.
    fn log(&self) -> Option<LogCodec<'_>> {
        None
    }
}
