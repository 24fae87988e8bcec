//! Seeded faults: each switches off one mechanism of a design, which gives another parts list. The auditors must catch
//! every one. A fault that nothing catches means that the mechanism is not needed or that the auditors miss something.
//!
//! Some mechanisms have no seeded fault, because without them there is nothing to compare or nothing to lose:
//! - the flag bit by which CWR recognises counter entries: lines and counter blocks have different addresses, so it
//!   saves comparisons but decides nothing;
//! - the boot step that encrypts plain lines and the renewal of cache pads: only readings that fail anyway have them;
//! - the boot step that finishes an interrupted page re-encryption: reads use the status register, and the next write
//!   to the page continues the re-encryption, so it need not happen at boot;
//! - the wait for the number of valid headers: its line needs no pad and is queued before any line that the header
//!   releases;
//! - the 72-byte transfer of co-located counters: split in two, it is another design, `write-through`;
//! - the register of bbe that advances before the line leaves: a drain on battery is never interrupted.

use crate::config::{Leveling, Machine, unknown_name};
use crate::kernel::ConfigError;
use crate::parts::{
    Admit, AppendOrder, BufferRelease, BufferSave, CachePads, CounterCoalescing, CounterDrain, CounterStore,
    CounterUpdate, CounterVerification, CrashDrain, Design, Domain, DrainCopies, DrainParts, DrainPath, Encryption,
    HardwareLog, LogChains, LogEncryption, LogOrder, MacInputs, MacWrite, MinorReset, NodeMac, PageModes,
    PartialUpdates, PersistenceDomain, ProgramForm, RecoveryStep, ReencryptedWords, RegisterName, RootUpdate,
    ShadowIntegrity, ShadowPads, ShadowTable, StampSource, TreeNodes, TreePersistence, Tweak, WritePath,
    WritebackOrder, Zeroing,
};

macro_rules! faults {
    ($($fault:ident $name:literal $summary:literal)*) => {
        /// A mechanism that is switched off.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Fault {
            $(#[doc = $summary] $fault,)*
        }

        impl Fault {
            /// All faults, in the order in which lists show them.
            pub const ALL: &'static [Fault] = &[$(Fault::$fault,)*];

            /// The fault's name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$fault => $name,)* }
            }

            /// What is switched off, in one sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Fault::$fault => $summary,)* }
            }
        }
    };
}

