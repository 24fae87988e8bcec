//! The parts a design is made of. Stages call them at marked points, once per line moved; they hold no time, no
//! queues and no bytes of their own.

mod choice;
mod counters;
mod direct;
mod domain;
mod encryption;
mod hardware_log;
mod integrity;
mod persistence;
mod words;
mod zeroing;

use crate::config::Variant;
use schemars::JsonSchema;
use strum::{EnumProperty, IntoStaticStr, VariantArray};

pub use crate::layout::LogLayout;
pub use crate::message::ProgramForm;
pub use choice::Choice;
pub use counters::{Counter, CounterPart, CounterScheme, NextCounter};
pub use direct::{BufferSave, PageModes, Tweak};
pub use domain::{BufferRelease, DomainReach, MinorUnit, PersistenceDomain};
pub use encryption::{
    Admit, AppendOrder, CounterBank, CounterCoalescing, CounterKind, CounterStore, CounterUpdate, Encryption,
    EncryptionMode, FeedbackSource, LineCipher, MinorReset, PadSource, PairedLines, WritePath, WriteQueues,
    WritebackOrder,
};
pub use hardware_log::{HardwareLog, LogChains, LogEncryption, LogMode, LogOrder};
pub use integrity::{
    Counted, CounterVerification, GroupCommit, Integrity, IntegrityMode, LowBitsScheme, MacInputs, MacSource, MacWrite,
    NodeMac, PartialUpdates, RootUpdate, ShadowTable, ShadowTree, TableScheme, Tree, TreeLeaves, TreeNodes, TreeOrder,
    TreePersistence, TreeRoots, TreeScheme, TreeUpdate,
};
pub use persistence::{
    Battery, CachePads, CounterDrain, CrashDrain, Domain, DrainCopies, DrainMechanism, DrainParts, DrainPath,
    Forbidden, OnBattery, RecoveryStep, RegisterName, RestoreInto, ShadowIntegrity, ShadowPads, ShadowSlots,
    StampSource, StepName,
};
pub use words::{ReencryptedWords, Stored, WordSource};
pub use zeroing::Zeroing;

/// What a design guarantees, and so what the auditors check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// Whether a crash test makes sense; if not, the sentence says why.
    pub crash_consistent: Result<(), String>,
    /// Which lines in flight hold either their old or their new value after a crash.
    pub line_atomic: LineAtomicity,
    /// Nothing leaves the chip in the clear, or is stored in the clear if modules encrypt, and no pad is used twice.
    pub secret: bool,
}

/// Which lines in flight hold their old or their new value after a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumProperty, JsonSchema)]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename_all = "kebab-case")]
pub enum LineAtomicity {
    /// No line: only the outcome of recovery counts.
    None,
    /// Lines that hold a `CounterAtomic` variable.
    Marked,
    /// Every line.
    #[default]
    Every,
}

/// The registers of a design and which power losses each one survives; a register that does not exist is
/// [`Domain::Absent`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers([Domain; RegisterName::VARIANTS.len()]);

impl Registers {
    /// Which power losses register `name` survives.
    pub fn domain(&self, name: RegisterName) -> Domain {
        self.0[name as usize]
    }

    /// Sets which power losses register `name` survives.
    pub fn set(&mut self, name: RegisterName, domain: Domain) {
        self.0[name as usize] = domain;
    }

    /// A copy of these registers with `name` in `domain`.
    #[must_use]
    pub fn with(mut self, name: RegisterName, domain: Domain) -> Self {
        self.set(name, domain);
        self
    }
}

/// The parts of a design as a design file states them: a name or a value for each key.
pub type PartsList = toml::Table;

/// A design: a parts list.
#[derive(Clone)]
pub struct Design {
    /// The design's name on the command line.
    pub name: String,
    /// The reading of the paper.
    pub variant: Variant,
    /// A one-line description.
    pub summary: String,
    /// Paper and section that the design comes from.
    pub paper: String,
    /// The machine preset that is used if the user names none.
    pub machine: String,
    /// The form of the workload that the design runs.
    pub form: ProgramForm,
    /// What the design guarantees.
    pub promise: Promise,
    /// How memory is encrypted in counter mode; `None` if it is not.
    pub encryption: Option<Encryption>,
    /// What the tweak of a line is, if lines are encrypted with AES-XTS. If they have counters as well, these are only versions.
    pub direct: Option<Tweak>,
    /// What modules make of their buffers when power fails, if it is they that encrypt.
    pub modules: Option<BufferSave>,
    /// The undo log that hardware writes; `None` if hardware keeps none.
    pub log: Option<HardwareLog>,
    /// How the integrity of memory is protected; `None` if it is not.
    pub integrity: Option<Integrity>,
    /// How lines are stored in the caches.
    pub cache_pads: CachePads,
    /// What survives a power failure.
    pub domain: PersistenceDomain,
    /// The design's registers.
    pub registers: Registers,
    /// The boot sequence, in order.
    pub recovery: Vec<RecoveryStep>,
    /// The parts as a design file states them, so that results can record them; `None` for a built-in design.
    pub parts: Option<PartsList>,
}

impl Design {
    /// Whether memory holds ciphertext.
    pub fn encrypts(&self) -> bool {
        self.encryption.is_some() || self.direct.is_some()
    }

    /// Whether the design has a counter cache.
    pub fn has_counter_cache(&self) -> bool {
        self.encryption.is_some_and(|encryption| encryption.store != CounterStore::Inline)
    }

    /// Whether the controller shreds pages that are to be filled with zeros.
    pub fn shreds_pages(&self) -> bool {
        self.encryption.is_some_and(|encryption| encryption.zeroing.shreds())
    }

    /// The fewest bits of a minor counter with which a boot gets on: one value must follow that with which a page begins.
    pub fn least_minor_bits(&self) -> u32 {
        if self.shreds_pages() { 2 } else { 1 }
    }

    /// How lines leave that are neither in memory nor in the write pending queue, after power loss: the dirty ones of the
    /// caches, those of persist buffers, or those of accepted writes. `None` if they do not.
    pub fn drain(&self) -> Option<CrashDrain> {
        match self.domain {
            PersistenceDomain::Adr => None,
            PersistenceDomain::AcceptedWrites { drain, .. }
            | PersistenceDomain::PersistBuffers { drain, .. }
            | PersistenceDomain::Eadr { drain } => Some(drain),
        }
    }

    /// Whether the caches are in the persistence domain.
    pub fn caches_persist(&self) -> bool {
        matches!(self.domain, PersistenceDomain::Eadr { .. })
    }

    /// Whether a store is durable once it is visible: the caches are in the persistence domain, or buffers beside them.
    pub fn stores_persist(&self) -> bool {
        self.caches_persist() || matches!(self.domain, PersistenceDomain::PersistBuffers { .. })
    }

    /// What is computed before a write is accepted, if writes are accepted before they are encrypted.
    pub fn minor_unit(&self) -> Option<MinorUnit> {
        match self.domain {
            PersistenceDomain::AcceptedWrites { unit, .. } => Some(unit),
            PersistenceDomain::Adr | PersistenceDomain::PersistBuffers { .. } | PersistenceDomain::Eadr { .. } => None,
        }
    }

    /// Which power losses register `name` survives; a register that does not exist survives none.
    pub fn register_domain(&self, name: RegisterName) -> Domain {
        match self.registers.domain(name) {
            Domain::Absent => Domain::Volatile,
            domain => domain,
        }
    }
}
