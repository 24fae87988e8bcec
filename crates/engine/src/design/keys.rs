//! The keys of a design file: which part each one sets, its allowed values, and which other parts it needs to have an
//! effect.

use super::draft::Draft;
use crate::config::{nearest, shown, shown_name, unknown_name};
use crate::parts::{
    AppendOrder, CachePads, Choice, CounterBank, CounterCoalescing, CounterDrain, CounterKind, CounterStore,
    CounterUpdate, CounterVerification, Domain, DomainReach, DrainCopies, DrainPath, EncryptionMode, GroupCommit,
    IntegrityMode, LineAtomicity, LogChains, LogLayout, LogMode, LogOrder, MacInputs, MacWrite, MinorReset, NodeMac,
    ProgramForm, RegisterName, RestoreInto, RootUpdate, ShadowIntegrity, ShadowPads, ShadowSlots, ShadowTable,
    StampSource, StepName, TreeLeaves, TreeNodes, TreeOrder, TreePersistence, TreeUpdate, WritePath, WriteQueues,
    WritebackOrder,
};
use strum::VariantArray;
use toml::Value;

/// A key of a design file that names a part.
pub(super) struct Key {
    /// The key as written in the file, and after `--set design.`.
    pub path: &'static str,
    /// What the part decides.
    pub meaning: &'static str,
    /// The allowed values.
    pub values: Values,
    /// The other parts without which this part has no effect.
    pub needs: Needs,
}

/// The allowed values of a key, and how they are read and written.
pub(super) enum Values {
    /// One of several names.
    One { list: fn() -> Vec<Named>, get: fn(&Draft) -> &'static str, set: fn(&mut Draft, &str) -> bool },
    /// A list of names, each at most once.
    Steps,
    /// True, or a sentence that says why not.
    TrueOrWhyNot,
    /// True or false.
    Secret,
}

/// One of the named values of a part.
pub(super) struct Named {
    pub name: &'static str,
    pub meaning: String,
    pub paper: &'static str,
}

/// What else a design must have so that a part has an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    Encryption,
    Log,
    LogCounters,
    LogChains,
    Eadr,
    Shadow,
    ShadowCounter,
    ShadowTree,
    RestoreShadow,
    Integrity,
    Tree,
    CounterNodes,
    Contents,
    StaleBits,
    CounterQueue,
    Split,
    LowestLevels,
    StopLoss,
    AesAtAccess,
    BootPads,
}

impl Needs {
    /// The part that is missing from `draft`, as a file states it; `None` if nothing is missing.
    pub(super) fn missing(self, draft: &Draft) -> Option<&'static str> {
        use CounterKind::{OfMachine, OwnOfMachine, Split};
        let shadow = draft.has_shadow();
        let encrypted = draft.encryption == EncryptionMode::CounterMode;
        let (met, part) = match self {
            Needs::Nothing => (true, ""),
            Needs::Encryption => (encrypted, "encryption = \"counter-mode\""),
            Needs::Log => (draft.log != LogMode::None, "a hardware log, log = \"counter-mode\" or \"cipher-feedback\""),
            Needs::LogCounters => (draft.log == LogMode::CounterMode, "log = \"counter-mode\""),
            Needs::LogChains => (draft.log == LogMode::CipherFeedback, "log = \"cipher-feedback\""),
            Needs::Eadr => (draft.domain == DomainReach::Eadr, "domain = \"eadr\""),
            Needs::Shadow => (shadow, "a shadow cache, drain = \"encrypt-to-shadow\" or \"to-shadow\""),
            Needs::ShadowCounter => {
                (shadow && draft.drain == DrainPath::EncryptToShadow, "drain = \"encrypt-to-shadow\"")
            }
            Needs::ShadowTree => (draft.protects_shadow(), "shadow_integrity = \"tree\""),
            Needs::Integrity => (draft.integrity != IntegrityMode::None, "integrity = \"macs\" or a tree"),
            Needs::Tree => {
                (draft.has_tree(), "a tree, integrity = \"bonsai-tree\", \"counter-tree\" or \"summing-tree\"")
            }
            Needs::Contents => (
                draft.has_tree() && (draft.shadow_table.has_contents() || draft.shadow_table == ShadowTable::StaleBits),
                "shadow_table = \"contents\", \"kept-contents\" or \"stale-bits\"",
            ),
            Needs::StaleBits => {
                (draft.has_tree() && draft.shadow_table == ShadowTable::StaleBits, "shadow_table = \"stale-bits\"")
            }
            Needs::CounterNodes => (
                matches!(draft.tree_nodes(), Some(TreeNodes::Counters | TreeNodes::Sums)),
                "integrity = \"counter-tree\" or \"summing-tree\"",
            ),
            Needs::CounterQueue => {
                (encrypted && draft.write_queues == WriteQueues::DataAndCounter, "write_queues = \"data-and-counter\"")
            }
            Needs::Split => (
                encrypted && matches!(draft.counters, Split | OfMachine | OwnOfMachine),
                "counters = \"split\", \"of-machine\" or \"own-of-machine\"",
            ),
            Needs::LowestLevels => (
                draft.has_tree() && draft.tree_persistence == TreePersistence::LowestLevels,
                "a tree with tree_persistence = \"lowest-levels\"",
            ),
            Needs::StopLoss => {
                (encrypted && draft.write_path.stops_loss(), "write_path = \"stop-loss\" or \"selective-stop-loss\"")
            }
            Needs::AesAtAccess => (draft.cache_pads == CachePads::AesAtAccess, "cache_pads = \"aes-at-access\""),
            Needs::BootPads => (draft.cache_pads == CachePads::BootPads, "cache_pads = \"boot-pads\""),
            Needs::RestoreShadow => {
                (draft.recovery.contains(&StepName::RestoreShadow), "\"restore-shadow\" in recovery")
            }
        };
        (!met).then_some(part)
    }
}

