//! Counter mode in the memory controller: which counter a line has, where counters lie and how each becomes durable.

use crate::config::Counters;
use crate::message::{CipherBlock, Coverage, Line, LineBytes};
use strum::{EnumMessage, EnumProperty, IntoStaticStr, VariantArray};

/// Whether memory is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum EncryptionMode {
    /// Memory holds plaintext.
    #[default]
    #[strum(props(paper = "all papers, baseline"))]
    None,
    /// Every line is encrypted in counter mode by the memory controller.
    #[strum(props(paper = "secpm, section 2.2"))]
    CounterMode,
}

/// Which counter a line has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CounterKind {
    /// A 64-bit major counter for the page and a minor counter for each line, one block of 64 bytes for a page.
    #[default]
    #[strum(props(paper = "secpm, section 3.4.1, Figure 8"))]
    Split,
    /// The next value of one 64-bit register for every write; eight 8-byte counters to a block, or one beside its line.
    #[strum(props(paper = "counter-atomicity, section 5.2.1"))]
    Global,
    /// Eight bytes for each line that count its own writes, eight to a block.
    #[strum(props(paper = "easy-pm, section II-B"))]
    PerLine,
    /// As `counters.organisation` of the machine says.
    OfMachine,
    /// Split if the machine has split counters, else per line: counters of the line's own, which a hardware log needs.
    OwnOfMachine,
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

/// The counters of a design: a kind that exists, or a scheme written in Rust.
#[derive(Clone, Copy)]
pub enum CounterPart {
    /// A kind that design files name.
    Kind(CounterKind),
    /// A scheme of the caller's own, made for a machine's values.
    Custom(fn(&Counters) -> Box<dyn CounterScheme>),
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

/// One-time pads over lines.
pub trait PadSource: Send + Sync {
    /// The pad of `line` under `counter`.
    fn pad(&self, line: Line, counter: Counter) -> LineBytes;
}

/// Cipher feedback mode over lines: CFB-128, four blocks to a line.
pub trait FeedbackSource: Send + Sync {
    /// The ciphertext of `plaintext`, which follows the ciphertext block `previous` in its chain.
    fn encrypt(&self, previous: &CipherBlock, plaintext: &LineBytes) -> LineBytes;
    /// The plaintext of `ciphertext`, which follows `previous`.
    fn decrypt(&self, previous: &CipherBlock, ciphertext: &LineBytes) -> LineBytes;
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

/// How a counter becomes durable relative to its data. A line is counter-atomic if it holds a `CounterAtomic` variable or
/// `flush_data` wrote it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum WritePath {
    /// The counter stays dirty in the counter cache until it is evicted: plain counter mode, the broken starting point.
    #[default]
    #[strum(props(paper = "secpm, section 2.3, Table 1"))]
    Deferred,
    /// The counter is appended while its data is being encrypted: two events.
    #[strum(props(paper = "secpm, section 3.3.1, Figure 6"))]
    WriteThrough,
    /// A register beside the AES circuit holds line and counter until the pad is done; then both are appended in one event.
    #[strum(props(paper = "secpm, section 3.3.2, Figure 7"))]
    StagedPair,
    /// Lines that `flush_data` writes back are staged pairs; of other lines the counter stays in the counter cache.
    #[strum(props(paper = "easy-pm, section III-A"))]
    FlushedPairs,
    /// Every write is a pair: data and counter have queues of their own, and ready bits.
    #[strum(props(paper = "counter-atomicity, section 5.2.2"))]
    ReadyPairs,
    /// Counter-atomic lines are ready pairs; of other lines the counter stays in the counter cache.
    #[strum(props(paper = "counter-atomicity, section 4"))]
    SelectiveReadyPairs,
    /// Data and counter are one transfer of 72 bytes.
    #[strum(props(paper = "counter-atomicity, section 3.2.1"))]
    CoLocated,
    /// Ready pairs without ready bits: the data is ready when it is queued, whether its counter is queued or not.
    #[strum(props(paper = "seeded fault"))]
    EarlyPairs,
    /// The same for counter-atomic lines only; of other lines the counter stays in the counter cache.
    #[strum(props(paper = "seeded fault"))]
    SelectiveEarlyPairs,
    /// The data is appended; the counter is neither written nor kept dirty.
    #[strum(props(paper = "seeded fault"))]
    CounterDropped,
}

/// A write path point by point.
struct Admissions {
    at_bump: Admit,
    /// When a counter-atomic line has been encrypted, and when another has.
    at_encrypted: [Admit; 2],
    /// Whether the bumped block of a counter-atomic line stays dirty in the counter cache, and of another line.
    defers: [bool; 2],
}

impl WritePath {
    fn admissions(self) -> Admissions {
        use Admit::{Counter, Data, DataThenCounter, Inline, Nothing, Pair, Unready};
        let row = |at_bump, at_encrypted, defers| Admissions { at_bump, at_encrypted, defers };
        match self {
            WritePath::Deferred => row(Nothing, [Data, Data], [true, true]),
            WritePath::WriteThrough => row(Counter, [Data, Data], [false, false]),
            WritePath::StagedPair => row(Nothing, [Pair, Pair], [false, false]),
            WritePath::FlushedPairs => row(Nothing, [Pair, Data], [false, true]),
            WritePath::ReadyPairs => row(Nothing, [Unready, Unready], [false, false]),
            WritePath::SelectiveReadyPairs => row(Nothing, [Unready, Data], [false, true]),
            WritePath::CoLocated => row(Nothing, [Inline, Inline], [false, false]),
            WritePath::EarlyPairs => row(Nothing, [DataThenCounter, DataThenCounter], [false, false]),
            WritePath::SelectiveEarlyPairs => row(Nothing, [DataThenCounter, Data], [false, true]),
            WritePath::CounterDropped => row(Nothing, [Data, Data], [false, false]),
        }
    }

