//! What survives a power failure: registers, caches in the persistence domain, what the drain on battery writes, and
//! what the boot does with it.

use super::Counter;
use crate::layout::ShadowRegion;
use crate::message::{Line, LineBytes, MediaLine, OnChipLine};
use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

/// Which power losses a register survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum Domain {
    /// The design has no such register.
    #[default]
    Absent,
    /// The value is lost.
    Volatile,
    /// The value is drained to the device on battery and loaded again at boot.
    Adr,
    /// What the machine sets with `counters.global_register`.
    Configured,
    /// The value is kept.
    NonVolatile,
}

/// The registers that a design can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum RegisterName {
    /// The line and counter block of a write whose pad is not ready; one register for each AES circuit.
    #[strum(props(paper = "secpm, section 3.3.2"))]
    StagingRegister,
    /// The status register of page re-encryption.
    #[strum(props(paper = "secpm, section 3.5"))]
    ReencryptionStatus,
    /// The global counter.
    #[strum(props(paper = "counter-atomicity, section 5.2.1"))]
    GlobalCounter,
    /// Which buckets each transaction in flight owns, and how many headers of each have persisted. Each concurrent
    /// transaction has one set of these registers.
    #[strum(props(paper = "easy-pm, sections III-B and III-D"))]
    LogMetadata,
    /// The newest ciphertext of the header chain and of the log chain, for each concurrent transaction.
    #[strum(props(paper = "easy-pm, section III-C"))]
    RecentCiphertext,
    /// The counter for the next line that is drained on battery.
    #[strum(props(paper = "sepencr, section IV-C"))]
    IncrCounter,
    /// The counter of all cache pads.
    #[strum(props(paper = "sepencr, section IV-D"))]
    BootCounter,
    /// The newest stamp whose slots in the shadow cache have been restored.
    #[strum(props(paper = "hardened reading of sepencr"))]
    ShadowConsumed,
    /// The root of the tree over the shadow cache.
    ShadowRoot,
    /// The root of the integrity tree.
    #[strum(props(paper = "Rogers et al., MICRO 2007"))]
    IntegrityRoot,
    /// The root of the tree over the shadow table, if its entries have contents, or over what is newer in the metadata caches
    /// than in memory.
    #[strum(props(paper = "Abu Zubair and Awad, ISCA 2019 (Anubis, ASIT); Huang and Hua, HPCA 2021 (STAR)"))]
    TableRoot,
    /// The lines in use with bits for what is newer on the chip than in memory.
    #[strum(props(paper = "Huang and Hua, HPCA 2021 (STAR)"))]
    BitLines,
    /// The lines in which partial updates of counter blocks and lines of MACs are combined before they go to the ring.
    #[strum(props(paper = "Han et al., HPCA 2023 (Thoth)"))]
    UpdateLines,
}

/// A step of the boot sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryStep {
    /// Finish the page re-encryption that the status register records.
    ResumeReencryption,
    /// Undo the transactions in flight from the hardware's log.
    UndoHardwareLog,
    /// Encrypt the lines that were drained in the clear.
    EncryptPlain,
    /// Increment the boot counter.
    AdvanceBootCounter,
    /// Decrypt the shadow cache and restore its lines: first those of the third level, then the second, then the first.
    RestoreShadow {
        /// Where the counter of a slot's pad comes from.
        stamp: StampSource,
        /// Where the restored line goes.
        into: RestoreInto,
    },
    /// Encrypt the lines that were restored to the caches with the pads of the current boot counter, slot by slot.
    RenewCachePads,
    /// Find the counters that were only in the counter cache: try one after another against each line's MAC.
    RecoverCounters,
    /// Compute the nodes of the integrity tree that did not persist, and compare the root with its register.
    RebuildTree,
    /// Compute the nodes of the integrity tree that the shadow table lists, and compare the root with its register.
    RestoreNodes,
    /// Compare the shadow table with the root of its tree, and restore the blocks and nodes that it has to the metadata
    /// caches.
    RestoreContents,
    /// Compute the blocks and nodes whose bit says that they were newer on the chip from what is below them, into the metadata
    /// caches, and compare the root over them with its register.
    RestoreStale,
    /// Write the partial updates in the ring to the counter blocks and lines of MACs that they are newer than.
    ApplyUpdates,
}

