//! Seeded faults: each switches one mechanism of a design off, which gives another parts list. The auditors must catch
//! every one of them; a fault that nothing catches would be a mechanism that nothing needs, or a hole in the auditors.
//!
//! Left out, because switching them off leaves nothing to compare or nothing to lose:
//! - the flag bit by which CWR tells counter entries apart: addresses of lines and of counter blocks differ, so that it
//!   saves comparisons and decides nothing;
//! - the boot step that encrypts plain lines and the renewal of cache pads: only readings that fail anyway have them;
//! - the boot step that takes up an interrupted page re-encryption: lines are read by the status register, and the next write
//!   to the page goes on with it, so that it may as well be done then;
//! - the wait for the number of valid headers: its line needs no pad and is queued before any line that the header let go;
//! - the 72-byte transfer of co-located counters: taken apart it is another design, `write-through`;
//! - the register of bbe that advances before the line leaves: a drain on battery is not cut short.

use crate::config::{ConfigError, Variant, unknown_name};
use crate::mechanism::drain::{EncryptToShadow, InPlace, ThroughWritePath, ToShadow};
use crate::mechanism::seeded::{EarlyPairs, EveryCopy, HeldStill, Input, WithoutCounters};
use crate::mechanism::write_path::{Deferred, WriteThrough};
use crate::parts::{
    Admit, AppendOrder, Battery, CachePads, CounterCoalescing, CounterStore, CounterUpdate, CrashDrain, Design, Domain,
    Encryption, HardwareLog, LogChains, LogEncryption, LogOrder, MinorReset, PersistenceDomain, ProgramForm,
    RecoveryStep, Register, RegisterName, RestoreInto, StampSource, WritebackOrder,
};

macro_rules! faults {
    ($($fault:ident $name:literal $summary:literal)*) => {
        /// A mechanism that is switched off.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Fault {
            $(#[doc = $summary] $fault,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &'static [Fault] = &[$(Fault::$fault,)*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$fault => $name,)* }
            }

            /// What is switched off, in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Fault::$fault => $summary,)* }
            }
        }
    };
}

faults! {
    StagingRegister "staging-register" "No register holds line and counter until the pad is done: the counter is appended first, the line later."
    AppendOrder "append-order" "Pairs of one page are appended in the order of the AES circuits, not of their counter bumps."
    CounterWriteThrough "counter-write-through" "Counters stay in the counter cache until they are evicted."
    CwrAddressCheck "cwr-address-check" "Counter write reduction removes the oldest queued counter block, whatever its address."
    ReencryptionStatus "reencryption-status" "The status register of page re-encryption does not survive a loss of power."
    OldMinors "old-minors" "Page re-encryption resets all minor counters at once."
    DoneBitWithPair "done-bit-with-pair" "The done bit of a re-encrypted line is set an event after its pair is appended."
    ReadyBit "ready-bit" "The data of a pair is ready when it is queued, whether its counter block is queued or not."
    CounterUpdate "counter-update" "The counter cache takes a new counter when it is bumped, before its data is queued."
    WritebackOrder "writeback-order" "counter_cache_writeback does not wait for earlier writes of the lines whose counters it writes."
    GlobalCounter "global-counter" "The register of the global counter does not survive a loss of power."
    LogMetadata "log-metadata" "The log metadata registers do not survive a loss of power."
    UndoHardwareLog "undo-hardware-log" "The boot does not undo what the hardware logged."
    LogBeforeData "log-before-data" "A modified line is not held back until its log entry and header have persisted."
    LogCounters "log-counters" "Counters of log lines stay in the counter cache until they are evicted."
    IvFreshness "iv-freshness" "The chains of every log bucket begin with the same initial vectors."
    RecentCiphertext "recent-ciphertext" "The recent-ciphertext registers are never written: every line of a chain follows the same block."
    CounterDrain "counter-drain" "Dirty counter blocks do not leave on battery."
    NewestCopy "newest-copy" "Every cached copy of a line leaves on battery, the oldest last."
    CachePads "cache-pads" "Lines rest in the caches in the clear."
    BatteryEncryption "battery-encryption" "Lines leave on battery as they rest in the caches."
    IncrCounter "incr-counter" "The incr-counter does not survive a loss of power."
    IncrCounterStep "incr-counter-step" "The incr-counter does not go up when lines leave."
    SlotPad "slot-pad" "Every slot of the shadow cache has the pad of the first."
    BootCounter "boot-counter" "The boot counter does not survive a loss of power."
    AdvanceBootCounter "advance-boot-counter" "The boot counter does not go up at boot."
    RestoreShadow "restore-shadow" "The boot takes nothing out of the shadow cache."
    ShadowConsumed "shadow-consumed" "The register that says that the shadow cache has been consumed does not survive a loss of power."
    EpochTag "epoch-tag" "Recovery does not look at the stamps of slots and goes by their places."
    EpochBits "epoch-bits" "The stamps of slots have one bit."
}

