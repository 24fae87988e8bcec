//! The parts a design is made of. Stages call them at marked points, once per line moved; they hold no time, no
//! queues and no bytes of their own.

use crate::config::{Counters, Variant};
use crate::message::{
    CipherBlock, Coverage, Line, LineBytes, LogLayout, MediaLayout, MediaLine, OnChipLine, ShadowRegion,
};

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
    /// The data line, ready at once; its counter block enters the counter write queue later. A seeded fault: pairs without
    /// ready bits.
    DataThenCounter,
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
    /// Whether the counter block that it admits is the one that the bump left: alone, or staged with its line.
    fn admits_bumped_block(&self) -> bool {
        let staged = [false, true].map(|counter_atomic| self.at_encrypted(counter_atomic) == Admit::Pair);
        self.at_bump() == Admit::Counter || staged.contains(&true)
    }
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
    /// A new counter entry removes the oldest one that has not been issued, whatever its address. A seeded fault: CWR that
    /// does not compare addresses.
    AnyInWpq,
}

/// What page re-encryption does to the minors that are not done yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinorReset {
    /// All at once, when the major counter is bumped (published).
    AtOnce,
    /// A line's old minor survives until its done bit (hardened).
    WithDoneBit,
    /// A line's old minor survives until its pair is appended, and the done bit is set an event later. A seeded fault.
    BeforeDoneBit,
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
    /// The counter under which the next line leaves on battery (sepencr section IV-C).
    IncrCounter,
    /// The counter under which all cache pads are made (sepencr section IV-D).
    BootCounter,
    /// Up to which stamp the shadow cache has been consumed.
    ShadowConsumed,
}

/// A step of the boot sequence, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryStep {
    /// Finish the page re-encryption that the status register tells of.
    ResumeReencryption,
    /// Walk the hardware's log of every transaction in flight and undo what it says.
    UndoHardwareLog,
    /// Encrypt the lines that left in the clear.
    EncryptPlain,
    /// The boot counter goes up by one.
    AdvanceBootCounter,
    /// Decrypt the shadow cache and put its lines back: the third level's, the second's, then the first's.
    RestoreShadow {
        /// Under which counter a slot was encrypted.
        stamp: StampSource,
        /// Where its line goes.
        into: RestoreInto,
    },
    /// Encrypt the lines that have been put back into the caches under the pads of the present boot counter, slot by
    /// slot.
    RenewCachePads,
}

/// Where a recovery takes the counter of a slot's pad from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StampSource {
    /// From the slot's metadata. A slot whose stamp has been consumed holds nothing.
    Metadata,
    /// "By checking the location of the data in the shadow cache and the current incr-counter": the incr-counter less
    /// the number of slots, plus the slot's own (sepencr section IV-C).
    Location,
    /// It is the boot counter.
    BootCounter,
    /// From the slot's metadata, which keep only the lowest bit of it: it is the newest stamp with that bit that an earlier
    /// life can have used. A seeded fault: an epoch tag of one bit. The boot counter has gone up before.
    LowestBit,
    /// From nowhere: no slot is taken to hold anything. A seeded fault.
    Nowhere,
}

/// Where a recovery puts what the shadow cache held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestoreInto {
    /// Into memory, through the ordinary write path; the shadow cache stays valid until the last line is there.
    Memory,
    /// Into the slots of the caches that they came from, dirty ("read, decrypted, and stored in the cache").
    Caches,
}

/// How a line rests in the caches and what an access costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CachePads {
    /// In the clear.
    None,
    /// As ciphertext under its own counter, which is bumped when the line turns dirty; AES at every access (sepencr
    /// section IV-A).
    AesAtAccess,
    /// Exclusive-ored with a pad made at boot, one for each data slot; the pads take half the ways (sepencr section IV-D).
    BootPads,
}

/// What lies in the persistence domain.
#[derive(Clone, Copy)]
pub enum PersistenceDomain {
    /// The write pending queue, and registers that say so.
    Adr,
    /// The caches and the counter cache, too.
    Eadr {
        /// How dirty lines leave the caches after power is lost.
        drain: &'static dyn CrashDrain,
    },
}

