//! What an auditor must know of the machine, its design and its program.

use super::ledger::TransactionRecord;
use crate::layout::{Coverage, LogLayout, MacLayout, ShadowRegion};
use crate::message::{BaseImage, Line, ProgramRecovery};
use crate::parts::{LineAtomicity, MacInputs, StampSource};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// What an auditor is created from.
pub struct AuditSetup {
    /// Memory before the run.
    pub base: Arc<dyn BaseImage>,
    /// Number of cores of the machine.
    pub cores: usize,
    /// The encryption of memory in counter mode; `None` if there are no counters.
    pub cipher: Option<CipherFacts>,
    /// The encryption of lines without pads; `None` if there is none. If lines have counters as well, these are only versions.
    pub direct: Option<DirectFacts>,
    /// The log that hardware writes, if it writes one.
    pub log: Option<LogFacts>,
    /// Which lines must show their old or their new value while they are in flight.
    pub line_atomic: LineAtomicity,
    /// Whether the design promises that nothing leaves the chip unencrypted and no pad is used twice.
    pub secret: bool,
    /// Whether the re-encryption status register is in the ADR domain.
    pub status_survives: bool,
    /// Present if lines leave on battery: those of caches in the persistence domain, or of accepted writes.
    pub drain: Option<DrainFacts>,
    /// The program, if its transactions can be judged.
    pub program: Option<ProgramFacts>,
}

/// A program with a layout, whose transactions can be judged. Traces have none.
pub struct ProgramFacts {
    /// The program's layouts, recovery and self-check.
    pub recovery: Arc<dyn ProgramRecovery>,
    /// The receiving end of the ledgers of its cores.
    pub records: Receiver<TransactionRecord>,
}

/// What an auditor must know about the encryption of memory.
#[derive(Clone, Debug)]
pub struct CipherFacts {
    /// The data key: 16 or 32 bytes.
    pub key: Vec<u8>,
    /// How counters are laid out on the media.
    pub counters: CounterLayout,
    /// Whether each line has a flag on the media that shows whether it was ever written. Otherwise only the counter 0
    /// shows it.
    pub valid_flags: bool,
    /// How a boot recovers counters that were only in the counter cache.
    pub recovery: CounterRecovery,
    /// The words of lines, if a line has words with the counter that its epoch began with.
    pub words: Option<WordFacts>,
    /// Whether a minor counter of zero means that its line reads as zeros, under any major counter.
    pub zero_minors: bool,
}

/// What an auditor must know about lines whose words have one of two counters, as a bit of each word says: that of the line, or
/// that with which the line's epoch began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordFacts {
    /// Writes of a line in an epoch, a power of two: an epoch begins when the counter is a multiple.
    pub epoch_writes: u64,
    /// Bytes of a word.
    pub bytes: usize,
    /// Whether the bits survive a loss of power.
    pub survive: bool,
}

/// What an auditor must know about lines that are encrypted without counters: the keys of data and of tweaks, each of 16 or 32
/// bytes.
#[derive(Clone, Debug)]
pub struct DirectFacts {
    /// The key of data.
    pub key: Vec<u8>,
    /// The key of tweaks.
    pub tweak: Vec<u8>,
    /// Whether every line has the tweak of line 0.
    pub constant: bool,
    /// Lines of a data unit.
    pub unit: u64,
    /// Whether these are the lines of pages whose major counter is odd, and a boot knows that.
    pub paged: Option<bool>,
    /// Whether modules encrypt, so that lines cross the bus in the clear.
    pub in_modules: bool,
}

/// How counters are laid out in a block of 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterLayout {
    /// A 64-bit major counter and a minor counter of `minor_bits` bits for each of `coverage` lines, as published those of a
    /// page (secpm section 3.4.1).
    Split {
        /// Lines per block.
        coverage: Coverage,
        /// Bits of a minor counter, 1 to 14.
        minor_bits: u32,
    },
    /// A value for each of `coverage` lines, at most eight: of a global counter (counter-atomicity section 5.2.1), or of
    /// the line's own counter (easy-pm section II-B).
    Words {
        /// Lines per block.
        coverage: Coverage,
        /// Bytes of a value: 8, or 7 if the block also has a MAC.
        bytes: usize,
    },
}