faults! {
    StagingRegister "staging-register" "No register holds line and counter until the pad is done: the counter is appended first, the line later."
    AppendOrder "append-order" "Counter blocks of one page are appended in the order of the AES circuits, not of their counter increments."
    CounterWriteThrough "counter-write-through" "Counters stay in the counter cache until they are evicted."
    CwrAddressCheck "cwr-address-check" "Counter write reduction removes the oldest queued counter block, whatever its address."
    Tweak "tweak" "Every line that is encrypted without counters has the same tweak."
    BufferEncryption "buffer-encryption" "A module that encrypts saves what is in its buffer unencrypted when power fails."
    PageModes "page-modes" "A boot does not know which pages are encrypted without counters, and takes none for one."
    ReencryptionStatus "reencryption-status" "The status register of page re-encryption does not survive a loss of power."
    OldMinors "old-minors" "Page re-encryption resets all minor counters at once."
    DoneBitWithPair "done-bit-with-pair" "The done bit of a re-encrypted line is set an event after its pair is appended."
    ReadyBit "ready-bit" "The data of a pair is ready when it is queued, whether its counter block is queued or not."
    CounterUpdate "counter-update" "The counter cache takes a new counter when it is incremented, before its data is queued."
    WritebackOrder "writeback-order" "counter_cache_writeback does not wait for earlier writes of the lines whose counters it writes."
    ModifiedBits "modified-bits" "The bits that say which words of a line are modified do not survive a loss of power."
    LeadingCounter "leading-counter" "A modified word is encrypted again with the counter that the epoch of its line began with."
    ShreddedBlock "shredded-block" "The block of a page that is shredded stays in the counter cache until it is evicted."
    ZeroMinor "zero-minor" "Re-encryption of a page gives its lines the minor counter that means zeros."
    GlobalCounter "global-counter" "The register of the global counter does not survive a loss of power."
    LogMetadata "log-metadata" "The log metadata registers do not survive a loss of power."
    UndoHardwareLog "undo-hardware-log" "The boot does not undo what the hardware logged."
    LogBeforeData "log-before-data" "A modified line is not held back until its log entry and header have persisted."
    LogCounters "log-counters" "Counters of log lines stay in the counter cache until they are evicted."
    IvFreshness "iv-freshness" "The chains of every log bucket begin with the same initial vectors."
    RecentCiphertext "recent-ciphertext" "The recent-ciphertext registers are never written: every line of a chain follows the same block."
    CounterDrain "counter-drain" "Dirty counter blocks do not leave on battery."
    NewestCopy "newest-copy" "Every cached copy of a line leaves on battery, the oldest last."
    PersistBuffer "persist-buffer" "An entry of a persist buffer is free when its line is sent, before memory has it."
    CachePads "cache-pads" "Lines rest in the caches in the clear."
    BatteryEncryption "battery-encryption" "Lines leave on battery as they rest in the caches."
    IncrCounter "incr-counter" "The incr-counter does not survive a loss of power."
    IncrCounterStep "incr-counter-step" "The incr-counter is not incremented when lines leave."
    SlotPad "slot-pad" "Every slot of the shadow cache has the pad of the first."
    BootCounter "boot-counter" "The boot counter does not survive a loss of power."
    AdvanceBootCounter "advance-boot-counter" "The boot counter is not incremented at boot."
    RestoreShadow "restore-shadow" "The boot takes nothing out of the shadow cache."
    ShadowConsumed "shadow-consumed" "The register that says that the shadow cache has been consumed does not survive a loss of power."
    ShadowRoot "shadow-root" "The register of the root of the tree over the shadow cache does not survive a loss of power."
    ShadowRootUpdate "shadow-root-update" "The register of the root of the tree over the shadow cache never takes a new root."
    ShadowVerification "shadow-verification" "The boot does not compare the shadow cache with its root."
    EpochTag "epoch-tag" "Recovery does not look at the stamps of slots and goes by their places."
    RootUpdate "root-update" "The register of the root never takes a new root."
    IntegrityRoot "integrity-root" "The register of the root does not survive a loss of power."
    MacAddress "mac-address" "The MAC of a line does not cover its address."
    MacCounter "mac-counter" "The MAC of a line does not cover its counter."
    NodeMac "node-mac" "The MAC of a node, and of a counter block, does not cover its counter in its parent."
    MacWithData "mac-with-data" "A line of MACs persists when it is evicted, not with the data."
    CounterVerification "counter-verification" "A counter block that is read is not verified against the tree."
    TreePersistence "tree-persistence" "The nodes above a counter block persist when they are evicted."
    RebuildTree "rebuild-tree" "The boot does not compute the nodes that did not persist."
    StopLoss "stop-loss" "Counters stay in the counter cache, however often they have been incremented."
    RecoverCounters "recover-counters" "The boot does not search for the counters that were only in the counter cache."
    RestoreNodes "restore-nodes" "The boot does not compute the nodes that the shadow table lists."
    RestoreContents "restore-contents" "The boot does not restore the blocks that the shadow table has."
    RestoreStale "restore-stale" "The boot does not compute the blocks whose bit says that they were newer on the chip."
    TableRoot "table-root" "The register of the root over what is in the metadata caches does not survive a loss of power."
    TableCounters "table-counters" "The root over the shadow table covers which counter blocks it names, but not their counters."
    BitLines "bit-lines" "The lines of bits on the chip do not survive a loss of power."
    PartialUpdates "partial-updates" "No partial update is kept: counters and MACs persist when their blocks are evicted."
    UpdatesLeave "updates-leave" "A partial update that leaves the ring is not written to its block."
    UpdateLines "update-lines" "The lines in which partial updates are combined do not survive a loss of power."
    ApplyUpdates "apply-updates" "The boot does not write partial updates to the blocks that they are newer than."
    ShadowEntry "shadow-entry" "An entry of the shadow table stays when another block takes its slot."
    EpochBits "epoch-bits" "The stamps of slots have one bit."
    GapRegisters "gap-registers" "The registers of start and gap, which wear levelling needs, do not survive a loss of power."
}

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

    /// The faults that `design` can have: those whose mechanism it has.
    pub fn of(design: &Design) -> impl Iterator<Item = Fault> + use<> {
        let design = design.clone();
        Fault::ALL.iter().copied().filter(move |fault| fault.without(&design).is_some())
    }

    /// Whether it switches off a mechanism of the machine, whatever the design is.
    pub fn of_machine(self) -> bool {
        self == Fault::GapRegisters
    }

    /// `design` and `machine` without the mechanism, which one of them has.
    ///
    /// # Errors
    /// A sentence if neither has it.
    pub fn apply_on(self, design: Design, machine: &mut Machine) -> Result<Design, ConfigError> {
        if !self.of_machine() {
            return self.apply(&design);
        }
        let wear = &mut machine.wear;
        if wear.leveling == Leveling::None || !wear.registers_durable {
            return Err(ConfigError(format!(
                "fault '{}': machine '{}' does not have that mechanism, which is there with wear.leveling = start-gap",
                self.name(),
                machine.name
            )));
        }
        wear.registers_durable = false;
        Ok(design)
    }

    /// A copy of `design` without the mechanism.
    ///
    /// # Errors
    /// A sentence if the design does not have the mechanism.
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

    /// Each fault belongs to one part of a design: encryption, log, drain or boot.
    fn without(self, design: &Design) -> Option<Design> {
        let mut broken = design.clone();
        let off = self.in_encryption(&mut broken).or_else(|| self.in_log(&mut broken));
        off.or_else(|| self.in_drain(&mut broken))
            .or_else(|| self.in_integrity(&mut broken))
            .or_else(|| self.in_boot(&mut broken))
            .map(|()| broken)
    }

    /// MACs and the integrity tree.
    fn in_integrity(self, design: &mut Design) -> Option<()> {
        // What a boot recomputes, it verifies.
        let computes = |step: &RecoveryStep| matches!(step, RecoveryStep::RebuildTree | RecoveryStep::RestoreNodes);
        let rebuilds = design.recovery.iter().any(computes);
        let parts = design.integrity.as_mut()?;
        match self {
            Fault::MacAddress => turn(&mut parts.mac_inputs, MacInputs::All, MacInputs::WithoutAddress),
            Fault::MacCounter => turn(&mut parts.mac_inputs, MacInputs::All, MacInputs::WithoutCounter),
            Fault::PartialUpdates if parts.updates != PartialUpdates::None => {
                parts.updates = PartialUpdates::None;
                Some(())
            }
            Fault::UpdatesLeave => turn(&mut parts.updates, PartialUpdates::DirtyBlocks, PartialUpdates::Dropped)
                .or_else(|| turn(&mut parts.updates, PartialUpdates::DirtyParts, PartialUpdates::Dropped)),
            Fault::MacWithData => turn(&mut parts.mac_write, MacWrite::WithData, MacWrite::Deferred),
            _ => {
                let tree = parts.tree.as_mut()?;
                match self {
                    Fault::RootUpdate => turn(&mut tree.root_update, RootUpdate::WithWrite, RootUpdate::Never),
                    Fault::NodeMac if tree.nodes != TreeNodes::Hashes && !rebuilds => {
                        turn(&mut tree.node_mac, NodeMac::UnderParent, NodeMac::UnderItself)
                    }
                    Fault::CounterVerification => {
                        turn(&mut tree.verification, CounterVerification::OnFill, CounterVerification::Never)
                    }
                    Fault::ShadowEntry => turn(&mut tree.table, ShadowTable::OnDirty, ShadowTable::Stale)
                        .or_else(|| turn(&mut tree.table, ShadowTable::Contents, ShadowTable::KeptContents))
                        .or_else(|| turn(&mut tree.table, ShadowTable::NodeContents, ShadowTable::KeptNodeContents)),
                    Fault::TableCounters => {
                        turn(&mut tree.table, ShadowTable::NodeContents, ShadowTable::UncheckedCounters)
                    }
                    Fault::TreePersistence if !rebuilds => {
                        turn(&mut tree.persistence, TreePersistence::AllLevels, TreePersistence::Evicted)
                    }
                    _ => None,
                }
            }
        }
    }

    /// Counters, write paths and page re-encryption.
    fn in_encryption(self, design: &mut Design) -> Option<()> {
        if self == Fault::Tweak {
            return turn(design.direct.as_mut()?, Tweak::Line, Tweak::Constant);
        }
        if self == Fault::BufferEncryption {
            return turn(design.modules.as_mut()?, BufferSave::Encrypted, BufferSave::InTheClear);
        }
        let (form, staging) = (design.form, design.registers.domain(RegisterName::StagingRegister));
        let parts = design.encryption.as_mut()?;
        let Encryption { store, write_path, .. } = *parts;
        match self {
            Fault::StagingRegister if staging != Domain::Absent => {
                turn(&mut parts.write_path, WritePath::StagedPair, WritePath::WriteThrough)
            }
            Fault::AppendOrder
                if write_path.at_encrypted(true) == Admit::Pair || write_path.at_bump() == Admit::Counter =>
            {
                turn(&mut parts.append_order, AppendOrder::BumpOrder, AppendOrder::UnitOrder)
            }
            Fault::CounterWriteThrough if store == CounterStore::Region && !write_path.defers_counter(true) => {
                parts.write_path = WritePath::Deferred;
                Some(())
            }
            Fault::CwrAddressCheck => {
                turn(&mut parts.coalescing, CounterCoalescing::InWpq, CounterCoalescing::AnyInWpq)
            }
            Fault::StopLoss => turn(&mut parts.write_path, WritePath::StopLoss, WritePath::Deferred)
                .or_else(|| turn(&mut parts.write_path, WritePath::SelectiveStopLoss, WritePath::SelectiveReadyPairs)),
            Fault::OldMinors => turn(&mut parts.minor_reset, MinorReset::WithDoneBit, MinorReset::AtOnce),
            Fault::DoneBitWithPair => turn(&mut parts.minor_reset, MinorReset::WithDoneBit, MinorReset::BeforeDoneBit),
            Fault::ModifiedBits => {
                turn(&mut parts.words, ReencryptedWords::Modified, ReencryptedWords::ModifiedVolatile)
            }
            Fault::PageModes => turn(&mut parts.pages, PageModes::ByHeat, PageModes::ByHeatForgotten),
            Fault::LeadingCounter => {
                turn(&mut parts.words, ReencryptedWords::Modified, ReencryptedWords::ModifiedInPlace)
            }
            Fault::ShreddedBlock => turn(&mut parts.zeroing, Zeroing::Counters, Zeroing::CachedCounters),
            Fault::ZeroMinor => turn(&mut parts.zeroing, Zeroing::Counters, Zeroing::CountersFromZero),
            Fault::ReadyBit => {
                turn(&mut parts.write_path, WritePath::ReadyPairs, WritePath::EarlyPairs).or_else(|| {
                    turn(&mut parts.write_path, WritePath::SelectiveReadyPairs, WritePath::SelectiveEarlyPairs)
                })
            }
            Fault::CounterUpdate if store == CounterStore::Region => {
                turn(&mut parts.update, CounterUpdate::WithData, CounterUpdate::AtBump)
            }
            // Only programs with annotations request write-backs of counters.
            Fault::WritebackOrder if form == ProgramForm::Annotated => {
                turn(&mut parts.writeback_order, WritebackOrder::AfterData, WritebackOrder::AtOnce)
            }
            _ => None,
        }
    }

    /// Faults of the hardware's log.
    fn in_log(self, design: &mut Design) -> Option<()> {
        let log: &mut HardwareLog = design.log.as_mut()?;
        let feedback = log.encryption == LogEncryption::Feedback;
        match (self, &mut log.encryption) {
            (Fault::LogBeforeData, _) => turn(&mut log.order, LogOrder::LogFirst, LogOrder::AnyOrder),
            (Fault::LogCounters, LogEncryption::Counter { write_path }) if !write_path.defers_counter(true) => {
                *write_path = WritePath::Deferred;
                Some(())
            }
            (Fault::IvFreshness, _) if feedback => turn(&mut log.chains, LogChains::Linked, LogChains::ConstantVectors),
            (Fault::RecentCiphertext, _) if feedback => turn(&mut log.chains, LogChains::Linked, LogChains::Unlinked),
            _ => None,
        }
    }

    /// Faults of the drain on battery, and of encryption in the caches.
    fn in_drain(self, design: &mut Design) -> Option<()> {
        let (encrypted, pads) = (design.encryption.is_some(), design.cache_pads);
        if self == Fault::CachePads {
            return (pads != CachePads::None).then(|| design.cache_pads = CachePads::None);
        }
        if let (Fault::PersistBuffer, PersistenceDomain::PersistBuffers { release, .. }) = (self, &mut design.domain) {
            return turn(release, BufferRelease::WhenDurable, BufferRelease::WhenSent);
        }
        let (PersistenceDomain::Eadr { drain }
        | PersistenceDomain::PersistBuffers { drain, .. }
        | PersistenceDomain::AcceptedWrites { drain, .. }) = &mut design.domain
        else {
            return None;
        };
        let CrashDrain::Parts(parts) = drain else { return None };
        let DrainParts { path, .. } = *parts;
        match self {
            // Lines that are drained in the clear although memory is encrypted fail anyway.
            _ if path == DrainPath::InTheClear => None,
            Fault::CounterDrain if encrypted => turn(&mut parts.counters, CounterDrain::First, CounterDrain::Never),
            // Where every copy has its counter from the first, there is one dirty copy at a time.
            Fault::NewestCopy if path == DrainPath::InPlace && pads == CachePads::AesAtAccess => None,
            Fault::NewestCopy if !path.uses_shadow() => {
                turn(&mut parts.copies, DrainCopies::Newest, DrainCopies::Every)
            }
            Fault::BatteryEncryption => turn(&mut parts.path, DrainPath::ThroughWritePath, DrainPath::InPlace)
                .or_else(|| turn(&mut parts.path, DrainPath::EncryptToShadow, DrainPath::ToShadow)),
            Fault::IncrCounterStep if path == DrainPath::EncryptToShadow => {
                turn(&mut parts.pads, ShadowPads::Fresh, ShadowPads::CounterHeld)
            }
            Fault::SlotPad if path == DrainPath::EncryptToShadow => {
                turn(&mut parts.pads, ShadowPads::Fresh, ShadowPads::SlotHeld)
            }
            Fault::ShadowRootUpdate => turn(&mut parts.integrity, ShadowIntegrity::Tree, ShadowIntegrity::KeptRoot),
            Fault::ShadowVerification => turn(&mut parts.integrity, ShadowIntegrity::Tree, ShadowIntegrity::Unverified)
                .or_else(|| turn(&mut parts.integrity, ShadowIntegrity::Macs, ShadowIntegrity::UnverifiedMacs)),
            _ => None,
        }
    }

    /// Faults of registers and of the boot sequence.
    fn in_boot(self, design: &mut Design) -> Option<()> {
        let stamp_from = |design: &mut Design, other| {
            design.recovery.iter_mut().find_map(|step| match step {
                RecoveryStep::RestoreShadow { stamp, .. } => turn(stamp, StampSource::Metadata, other),
                _ => None,
            })
        };
        match self {
            Fault::ReencryptionStatus => lose(design, RegisterName::ReencryptionStatus),
            // Without atomic counters, the register protects nothing.
            Fault::GlobalCounter if design.encryption?.write_path.defers_counter(true) => None,
            Fault::GlobalCounter => lose(design, RegisterName::GlobalCounter),
            Fault::LogMetadata => lose(design, RegisterName::LogMetadata),
            Fault::IncrCounter => lose(design, RegisterName::IncrCounter),
            Fault::BootCounter => lose(design, RegisterName::BootCounter),
            Fault::ShadowConsumed => lose(design, RegisterName::ShadowConsumed),
            Fault::ShadowRoot => lose(design, RegisterName::ShadowRoot),
            Fault::IntegrityRoot => lose(design, RegisterName::IntegrityRoot),
            Fault::TableRoot => lose(design, RegisterName::TableRoot),
            Fault::BitLines => lose(design, RegisterName::BitLines),
            Fault::UpdateLines => lose(design, RegisterName::UpdateLines),
            Fault::ApplyUpdates => skip(design, RecoveryStep::ApplyUpdates),
            Fault::RestoreContents => skip(design, RecoveryStep::RestoreContents),
            Fault::RestoreStale => skip(design, RecoveryStep::RestoreStale),
            Fault::RestoreNodes => skip(design, RecoveryStep::RestoreNodes),
            Fault::RebuildTree => skip(design, RecoveryStep::RebuildTree),
            Fault::RecoverCounters => skip(design, RecoveryStep::RecoverCounters),
            Fault::UndoHardwareLog => skip(design, RecoveryStep::UndoHardwareLog),
            Fault::AdvanceBootCounter => skip(design, RecoveryStep::AdvanceBootCounter),
            Fault::RestoreShadow => stamp_from(design, StampSource::Nowhere),
            Fault::EpochTag => stamp_from(design, StampSource::Location),
            Fault::EpochBits if design.recovery.contains(&RecoveryStep::AdvanceBootCounter) => {
                stamp_from(design, StampSource::LowestBit)
            }
            _ => None,
        }
    }
}

