//! The requests and answers of the controller, and what it is built from.

use crate::kernel::{Ps, Queue, Random};
use crate::layout::{LogRegion, LogSnapshot, MacLayout, TreePlace, TreeShape, UpdateRing};
use crate::message::{CoreId, CounterBlock, CounterGroup, Event, GroupMask, Line, LineBytes, MediaLine, WriteToken};
use crate::parts::{
    CounterScheme, Encryption, FeedbackSource, Integrity, LogChains, LogEncryption, LogOrder, LowBitsScheme, MacSource,
    PadSource, ShadowTree, TableScheme, Tree, TreeScheme,
};
use std::sync::Arc;

/// What the controller works on while it handles an event.
pub struct Context<'a, D, O: ?Sized> {
    /// The event queue, which also holds the time.
    pub queue: &'a mut Queue<Event>,
    /// The media.
    pub device: &'a mut D,
    /// The observer of what the controller does.
    pub observer: &'a mut O,
}

/// An answer of the controller.
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
    CounterIncremented { core: CoreId },
    /// The log of the transaction of `core` is freed.
    TransactionEnded { core: CoreId },
    /// A line that page re-encryption has read, for the last-level cache (secpm section 3.5).
    Install { line: Line, bytes: LineBytes },
}

/// The status register of page re-encryption at a power failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RsrSnapshot {
    /// Lines under re-encryption.
    pub group: CounterGroup,
    /// Their major counter before the overflow.
    pub old_major: u64,
    /// Bit `i`: whether line `i` uses the new major counter.
    pub done: GroupMask,
}

/// What the controller holds at a power failure.
#[derive(Clone, Debug)]
pub struct ControllerSnapshot {
    /// The ready entries of the write pending queue, in admission order.
    pub wpq: Vec<(MediaLine, LineBytes)>,
    /// The global counter's register; `None` if counters are not global.
    pub global_counter: Option<u64>,
    /// The status register, if it is in use.
    pub rsr: Option<RsrSnapshot>,
    /// The log metadata registers, one set for each transaction with a log.
    pub log: Vec<LogSnapshot>,
    /// Counter blocks that are newer than the queue and the media: first those that were evicted and wait for a slot,
    /// then the dirty ones in the counter cache.
    pub counters: Vec<(CounterBlock, LineBytes)>,
    /// The register of the root of the integrity tree, if there is a tree.
    pub root: Option<LineBytes>,
    /// The roots, if the tree has several, in the order of their places.
    pub roots: Vec<(TreePlace, LineBytes)>,
    /// The register of the root of the tree over the shadow table, or over what is newer in the metadata caches, if there
    /// is one.
    pub table_root: Option<LineBytes>,
    /// The lines on the chip with bits for what is newer there than in memory, or with partial updates.
    pub chip_lines: Vec<(MediaLine, LineBytes)>,
}

/// Everything that encryption needs, built once from the design's parts.
pub struct EncryptionParts {
    /// The design's choices.
    pub parts: Encryption,
    /// The counter scheme.
    pub scheme: Box<dyn CounterScheme>,
    /// The pads.
    pub pads: Box<dyn PadSource>,
    /// The undo log that the controller writes; `None` if it writes none.
    pub log: Option<LogParts>,
    /// Whether each line has a flag on the media that shows whether it was ever written.
    pub valid_flags: bool,
    /// What protects integrity; `None` if nothing does.
    pub integrity: Option<IntegrityParts>,
    /// How writes are accepted before they are encrypted; `None` if they are not.
    pub accepted: Option<AcceptedParts>,
}

/// What the acceptance of writes needs, before they are encrypted.
#[derive(Clone)]
pub struct AcceptedParts {
    /// The pad of each entry of the write pending queue; zeros if entries are encrypted on battery.
    pub pads: Vec<LineBytes>,
    /// How long the minor security unit takes for a write, in picoseconds.
    pub latency: Ps,
    /// MACs and hashes that it computes for one.
    pub macs: u64,
    pub hashes: u64,
}

/// Everything that MACs and the tree need, built once from the design's parts.
#[derive(Clone)]
pub struct IntegrityParts {
    /// The design's choices.
    pub parts: Integrity,
    /// The MACs.
    pub macs: Arc<dyn MacSource>,
    /// Where they are stored.
    pub mac_layout: MacLayout,
    /// The tree, if there is one.
    pub tree: Option<TreeParts>,
    /// The tree over the shadow cache, if there is one. Only the battery and the boot use it.
    pub shadow: Option<ShadowTree>,
    /// The ring of partial updates, if there is one.
    pub ring: Option<UpdateRing>,
}

/// A tree over counter blocks.
#[derive(Clone)]
pub struct TreeParts {
    /// The design's choices.
    pub parts: Tree,
    /// The tree's shape.
    pub shape: TreeShape,
    /// How a node vouches for its children.
    pub scheme: Arc<dyn TreeScheme>,
    /// The entries of the shadow table, if they have the contents of blocks.
    pub table: Option<Arc<dyn TableScheme>>,
    /// How blocks are computed from what is below them, if they are.
    pub low_bits: Option<Arc<dyn LowBitsScheme>>,
}

impl IntegrityParts {
    /// At which multiples of a counter its block persists, with [`WritePath::StopLoss`](crate::parts::WritePath::StopLoss).
    pub fn stop_loss(&self, config: &crate::config::Integrity) -> u64 {
        let low_bits = self.tree.as_ref().is_some_and(|tree| tree.low_bits.is_some());
        if low_bits { 1 << config.low_bits } else { u64::from(config.stop_loss) }
    }
}

/// Everything that the log manager needs, built once from the design's parts.
#[derive(Clone)]
pub struct LogParts {
    /// The region of the log.
    pub region: LogRegion,
    /// How log lines are encrypted.
    pub encryption: LogEncryption,
    /// What modified lines wait for.
    pub order: LogOrder,
    /// How chains begin and continue.
    pub chains: LogChains,
    /// Cipher feedback mode with the log's key.
    pub feedback: Arc<dyn FeedbackSource>,
    /// The origin of initial vectors: a hardware random number generator, repeatable in the simulation.
    pub random: Random,
}