/// Recoveries that faults make and that are no part of a design's own.
const RECOVERIES: &[&[RecoveryStep]] = &[
    &[RecoveryStep::ResumeReencryption, restore(StampSource::Location)],
    &[RecoveryStep::AdvanceBootCounter, RecoveryStep::ResumeReencryption, restore(StampSource::Location)],
    &[RecoveryStep::AdvanceBootCounter, RecoveryStep::ResumeReencryption, restore(StampSource::LowestBit)],
    &[RecoveryStep::ResumeReencryption, restore(StampSource::Nowhere)],
    &[RecoveryStep::AdvanceBootCounter, RecoveryStep::ResumeReencryption, restore(StampSource::Nowhere)],
    &[
        RecoveryStep::RestoreShadow { stamp: StampSource::BootCounter, into: RestoreInto::Caches },
        RecoveryStep::RenewCachePads,
    ],
];

/// The same of registers.
const REGISTERS: &[&[Register]] = &[&[
    Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr },
    Register { name: RegisterName::ShadowConsumed, domain: Domain::NonVolatile },
]];

const fn restore(stamp: StampSource) -> RecoveryStep {
    RecoveryStep::RestoreShadow { stamp, into: RestoreInto::Memory }
}

const ENCRYPT: [&EncryptToShadow; 2] = [&EncryptToShadow { hardened: false }, &EncryptToShadow { hardened: true }];
const AS_IT_RESTS: [&ToShadow; 2] = [&ToShadow { hardened: false }, &ToShadow { hardened: true }];

impl Fault {
    /// The fault called `name`.
    ///
    /// # Errors
    /// A sentence with the nearest name if there is none.
    pub fn find(name: &str) -> Result<Fault, ConfigError> {
        let known: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        let found = Fault::ALL.iter().find(|fault| fault.name() == name);
        found.copied().ok_or_else(|| unknown_name("fault", name, &known))
    }

    /// The faults that `design` can have.
    pub fn of(design: &Design) -> impl Iterator<Item = Fault> + use<> {
        let design = *design;
        Fault::ALL.iter().copied().filter(move |fault| fault.without(&design).is_some())
    }

    /// `design` without the mechanism.
    ///
    /// # Errors
    /// A sentence if the design does not have it.
    pub fn apply(self, design: &Design) -> Result<Design, ConfigError> {
        self.without(design).ok_or_else(|| {
            let have: Vec<&str> = Fault::of(design).map(Fault::name).collect();
            let have = if have.is_empty() { "none".to_owned() } else { have.join(", ") };
            ConfigError(format!(
                "fault '{}': design '{}', as {}, does not have that mechanism (faults that it can have: {have})",
                self.name(),
                design.name,
                design.variant.name(),
            ))
        })
    }