fn named<T: Choice>() -> Vec<Named> {
    T::VARIANTS.iter().map(|v| Named { name: v.name(), meaning: v.meaning(), paper: v.paper() }).collect()
}

macro_rules! one {
    ($path:literal, $field:ident: $type:ty, $needs:ident, $meaning:literal) => {
        Key {
            path: $path,
            meaning: $meaning,
            needs: Needs::$needs,
            values: Values::One {
                list: named::<$type>,
                get: |draft| draft.$field.name(),
                set: |draft, name| <$type>::named(name).map(|value| draft.$field = value).is_some(),
            },
        }
    };
}

macro_rules! register {
    ($path:literal, $name:ident, $needs:ident, $meaning:literal) => {
        Key {
            path: $path,
            meaning: $meaning,
            needs: Needs::$needs,
            values: Values::One {
                list: named::<Domain>,
                get: |draft| draft.registers.domain(RegisterName::$name).name(),
                set: |draft, name| {
                    let domain = Domain::named(name);
                    domain.map(|domain| draft.registers.set(RegisterName::$name, domain)).is_some()
                },
            },
        }
    };
}

/// All keys, in the order in which a design is read.
pub(super) const KEYS: &[Key] = &[
    one!("program", program: ProgramForm, Nothing, "form of the workload"),
    Key {
        path: "crash_consistent",
        meaning: "true if the auditors check crash consistency, or a sentence that says why a crash test makes no sense",
        values: Values::TrueOrWhyNot,
        needs: Needs::Nothing,
    },
    one!("line_atomic", line_atomic: LineAtomicity, Nothing, "which lines in flight hold their old or their new value after a crash"),
    Key {
        path: "secret",
        meaning: "whether the auditors check that nothing leaves the chip in plaintext and no pad is used twice",
        values: Values::Secret,
        needs: Needs::Nothing,
    },
    one!("encryption", encryption: EncryptionMode, Nothing, "whether memory is encrypted"),
    one!("counters", counters: CounterKind, Encryption, "which counter a line has"),
    one!("counter_store", counter_store: CounterStore, Encryption, "where counters are stored and how a read finds them"),
    one!("counter_bank", counter_bank: CounterBank, Encryption, "the bank in which counter blocks are stored"),
    one!("write_path", write_path: WritePath, Encryption, "how a counter becomes durable relative to its data"),
    one!("counter_update", counter_update: CounterUpdate, Encryption, "when the counter cache takes a new counter"),
    one!("write_queues", write_queues: WriteQueues, Encryption, "the queues through which writes leave"),
    one!("writeback_order", writeback_order: WritebackOrder, Encryption, "what counter_cache_writeback waits for"),
    one!("append_order", append_order: AppendOrder, Encryption, "the order in which waiting pairs enter the queue"),
    one!("counter_coalescing", counter_coalescing: CounterCoalescing, Encryption, "merging of queued counter blocks"),
    one!("minor_reset", minor_reset: MinorReset, Encryption, "what page re-encryption does to the minors that are not done yet"),
    one!("log", log: LogMode, Nothing, "whether hardware keeps an undo log, and how it is encrypted"),
    one!("log_layout", log_layout: LogLayout, Log, "the layout of the records in a log bucket"),
    one!("log_write_path", log_write_path: WritePath, LogCounters, "how the counter of a log line becomes durable"),
    one!("log_order", log_order: LogOrder, Log, "what a modified line waits for before it leaves for its place"),
    one!("log_chains", log_chains: LogChains, LogChains, "how chains of log lines begin and go on"),
    one!("integrity", integrity: IntegrityMode, Encryption, "what protects memory against an attacker who writes to it"),
    one!("mac_inputs", mac_inputs: MacInputs, Integrity, "what goes into the MAC of a data line"),
    one!("mac_write", mac_write: MacWrite, Integrity, "when a MAC that lies in a line of MACs becomes durable"),
    one!("group_commit", group_commit: GroupCommit, Integrity, "where a write and what persists with it find room"),
    one!("node_mac", node_mac: NodeMac, CounterNodes, "what the MAC of a node with counters covers"),
    one!("tree_update", tree_update: TreeUpdate, Tree, "when the nodes above a counter block are updated on the chip"),
    one!("tree_persistence", tree_persistence: TreePersistence, Tree, "which nodes persist with a write"),
    one!("tree_leaves", tree_leaves: TreeLeaves, Tree, "which counters the tree protects"),
    one!("tree_order", tree_order: TreeOrder, Tree, "in which order the updates of several writes go up the tree"),
    one!("root_update", root_update: RootUpdate, Tree, "when the register of the root takes a new root"),
    one!("counter_verification", counter_verification: CounterVerification, Tree, "whether a counter block that is read is verified"),
    one!("shadow_table", shadow_table: ShadowTable, Tree, "the table in memory of what is in the metadata caches"),
    one!("cache_pads", cache_pads: CachePads, Nothing, "how a line is stored in the caches and what an access costs"),
    one!("domain", domain: DomainReach, Nothing, "how far the persistence domain reaches"),
    one!("drain", drain: DrainPath, Eadr, "where and in which form lines leave the caches after power is lost"),
    one!("drain_counters", drain_counters: CounterDrain, Eadr, "whether dirty counter blocks, lines of MACs and nodes leave before the lines"),
    one!("drain_copies", drain_copies: DrainCopies, Eadr, "which of several cached copies of a line leave"),
    one!("shadow_slots", shadow_slots: ShadowSlots, Shadow, "which metadata of the shadow cache are written, and when the incr-counter is incremented"),
    one!("shadow_pads", shadow_pads: ShadowPads, ShadowCounter, "the inputs of the pad of a slot of the shadow cache"),
    one!("shadow_integrity", shadow_integrity: ShadowIntegrity, Shadow, "what protects the shadow cache against an attacker who writes to it"),
    register!(
        "registers.staging_register",
        StagingRegister,
        Encryption,
        "line and counter block of a write whose pad is not done"
    ),
    register!(
        "registers.reencryption_status",
        ReencryptionStatus,
        Encryption,
        "the status register of page re-encryption"
    ),
    register!("registers.global_counter", GlobalCounter, Encryption, "the global counter"),
    register!("registers.log_metadata", LogMetadata, Log, "the buckets of the transactions in flight"),
    register!("registers.recent_ciphertext", RecentCiphertext, LogChains, "the newest ciphertext of each log chain"),
    register!(
        "registers.incr_counter",
        IncrCounter,
        ShadowCounter,
        "the counter for the next line that leaves on battery"
    ),
    register!("registers.boot_counter", BootCounter, Eadr, "the counter for all cache pads"),
    register!(
        "registers.shadow_consumed",
        ShadowConsumed,
        Shadow,
        "up to which stamp the shadow cache has been consumed"
    ),
    register!("registers.shadow_root", ShadowRoot, ShadowTree, "the root of the tree over the shadow cache"),
    register!("registers.integrity_root", IntegrityRoot, Tree, "the root of the integrity tree"),
    register!(
        "registers.table_root",
        TableRoot,
        Contents,
        "the root of the tree over the shadow table, or over what is newer in the metadata caches"
    ),
    register!("registers.bit_lines", BitLines, StaleBits, "the lines of bits in use"),
    Key {
        path: "recovery",
        meaning: "the steps of the boot sequence, in order",
        values: Values::Steps,
        needs: Needs::Nothing,
    },
    one!("shadow_stamp", shadow_stamp: StampSource, RestoreShadow, "where a recovery takes the counter of a slot's pad from"),
    one!("restore_into", restore_into: RestoreInto, RestoreShadow, "where a recovery puts what the shadow cache held"),
];

