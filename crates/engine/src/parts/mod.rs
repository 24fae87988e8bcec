//! The parts a design is made of. Stages call them at marked points, once per line moved; they hold no time, no
//! queues and no bytes of their own.

mod choice;
mod encryption;
mod hardware_log;
mod persistence;

use crate::config::Variant;
use strum::{EnumMessage, EnumProperty, IntoStaticStr, VariantArray};

pub use crate::message::{LogLayout, ProgramForm};
pub use choice::Choice;
pub use encryption::{
    Admit, AppendOrder, Counter, CounterCoalescing, CounterKind, CounterPart, CounterScheme, CounterStore,
    CounterUpdate, Encryption, EncryptionMode, FeedbackSource, MinorReset, NextCounter, PadSource, WritePath,
    WriteQueues, WritebackOrder,
};
pub use hardware_log::{HardwareLog, LogChains, LogEncryption, LogMode, LogOrder};
pub use persistence::{
    Battery, CachePads, CounterDrain, CrashDrain, Domain, DomainReach, DrainCopies, DrainMechanism, DrainParts,
    DrainPath, Forbidden, OnBattery, PersistenceDomain, RecoveryStep, RegisterName, RestoreInto, ShadowPads,
    ShadowSlots, StampSource, StepName,
};

/// What the auditors may hold a design to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// A crash test makes sense. The sentence says why not otherwise.
    pub crash_consistent: Result<(), String>,
    /// Which lines in flight hold their old or their new value after a crash, never anything else.
    pub line_atomic: LineAtomicity,
    /// Nothing leaves the chip in the clear and no pad is used twice.
    pub secret: bool,
}

/// Which lines a design promises to keep whole while a write of them is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, VariantArray, IntoStaticStr, EnumMessage, EnumProperty)]
#[strum(serialize_all = "kebab-case")]
pub enum LineAtomicity {
    /// None: only the outcome of recovery counts.
    None,
    /// Lines that hold a `CounterAtomic` variable.
    Marked,
    /// Every line.
    #[default]
    Every,
}

/// The registers of a design, each with what it survives; those that are not there are [`Domain::Absent`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers([Domain; RegisterName::VARIANTS.len()]);

impl Registers {
    /// What register `name` survives.
    pub fn domain(&self, name: RegisterName) -> Domain {
        self.0[name as usize]
    }

    /// Sets what it survives.
    pub fn set(&mut self, name: RegisterName, domain: Domain) {
        self.0[name as usize] = domain;
    }

    /// These registers with `name` in `domain`.
    #[must_use]
    pub fn with(mut self, name: RegisterName, domain: Domain) -> Self {
        self.set(name, domain);
        self
    }
}

/// The parts of a design as a design file states them: name or value by key.
pub type PartsList = toml::Table;

/// A design: a parts list.
#[derive(Clone)]
pub struct Design {
    /// Name on the command line.
    pub name: String,
    /// Which reading this is.
    pub variant: Variant,
    /// One line about it.
    pub summary: String,
    /// Paper and section.
    pub paper: String,
    /// Preset used when the user names none.
    pub machine: String,
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
    pub registers: Registers,
    /// Its boot sequence.
    pub recovery: Vec<RecoveryStep>,
    /// Its parts as a design file states them, unless it is a built-in design: results keep them.
    pub parts: Option<PartsList>,
}

impl Design {
    /// Whether it has a counter cache.
    pub fn has_counter_cache(&self) -> bool {
        self.encryption.is_some_and(|encryption| encryption.store != CounterStore::Inline)
    }

    /// How dirty lines leave the caches after power is lost; `None` if they do not.
    pub fn drain(&self) -> Option<CrashDrain> {
        match self.domain {
            PersistenceDomain::Adr => None,
            PersistenceDomain::Eadr { drain } => Some(drain),
        }
    }

    /// What register `name` survives: a register that does not exist survives nothing.
    pub fn register_domain(&self, name: RegisterName) -> Domain {
        match self.registers.domain(name) {
            Domain::Absent => Domain::Volatile,
            domain => domain,
        }
    }
}
