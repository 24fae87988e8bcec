//! A design as its file states it: every part as a plain value, including those that have no effect with the other
//! parts.

use super::keys::KEYS;
use crate::config::Variant;
use crate::parts::{
    AppendOrder, BufferRelease, BufferSave, CachePads, CounterBank, CounterCoalescing, CounterDrain, CounterKind,
    CounterPart, CounterStore, CounterUpdate, CounterVerification, CrashDrain, Design, DomainReach, DrainCopies,
    DrainParts, DrainPath, Encryption, EncryptionMode, GroupCommit, HardwareLog, Integrity, IntegrityMode,
    LineAtomicity, LogChains, LogEncryption, LogLayout, LogMode, LogOrder, MacInputs, MacWrite, MinorReset, MinorUnit,
    NodeMac, PageModes, PairedLines, PartialUpdates, PartsList, PersistenceDomain, ProgramForm, Promise, RecoveryStep,
    ReencryptedWords, Registers, RestoreInto, RootUpdate, ShadowIntegrity, ShadowPads, ShadowSlots, ShadowTable,
    StampSource, StepName, Tree, TreeLeaves, TreeNodes, TreeOrder, TreePersistence, TreeRoots, TreeUpdate, Tweak,
    WritePath, WriteQueues, WritebackOrder, Zeroing,
};

/// What one reading of a design file states, on top of its base. A part that neither states has the default of its type.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub name: String,
    pub summary: String,
    pub paper: String,
    pub machine: String,
    pub program: ProgramForm,
    /// Why a crash test makes no sense, where it makes none.
    pub not_crash_consistent: Option<String>,
    pub line_atomic: LineAtomicity,
    pub secret: bool,
    pub encryption: EncryptionMode,
    pub tweak: Tweak,
    pub buffer_save: BufferSave,
    pub counters: CounterKind,
    pub counter_store: CounterStore,
    pub counter_bank: CounterBank,
    pub write_path: WritePath,
    pub paired_lines: PairedLines,
    pub counter_update: CounterUpdate,
    pub write_queues: WriteQueues,
    pub writeback_order: WritebackOrder,
    pub append_order: AppendOrder,
    pub counter_coalescing: CounterCoalescing,
    pub minor_reset: MinorReset,
    pub reencrypted_words: ReencryptedWords,
    pub zeroing: Zeroing,
    pub page_modes: PageModes,
    pub log: LogMode,
    pub log_layout: LogLayout,
    pub log_write_path: WritePath,
    pub log_order: LogOrder,
    pub log_chains: LogChains,
    pub integrity: IntegrityMode,
    pub mac_inputs: MacInputs,
    pub mac_write: MacWrite,
    pub group_commit: GroupCommit,
    pub partial_updates: PartialUpdates,
    pub node_mac: NodeMac,
    pub tree_update: TreeUpdate,
    pub tree_persistence: TreePersistence,
    pub tree_leaves: TreeLeaves,
    pub tree_order: TreeOrder,
    pub tree_roots: TreeRoots,
    pub root_update: RootUpdate,
    pub counter_verification: CounterVerification,
    pub shadow_table: ShadowTable,
    pub cache_pads: CachePads,
    pub domain: DomainReach,
    pub minor_unit: MinorUnit,
    pub drain: DrainPath,
    pub drain_counters: CounterDrain,
    pub drain_copies: DrainCopies,
    pub buffer_release: BufferRelease,
    pub shadow_slots: ShadowSlots,
    pub shadow_pads: ShadowPads,
    pub shadow_integrity: ShadowIntegrity,
    pub registers: Registers,
    pub recovery: Vec<StepName>,
    pub shadow_stamp: StampSource,
    pub restore_into: RestoreInto,
    /// Values of the machine by path.
    pub machine_values: PartsList,
}

impl Draft {
    /// Builds the design for the reading `variant`. `parts`: the parts list that results record, for a design that is
    /// not built in.
    pub(super) fn design(&self, variant: Variant, parts: Option<PartsList>) -> Design {
        Design {
            name: self.name.clone(),
            variant,
            summary: self.summary.clone(),
            paper: self.paper.clone(),
            machine: self.machine.clone(),
            form: self.program,
            promise: Promise {
                crash_consistent: self.not_crash_consistent.clone().map_or(Ok(()), Err),
                line_atomic: self.line_atomic,
                secret: self.secret,
            },
            encryption: self.encryption(),
            direct: self.encryption.is_direct().then_some(self.tweak),
            modules: self.encryption.is_in_modules().then_some(self.buffer_save),
            log: self.hardware_log(),
            integrity: self.integrity(),
            cache_pads: self.cache_pads,
            domain: self.persistence_domain(),
            registers: self.registers,
            recovery: self.recovery.iter().map(|step| self.step(*step)).collect(),
            parts,
        }
    }

    /// Whether both have the same parts, even if their texts differ.
    pub(super) fn same_parts(&self, other: &Self) -> bool {
        KEYS.iter().all(|key| key.get(self) == key.get(other)) && self.machine_values == other.machine_values
    }

    /// Whether lines leave for a shadow cache after power is lost.
    pub(super) fn has_shadow(&self) -> bool {
        self.domain != DomainReach::Adr && self.drain.uses_shadow()
    }

