//! The parts a design is made of. Stages call them at marked points, once per line moved; they hold no time, no
//! queues and no bytes of their own.

use crate::config::{Counters, Variant};
use crate::message::{CipherBlock, Coverage, Line, LineBytes, LogLayout, MediaLayout};

pub use crate::message::ProgramForm;

/// What the auditors may hold a design to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// A crash test makes sense. The sentence says why not otherwise.
    pub crash_consistent: Result<(), &'static str>,
    /// Which lines in flight hold their old or their new value after a crash, never anything else.
    pub line_atomic: LineAtomicity,
    /// Nothing leaves the chip in the clear and no pad is used twice.
    pub secret: bool,
}

/// Which lines a design promises to keep whole while a write of them is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineAtomicity {
    /// None: only the outcome of recovery counts.
    None,
    /// Lines that hold a `CounterAtomic` variable.
    Marked,
    /// Every line.
    Every,
}

/// What is admitted to the write pending queue at one point of a write's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// Nothing.
    Nothing,
    /// The counter block alone.
    Counter,
    /// The data line alone.
    Data,
    /// Both, in one event, two slots reserved.
    Pair,
    /// The data line with its ready bit clear: it does not leave the chip until its counter block has entered the
    /// counter write queue, an event that sets both ready bits.
    Unready,
    /// The data line and its counter as one 72-byte entry.
    Inline,
}

/// How a counter becomes durable relative to its data. `counter_atomic`: the line holds a `CounterAtomic` variable, or
/// `flush_data` wrote it back.
pub trait WritePath: Send + Sync {
    /// What is admitted when the counter has been bumped and encryption begins.
    fn at_bump(&self) -> Admit;
    /// What is admitted when the pad is done and the line is encrypted.
    fn at_encrypted(&self, counter_atomic: bool) -> Admit;
    /// The bumped block stays dirty in the counter cache until it is evicted or written back on demand.
    fn defers_counter(&self, counter_atomic: bool) -> bool;
}

/// Where counters lie and how a read finds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterStore {
    /// In blocks of a region of their own, through the counter cache.
    Region,
    /// Beside their line: every transfer has 72 bytes, on a bus of 72 bits; decryption waits for the transfer.
    Inline,
    /// The same with a counter cache of 8-byte entries; a read that misses it fetches the 72 bytes once more.
    InlineCached,
}

/// The queues through which writes leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteQueues {
    /// One for data and counters.
    Shared,
    /// A data write queue and a counter write queue (counter-atomicity section 5.2.2).
    DataAndCounter,
}

/// When the block in the counter cache takes a line's new counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterUpdate {
    /// When the counter is bumped: a block that leaves then carries the counters of neighbours whose data is still
    /// being encrypted.
    AtBump,
    /// In the event that queues the line's data: what leaves carries only counters whose own data is queued.
    WithData,
}

/// What `counter_cache_writeback` waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritebackOrder {
    /// Nothing: it writes what the counter cache holds when it arrives.
    AtOnce,
    /// Earlier writes of the block's lines that have not queued their data.
    AfterData,
}

/// Which waiting admissions may pass which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppendOrder {
    /// Pairs of one page are appended in the order of their counter bumps.
    BumpOrder,
    /// The lowest-numbered AES circuit with a finished line goes first (published: no order is stated).
    UnitOrder,
}

/// Merging of queued counter blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterCoalescing {
    /// Every counter write is kept.
    Off,
    /// A new counter entry removes an older one of the same address that has not been issued (CWR).
    InWpq,
    /// A block that enters the counter write queue takes the place of an older one of its address that is ready and
    /// not issued, if the machine's queue merges.
    ReadyEntries,
}

/// What page re-encryption does to the minors that are not done yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinorReset {
    /// All at once, when the major counter is bumped (published).
    AtOnce,
    /// A line's old minor survives until its done bit (hardened).
    WithDoneBit,
}

/// Which losses of power a register survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Lost.
    Volatile,
    /// Drained to the device on battery and loaded again at boot.
    Adr,
    /// As the machine's `counters.global_register` says.
    Configured,
    /// Kept.
    NonVolatile,
}

/// A named register of a design, held by the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// The field's name for it.
    pub name: RegisterName,
    /// What it survives.
    pub domain: Domain,
}

/// The registers that exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterName {
    /// Line and counter block of a write whose pad is not done (secpm section 3.3.2), one per AES circuit.
    StagingRegister,
    /// Re-encryption status register (secpm section 3.5).
    ReencryptionStatus,
    /// The global counter (counter-atomicity section 5.2.1).
    GlobalCounter,
    /// Which buckets the transactions in flight have, and how many headers of each have persisted: one set of
    /// registers for each concurrent transaction (easy-pm sections III-B and III-D).
    LogMetadata,
    /// The newest ciphertext of the header chain and of the log chain, for each concurrent transaction (easy-pm section
    /// III-C).
    RecentCiphertext,
}

/// A step of the boot sequence, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryStep {
    /// Finish the page re-encryption that the status register tells of.
    ResumeReencryption,
    /// Walk the hardware's log of every transaction in flight and undo what it says.
    UndoHardwareLog,
}

/// The counter of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// Shared by the page; of a global counter, the value itself.
    pub major: u64,
    /// The line's own; of a global counter, zero.
    pub minor: u8,
}