impl Key {
    /// The key at `path`; the error is a sentence with the nearest key. `others`: the other keys that a file can have.
    pub(super) fn at(path: &str, others: &[&str]) -> Result<&'static Key, String> {
        if let Some(key) = KEYS.iter().find(|key| key.path == path) {
            return Ok(key);
        }
        if path == "registers" {
            return Err("registers must be a table, [registers]".to_owned());
        }
        let known = || KEYS.iter().map(|key| key.path).chain(others.iter().copied());
        let meant = nearest(path, known());
        let shown = shown_name(path);
        Err(match meant {
            Some(meant) => format!("there is no part '{shown}': did you mean '{meant}'?"),
            None => format!("there is no part '{shown}' (`counterpoint parts` lists what there is)"),
        })
    }

    /// Sets the part to `value`; the error is a sentence.
    pub(super) fn set(&self, draft: &mut Draft, value: &Value) -> Result<(), String> {
        let path = self.path;
        match &self.values {
            Values::One { list, set, .. } => {
                let name = value.as_str().ok_or_else(|| format!("{path} = {} must be a name", shown(value)))?;
                if set(draft, name) {
                    return Ok(());
                }
                let known: Vec<&str> = list().iter().map(|value| value.name).collect();
                Err(unknown_name(path, name, &known).0)
            }
            Values::Secret => {
                let flag = value.as_bool();
                draft.secret = flag.ok_or_else(|| format!("{path} = {} must be true or false", shown(value)))?;
                Ok(())
            }
            Values::TrueOrWhyNot => {
                draft.not_crash_consistent = match value {
                    Value::Boolean(true) => None,
                    Value::String(why) if !why.trim().is_empty() => Some(why.clone()),
                    _ => {
                        return Err(format!("{path} = {} must be true, or a sentence that says why not", shown(value)));
                    }
                };
                Ok(())
            }
            Values::Steps => {
                draft.recovery = steps(value).map_err(|what| format!("{path}: {what}"))?;
                Ok(())
            }
        }
    }

    /// The value of the part in `draft`.
    pub(super) fn get(&self, draft: &Draft) -> Value {
        match &self.values {
            Values::One { get, .. } => Value::from(get(draft)),
            Values::Secret => Value::from(draft.secret),
            Values::TrueOrWhyNot => match &draft.not_crash_consistent {
                None => Value::from(true),
                Some(why) => Value::from(why.as_str()),
            },
            Values::Steps => draft.recovery.iter().map(|step| step.name()).collect::<Vec<_>>().into(),
        }
    }

    /// The named values of the key; empty for a key that takes a sentence.
    pub(super) fn list(&self) -> Vec<Named> {
        let plain = |name, meaning: &str| Named { name, meaning: meaning.to_owned(), paper: "" };
        match &self.values {
            Values::One { list, .. } => list(),
            Values::Steps => named::<StepName>(),
            Values::TrueOrWhyNot => vec![plain("true", "The auditors check crash consistency.")],
            Values::Secret => vec![
                plain("true", "The auditors look for plaintext on the media and for pads used twice."),
                plain("false", "The auditors check neither."),
            ],
        }
    }
}

fn steps(value: &Value) -> Result<Vec<StepName>, String> {
    let names = value.as_array().ok_or_else(|| format!("{} must be a list of steps", shown(value)))?;
    let mut steps: Vec<StepName> = Vec::with_capacity(names.len());
    for value in names {
        let name = value.as_str().ok_or_else(|| format!("{} must be the name of a step", shown(value)))?;
        let known: Vec<&str> = StepName::VARIANTS.iter().map(|step| step.name()).collect();
        let step = StepName::named(name).ok_or_else(|| unknown_name("step", name, &known).0)?;
        if steps.contains(&step) {
            return Err(format!("step '{name}' is listed twice"));
        }
        steps.push(step);
    }
    Ok(steps)
}
