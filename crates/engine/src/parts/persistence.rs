//! What a power failure leaves: registers, caches in the persistence domain, what a battery lets out of them, and what the
//! boot does with it.

use super::Counter;
use crate::message::{Line, LineBytes, MediaLine, OnChipLine, ShadowRegion};
use strum::{EnumMessage, EnumProperty, IntoStaticStr, VariantArray};

/// Which losses of power a register survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum Domain {
    /// The design has no such register.
    #[default]
    Absent,
    /// Lost.
    Volatile,
    /// Drained to the device on battery and loaded again at boot.
    Adr,
    /// As the machine's `counters.global_register` says.
    Configured,
    /// Kept.
    NonVolatile,
}

/// The registers that exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum RegisterName {
    /// Line and counter block of a write whose pad is not done, one for each AES circuit.
    #[strum(props(paper = "secpm, section 3.3.2"))]
    StagingRegister,
    /// The status register of page re-encryption.
    #[strum(props(paper = "secpm, section 3.5"))]
    ReencryptionStatus,
    /// The global counter.
    #[strum(props(paper = "counter-atomicity, section 5.2.1"))]
    GlobalCounter,
    /// Which buckets the transactions in flight have, and how many headers of each have persisted: one set of registers for
    /// each concurrent transaction.
    #[strum(props(paper = "easy-pm, sections III-B and III-D"))]
    LogMetadata,
    /// The newest ciphertext of the header chain and of the log chain, for each concurrent transaction.
    #[strum(props(paper = "easy-pm, section III-C"))]
    RecentCiphertext,
    /// The counter under which the next line leaves on battery.
    #[strum(props(paper = "sepencr, section IV-C"))]
    IncrCounter,
    /// The counter under which all cache pads are made.
    #[strum(props(paper = "sepencr, section IV-D"))]
    BootCounter,
    /// Up to which stamp the shadow cache has been consumed.
    #[strum(props(paper = "hardened reading of sepencr"))]
    ShadowConsumed,
}

/// A step of the boot sequence.
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

/// The name of a step of the boot sequence; a design file lists them in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum StepName {
    /// Finish the page re-encryption that the status register tells of.
    #[strum(props(paper = "secpm, section 3.5"))]
    ResumeReencryption,
    /// Walk the hardware's log of every transaction in flight and undo what it says.
    #[strum(props(paper = "easy-pm, section III-D"))]
    UndoHardwareLog,
    /// Encrypt the lines that left in the clear.
    #[strum(props(paper = "sepencr, section III"))]
    EncryptPlain,
    /// The boot counter goes up by one.
    #[strum(props(paper = "sepencr, section IV-D"))]
    AdvanceBootCounter,
    /// Decrypt the shadow cache and put its lines back: the third level's, the second's, then the first's.
    #[strum(props(paper = "sepencr, sections IV-C and IV-D"))]
    RestoreShadow,
    /// Encrypt the lines that have been put back into the caches under the pads of the present boot counter.
    #[strum(props(paper = "sepencr, section IV-D"))]
    RenewCachePads,
}

/// Where a recovery takes the counter of a slot's pad from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum StampSource {
    /// From the slot's metadata. A slot whose stamp has been consumed holds nothing.
    #[default]
    #[strum(props(paper = "hardened reading of sepencr"))]
    Metadata,
    /// From the slot's location and the present incr-counter: the counter less the number of slots, plus the slot's own.
    #[strum(props(paper = "sepencr, section IV-C"))]
    Location,
    /// It is the boot counter.
    #[strum(props(paper = "sepencr, section IV-D"))]
    BootCounter,
    /// From the slot's metadata, which keep only the lowest bit of it: it is the newest stamp with that bit that an earlier
    /// life can have used. The boot counter has gone up before.
    #[strum(props(paper = "seeded fault"))]
    LowestBit,
    /// From nowhere: no slot is taken to hold anything.
    #[strum(props(paper = "seeded fault"))]
    Nowhere,
}

/// Where a recovery puts what the shadow cache held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum RestoreInto {
    /// Into memory, through the ordinary write path; the shadow cache stays valid until the last line is there.
    #[default]
    #[strum(props(paper = "hardened reading of sepencr"))]
    Memory,
    /// Into the slots of the caches that they came from, dirty.
    #[strum(props(paper = "sepencr, sections IV-C and IV-D"))]
    Caches,
}

/// How a line rests in the caches and what an access costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CachePads {
    /// In the clear.
    #[default]
    None,
    /// As ciphertext under its own counter, which is bumped when the line turns dirty; AES at every access.
    #[strum(props(paper = "sepencr, section IV-A"))]
    AesAtAccess,
    /// Exclusive-ored with a pad made at boot, one for each data slot; the pads take half the ways.
    #[strum(props(paper = "sepencr, section IV-D"))]
    BootPads,
}