impl Counter {
    /// The counter of a line that was never written.
    pub const NEVER: Counter = Counter { major: 0, minor: 0 };
}

/// The counter of a line's next write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextCounter {
    /// This one.
    Is(Counter),
    /// The line's minor counter would overflow: its page has to be re-encrypted.
    Overflow,
}

/// Which counter a line has and how a block of them lies in its 64 bytes.
pub trait CounterScheme: Send + Sync {
    /// How many lines share a block.
    fn coverage(&self) -> Coverage;
    /// Counters come from the global register, so that a write needs no block to get one.
    fn global(&self) -> bool;
    /// The block as it is before the run has written it: bit `i` of `populated` says that its line `i` holds data.
    fn initial(&self, populated: u64) -> LineBytes;
    /// The counter of line `index` of the block.
    fn counter(&self, block: &LineBytes, index: usize) -> Counter;
    /// The counter after the one that `block` has for line `index`, or after `register` if counters are global.
    fn next(&self, block: &LineBytes, index: usize, register: u64) -> NextCounter;
    /// Puts the counter of line `index` into the block. A minor counter must belong to the block's major counter.
    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter);
    /// After an overflow: the major counter goes up by one; all minors to zero with [`MinorReset::AtOnce`].
    fn advance_major(&self, block: &mut LineBytes, reset: MinorReset);
    /// After an overflow: sets the minor of line `index` to zero, under the block's major counter.
    fn restart_line(&self, block: &mut LineBytes, index: usize) -> Counter;
}

/// One-time pads over lines.
pub trait PadSource: Send + Sync {
    /// The pad of `line` under `counter`.
    fn pad(&self, line: Line, counter: Counter) -> LineBytes;
}

/// How hardware log lines are encrypted.
#[derive(Clone, Copy)]
pub enum LogEncryption {
    /// In counter mode, under counters of their own.
    Counter {
        /// How such a counter becomes durable.
        write_path: &'static dyn WritePath,
    },
    /// In cipher feedback mode, headers and logged lines each as a chain with an initial vector of its own.
    Feedback,
}

/// An undo log that hardware writes.
#[derive(Clone, Copy)]
pub struct HardwareLog {
    /// How records lie in a bucket.
    pub layout: LogLayout,
    /// How they are encrypted.
    pub encryption: LogEncryption,
}

/// Cipher feedback mode over lines: CFB-128, four blocks to a line.
pub trait FeedbackSource: Send + Sync {
    /// The ciphertext of `plaintext`, which follows the ciphertext block `previous` in its chain.
    fn encrypt(&self, previous: &CipherBlock, plaintext: &LineBytes) -> LineBytes;
    /// The plaintext of `ciphertext`, which follows `previous`.
    fn decrypt(&self, previous: &CipherBlock, ciphertext: &LineBytes) -> LineBytes;
}

/// Encryption of a design, if it encrypts at all.
#[derive(Clone, Copy)]
pub struct Encryption {
    /// Which counter a line has.
    pub counters: fn(&Counters) -> Box<dyn CounterScheme>,
    /// Where counters lie.
    pub store: CounterStore,
    /// How a counter becomes durable.
    pub write_path: &'static dyn WritePath,
    /// When the counter cache takes a new counter.
    pub update: CounterUpdate,
    /// The queues through which writes leave.
    pub queues: WriteQueues,
    /// What `counter_cache_writeback` waits for.
    pub writeback_order: WritebackOrder,
    /// Order of waiting admissions.
    pub append_order: AppendOrder,
    /// Merging of queued counter blocks.
    pub coalescing: CounterCoalescing,
    /// Page re-encryption.
    pub minor_reset: MinorReset,
}

/// A design: a parts list.
#[derive(Clone, Copy)]
pub struct Design {
    /// Name on the command line.
    pub name: &'static str,
    /// Which reading this is.
    pub variant: Variant,
    /// One line about it.
    pub summary: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Preset used when the user names none.
    pub machine: &'static str,
    /// Form of the workload.
    pub form: ProgramForm,
    /// What it may be held to.
    pub promise: Promise,
    /// `None`: plaintext memory.
    pub encryption: Option<Encryption>,
    /// The undo log that its hardware writes, if it writes one.
    pub log: Option<HardwareLog>,
    /// Its registers.
    pub registers: &'static [Register],
    /// Its boot sequence.
    pub recovery: &'static [RecoveryStep],
}

impl Design {
    /// How its counters lie on the media of a machine with `counters`.
    pub fn media_layout(&self, counters: &Counters) -> MediaLayout {
        self.encryption.map_or(MediaLayout::PLAIN, |encryption| MediaLayout {
            coverage: (encryption.counters)(counters).coverage(),
            inline: encryption.store != CounterStore::Region,
        })
    }

    /// Whether it has a counter cache.
    pub fn has_counter_cache(&self) -> bool {
        self.encryption.is_some_and(|encryption| encryption.store != CounterStore::Inline)
    }

    /// The domain of register `name`; a register that is not listed does not exist and survives nothing.
    pub fn domain(&self, name: RegisterName) -> Domain {
        self.registers
            .iter()
            .find(|register| register.name == name)
            .map_or(Domain::Volatile, |register| register.domain)
    }
}
