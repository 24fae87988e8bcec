//! The keys of a design file: which part each one sets, its allowed values, and which other parts it needs to have an
//! effect.

use super::draft::Draft;
use crate::config::{nearest, shown, shown_name, unknown_name};
use crate::parts::{
    CachePads, Choice, CounterKind, CounterStore, Domain, DomainReach, DrainPath, IntegrityMode, LogMode, RegisterName,
    ShadowTable, StepName, TreeNodes, TreePersistence, TreeRoots, WriteQueues,
};
use strum::VariantArray;
use toml::Value;

/// A key of a design file that names a part.
pub(super) struct Key {
    /// The key as written in the file, and after `--set design.`.
    pub path: &'static str,
    /// What the part decides, in sentences.
    pub meaning: fn() -> String,
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
    Xts,
    Modules,
    Log,
    LogCounters,
    LogChains,
    Eadr,
    AcceptedWrites,
    PersistBuffers,
    Copies,
    Drains,
    Shadow,
    ShadowCounter,
    ShadowTree,
    RestoreShadow,
    Integrity,
    Tree,
    CounterNodes,
    Contents,
    StaleBits,
    Ring,
    Selection,
    CounterQueue,
    WholeCounters,
    Split,
    LowestLevels,
    Forest,
    StopLoss,
    AesAtAccess,
    BootPads,
}

const TREE: &str = "a tree, integrity = \"bonsai-tree\", \"counter-tree\" or \"summing-tree\"";
const DRAINS: &str = "domain = \"eadr\", \"persist-buffers\" or \"accepted-writes\"";
/// Encryption without pads.
const DIRECT: &str = "encryption = \"xts\", \"versioned-xts\" or \"module-xts\"";

impl Needs {
    /// The part that is missing from `draft`, as a file states it; `None` if nothing is missing.
    pub(super) fn missing(self, draft: &Draft) -> Option<&'static str> {
        use CounterKind::{OfMachine, OwnOfMachine, Split};
        let (shadow, encrypted) = (draft.has_shadow(), draft.encryption.has_counters());
        let (met, part) = match self {
            Needs::Nothing => (true, ""),
            Needs::Encryption => (encrypted, "encryption = \"counter-mode\" or \"versioned-xts\""),
            Needs::Xts => (draft.encryption.is_direct(), DIRECT),
            Needs::Modules => (draft.encryption.is_in_modules(), "encryption = \"module-xts\""),
            Needs::Log => (draft.log != LogMode::None, "a hardware log, log = \"counter-mode\" or \"cipher-feedback\""),
            Needs::LogCounters => (draft.log == LogMode::CounterMode, "log = \"counter-mode\""),
            Needs::LogChains => (draft.log == LogMode::CipherFeedback, "log = \"cipher-feedback\""),
            Needs::Eadr => (draft.domain == DomainReach::Eadr, "domain = \"eadr\""),
            Needs::AcceptedWrites => (draft.domain == DomainReach::AcceptedWrites, "domain = \"accepted-writes\""),
            Needs::PersistBuffers => (draft.domain == DomainReach::PersistBuffers, "domain = \"persist-buffers\""),
            Needs::Copies => (draft.stores_persist(), "domain = \"eadr\" or \"persist-buffers\""),
            Needs::Drains => (draft.domain != DomainReach::Adr, DRAINS),
            Needs::Shadow => (shadow, "a shadow cache, drain = \"encrypt-to-shadow\" or \"to-shadow\""),
            Needs::ShadowCounter => {
                (shadow && draft.drain == DrainPath::EncryptToShadow, "drain = \"encrypt-to-shadow\"")
            }
            Needs::ShadowTree => (draft.protects_shadow(), "shadow_integrity = \"tree\" or \"macs\""),
            Needs::Integrity => (draft.integrity != IntegrityMode::None, "integrity = \"macs\" or a tree"),
            Needs::Tree => (draft.has_tree(), TREE),
            Needs::Contents => (
                draft.has_tree() && (draft.shadow_table.has_contents() || draft.shadow_table == ShadowTable::StaleBits),
                "shadow_table = \"contents\", \"kept-contents\", \"node-contents\", \"kept-node-contents\" or \"stale-bits\"",
            ),
            Needs::StaleBits => {
                (draft.has_tree() && draft.shadow_table == ShadowTable::StaleBits, "shadow_table = \"stale-bits\"")
            }
            Needs::Ring => (draft.has_ring(), "partial_updates = \"dirty-blocks\" or \"dirty-parts\""),
            Needs::CounterNodes => (
                matches!(draft.tree_nodes(), Some(TreeNodes::Counters | TreeNodes::Sums)),
                "integrity = \"counter-tree\" or \"summing-tree\"",
            ),
            Needs::Selection => (
                encrypted && draft.write_path.selects(),
                "write_path = \"flushed-pairs\", \"selective-ready-pairs\", \"selective-early-pairs\" or \"selective-stop-loss\"",
            ),
            Needs::CounterQueue => {
                (encrypted && draft.write_queues == WriteQueues::DataAndCounter, "write_queues = \"data-and-counter\"")
            }
            Needs::WholeCounters => (
                encrypted
                    && draft.counter_store == CounterStore::Region
                    && matches!(draft.counters, CounterKind::Global | CounterKind::PerLine | OfMachine | OwnOfMachine),
                "counters = \"global\", \"per-line\", \"of-machine\" or \"own-of-machine\" in their region",
            ),
            Needs::Split => (
                encrypted && matches!(draft.counters, Split | OfMachine | OwnOfMachine),
                "counters = \"split\", \"of-machine\" or \"own-of-machine\"",
            ),
            Needs::LowestLevels => (
                draft.has_tree() && draft.tree_persistence == TreePersistence::LowestLevels,
                "a tree with tree_persistence = \"lowest-levels\"",
            ),
            Needs::Forest => (
                draft.has_tree() && draft.tree_roots != TreeRoots::One,
                "a tree with tree_roots = \"static-level\" or \"dynamic\"",
            ),
            Needs::StopLoss => {
                (encrypted && draft.write_path.stops_loss(), "write_path = \"stop-loss\" or \"selective-stop-loss\"")
            }
            Needs::AesAtAccess => (draft.cache_pads == CachePads::AesAtAccess, "cache_pads = \"aes-at-access\""),
            Needs::BootPads => (draft.cache_pads == CachePads::BootPads, "cache_pads = \"boot-pads\""),
            Needs::RestoreShadow => (draft.restores_shadow(), "\"restore-shadow\" in recovery"),
        };
        (!met).then_some(part)
    }
}