/// The name of a step of the boot sequence; a design file lists them in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum StepName {
    /// Finish the page re-encryption that the status register records.
    #[strum(props(paper = "secpm, section 3.5"))]
    ResumeReencryption,
    /// Undo the transactions in flight from the hardware's log.
    #[strum(props(paper = "easy-pm, section III-D"))]
    UndoHardwareLog,
    /// Encrypt the lines that were drained in the clear.
    #[strum(props(paper = "sepencr, section III"))]
    EncryptPlain,
    /// Increment the boot counter.
    #[strum(props(paper = "sepencr, section IV-D"))]
    AdvanceBootCounter,
    /// Decrypt the shadow cache and restore its lines: first those of the third level, then the second, then the first.
    #[strum(props(paper = "sepencr, sections IV-C and IV-D"))]
    RestoreShadow,
    /// Encrypt the lines that were restored to the caches with the pads of the current boot counter.
    #[strum(props(paper = "sepencr, section IV-D"))]
    RenewCachePads,
    /// Find the counters that were only in the counter cache: try one after another against each line's MAC.
    #[strum(props(paper = "Ye et al., MICRO 2018 (Osiris)"))]
    RecoverCounters,
    /// Compute the nodes of the integrity tree that did not persist, and compare the root with its register.
    #[strum(props(paper = "Awad et al., ISCA 2019 (Triad-NVM)"))]
    RebuildTree,
    /// Compute the nodes of the integrity tree that the shadow table lists, and compare the root with its register.
    #[strum(props(paper = "Abu Zubair and Awad, ISCA 2019 (Anubis)"))]
    RestoreNodes,
    /// Compare the shadow table with the root of its tree, and restore the blocks and nodes that it has to the metadata
    /// caches.
    #[strum(props(paper = "Abu Zubair and Awad, ISCA 2019 (Anubis, ASIT)"))]
    RestoreContents,
    /// Compute the blocks and nodes whose bit says that they were newer on the chip from what is below them, into the metadata
    /// caches, and compare the root over them with its register.
    #[strum(props(paper = "Huang and Hua, HPCA 2021 (STAR)"))]
    RestoreStale,
    /// Write the partial updates in the ring to the counter blocks and lines of MACs that they are newer than.
    #[strum(props(paper = "Han et al., HPCA 2023 (Thoth)"))]
    ApplyUpdates,
}

/// Where recovery gets the counter of a slot's pad from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum StampSource {
    /// From the slot's metadata. A slot whose stamp has already been restored holds nothing.
    #[default]
    #[strum(props(paper = "hardened reading of sepencr"))]
    Metadata,
    /// From the slot's position and the current incr-counter: the incr-counter minus the number of slots, plus the
    /// slot's number.
    #[strum(props(paper = "sepencr, section IV-C"))]
    Location,
    /// The counter is the boot counter.
    #[strum(props(paper = "sepencr, section IV-D"))]
    BootCounter,
    /// From the lowest bit of the stamp, which the slot's metadata keep: the newest stamp with that bit that an earlier
    /// power cycle can have used. The boot counter must be incremented first.
    #[strum(props(paper = "seeded fault"))]
    LowestBit,
    /// From nowhere: recovery treats every slot as empty.
    #[strum(props(paper = "seeded fault"))]
    Nowhere,
}

/// Where recovery puts the lines of the shadow cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum RestoreInto {
    /// Into memory, through the ordinary write path. The shadow cache stays valid until the last line is written.
    #[default]
    #[strum(props(paper = "hardened reading of sepencr"))]
    Memory,
    /// Into the cache slots that they came from, as dirty lines.
    #[strum(props(paper = "sepencr, sections IV-C and IV-D"))]
    Caches,
}

/// How a line is stored in the caches, and what an access costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CachePads {
    /// In the clear.
    #[default]
    None,
    /// As ciphertext with a counter of its own, which is incremented when the line becomes dirty. Every access needs
    /// AES.
    #[strum(props(paper = "sepencr, section IV-A"))]
    AesAtAccess,
    /// Exclusive-ored with a pad made at boot, one for each data slot. The pads take half of the ways.
    #[strum(props(paper = "sepencr, section IV-D"))]
    BootPads,
}