    fn without(self, design: &Design) -> Option<Design> {
        match self {
            Fault::StagingRegister => {
                design.registers.iter().find(|register| register.name == RegisterName::StagingRegister)?;
                encryption(design, |parts| then(is_pair(parts), || parts.write_path = &WriteThrough))
            }
            Fault::AppendOrder => encryption(design, |parts| {
                let ordered = is_pair(parts) && parts.append_order == AppendOrder::BumpOrder;
                then(ordered, || parts.append_order = AppendOrder::UnitOrder)
            }),
            Fault::CounterWriteThrough => encryption(design, |parts| {
                let follows = parts.store == CounterStore::Region && !parts.write_path.defers_counter(true);
                then(follows, || parts.write_path = &Deferred)
            }),
            Fault::CwrAddressCheck => encryption(design, |parts| {
                let reduces = parts.coalescing == CounterCoalescing::InWpq;
                then(reduces, || parts.coalescing = CounterCoalescing::AnyInWpq)
            }),
            Fault::ReencryptionStatus => lost(design, RegisterName::ReencryptionStatus),
            Fault::OldMinors => encryption(design, |parts| {
                then(parts.minor_reset == MinorReset::WithDoneBit, || parts.minor_reset = MinorReset::AtOnce)
            }),
            Fault::DoneBitWithPair => encryption(design, |parts| {
                then(parts.minor_reset == MinorReset::WithDoneBit, || parts.minor_reset = MinorReset::BeforeDoneBit)
            }),
            Fault::ReadyBit => encryption(design, |parts| {
                let selective = parts.write_path.at_encrypted(false) != Admit::Unready;
                let early = if selective { &EarlyPairs { selective: true } } else { &EarlyPairs { selective: false } };
                then(parts.write_path.at_encrypted(true) == Admit::Unready, || parts.write_path = early)
            }),
            Fault::CounterUpdate => encryption(design, |parts| {
                let waits = parts.store == CounterStore::Region && parts.update == CounterUpdate::WithData;
                then(waits, || parts.update = CounterUpdate::AtBump)
            }),
            // Only programs with annotations ask for a write-back.
            Fault::WritebackOrder if design.form != ProgramForm::Annotated => None,
            Fault::WritebackOrder => encryption(design, |parts| {
                let waits = parts.writeback_order == WritebackOrder::AfterData;
                then(waits, || parts.writeback_order = WritebackOrder::AtOnce)
            }),
            // Without atomic counters there is nothing that the register could save.
            Fault::GlobalCounter if design.encryption?.write_path.defers_counter(true) => None,
            Fault::GlobalCounter => lost(design, RegisterName::GlobalCounter),
            Fault::LogMetadata => lost(design, RegisterName::LogMetadata),
            Fault::UndoHardwareLog => skipped(design, RecoveryStep::UndoHardwareLog),
            Fault::LogBeforeData => hardware_log(design, |log| {
                log.order = LogOrder::AnyOrder;
                Some(())
            }),
            Fault::LogCounters => hardware_log(design, |log| match log.encryption {
                LogEncryption::Counter { write_path } if !write_path.defers_counter(true) => {
                    log.encryption = LogEncryption::Counter { write_path: &Deferred };
                    Some(())
                }
                LogEncryption::Counter { .. } | LogEncryption::Feedback => None,
            }),
            Fault::IvFreshness => hardware_log(design, |log| {
                then(matches!(log.encryption, LogEncryption::Feedback), || log.chains = LogChains::ConstantVectors)
            }),
            Fault::RecentCiphertext => hardware_log(design, |log| {
                then(matches!(log.encryption, LogEncryption::Feedback), || log.chains = LogChains::Unlinked)
            }),
            Fault::CounterDrain => drained_by(design, |kind| match kind {
                Drain::InPlace if design.encryption.is_some() => Some(&WithoutCounters(&InPlace)),
                Drain::InPlace => None,
                Drain::ThroughWritePath => Some(&WithoutCounters(&ThroughWritePath)),
                Drain::Encrypted(false) => Some(&WithoutCounters(ENCRYPT[0])),
                Drain::Encrypted(true) => Some(&WithoutCounters(ENCRYPT[1])),
                Drain::AsItRests(false) => Some(&WithoutCounters(AS_IT_RESTS[0])),
                Drain::AsItRests(true) => Some(&WithoutCounters(AS_IT_RESTS[1])),
            }),
            Fault::NewestCopy => drained_by(design, |kind| match kind {
                // Where every copy has its counter from the first, there is one dirty copy at a time.
                Drain::InPlace if design.cache_pads == CachePads::AesAtAccess => None,
                Drain::InPlace => Some(&EveryCopy(&InPlace)),
                Drain::ThroughWritePath => Some(&EveryCopy(&ThroughWritePath)),
                Drain::Encrypted(_) | Drain::AsItRests(_) => None,
            }),
            Fault::CachePads => then(design.cache_pads != CachePads::None, || ())
                .map(|()| Design { cache_pads: CachePads::None, ..*design }),
            Fault::BatteryEncryption => drained_by(design, |kind| match kind {
                Drain::ThroughWritePath => Some(&InPlace),
                Drain::Encrypted(hardened) => Some(AS_IT_RESTS[usize::from(hardened)]),
                Drain::InPlace | Drain::AsItRests(_) => None,
            }),
            Fault::IncrCounter => lost(design, RegisterName::IncrCounter),
            Fault::IncrCounterStep => drained_by(design, |kind| match kind {
                Drain::Encrypted(false) => Some(&HeldStill { drain: ENCRYPT[0], input: Input::Counter }),
                Drain::Encrypted(true) => Some(&HeldStill { drain: ENCRYPT[1], input: Input::Counter }),
                Drain::InPlace | Drain::ThroughWritePath | Drain::AsItRests(_) => None,
            }),
            Fault::SlotPad => drained_by(design, |kind| match kind {
                Drain::Encrypted(false) => Some(&HeldStill { drain: ENCRYPT[0], input: Input::Slot }),
                Drain::Encrypted(true) => Some(&HeldStill { drain: ENCRYPT[1], input: Input::Slot }),
                Drain::InPlace | Drain::ThroughWritePath | Drain::AsItRests(_) => None,
            }),
            Fault::BootCounter => lost(design, RegisterName::BootCounter),
            Fault::AdvanceBootCounter => skipped(design, RecoveryStep::AdvanceBootCounter),
            Fault::RestoreShadow => stamped(design, StampSource::Nowhere),
            Fault::ShadowConsumed => lost(design, RegisterName::ShadowConsumed),
            Fault::EpochTag => stamped(design, StampSource::Location),
            Fault::EpochBits if !design.recovery.contains(&RecoveryStep::AdvanceBootCounter) => None,
            Fault::EpochBits => stamped(design, StampSource::LowestBit),
        }
    }
}

