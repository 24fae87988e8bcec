//! Counter mode in the memory controller: which counter a line has, where counters are stored and how each becomes durable.

use super::counters::{Counter, CounterPart};
use super::direct::PageModes;
use super::words::{ReencryptedWords, WordSource};
use super::zeroing::Zeroing;
use crate::layout::CipherBlock;
use crate::message::{Line, LineBytes, xor};
use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// Whether memory is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum EncryptionMode {
    /// Memory holds plaintext.
    #[default]
    #[strum(props(paper = "all papers, baseline"))]
    None,
    /// Every line is encrypted in counter mode by the memory controller.
    #[strum(props(paper = "secpm, section 2.2"))]
    CounterMode,
    /// Every line is encrypted with AES-XTS by the memory controller; its number is the tweak. There are no counters.
    #[strum(props(paper = "IEEE 1619-2018; Intel TME"))]
    Xts,
    /// As `xts`, and each line has a counter of its writes, which only its MAC uses: a version, by which an old line is told
    /// from a new one.
    #[strum(props(paper = "IEEE 1619-2018, with the counters of Rogers et al., MICRO 2007"))]
    VersionedXts,
    /// Every line is encrypted with AES-XTS by the module that stores it, between its buffer and its media. A data unit is a line of
    /// the media, and its number is the tweak. There are no counters, and lines cross the bus in the clear.
    #[strum(props(paper = "IEEE 1619-2018; Intel Optane persistent memory"))]
    ModuleXts,
}

impl EncryptionMode {
    /// Whether lines have counters.
    pub fn has_counters(self) -> bool {
        matches!(self, EncryptionMode::CounterMode | EncryptionMode::VersionedXts)
    }

    /// Whether lines are encrypted with AES-XTS.
    pub fn is_direct(self) -> bool {
        matches!(self, EncryptionMode::Xts | EncryptionMode::VersionedXts | EncryptionMode::ModuleXts)
    }

    /// Whether modules encrypt, and not the memory controller.
    pub fn is_in_modules(self) -> bool {
        self == EncryptionMode::ModuleXts
    }
}

/// Which counter a line has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterKind {
    /// A 64-bit major counter and a minor counter for each line share a block of 64 bytes, which covers a page, or as many lines
    /// as `counters.block_lines` says.
    #[default]
    #[strum(props(paper = "secpm, section 3.4.1, Figure 8"))]
    Split,
    /// Each write takes the next value of one 64-bit register. Counters of 8 bytes lie eight to a block, or one beside
    /// its line.
    #[strum(props(paper = "counter-atomicity, section 5.2.1"))]
    Global,
    /// Each line has an 8-byte counter of its own writes. Eight counters share a block.
    #[strum(props(paper = "easy-pm, section II-B"))]
    PerLine,
    /// Each line has a 56-bit counter of its own writes. Eight counters share a block with the 64-bit MAC that a tree of
    /// counters gives it.
    #[strum(props(paper = "Gueron, 2016 (SGX)"))]
    Wide,
    /// The organisation that the machine sets with `counters.organisation`.
    OfMachine,
    /// Split counters if the machine has them, else per-line counters: a hardware log needs counters that belong to the
    /// line.
    OwnOfMachine,
}