    /// Whether stores are durable once they are visible.
    pub(super) fn stores_persist(&self) -> bool {
        matches!(self.domain, DomainReach::Eadr | DomainReach::PersistBuffers)
    }

    /// Whether a boot reads the shadow cache.
    pub(super) fn restores_shadow(&self) -> bool {
        self.recovery.contains(&StepName::RestoreShadow)
    }

    /// Whether something protects a shadow cache.
    pub(super) fn protects_shadow(&self) -> bool {
        self.has_shadow() && self.shadow_integrity != ShadowIntegrity::None
    }

    /// Whether there is a tree over counter blocks.
    pub(super) fn has_tree(&self) -> bool {
        self.tree_nodes().is_some()
    }

    /// What the nodes of the tree have of their children.
    pub(super) fn tree_nodes(&self) -> Option<TreeNodes> {
        match self.integrity {
            IntegrityMode::None | IntegrityMode::Macs => None,
            IntegrityMode::BonsaiTree => Some(TreeNodes::Hashes),
            IntegrityMode::CounterTree => Some(TreeNodes::Counters),
            IntegrityMode::SummingTree => Some(TreeNodes::Sums),
        }
    }

    /// Whether partial updates of counter blocks and lines of MACs go to a ring in memory.
    pub(super) fn has_ring(&self) -> bool {
        self.has_tree() && self.partial_updates != PartialUpdates::None
    }

    /// The place of `step` in the boot sequence.
    pub(super) fn place_of(&self, step: StepName) -> Option<usize> {
        self.recovery.iter().position(|other| *other == step)
    }

    fn encryption(&self) -> Option<Encryption> {
        self.encryption.has_counters().then_some(Encryption {
            counters: CounterPart::Kind(self.counters),
            store: self.counter_store,
            bank: self.counter_bank,
            write_path: self.write_path,
            paired_lines: self.paired_lines,
            update: self.counter_update,
            queues: self.write_queues,
            writeback_order: self.writeback_order,
            append_order: self.append_order,
            coalescing: self.counter_coalescing,
            minor_reset: self.minor_reset,
            words: self.reencrypted_words,
            zeroing: self.zeroing,
            pages: self.page_modes,
        })
    }

    fn hardware_log(&self) -> Option<HardwareLog> {
        let encryption = match self.log {
            LogMode::None => return None,
            LogMode::CounterMode => LogEncryption::Counter { write_path: self.log_write_path },
            LogMode::CipherFeedback => LogEncryption::Feedback,
        };
        Some(HardwareLog { layout: self.log_layout, encryption, order: self.log_order, chains: self.log_chains })
    }

    fn integrity(&self) -> Option<Integrity> {
        let tree = |nodes| Tree {
            nodes,
            node_mac: self.node_mac,
            update: self.tree_update,
            persistence: self.tree_persistence,
            leaves: self.tree_leaves,
            roots: self.tree_roots,
            root_update: self.root_update,
            order: self.tree_order,
            verification: self.counter_verification,
            table: self.shadow_table,
        };
        (self.integrity != IntegrityMode::None).then_some(Integrity {
            tree: self.tree_nodes().map(tree),
            mac_inputs: self.mac_inputs,
            mac_write: self.mac_write,
            commit: self.group_commit,
            updates: self.partial_updates,
        })
    }

    fn persistence_domain(&self) -> PersistenceDomain {
        let parts = DrainParts {
            path: self.drain,
            counters: self.drain_counters,
            copies: self.drain_copies,
            slots: self.shadow_slots,
            pads: self.shadow_pads,
            integrity: self.shadow_integrity,
        };
        match self.domain {
            DomainReach::Adr => PersistenceDomain::Adr,
            DomainReach::AcceptedWrites => PersistenceDomain::AcceptedWrites {
                drain: CrashDrain::Parts(DrainParts { counters: CounterDrain::Never, ..parts }),
                unit: self.minor_unit,
            },
            DomainReach::PersistBuffers => PersistenceDomain::PersistBuffers {
                drain: CrashDrain::Parts(DrainParts { counters: CounterDrain::Never, ..parts }),
                release: self.buffer_release,
            },
            DomainReach::Eadr => PersistenceDomain::Eadr { drain: CrashDrain::Parts(parts) },
        }
    }

    fn step(&self, step: StepName) -> RecoveryStep {
        match step {
            StepName::ResumeReencryption => RecoveryStep::ResumeReencryption,
            StepName::UndoHardwareLog => RecoveryStep::UndoHardwareLog,
            StepName::EncryptPlain => RecoveryStep::EncryptPlain,
            StepName::AdvanceBootCounter => RecoveryStep::AdvanceBootCounter,
            StepName::RestoreShadow => {
                RecoveryStep::RestoreShadow { stamp: self.shadow_stamp, into: self.restore_into }
            }
            StepName::RenewCachePads => RecoveryStep::RenewCachePads,
            StepName::RecoverCounters => RecoveryStep::RecoverCounters,
            StepName::RebuildTree => RecoveryStep::RebuildTree,
            StepName::RestoreNodes => RecoveryStep::RestoreNodes,
            StepName::RestoreStale => RecoveryStep::RestoreStale,
            StepName::ApplyUpdates => RecoveryStep::ApplyUpdates,
            StepName::RestoreContents => RecoveryStep::RestoreContents,
        }
    }
}