/// How far the persistence domain reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum DomainReach {
    /// The write pending queue, and registers that say so.
    #[default]
    #[strum(props(paper = "secpm, section 2.1"))]
    Adr,
    /// The caches and the counter cache, too.
    #[strum(props(paper = "sepencr, section II-D"))]
    Eadr,
}

/// What lies in the persistence domain.
#[derive(Clone, Copy)]
pub enum PersistenceDomain {
    /// The write pending queue, and registers that say so.
    Adr,
    /// The caches and the counter cache, too.
    Eadr {
        /// How dirty lines leave the caches after power is lost.
        drain: CrashDrain,
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

/// Where and in which form lines leave the caches after power is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum DrainPath {
    /// For their own addresses, as they rest in the caches.
    #[default]
    #[strum(props(paper = "sepencr, sections II-D and IV-A"))]
    InPlace,
    /// For their own addresses in the clear, although memory is encrypted.
    #[strum(props(paper = "sepencr, section III"))]
    InTheClear,
    /// Through the ordinary write path, which reads and bumps their counters.
    #[strum(props(paper = "sepencr, section IV-B"))]
    ThroughWritePath,
    /// For the shadow cache, encrypted on battery, each under the next value of the incr-counter.
    #[strum(props(paper = "sepencr, section IV-C"))]
    EncryptToShadow,
    /// For the shadow cache, as they rest under the pads made at boot.
    #[strum(props(paper = "sepencr, section IV-D"))]
    ToShadow,
}

impl DrainPath {
    /// Lines go to the shadow cache instead of their own addresses.
    pub fn uses_shadow(self) -> bool {
        matches!(self, DrainPath::EncryptToShadow | DrainPath::ToShadow)
    }
}

/// Whether dirty counter blocks leave before the lines do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum CounterDrain {
    /// They leave first.
    #[default]
    #[strum(props(paper = "sepencr, section III"))]
    First,
    /// They do not leave.
    #[strum(props(paper = "seeded fault"))]
    Never,
}

/// Which of several cached copies of a line leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum DrainCopies {
    /// The newest: a flush walks down the levels, and each takes over what the one above has newer.
    #[default]
    #[strum(props(paper = "sepencr, section II-D"))]
    Newest,
    /// Every copy, the newest first and the oldest last.
    #[strum(props(paper = "seeded fault"))]
    Every,
}

/// What the drain of a shadow cache writes beside the lines, and when the incr-counter goes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum ShadowSlots {
    /// The states of all slots leave. The incr-counter goes up when it is used, so that a clean line does not move it.
    #[default]
    #[strum(props(paper = "sepencr, sections IV-C and VI"))]
    All,
    /// Only metadata of dirty slots leave. The incr-counter goes up by one for each slot, clean or not, before any line
    /// leaves; if nothing is dirty, nothing is touched.
    #[strum(props(paper = "hardened reading of sepencr"))]
    Dirty,
}

/// The inputs of the pad of a slot of the shadow cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum ShadowPads {
    /// Each pad has a counter and a slot of its own.
    #[default]
    #[strum(props(paper = "sepencr, section IV-C"))]
    Fresh,
    /// The incr-counter does not go up: what is written to it is lost.
    #[strum(props(paper = "seeded fault"))]
    CounterHeld,
    /// Every pad is made for the first slot.
    #[strum(props(paper = "seeded fault"))]
    SlotHeld,
}

/// What leaves the caches after power is lost, in plain values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DrainParts {
    /// Where lines go and in which form.
    pub path: DrainPath,
    /// What becomes of dirty counter blocks.
    pub counters: CounterDrain,
    /// Which copies of a line leave.
    pub copies: DrainCopies,
    /// What a shadow cache is told of its slots.
    pub slots: ShadowSlots,
    /// What the pads of a shadow cache are made of.
    pub pads: ShadowPads,
}

/// A drain written in Rust, where the parts have none that fits.
pub trait DrainMechanism: Send + Sync {
    /// The least battery that it needs.
    fn needs(&self) -> Battery;
    /// Lines go to the shadow cache instead of their own addresses.
    fn uses_shadow(&self) -> bool;
    /// Dirty counter blocks leave before the lines do.
    fn drains_counters(&self) -> bool {
        true
    }
    /// Lets `lines`, in the order of their slots, leave the chip.
    ///
    /// # Errors
    /// What the battery does not support.
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden>;
}

/// What leaves the caches after power is lost.
#[derive(Clone, Copy)]
pub enum CrashDrain {
    /// Put together from parts that design files name.
    Parts(DrainParts),
    /// A mechanism of the caller's own.
    Custom(&'static dyn DrainMechanism),
}