fn named<T: Choice>() -> Vec<Named> {
    T::VARIANTS.iter().map(|v| Named { name: v.name(), meaning: v.meaning(), paper: v.paper() }).collect()
}

/// What the part that a field holds decides.
fn decides<T: Choice>(_: fn(&Draft) -> T) -> String {
    T::decides()
}

fn named_of<T: Choice>(_: fn(&Draft) -> T) -> Vec<Named> {
    named::<T>()
}

/// Whether there is a value called `name`; it is then put in its place.
fn put<T: Choice>(place: &mut T, name: &str) -> bool {
    T::named(name).map(|value| *place = value).is_some()
}

/// A part that a field of [`Draft`] holds. It decides what its type says, unless `meaning` says it.
macro_rules! one {
    ($field:ident, $needs:ident) => {
        one!($field, $needs, decides(|draft| draft.$field))
    };
    ($field:ident, $needs:ident, $meaning:expr) => {
        Key {
            path: stringify!($field),
            meaning: || $meaning,
            needs: Needs::$needs,
            values: Values::One {
                list: || named_of(|draft| draft.$field),
                get: |draft| draft.$field.name(),
                set: |draft, name| put(&mut draft.$field, name),
            },
        }
    };
}

macro_rules! register {
    ($key:ident: $name:ident, $needs:ident) => {
        Key {
            path: concat!("registers.", stringify!($key)),
            meaning: || RegisterName::$name.meaning(),
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
    one!(program, Nothing),
    Key {
        path: "crash_consistent",
        meaning: || {
            "True if the auditors check crash consistency, or a sentence that says why a crash test makes no sense."
                .to_owned()
        },
        values: Values::TrueOrWhyNot,
        needs: Needs::Nothing,
    },
    one!(line_atomic, Nothing),
    Key {
        path: "secret",
        meaning: || {
            "Whether the auditors check that nothing leaves the chip in plaintext and no pad is used twice. Of what modules encrypt \
             they check what is stored."
                .to_owned()
        },
        values: Values::Secret,
        needs: Needs::Nothing,
    },
    one!(encryption, Nothing),
    one!(tweak, Xts),
    one!(buffer_save, Modules),
    one!(counters, Encryption),
    one!(counter_store, Encryption),
    one!(counter_bank, Encryption),
    one!(write_path, Encryption),
    one!(paired_lines, Selection),
    one!(counter_update, Encryption),
    one!(write_queues, Encryption),
    one!(writeback_order, Encryption),
    one!(append_order, Encryption),
    one!(counter_coalescing, Encryption),
    one!(minor_reset, Encryption),
    one!(reencrypted_words, Encryption),
    one!(zeroing, Split),
    one!(page_modes, Split),
    one!(log, Nothing),
    one!(log_layout, Log),
    one!(log_write_path, LogCounters, "How the counter of a log line becomes durable.".to_owned()),
    one!(log_order, Log),
    one!(log_chains, LogChains),
    one!(integrity, Encryption),
    one!(mac_inputs, Integrity),
    one!(mac_write, Integrity),
    one!(group_commit, Integrity),
    one!(partial_updates, Tree),
    one!(node_mac, CounterNodes),
    one!(tree_update, Tree),
    one!(tree_persistence, Tree),
    one!(tree_leaves, Tree),
    one!(tree_order, Tree),
    one!(tree_roots, Tree),
    one!(root_update, Tree),
    one!(counter_verification, Tree),
    one!(shadow_table, Tree),
    one!(cache_pads, Nothing),
    one!(domain, Nothing),
    one!(minor_unit, AcceptedWrites),
    one!(drain, Drains),
    one!(drain_counters, Eadr),
    one!(drain_copies, Copies),
    one!(buffer_release, PersistBuffers),
    one!(shadow_slots, Shadow),
    one!(shadow_pads, ShadowCounter),
    one!(shadow_integrity, Shadow),
    register!(staging_register: StagingRegister, Encryption),
    register!(reencryption_status: ReencryptionStatus, Encryption),
    register!(global_counter: GlobalCounter, Encryption),
    register!(log_metadata: LogMetadata, Log),
    register!(recent_ciphertext: RecentCiphertext, LogChains),
    register!(incr_counter: IncrCounter, ShadowCounter),
    register!(boot_counter: BootCounter, Drains),
    register!(shadow_consumed: ShadowConsumed, Shadow),
    register!(shadow_root: ShadowRoot, ShadowTree),
    register!(integrity_root: IntegrityRoot, Tree),
    register!(table_root: TableRoot, Contents),
    register!(bit_lines: BitLines, StaleBits),
    register!(update_lines: UpdateLines, Ring),
    Key {
        path: "recovery",
        meaning: || "The steps of the boot sequence, in order.".to_owned(),
        values: Values::Steps,
        needs: Needs::Nothing,
    },
    one!(shadow_stamp, RestoreShadow),
    one!(restore_into, RestoreShadow),
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