/// What a battery supports after power is lost (sepencr Table I); each model includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Battery {
    /// Writes to the memory.
    WriteOnly,
    /// Computation: AES and exclusive-or, too.
    WriteComputeOrder,
    /// Reads from the memory, too.
    AllOperation,
}

/// An act after power is lost that the battery does not support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forbidden {
    /// What was to be done, as a noun: "a pad", "an exclusive-or", "a read".
    pub act: &'static str,
    /// The battery that it takes.
    pub needs: Battery,
    /// The battery that there is.
    pub has: Battery,
}

/// What can be done after power is lost. Every act is checked against the battery.
pub trait OnBattery {
    /// The shadow cache.
    fn region(&self) -> ShadowRegion;
    /// The value of a register of the eADR designs.
    fn register(&self, name: RegisterName) -> u64;
    /// Sets it.
    fn set_register(&mut self, name: RegisterName, value: u64);
    /// The pad of `line` under `counter`: computation.
    fn pad(&mut self, line: Line, counter: Counter) -> Result<LineBytes, Forbidden>;
    /// Exclusive-or: computation.
    fn xor(&mut self, a: &LineBytes, b: &LineBytes) -> Result<LineBytes, Forbidden>;
    /// Lets `bytes` leave for `media`. `carries`: the cached line that they hold, if they hold one.
    fn write(&mut self, media: MediaLine, bytes: &LineBytes, carries: Option<&OnChipLine>);
    /// Lets a line leave for its own address as it lies in the cache, and flags it there as lying in the clear.
    fn write_in_the_clear(&mut self, line: &OnChipLine);
    /// Lets a line leave through the ordinary write path: its counter is read and bumped, a page is re-encrypted if need
    /// be.
    fn write_through_write_path(&mut self, line: &OnChipLine) -> Result<(), Forbidden>;
}

/// What leaves the caches after power is lost.
pub trait CrashDrain: Send + Sync {
    /// The least battery that it needs.
    fn needs(&self) -> Battery;
    /// Lines go to the shadow cache instead of their own addresses.
    fn uses_shadow(&self) -> bool;
    /// Dirty counter blocks leave before the lines do.
    fn drains_counters(&self) -> bool {
        true
    }
    /// Lets `lines`, in the order of their slots, leave the chip.
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden>;
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

/// What a modified line waits for in the controller before it may leave for its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogOrder {
    /// Its entry and the header that names it have persisted; of chains the number of valid headers, too.
    LogFirst,
    /// Nothing. A seeded fault.
    AnyOrder,
}

/// How chains of log lines begin and go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogChains {
    /// From initial vectors as the machine draws them, each line after the ciphertext of the one before it.
    Linked,
    /// From vectors that are always the same. A seeded fault.
    ConstantVectors,
    /// Each line but the first after the same ciphertext: the recent-ciphertext register is never written. A seeded fault.
    Unlinked,
}

/// An undo log that hardware writes.
#[derive(Clone, Copy)]
pub struct HardwareLog {
    /// How records lie in a bucket.
    pub layout: LogLayout,
    /// How they are encrypted.
    pub encryption: LogEncryption,
    /// What modified lines wait for.
    pub order: LogOrder,
    /// How chains are linked.
    pub chains: LogChains,
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
    /// How lines rest in the caches.
    pub cache_pads: CachePads,
    /// What a power failure leaves.
    pub domain: PersistenceDomain,
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

    /// How dirty lines leave the caches after power is lost; `None` if they do not.
    pub fn drain(&self) -> Option<&'static dyn CrashDrain> {
        match self.domain {
            PersistenceDomain::Adr => None,
            PersistenceDomain::Eadr { drain } => Some(drain),
        }
    }

    /// The domain of register `name`; a register that is not listed does not exist and survives nothing.
    pub fn register_domain(&self, name: RegisterName) -> Domain {
        self.registers
            .iter()
            .find(|register| register.name == name)
            .map_or(Domain::Volatile, |register| register.domain)
    }
}