/// What an auditor must know about lines that leave on battery. What is left of them is known when power is lost
/// ([`super::Auditor::power_lost`]).
#[derive(Clone, Copy, Debug)]
pub struct DrainFacts {
    /// Whether the caches are in the persistence domain: then every store counts as durable once it is visible.
    pub caches: bool,
    /// The shadow cache and the source of the counter of a slot's pad; `None` if lines leave for their own addresses.
    pub shadow: Option<(ShadowRegion, StampSource)>,
}

/// What an auditor must know about the undo log that hardware writes. Separate records are encrypted in counter mode,
/// chains in cipher feedback mode.
#[derive(Clone, Debug)]
pub struct LogFacts {
    /// The log's first line; programs write only before it.
    pub first: Line,
    /// Number of buckets.
    pub buckets: u32,
    /// Number of records in a bucket.
    pub records: u32,
    /// How records are laid out in a bucket.
    pub layout: LogLayout,
    /// The log's key: 16 or 32 bytes.
    pub key: Vec<u8>,
    /// Whether the log metadata registers are in the ADR domain.
    pub registers_survive: bool,
}

/// What an auditor must know of how a boot recovers counters.
#[derive(Clone, Debug, Default)]
pub enum CounterRecovery {
    /// It does not.
    #[default]
    None,
    /// It tries one counter after another against the MAC of a line; if a shadow table names blocks, in those alone.
    Trial {
        /// What it tries.
        facts: TrialFacts,
        /// How many blocks a line of the table that names them has; `None` if no table does.
        named: Option<usize>,
    },
    /// It takes the lowest bits of a counter from beside the MAC of its line, in blocks whose bit says that they are stale.
    LowBits {
        /// Where the lowest bits are.
        facts: LowBitsFacts,
        /// Where the bits of blocks are.
        bits: BitsFacts,
    },
    /// It restores counter blocks from a shadow table with their contents.
    Table,
    /// It writes partial updates from a ring in memory to counter blocks.
    Ring(RingFacts),
}

/// What an auditor must know of the ring of partial updates.
#[derive(Clone, Copy, Debug)]
pub struct RingFacts {
    /// Lines of the ring.
    pub lines: u64,
    /// Bytes of the MAC in an update.
    pub mac_bytes: usize,
    /// Whether the lines on the chip survive a loss of power.
    pub survive: bool,
}

/// What an auditor must know of a recovery that finds counters by trial.
#[derive(Clone, Debug)]
pub struct TrialFacts {
    /// The key of the MACs: 16 bytes.
    pub key: Vec<u8>,
    /// Where MACs are stored.
    pub layout: MacLayout,
    /// What a MAC covers.
    pub inputs: MacInputs,
    /// How far a counter may be behind the one that its line is encrypted with.
    pub steps: u64,
}

/// What an auditor must know of a boot that takes the lowest bits of a line's counter from beside its MAC: they are above the 54
/// bits of the MAC.
#[derive(Clone, Copy, Debug)]
pub struct LowBitsFacts {
    /// Where MACs are stored.
    pub layout: MacLayout,
    /// How many bits there are.
    pub bits: u32,
}

impl LowBitsFacts {
    /// The counter whose block in memory says `stored`, of a line with this MAC.
    pub(super) fn counter(&self, stored: u64, mac: u128) -> u64 {
        stored - stored % (1 << self.bits) + (mac >> 54) as u64 % (1 << self.bits)
    }
}

/// Where the bits of counter blocks are: bit n of the lowest layer is of block n, the nodes of the tree follow, and each layer
/// above has a bit for each line of 512 bits below that is not zero, up to a layer of one line. Lines are numbered from the
/// lowest layer.
#[derive(Clone, Copy, Debug)]
pub struct BitsFacts {
    /// Counter blocks.
    pub blocks: u64,
    /// Counter blocks and nodes.
    pub units: u64,
    /// Whether the lines on the chip survive a loss of power.
    pub survive: bool,
}