/// What encrypts lines under counters: with one-time pads, unless it says otherwise.
pub trait PadSource: Send + Sync {
    /// Whether lines are encrypted with pads.
    fn makes_pads(&self) -> bool {
        true
    }
    /// What encrypts words, if a write does not encrypt all of a line anew.
    fn words(&self) -> Option<&dyn WordSource> {
        None
    }
    /// Whether a line with this counter is encrypted without a pad.
    fn is_direct(&self, _counter: Counter) -> bool {
        !self.makes_pads()
    }
    /// The pad of `line` under `counter`.
    fn pad(&self, line: Line, counter: Counter) -> LineBytes;
    /// The ciphertext of `plaintext` in `line` under `counter`.
    fn encrypt(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> LineBytes {
        xor(plaintext, &self.pad(line, counter))
    }
    /// The plaintext of `ciphertext` in `line` under `counter`.
    fn decrypt(&self, line: Line, counter: Counter, ciphertext: &LineBytes) -> LineBytes {
        xor(ciphertext, &self.pad(line, counter))
    }
}

/// A cipher of lines that has no counters.
pub trait LineCipher: Send + Sync {
    /// The ciphertext of `plaintext` in `line`.
    fn encrypt(&self, line: Line, plaintext: &LineBytes) -> LineBytes;
    /// The plaintext of `ciphertext` in `line`.
    fn decrypt(&self, line: Line, ciphertext: &LineBytes) -> LineBytes;
}

/// Cipher feedback mode for lines: CFB-128, four blocks to a line.
pub trait FeedbackSource: Send + Sync {
    /// Encrypts `plaintext`. `previous` is the ciphertext block before it in its chain.
    fn encrypt(&self, previous: &CipherBlock, plaintext: &LineBytes) -> LineBytes;
    /// Decrypts `ciphertext`. `previous` is the ciphertext block before it in its chain.
    fn decrypt(&self, previous: &CipherBlock, ciphertext: &LineBytes) -> LineBytes;
}

/// What is admitted to the write pending queue at one point in the life of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// Nothing.
    Nothing,
    /// The counter block alone.
    Counter,
    /// The data line alone.
    Data,
    /// Data line and counter block, in one event, with two slots reserved.
    Pair,
    /// The data line with its ready bit clear. It stays on the chip until its counter block enters the counter write
    /// queue; that event sets both ready bits.
    Unready,
    /// The data line, ready at once; its counter block enters the counter write queue later. A seeded fault: pairs
    /// without ready bits.
    DataThenCounter,
    /// The data line and its counter as one 72-byte entry.
    Inline,
}

/// How a counter becomes durable relative to its data. A line is counter-atomic if it holds a `CounterAtomic` variable
/// or `flush_data` wrote it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum WritePath {
    /// The counter stays dirty in the counter cache until it is evicted: plain counter mode, which is not
    /// crash-consistent.
    #[default]
    #[strum(props(paper = "secpm, section 2.3, Table 1"))]
    Deferred,
    /// The counter is appended while its data is being encrypted, in a separate event.
    #[strum(props(paper = "secpm, section 3.3.1, Figure 6"))]
    WriteThrough,
    /// A register beside the AES circuit holds line and counter until the pad is ready. Then both are appended in one
    /// event.
    #[strum(props(paper = "secpm, section 3.3.2, Figure 7"))]
    StagedPair,
    /// Lines that `flush_data` writes back are staged pairs. The counters of other lines stay in the counter cache.
    #[strum(props(paper = "easy-pm, section III-A"))]
    FlushedPairs,
    /// Every write is a pair with ready bits. Data and counters have separate queues.
    #[strum(props(paper = "counter-atomicity, section 5.2.2"))]
    ReadyPairs,
    /// Counter-atomic lines are ready pairs. The counters of other lines stay in the counter cache.
    #[strum(props(paper = "counter-atomicity, section 4"))]
    SelectiveReadyPairs,
    /// Data and counter move in one transfer of 72 bytes.
    #[strum(props(paper = "counter-atomicity, section 3.2.1"))]
    CoLocated,
    /// Ready pairs without ready bits: the data may leave as soon as it is queued, whether or not its counter is
    /// queued.
    #[strum(props(paper = "seeded fault"))]
    EarlyPairs,
    /// Counter-atomic lines are pairs without ready bits. The counters of other lines stay in the counter cache.
    #[strum(props(paper = "seeded fault"))]
    SelectiveEarlyPairs,
    /// The counter stays in the counter cache, and its block is appended with the data when the counter has been
    /// incremented as often as the machine's `integrity.stop_loss` says, or is the first under a new major counter.
    #[strum(props(paper = "Ye et al., MICRO 2018 (Osiris)"))]
    StopLoss,
    /// Counter-atomic lines are ready pairs. The counters of other lines stay in the counter cache, and their block is
    /// appended with the data as in `stop-loss`.
    #[strum(props(paper = "counter-atomicity, section 4, with Ye et al., MICRO 2018 (Osiris)"))]
    SelectiveStopLoss,
    /// Only the data is appended. The counter is neither written nor kept dirty.
    #[strum(props(paper = "seeded fault"))]
    CounterDropped,
}

/// Which lines are counter-atomic for a write path that admits these in another way than others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum PairedLines {
    /// Lines that hold a `CounterAtomic` variable, and those that `flush_data` writes back.
    #[default]
    #[strum(props(paper = "counter-atomicity, section 4; easy-pm, section III-A"))]
    Marked,
    /// These, and the lines of the program's undo log: the program tells the controller where its log is.
    WithSoftwareLog,
    /// All but the lines of the program's undo log that are not marked.
    OutsideSoftwareLog,
}

