//! The parts a design is made of. Stages call them at marked points, once per line moved; they hold no time, no
//! queues and no bytes of their own.

use crate::config::{Counters, Variant};
use crate::message::{Line, LineBytes};

/// Which form of the workload the design runs (model.md section 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramForm {
    /// Stores, flushes and fences as on unencrypted memory.
    Plain,
}

/// What the auditors may hold a design to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// A crash test makes sense. The sentence says why not otherwise.
    pub crash_consistent: Result<(), &'static str>,
    /// A line in flight holds its old or its new value after a crash, never anything else.
    pub line_atomic: bool,
    /// Nothing leaves the chip in the clear and no pad is used twice.
    pub secret: bool,
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
}

/// How a counter becomes durable relative to its data.
pub trait WritePath: Send + Sync {
    /// What is admitted when the counter has been bumped and encryption begins.
    fn at_bump(&self) -> Admit;
    /// What is admitted when the pad is done and the line is encrypted.
    fn at_encrypted(&self) -> Admit;
    /// The bumped block stays dirty in the counter cache until it is evicted.
    fn defers_counter(&self) -> bool;
}

/// Which waiting admissions may pass which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppendOrder {
    /// Pairs of one page are appended in the order of their counter bumps (hardened).
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
}

/// A step of the boot sequence, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryStep {
    /// Finish the page re-encryption that the status register tells of.
    ResumeReencryption,
}

/// The counter of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// Shared by the page.
    pub major: u64,
    /// The line's own.
    pub minor: u8,
}

impl Counter {
    /// The counter of a line that was never written.
    pub const NEVER: Counter = Counter { major: 0, minor: 0 };
}

/// Which counter a line has and how a block of them lies in its 64 bytes.
pub trait CounterScheme: Send + Sync {
    /// The block of a page that the run has not written: bit `i` of `populated` says that line `i` holds data.
    fn initial(&self, populated: u64) -> LineBytes;
    /// The counter of line `index` (0 to 63).
    fn counter(&self, block: &LineBytes, index: usize) -> Counter;
    /// Counts one more write of line `index`; `None`, and no change, if its minor counter would overflow.
    fn bump(&self, block: &mut LineBytes, index: usize) -> Option<Counter>;
    /// Begins re-encryption: the major counter goes up by one; all minors to zero with [`MinorReset::AtOnce`].
    fn advance_major(&self, block: &mut LineBytes, reset: MinorReset);
    /// Sets the minor of line `index` to zero, under the block's major counter.
    fn restart_line(&self, block: &mut LineBytes, index: usize) -> Counter;
}

/// One-time pads over lines.
pub trait PadSource: Send + Sync {
    /// The pad of `line` under `counter`.
    fn pad(&self, line: Line, counter: Counter) -> LineBytes;
}

/// Encryption of a design, if it encrypts at all.
#[derive(Clone, Copy)]
pub struct Encryption {
    /// Which counter a line has.
    pub counters: fn(&Counters) -> Box<dyn CounterScheme>,
    /// How a counter becomes durable.
    pub write_path: &'static dyn WritePath,
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
    /// Its registers.
    pub registers: &'static [Register],
    /// Its boot sequence.
    pub recovery: &'static [RecoveryStep],
}

impl Design {
    /// The domain of register `name`; a register that is not listed does not exist and survives nothing.
    pub fn domain(&self, name: RegisterName) -> Domain {
        self.registers
            .iter()
            .find(|register| register.name == name)
            .map_or(Domain::Volatile, |register| register.domain)
    }
}