/// Changes `part` from `from` to `to`; `None` if it has another value.
fn turn<T: PartialEq>(part: &mut T, from: T, to: T) -> Option<()> {
    (*part == from).then(|| *part = to)
}

/// Removes register `name`; `None` if it does not survive a power loss anyway.
fn lose(design: &mut Design, name: RegisterName) -> Option<()> {
    let survives = !matches!(design.registers.domain(name), Domain::Absent | Domain::Volatile);
    survives.then(|| design.registers.set(name, Domain::Absent))
}

fn skip(design: &mut Design, gone: RecoveryStep) -> Option<()> {
    let before = design.recovery.len();
    design.recovery.retain(|step| *step != gone);
    (design.recovery.len() < before).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Variant;

    fn designs() -> impl Iterator<Item = Design> {
        [Variant::Published, Variant::Hardened].into_iter().flat_map(crate::design::all)
    }

    #[test]
    fn every_fault_has_a_design_and_a_name_of_its_own() {
        for fault in Fault::ALL {
            assert!(fault.of_machine() != designs().any(|design| fault.apply(&design).is_ok()), "{}", fault.name());
            assert_eq!(Fault::find(fault.name()), Ok(*fault));
            assert!(fault.summary().ends_with('.'), "{}", fault.summary());
        }
    }

    #[test]
    fn mechanism_that_is_off_cannot_be_switched_off_again() {
        for design in designs() {
            for fault in Fault::of(&design) {
                let broken = fault.apply(&design).unwrap();
                let error = fault.apply(&broken).err().map(|error| error.0).unwrap_or_default();
                assert!(error.contains(fault.name()) && error.contains(&design.name), "{}: {error}", design.name);
            }
        }
    }

    #[test]
    fn fault_of_a_machine_needs_its_mechanism() {
        let design = crate::design::find("xts", Variant::Hardened).unwrap();
        let machine = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            crate::config::load_machine("small", &sets).unwrap()
        };
        let mut levelled = machine(&["wear.leveling=start-gap"]);
        assert_eq!(Fault::GapRegisters.apply_on(design.clone(), &mut levelled).unwrap().name, "xts");
        assert!(!levelled.wear.registers_durable);
        for mut without in [machine(&[]), levelled] {
            let error = Fault::GapRegisters.apply_on(design.clone(), &mut without).err().unwrap().0;
            assert!(error.contains("'gap-registers': machine 'small' does not have that mechanism"), "{error}");
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