/// What a battery supports after power loss (sepencr Table I); each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Battery {
    /// Writes to the memory.
    WriteOnly,
    /// Also computation: AES and exclusive-or.
    WriteComputeOrder,
    /// Also reads from memory.
    AllOperation,
}

/// An operation after power loss that the battery does not support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forbidden {
    /// The operation, as a noun: "a pad", "an exclusive-or", "a hash", "a read".
    pub act: &'static str,
    /// The battery that the operation needs.
    pub needs: Battery,
    /// The battery that the machine has.
    pub has: Battery,
}

/// The operations that are possible after power loss. Each one is checked against the battery.
pub trait OnBattery {
    /// The shadow cache.
    fn region(&self) -> ShadowRegion;
    /// The value of register `name` of an eADR design.
    fn register(&self, name: RegisterName) -> u64;
    /// Sets register `name` of an eADR design.
    fn set_register(&mut self, name: RegisterName, value: u64);
    /// The pad of `line` with `counter`. The battery must support computation.
    fn pad(&mut self, line: Line, counter: Counter) -> Result<LineBytes, Forbidden>;
    /// Computes the root of the tree over what has been written to the shadow cache into its register; if nothing has, what
    /// was to be restored before still is. The battery must support computation. Hardware computes the tree on the way, with
    /// a node of each level at a time, because lines leave in the order of their places.
    fn protect(&mut self) -> Result<(), Forbidden>;
    /// The exclusive-or of two lines. The battery must support computation.
    fn xor(&mut self, a: &LineBytes, b: &LineBytes) -> Result<LineBytes, Forbidden>;
    /// Writes `bytes` to `media`. `carries` is the cached line that the bytes hold, if they hold one.
    fn write(&mut self, media: MediaLine, bytes: &LineBytes, carries: Option<&OnChipLine>);
    /// Writes a line to its own address exactly as it is stored in the cache, and flags it there as unencrypted.
    fn write_in_the_clear(&mut self, line: &OnChipLine);
    /// Writes a line through the ordinary write path: its counter is read and incremented, and its page is re-encrypted
    /// if that is necessary.
    fn write_through_write_path(&mut self, line: &OnChipLine) -> Result<(), Forbidden>;
}

/// Where dirty lines go after power loss, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum DrainPath {
    /// To their own addresses, as they are stored in the caches.
    #[default]
    #[strum(props(paper = "sepencr, sections II-D and IV-A"))]
    InPlace,
    /// To their own addresses in the clear, although memory is encrypted.
    #[strum(props(paper = "sepencr, section III"))]
    InTheClear,
    /// Through the ordinary write path, which reads and increments their counters.
    #[strum(props(paper = "sepencr, section IV-B"))]
    ThroughWritePath,
    /// To the shadow cache, encrypted on battery, each with the next value of the incr-counter.
    #[strum(props(paper = "sepencr, section IV-C"))]
    EncryptToShadow,
    /// To the shadow cache, as they are stored in the caches with the pads made at boot.
    #[strum(props(paper = "sepencr, section IV-D"))]
    ToShadow,
}

impl DrainPath {
    /// Whether lines go to the shadow cache instead of their own addresses.
    pub fn uses_shadow(self) -> bool {
        matches!(self, DrainPath::EncryptToShadow | DrainPath::ToShadow)
    }
}

/// Whether dirty counter blocks, lines of MACs and tree nodes are drained before the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum CounterDrain {
    /// Dirty counter blocks, lines of MACs and tree nodes are drained first.
    #[default]
    #[strum(props(paper = "sepencr, section III"))]
    First,
    /// They are not drained.
    #[strum(props(paper = "seeded fault"))]
    Never,
}

/// Which of several cached copies of a line are drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum DrainCopies {
    /// The newest copy: a flush goes down the levels, and each level takes over newer bytes from the level above.
    #[default]
    #[strum(props(paper = "sepencr, section II-D"))]
    Newest,
    /// Every copy, from the newest to the oldest.
    #[strum(props(paper = "seeded fault"))]
    Every,
}