impl PairedLines {
    /// Whether a line is counter-atomic that is not marked and lies `in_log`, in the program's undo log.
    pub fn has(self, in_log: impl FnOnce() -> bool) -> bool {
        match self {
            PairedLines::Marked => false,
            PairedLines::WithSoftwareLog => in_log(),
            PairedLines::OutsideSoftwareLog => !in_log(),
        }
    }
}

/// The effects of a write path, point by point.
struct Admissions {
    at_bump: Admit,
    /// What is admitted when a line has been encrypted: for counter-atomic lines and for other lines.
    at_encrypted: [Admit; 2],
    /// Whether the incremented counter block stays dirty in the counter cache: for counter-atomic lines and for other
    /// lines.
    defers: [bool; 2],
}

impl WritePath {
    fn admissions(self) -> Admissions {
        use Admit::{Counter, Data, DataThenCounter, Inline, Nothing, Pair, Unready};
        let row = |at_bump, at_encrypted, defers| Admissions { at_bump, at_encrypted, defers };
        match self {
            WritePath::Deferred | WritePath::StopLoss => row(Nothing, [Data, Data], [true, true]),
            WritePath::WriteThrough => row(Counter, [Data, Data], [false, false]),
            WritePath::StagedPair => row(Nothing, [Pair, Pair], [false, false]),
            WritePath::FlushedPairs => row(Nothing, [Pair, Data], [false, true]),
            WritePath::ReadyPairs => row(Nothing, [Unready, Unready], [false, false]),
            WritePath::SelectiveReadyPairs | WritePath::SelectiveStopLoss => {
                row(Nothing, [Unready, Data], [false, true])
            }
            WritePath::CoLocated => row(Nothing, [Inline, Inline], [false, false]),
            WritePath::EarlyPairs => row(Nothing, [DataThenCounter, DataThenCounter], [false, false]),
            WritePath::SelectiveEarlyPairs => row(Nothing, [DataThenCounter, Data], [false, true]),
            WritePath::CounterDropped => row(Nothing, [Data, Data], [false, false]),
        }
    }

    /// What is admitted when the counter has been incremented and encryption begins.
    pub fn at_bump(self) -> Admit {
        self.admissions().at_bump
    }

    /// What is admitted when the pad is ready and the line is encrypted.
    pub fn at_encrypted(self, counter_atomic: bool) -> Admit {
        self.admissions().at_encrypted[usize::from(!counter_atomic)]
    }

    /// Whether the incremented block stays dirty in the counter cache until it is evicted or written back on request.
    pub fn defers_counter(self, counter_atomic: bool) -> bool {
        self.admissions().defers[usize::from(!counter_atomic)]
    }

    /// Whether counter-atomic lines are admitted in another way than others.
    pub fn selects(self) -> bool {
        let Admissions { at_encrypted: [marked, other], .. } = self.admissions();
        marked != other
    }

    /// Whether a counter block that stays in the counter cache is appended with its data before it falls further behind
    /// than the machine's `integrity.stop_loss` says.
    pub fn stops_loss(self) -> bool {
        matches!(self, WritePath::StopLoss | WritePath::SelectiveStopLoss)
    }

    /// Whether the admitted counter block is the one that the increment produced, alone or staged with its line.
    pub fn admits_incremented_block(self) -> bool {
        self.at_bump() == Admit::Counter || self.admissions().at_encrypted.contains(&Admit::Pair)
    }
}

/// Where counters are stored, and how a read finds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterStore {
    /// In blocks in a separate region, read through the counter cache.
    #[default]
    #[strum(props(paper = "secpm, section 2.2"))]
    Region,
    /// Beside their line: every transfer moves 72 bytes on a 72-bit bus. Decryption waits for the transfer.
    #[strum(props(paper = "counter-atomicity, section 3.2.1, Figure 5a"))]
    Inline,
    /// Beside their line, with a counter cache of 8-byte entries. A read that misses in it fetches the 72 bytes again.
    #[strum(props(paper = "counter-atomicity, section 3.2.1, Figure 5b"))]
    InlineCached,
}