    /// What is admitted when the counter has been bumped and encryption begins.
    pub fn at_bump(self) -> Admit {
        self.admissions().at_bump
    }

    /// What is admitted when the pad is done and the line is encrypted.
    pub fn at_encrypted(self, counter_atomic: bool) -> Admit {
        self.admissions().at_encrypted[usize::from(!counter_atomic)]
    }

    /// The bumped block stays dirty in the counter cache until it is evicted or written back on demand.
    pub fn defers_counter(self, counter_atomic: bool) -> bool {
        self.admissions().defers[usize::from(!counter_atomic)]
    }

    /// Whether the counter block that it admits is the one that the bump left: alone, or staged with its line.
    pub fn admits_bumped_block(self) -> bool {
        self.at_bump() == Admit::Counter || self.admissions().at_encrypted.contains(&Admit::Pair)
    }
}

/// Where counters lie and how a read finds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CounterStore {
    /// In blocks of a region of their own, through the counter cache.
    #[default]
    #[strum(props(paper = "secpm, section 2.2"))]
    Region,
    /// Beside their line: every transfer has 72 bytes, on a bus of 72 bits; decryption waits for the transfer.
    #[strum(props(paper = "counter-atomicity, section 3.2.1, Figure 5a"))]
    Inline,
    /// Beside their line, with a counter cache of 8-byte entries; a read that misses it fetches the 72 bytes once more.
    #[strum(props(paper = "counter-atomicity, section 3.2.1, Figure 5b"))]
    InlineCached,
}

/// The queues through which writes leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum WriteQueues {
    /// One for data and counters.
    #[default]
    #[strum(props(paper = "secpm, section 3.3"))]
    Shared,
    /// A data write queue and a counter write queue.
    #[strum(props(paper = "counter-atomicity, section 5.2.2"))]
    DataAndCounter,
}

/// When the block in the counter cache takes a line's new counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CounterUpdate {
    /// When the counter is bumped: a block that leaves then carries the counters of neighbours whose data is still being
    /// encrypted.
    #[default]
    #[strum(props(paper = "secpm, section 3.3.2"))]
    AtBump,
    /// In the event that queues the line's data: a block that leaves carries only counters whose own data is queued.
    #[strum(props(paper = "hardened reading of counter-atomicity"))]
    WithData,
}

/// What `counter_cache_writeback` waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum WritebackOrder {
    /// Nothing: it writes what the counter cache holds when it arrives.
    #[default]
    #[strum(props(paper = "counter-atomicity, section 4.3"))]
    AtOnce,
    /// Earlier writes of the block's lines that have not queued their data.
    #[strum(props(paper = "hardened reading of counter-atomicity"))]
    AfterData,
}

/// Which waiting admissions may pass which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum AppendOrder {
    /// Pairs of one page are appended in the order of their counter bumps.
    #[default]
    #[strum(props(paper = "hardened reading of secpm"))]
    BumpOrder,
    /// The lowest-numbered AES circuit with a finished line goes first: no order is stated.
    #[strum(props(paper = "secpm, section 3.3.2"))]
    UnitOrder,
}

/// Merging of queued counter blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CounterCoalescing {
    /// Every counter write is kept.
    #[default]
    #[strum(props(paper = "secpm, section 3.3.2"))]
    Off,
    /// A new counter entry removes an older one of the same address that has not been issued: counter write reduction
    /// (CWR).
    #[strum(props(paper = "secpm, section 3.4.2"))]
    InWpq,
    /// A block that enters the counter write queue takes the place of an older one of its address that is ready and not
    /// issued, if the machine's queue merges.
    #[strum(props(paper = "counter-atomicity, section 5.2.2"))]
    ReadyEntries,
    /// A new counter entry removes the oldest one that has not been issued, whatever its address.
    #[strum(props(paper = "seeded fault"))]
    AnyInWpq,
}

/// What page re-encryption does to the minors that are not done yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum MinorReset {
    /// All are reset when the major counter is bumped.
    #[default]
    #[strum(props(paper = "secpm, section 3.5"))]
    AtOnce,
    /// A line's old minor survives until its done bit, which is set in the event that appends its pair.
    #[strum(props(paper = "hardened reading of secpm"))]
    WithDoneBit,
    /// A line's old minor survives until its pair is appended, and the done bit is set an event later.
    #[strum(props(paper = "seeded fault"))]
    BeforeDoneBit,
}

/// Encryption of a design, if it encrypts at all.
#[derive(Clone, Copy)]
pub struct Encryption {
    /// Which counter a line has.
    pub counters: CounterPart,
    /// Where counters lie.
    pub store: CounterStore,
    /// How a counter becomes durable.
    pub write_path: WritePath,
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