/// Which metadata the drain to a shadow cache writes beside the lines, and when the incr-counter is incremented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum ShadowSlots {
    /// The states of all slots are written. The incr-counter is incremented when it is used, so a clean line does not
    /// change it.
    #[default]
    #[strum(props(paper = "sepencr, sections IV-C and VI"))]
    All,
    /// Only the metadata of dirty slots are written. The incr-counter is incremented once for each slot, clean or
    /// dirty, before any line is drained. If no slot is dirty, nothing changes.
    #[strum(props(paper = "hardened reading of sepencr"))]
    Dirty,
    /// As `dirty`, but the dirty lines take the first slots, one after another, so that a count says which slots hold
    /// something.
    #[strum(props(paper = "Han et al., MICRO 2022 (Horus)"))]
    Packed,
}

impl ShadowSlots {
    /// Whether the counters of all slots are reserved before any line is drained, and only the metadata of dirty slots written.
    pub fn reserves(self) -> bool {
        self != ShadowSlots::All
    }
}

/// The inputs of the pad of a shadow cache slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum ShadowPads {
    /// Each pad has its own counter and its own slot.
    #[default]
    #[strum(props(paper = "sepencr, section IV-C"))]
    Fresh,
    /// The incr-counter is never incremented: writes to it are lost.
    #[strum(props(paper = "seeded fault"))]
    CounterHeld,
    /// Every pad is made for the first slot.
    #[strum(props(paper = "seeded fault"))]
    SlotHeld,
}

/// What protects the shadow cache against an attacker who writes to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum ShadowIntegrity {
    /// Nothing.
    #[default]
    None,
    /// A hash tree over its lines and metadata, which the battery computes. Its root is in a register, with which the boot
    /// compares all that it reads before it uses anything. The register is cleared when the shadow cache is consumed.
    Tree,
    /// As `tree`, but the boot compares nothing.
    #[strum(props(paper = "seeded fault"))]
    Unverified,
    /// As `tree`, but the register never takes a new root.
    #[strum(props(paper = "seeded fault"))]
    KeptRoot,
    /// A MAC for each slot, over its bytes, its line and its counter. A register has the number of slots that hold something;
    /// it is cleared when the shadow cache is consumed. The boot knows the counter of each of them from its place.
    #[strum(props(paper = "Han et al., MICRO 2022 (Horus)"))]
    Macs,
    /// As `macs`, but the boot compares nothing.
    #[strum(props(paper = "seeded fault"))]
    UnverifiedMacs,
}

impl ShadowIntegrity {
    /// Whether each slot has a MAC.
    pub fn has_macs(self) -> bool {
        matches!(self, ShadowIntegrity::Macs | ShadowIntegrity::UnverifiedMacs)
    }

    /// Whether a hash tree is over its lines.
    pub fn has_tree(self) -> bool {
        self != ShadowIntegrity::None && !self.has_macs()
    }
}

/// A drain described by parts: which lines leave the caches after power loss, in which form and in which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DrainParts {
    /// Where lines go, and in which form.
    pub path: DrainPath,
    /// Whether dirty counter blocks, lines of MACs and tree nodes are drained first.
    pub counters: CounterDrain,
    /// Which copies of a line are drained.
    pub copies: DrainCopies,
    /// Which metadata of the slots are written.
    pub slots: ShadowSlots,
    /// The inputs of the pads of a shadow cache.
    pub pads: ShadowPads,
    /// What protects the shadow cache.
    pub integrity: ShadowIntegrity,
}

/// A drain written in Rust, for designs that the built-in parts cannot describe.
pub trait DrainMechanism: Send + Sync {
    /// The smallest battery that the drain needs.
    fn needs(&self) -> Battery;
    /// Whether lines go to the shadow cache instead of their own addresses.
    fn uses_shadow(&self) -> bool;
    /// Whether dirty counter blocks, lines of MACs and tree nodes are drained before the lines.
    fn drains_counters(&self) -> bool {
        true
    }
    /// Drains `lines`, which are in the order of their slots.
    ///
    /// # Errors
    /// Returns the first operation that the battery does not support.
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden>;
}

/// How lines leave the caches after power loss.
#[derive(Clone, Copy)]
pub enum CrashDrain {
    /// A drain made of parts that design files name.
    Parts(DrainParts),
    /// A drain that the caller supplies.
    Custom(&'static dyn DrainMechanism),
}