/// The bank in which counter blocks are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterBank {
    /// Where the machine's `controller.counter_placement` says.
    #[default]
    OfMachine,
    /// Half the number of banks away from the page's own bank, on a machine that stores them in the page's own bank.
    #[strum(props(paper = "Zuo et al., MICRO 2019 (SuperMem)"))]
    CrossBank,
}

/// The queues through which writes leave the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum WriteQueues {
    /// One queue for data and counters.
    #[default]
    #[strum(props(paper = "secpm, section 3.3"))]
    Shared,
    /// A data write queue and a counter write queue.
    #[strum(props(paper = "counter-atomicity, section 5.2.2"))]
    DataAndCounter,
}

/// When the block in the counter cache receives a line's new counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterUpdate {
    /// When the counter is incremented. A block that leaves at this time also has counters of neighbours whose data is
    /// still being encrypted.
    #[default]
    #[strum(props(paper = "secpm, section 3.3.2"))]
    AtBump,
    /// In the event that queues the line's data. A block that leaves has only counters whose data is queued.
    #[strum(props(paper = "hardened reading of counter-atomicity"))]
    WithData,
}

/// What `counter_cache_writeback` waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum WritebackOrder {
    /// Earlier writes to lines of the block whose data is not queued yet.
    #[default]
    #[strum(props(paper = "counter-atomicity, section 4.3"))]
    AfterData,
    /// Nothing: it writes whatever the counter cache holds when the request arrives.
    #[strum(props(paper = "seeded fault"))]
    AtOnce,
}

/// The order in which waiting pairs enter the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum AppendOrder {
    /// Pairs of one page, or of one counter block if that covers more, are appended in the order in which their counters were
    /// incremented, which is that of their flushes.
    #[default]
    #[strum(props(paper = "secpm, section 3.4.3"))]
    BumpOrder,
    /// The lowest-numbered AES circuit with a finished line goes first; no other order holds.
    #[strum(props(paper = "seeded fault"))]
    UnitOrder,
}

/// Merging of queued counter blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterCoalescing {
    /// Every counter write is kept.
    #[default]
    #[strum(props(paper = "secpm, section 3.3.2"))]
    Off,
    /// A new counter entry removes an older entry of the same address that has not been issued: counter write reduction
    /// (CWR).
    #[strum(props(paper = "secpm, section 3.4.2"))]
    InWpq,
    /// A block that enters the counter write queue replaces an older block of the same address that is ready and not
    /// issued, if the machine's queue merges.
    #[strum(props(paper = "counter-atomicity, section 5.2.2"))]
    ReadyEntries,
    /// A new counter entry removes the oldest entry that has not been issued, whatever its address.
    #[strum(props(paper = "seeded fault"))]
    AnyInWpq,
}

/// What page re-encryption does to the minor counters of lines that it has not re-encrypted yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum MinorReset {
    /// All are reset when the major counter is incremented.
    #[default]
    #[strum(props(paper = "secpm, section 3.5"))]
    AtOnce,
    /// A line keeps its old minor counter until its done bit is set, in the event that appends its pair.
    #[strum(props(paper = "hardened reading of secpm"))]
    WithDoneBit,
    /// A line keeps its old minor counter until its pair is appended; its done bit is set one event later.
    #[strum(props(paper = "seeded fault"))]
    BeforeDoneBit,
}

/// How a design encrypts memory.
#[derive(Clone, Copy)]
pub struct Encryption {
    /// Which counter a line has.
    pub counters: CounterPart,
    /// Where counters are stored.
    pub store: CounterStore,
    /// The bank in which counter blocks are stored.
    pub bank: CounterBank,
    /// How a counter becomes durable.
    pub write_path: WritePath,
    /// Which lines are counter-atomic, if that matters to the write path.
    pub paired_lines: PairedLines,
    /// When the counter cache receives a new counter.
    pub update: CounterUpdate,
    /// The queues through which writes leave.
    pub queues: WriteQueues,
    /// What `counter_cache_writeback` waits for.
    pub writeback_order: WritebackOrder,
    /// The order in which waiting pairs enter the queue.
    pub append_order: AppendOrder,
    /// Merging of queued counter blocks.
    pub coalescing: CounterCoalescing,
    /// What page re-encryption does to minor counters.
    pub minor_reset: MinorReset,
    /// Which words of a line a write encrypts anew.
    pub words: ReencryptedWords,
    /// What fills a page with zeros.
    pub zeroing: Zeroing,
    /// Which pages are encrypted without counters.
    pub pages: PageModes,
}
