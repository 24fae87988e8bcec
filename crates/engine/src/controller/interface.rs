//! What the controller's callers hand in and what they get back.

use crate::kernel::{Queue, Random};
use crate::message::{
    CoreId, CounterBlock, Event, Line, LineBytes, LogRegion, LogSnapshot, MediaLine, Page, WriteToken,
};
use crate::parts::{CounterScheme, Encryption, FeedbackSource, LogChains, LogEncryption, LogOrder, PadSource};

/// What the controller acts on while it handles an event.
pub struct Context<'a, D, O> {
    /// Time and events.
    pub queue: &'a mut Queue<Event>,
    /// The media.
    pub device: &'a mut D,
    /// Who watches.
    pub observer: &'a mut O,
}

/// What the controller answers.
#[derive(Clone, Copy, Debug)]
pub enum Response {
    /// A read is done.
    Read { token: u32, bytes: LineBytes },
    /// A write is in the persistence domain.
    Written { token: WriteToken },
    /// The transaction of `core` has registers: its lines can be logged.
    TransactionBegun { core: CoreId },
    /// The log manager has taken the old bytes that `core` sent.
    Logged { core: CoreId },
    /// The line that `core` is about to write has its next counter.
    CounterBumped { core: CoreId },
    /// The log of the transaction of `core` is freed.
    TransactionEnded { core: CoreId },
    /// A line read for page re-encryption, for the last-level cache (secpm section 3.5).
    Install { line: Line, bytes: LineBytes },
}

/// The status register of page re-encryption as a power failure finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RsrSnapshot {
    /// Page under re-encryption.
    pub page: Page,
    /// Its major counter before.
    pub old_major: u64,
    /// Bit `i`: line `i` is under the new major counter.
    pub done: u64,
}

/// What the controller holds at a power failure.
#[derive(Clone, Debug)]
pub struct ControllerSnapshot {
    /// What lies ready in the write pending queue, in admission order.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// The global counter's register, if counters are global.
    pub global_counter: Option<u64>,
    /// Status register, if it is in use.
    pub rsr: Option<RsrSnapshot>,
    /// Log metadata registers, a set for each transaction with a log.
    pub log: Vec<LogSnapshot>,
    /// Counter blocks newer than the queue and the media: those that have left the counter cache and wait for a slot, then
    /// the dirty ones in it.
    pub counters: Vec<(CounterBlock, LineBytes)>,
}

/// What encryption needs, built once from the design's parts.
pub struct EncryptionParts {
    /// The design's choices.
    pub parts: Encryption,
    /// The counter scheme.
    pub scheme: Box<dyn CounterScheme>,
    /// The pads.
    pub pads: Box<dyn PadSource>,
    /// The undo log that the controller writes, if it writes one.
    pub log: Option<LogParts>,
}

/// What the log manager needs, built once from the design's parts.
pub struct LogParts {
    /// Where the log lies.
    pub region: LogRegion,
    /// How its lines are encrypted.
    pub encryption: LogEncryption,
    /// What modified lines wait for.
    pub order: LogOrder,
    /// How chains are linked.
    pub chains: LogChains,
    /// Cipher feedback under the log's key.
    pub feedback: Box<dyn FeedbackSource>,
    /// Where initial vectors come from: a hardware random number generator, repeatable here.
    pub random: Random,
}