/// The drains of designs that can do without one of their mechanisms; of those with a shadow cache, whether they are
/// hardened.
enum Drain {
    InPlace,
    ThroughWritePath,
    Encrypted(bool),
    AsItRests(bool),
}

fn then(has: bool, switch_off: impl FnOnce()) -> Option<()> {
    has.then(switch_off)
}

fn is_pair(parts: &Encryption) -> bool {
    parts.write_path.at_encrypted(true) == Admit::Pair
}

fn encryption(design: &Design, change: impl FnOnce(&mut Encryption) -> Option<()>) -> Option<Design> {
    let mut parts = design.encryption?;
    change(&mut parts)?;
    Some(Design { encryption: Some(parts), ..*design })
}

fn hardware_log(design: &Design, change: impl FnOnce(&mut HardwareLog) -> Option<()>) -> Option<Design> {
    let mut log = design.log?;
    change(&mut log)?;
    Some(Design { log: Some(log), ..*design })
}

fn drained_by(design: &Design, other: impl FnOnce(Drain) -> Option<&'static dyn CrashDrain>) -> Option<Design> {
    let drain = design.drain()?;
    let hardened = design.variant == Variant::Hardened;
    let kind = match (drain.uses_shadow(), drain.needs()) {
        // Lines that leave in the clear although memory is encrypted break the rules anyway.
        (false, Battery::WriteOnly) if design.recovery.contains(&RecoveryStep::EncryptPlain) => return None,
        (false, Battery::WriteOnly) => Drain::InPlace,
        (false, Battery::WriteComputeOrder | Battery::AllOperation) => Drain::ThroughWritePath,
        (true, Battery::WriteOnly) => Drain::AsItRests(hardened),
        (true, Battery::WriteComputeOrder | Battery::AllOperation) => Drain::Encrypted(hardened),
    };
    Some(Design { domain: PersistenceDomain::Eadr { drain: other(kind)? }, ..*design })
}

