//! What the caches hold when power fails, and what leaves them on battery.

use super::{CoreId, Line, LineBytes, MediaLine};

/// A dirty line in the caches at power loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnChipLine {
    /// The line's slot, numbered over all caches.
    pub slot: u64,
    /// The cache level, 1 to 3; 0 if it is not known.
    pub level: u8,
    /// The core whose cache holds the line; 0 for a shared cache.
    pub core: CoreId,
    /// The line that the slot holds.
    pub line: Line,
    /// The bytes in the data array: ciphertext if the caches are encrypted.
    pub resident: LineBytes,
    /// The bytes that the program stored. For observers, not for the drain.
    pub plaintext: LineBytes,
    /// Whether this is the newest copy: no level above holds the line dirty.
    pub newest: bool,
}

/// A write that left the chip on battery power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrainedWrite {
    /// The data line, counter block, line of MACs or tree node that was written.
    pub media: MediaLine,
    /// The bytes that crossed the bus.
    pub bytes: LineBytes,
    /// The cached line that the bytes hold and its plaintext, if they hold one.
    pub carries: Option<(Line, LineBytes)>,
    /// Whether the line is flagged as unencrypted.
    pub in_the_clear: bool,
}

/// What is where a line is looked for, if nobody knows any more where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// What this line holds.
    Line(MediaLine),
    /// What this line held before the run.
    First(Line),
    /// These bytes.
    Bytes(LineBytes),
    /// Nothing was written there.
    Blank,
}