/// A register that is not listed does not survive.
fn lost(design: &Design, name: RegisterName) -> Option<Design> {
    let survives = |register: &&Register| register.name == name && register.domain != Domain::Volatile;
    design.registers.iter().find(survives)?;
    let left: Vec<Register> = design.registers.iter().copied().filter(|register| register.name != name).collect();
    Some(Design { registers: listed(&left, design.registers, REGISTERS), ..*design })
}

fn skipped(design: &Design, gone: RecoveryStep) -> Option<Design> {
    let left: Vec<RecoveryStep> = design.recovery.iter().copied().filter(|step| *step != gone).collect();
    then(left.len() < design.recovery.len(), || ())?;
    Some(Design { recovery: listed(&left, design.recovery, RECOVERIES), ..*design })
}

/// The counters of slots, which the slots' metadata name, come from `stamp`.
fn stamped(design: &Design, stamp: StampSource) -> Option<Design> {
    let names = restore(StampSource::Metadata);
    then(design.recovery.contains(&names), || ())?;
    let steps: Vec<RecoveryStep> =
        design.recovery.iter().map(|step| if *step == names { restore(stamp) } else { *step }).collect();
    Some(Design { recovery: listed(&steps, design.recovery, RECOVERIES), ..*design })
}

/// The list `wanted`, from the beginning or the end of a design's `own` or from those that faults make.
fn listed<T: PartialEq>(wanted: &[T], own: &'static [T], made: &'static [&'static [T]]) -> &'static [T] {
    let ends = [&own[..wanted.len()], &own[own.len() - wanted.len()..]];
    let found = ends.into_iter().chain(made.iter().copied()).find(|list| *list == wanted);
    found.expect("every list that a fault makes is listed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DESIGNS;

    fn designs() -> impl Iterator<Item = Design> {
        [Variant::Published, Variant::Hardened].into_iter().flat_map(|of| DESIGNS.iter().map(move |design| design(of)))
    }

    #[test]
    fn every_fault_has_a_design_and_a_name_of_its_own() {
        for fault in Fault::ALL {
            assert!(designs().any(|design| fault.apply(&design).is_ok()), "{}", fault.name());
            assert_eq!(Fault::find(fault.name()), Ok(*fault));
            assert!(fault.summary().ends_with('.'), "{}", fault.summary());
        }
    }

    #[test]
    fn a_mechanism_that_is_off_cannot_be_switched_off_again() {
        // Where every pair is the same, a drain cannot be told from the one that it wraps.
        let wraps = [
            Fault::LogBeforeData,
            Fault::IvFreshness,
            Fault::RecentCiphertext,
            Fault::CounterDrain,
            Fault::NewestCopy,
            Fault::IncrCounterStep,
            Fault::SlotPad,
        ];
        for design in designs() {
            for fault in Fault::of(&design).filter(|fault| !wraps.contains(fault)) {
                let broken = fault.apply(&design).unwrap();
                let error = fault.apply(&broken).err().map(|error| error.0).unwrap_or_default();
                assert!(error.contains(fault.name()) && error.contains(design.name), "{}: {error}", design.name);
            }
        }
    }

    #[test]
    fn unknown_faults_and_faults_of_other_designs_are_refused_in_a_sentence() {
        let error = Fault::find("stagin-register").unwrap_err().0;
        assert!(
            error.starts_with("fault 'stagin-register' does not exist: did you mean 'staging-register'?"),
            "{error}"
        );
        let plain = crate::design::find("unencrypted", Variant::Hardened).unwrap();
        let error = Fault::StagingRegister.apply(&plain).err().unwrap().0;
        assert_eq!(
            error,
            "fault 'staging-register': design 'unencrypted', as hardened, does not have that mechanism (faults that it \
             can have: none)"
        );
    }
}
