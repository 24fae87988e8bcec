//! Parts that contradict each other on every machine.

use super::draft::Draft;
use super::{domains, of_lines};
use crate::parts::{
    Admit, CachePads, Choice, CounterKind, CounterStore, CounterUpdate, DomainReach, DrainPath, EncryptionMode,
    GroupCommit, IntegrityMode, LogLayout, LogMode, MinorReset, NodeMac, ProgramForm, RestoreInto, ShadowSlots,
    ShadowTable, StampSource, StepName, TreeLeaves, TreeNodes, TreePersistence, TreeRoots, TreeUpdate, WritePath,
    WriteQueues,
};

/// The first contradiction among the parts of `draft`: a sentence that names both parts as a file states them.
pub(super) fn contradiction(draft: &Draft) -> Option<String> {
    without_counters(draft)
        .or_else(|| co_location(draft))
        .or_else(|| ready_bits(draft))
        .or_else(|| hardware_log(draft))
        .or_else(|| cache_pads(draft))
        .or_else(|| domains::accepted_writes(draft))
        .or_else(|| domains::persist_buffers(draft))
        .or_else(|| slot_macs(draft))
        .or_else(|| versions(draft))
        .or_else(|| of_lines::words(draft))
        .or_else(|| of_lines::zeroing(draft))
        .or_else(|| of_lines::pages(draft))
        .or_else(|| integrity(draft))
        .or_else(|| recovery(draft))
}

/// MACs and trees: what they protect, and what finds again what of them is lost.
fn integrity(draft: &Draft) -> Option<String> {
    let stop_loss = draft.encryption.has_counters() && draft.write_path.stops_loss();
    let with_data = draft.counter_update == CounterUpdate::WithData;
    if stop_loss && (!with_data || draft.counters == CounterKind::Global || draft.integrity == IntegrityMode::None) {
        return Some(format!(
            "write_path = \"{}\" needs counter_update = \"with-data\", counters of the line's own and MACs, because a \
             boot tries the counters that the MAC of a line can have",
            draft.write_path.name()
        ));
    }
    if draft.integrity == IntegrityMode::None {
        return draft.protects_shadow().then(|| {
            format!(
                "shadow_integrity = \"{}\" needs integrity = \"macs\" or a tree, because what is restored goes to memory that nothing \
                 protects",
                draft.shadow_integrity.name()
            )
        });
    }
    let name = draft.integrity.name();
    let needs = [
        (
            draft.counter_store == CounterStore::Region,
            "counter_store = \"region\", because counters have blocks of their own",
        ),
        (draft.log == LogMode::None, "log = \"none\", because the lines of a hardware log have no MACs"),
    ];
    if let Some((_, needed)) = needs.into_iter().find(|(met, _)| !met) {
        return Some(format!("integrity = \"{name}\" needs {needed}"));
    }
    if draft.counters == CounterKind::Split && draft.write_path.at_encrypted(true) == Admit::Unready {
        return Some(format!(
            "integrity = \"{name}\" with write_path = \"{}\" needs counters = \"global\" or \"wide\", because the done bit of a line \
             whose page is re-encrypted is set before its pair is ready",
            draft.write_path.name()
        ));
    }
    persistent_caches(draft).or_else(|| tree(draft)).or_else(|| ring(draft))
}

/// MACs and trees whose lines, like those of the data caches, leave on battery: nothing of them may be left to compute then,
/// and what leaves the data caches must be protected where it goes.
fn persistent_caches(draft: &Draft) -> Option<String> {
    match draft.domain {
        DomainReach::PersistBuffers => return domains::buffered_tree(draft),
        DomainReach::Adr | DomainReach::AcceptedWrites => return restores_all(draft),
        DomainReach::Eadr => {}
    }
    let hashes = draft.tree_nodes().is_none_or(|nodes| nodes == TreeNodes::Hashes);
    let current = draft.tree_update == TreeUpdate::Eager && draft.tree_leaves == TreeLeaves::Current;
    let needs = [
        (
            draft.protects_shadow() || draft.drain == DrainPath::ThroughWritePath,
            "drain = \"through-write-path\", or \"encrypt-to-shadow\" or \"to-shadow\" with shadow_integrity = \"tree\", because what leaves \
             the caches otherwise has no MACs",
        ),
        (
            hashes,
            "integrity = \"macs\" or \"bonsai-tree\", because counter blocks and nodes of a tree of counters get a MAC when they leave the \
             chip",
        ),
        (
            !draft.has_tree() || current,
            "tree_update = \"eager\" and tree_leaves = \"current\", because the battery computes no node",
        ),
        (
            draft.shadow_table == ShadowTable::None,
            "shadow_table = \"none\", because nothing is lost with the metadata caches",
        ),
    ];
    let missing = needs.into_iter().find(|(met, _)| !met);
    let told = missing
        .map(|(_, needed)| format!("integrity = \"{}\" with domain = \"eadr\" needs {needed}", draft.integrity.name()));
    told.or_else(|| restores_all(draft))
}

/// MACs of slots tell an old slot from a new one by its counter, and a missing one by the number of slots.
fn slot_macs(draft: &Draft) -> Option<String> {
    let packed = draft.shadow_slots == ShadowSlots::Packed;
    let has_macs = draft.has_shadow() && draft.shadow_integrity.has_macs();
    let located = draft.drain == DrainPath::EncryptToShadow && draft.shadow_stamp == StampSource::Location;
    (has_macs && !(packed && located)).then(|| {
        format!(
            "shadow_integrity = \"{}\" needs drain = \"encrypt-to-shadow\", shadow_slots = \"packed\" and shadow_stamp = \"location\", \
             because the number of slots and the counter that belongs to the place of each say what its MAC must cover",
            draft.shadow_integrity.name()
        )
    })
}

/// A root over the shadow cache covers what has not been consumed.
fn restores_all(draft: &Draft) -> Option<String> {
    let restores = draft.shadow_slots.reserves()
        && (draft.shadow_stamp == StampSource::Metadata || draft.shadow_integrity.has_macs())
        && draft.restore_into == RestoreInto::Memory;
    (draft.has_shadow() && !restores).then(|| {
        format!(
            "integrity = \"{}\" with domain = \"{}\" needs shadow_slots = \"dirty\" or \"packed\", shadow_stamp = \"metadata\" and restore_into = \
             \"memory\", because what has been consumed tells which lines the root covers",
            draft.integrity.name(),
            draft.domain.name()
        )
    })
}

/// The tree: which counters it protects, when its nodes change, and what finds again those that are lost.
fn tree(draft: &Draft) -> Option<String> {
    let nodes = draft.tree_nodes()?;
    let name = draft.integrity.name();
    if nodes != TreeNodes::Hashes && (draft.counters != CounterKind::Wide || draft.tree_leaves != TreeLeaves::Persisted)
    {
        return Some(format!(
            "integrity = \"{name}\" needs counters = \"wide\" and tree_leaves = \"persisted\", because a counter block gets its MAC \
             when it leaves the chip"
        ));
    }
    if draft.tree_update == TreeUpdate::Shortcut && nodes != TreeNodes::Sums {
        return Some(format!(
            "tree_update = \"shortcut\" needs integrity = \"summing-tree\", because only sums can be added to the root \
             without the nodes between: integrity = \"{name}\""
        ));
    }
    let with_data = draft.counter_update == CounterUpdate::WithData;
    let current = draft.tree_leaves == TreeLeaves::Current;
    if current && !with_data {
        return Some(
            "tree_leaves = \"current\" needs counter_update = \"with-data\", because the counter cache must have no counter \
             whose data is not queued"
                .to_owned(),
        );
    }
    let eager = draft.tree_update == TreeUpdate::Eager;
    let listed = draft.shadow_table != ShadowTable::None;
    let stale_bits = draft.shadow_table == ShadowTable::StaleBits;
    if stale_bits != (draft.node_mac == NodeMac::WithLowBits) {
        return Some(
            "shadow_table = \"stale-bits\" and node_mac = \"with-low-bits\" need each other, because the bits say what is to be computed \
             from the lowest bits of counters"
                .to_owned(),
        );
    }
    let forest = draft.tree_roots != TreeRoots::One;
    if forest && (nodes != TreeNodes::Hashes || !eager || draft.tree_persistence != TreePersistence::Evicted || listed)
    {
        return Some(format!(
            "tree_roots = \"{}\" needs integrity = \"bonsai-tree\", tree_update = \"eager\", tree_persistence = \"evicted\" and \
             shadow_table = \"none\", because a boot computes what is below each root from the counter blocks",
            draft.tree_roots.name()
        ));
    }
    if let Some(told) = restored_caches(draft, nodes) {
        return Some(told);
    }
    let contents = draft.shadow_table.has_contents() || stale_bits;
    let listed_alone = listed && !contents;
    if !eager && (listed_alone || draft.tree_persistence != TreePersistence::Evicted || current) {
        return Some(
            "tree_update = \"lazy\" or \"shortcut\" excludes a shadow_table that names blocks and needs tree_persistence = \
             \"evicted\" and tree_leaves = \
             \"persisted\", because nodes change only when what is below them leaves"
                .to_owned(),
        );
    }
    (listed && draft.group_commit != GroupCommit::Registers).then(|| {
        "shadow_table needs group_commit = \"registers\", which hold the entries that a write adds to it".to_owned()
    })
}

/// A ring of partial updates: what it needs so that memory and ring have every counter together.
fn ring(draft: &Draft) -> Option<String> {
    if !draft.has_ring() {
        return None;
    }
    let needs = [
        (
            draft.write_path == WritePath::Deferred,
            "write_path = \"deferred\", because counter blocks stay in their cache",
        ),
        (
            draft.counter_update == CounterUpdate::WithData && draft.counters != CounterKind::Global,
            "counter_update = \"with-data\" and counters of the line's own, because an update has the counter of queued data",
        ),
        (
            draft.minor_reset != MinorReset::AtOnce,
            "minor_reset = \"with-done-bit\", because an update has no whole major counter",
        ),
        (
            draft.tree_leaves == TreeLeaves::Current,
            "a tree with tree_leaves = \"current\", because nothing else protects the ring",
        ),
        (
            draft.group_commit == GroupCommit::Registers,
            "group_commit = \"registers\", which hold what leaves the ring with a write",
        ),
        (draft.shadow_table == ShadowTable::None, "shadow_table = \"none\", because the ring is in its place"),
        (draft.domain == DomainReach::Adr, "domain = \"adr\", because a battery would drain what the ring is for"),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("partial_updates = \"{}\" needs {needed}", draft.partial_updates.name()))
}

/// What a boot restores to the metadata caches: what it needs of the tree and of counters.
fn restored_caches(draft: &Draft, nodes: TreeNodes) -> Option<String> {
    let contents = draft.shadow_table.has_contents() || draft.shadow_table == ShadowTable::StaleBits;
    let with_data = draft.counter_update == CounterUpdate::WithData;
    if contents && (draft.tree_update != TreeUpdate::Lazy || nodes != TreeNodes::Counters || !with_data) {
        return Some(format!(
            "shadow_table = \"{}\" needs integrity = \"counter-tree\", tree_update = \"lazy\" and counter_update = \
             \"with-data\", because it restores counters that are only in the caches",
            draft.shadow_table.name()
        ));
    }
    let untried = draft.shadow_table.names_counters() && !draft.write_path.stops_loss();
    untried.then(|| {
        format!(
            "shadow_table = \"{}\" needs write_path = \"stop-loss\" or \"selective-stop-loss\", because a boot finds the counters of \
             the blocks that it names by trial",
            draft.shadow_table.name()
        )
    })
}

/// Counters that are only versions: what else needs pads, or has no MACs that would use them.
fn versions(draft: &Draft) -> Option<String> {
    if draft.encryption != EncryptionMode::VersionedXts {
        return None;
    }
    let needs = [
        (draft.integrity != IntegrityMode::None, "integrity = \"macs\" or a tree, because only MACs use its counters"),
        (draft.log == LogMode::None, "log = \"none\", because log lines are encrypted with pads"),
        (draft.domain == DomainReach::Adr, "domain = \"adr\", because lines leave persistent caches under pads"),
        (
            draft.counter_store == CounterStore::Region,
            "counter_store = \"region\", because a line is decrypted without its counter",
        ),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("encryption = \"versioned-xts\" needs {needed}"))
}

/// Parts that need counter mode, with other memory.
fn without_counters(draft: &Draft) -> Option<String> {
    let mode = draft.encryption;
    if mode.has_counters() {
        return None;
    }
    let eadr = draft.domain == DomainReach::Eadr;
    let parts = [
        (draft.log != LogMode::None, "log", draft.log.name(), "encrypts its log lines in counter mode"),
        (draft.cache_pads != CachePads::None, "cache_pads", draft.cache_pads.name(), "encrypts lines in the caches"),
        (
            eadr && mode == EncryptionMode::None && draft.drain != DrainPath::InPlace,
            "drain",
            draft.drain.name(),
            "is for encrypted memory",
        ),
        (
            eadr && mode.is_direct() && draft.drain != DrainPath::ThroughWritePath,
            "drain",
            draft.drain.name(),
            "does not encrypt lines on their way to their own addresses",
        ),
    ];
    let (_, key, value, why) = parts.into_iter().find(|(contradicts, ..)| *contradicts)?;
    Some(format!("{key} = \"{value}\" {why}, and encryption = \"{}\"", mode.name()))
}

/// Counters that are stored beside their line, with parts that treat them apart.
fn co_location(draft: &Draft) -> Option<String> {
    if !draft.encryption.has_counters() {
        return None;
    }
    let (store, path) = (draft.counter_store, draft.write_path);
    let beside = store != CounterStore::Region;
    if beside != (path == WritePath::CoLocated) {
        let why =
            if beside { "a counter beside its line leaves with it" } else { "its counters lie beside their lines" };
        let wanted =
            if beside { "write_path = \"co-located\"" } else { "counter_store = \"inline\" or \"inline-cached\"" };
        let (key, value) = if beside { ("counter_store", store.name()) } else { ("write_path", path.name()) };
        return Some(format!("{key} = \"{value}\" needs {wanted}, because {why}"));
    }
    let global = draft.counters == CounterKind::Global;
    (beside && !global).then(|| {
        format!(
            "counter_store = \"{}\" needs counters = \"global\", because eight bytes lie beside each line: counters = \"{}\"",
            store.name(),
            draft.counters.name()
        )
    })
}

/// Ready bits need a data queue and a counter queue, because they link an entry of each.
fn ready_bits(draft: &Draft) -> Option<String> {
    let ready = |path: WritePath| matches!(path.at_encrypted(true), Admit::Unready | Admit::DataThenCounter);
    let apart = draft.write_queues == WriteQueues::DataAndCounter;
    let log = (draft.log == LogMode::CounterMode).then_some(("log_write_path", draft.log_write_path));
    let data = draft.encryption.has_counters().then_some(("write_path", draft.write_path));
    let (key, path) = [data, log].into_iter().flatten().find(|(_, path)| ready(*path) && !apart)?;
    Some(format!(
        "{key} = \"{}\" needs write_queues = \"data-and-counter\", because ready bits join an entry of each queue",
        path.name()
    ))
}

fn hardware_log(draft: &Draft) -> Option<String> {
    let (logs, program) = (draft.log != LogMode::None, draft.program == ProgramForm::HardwareLogged);
    if logs != program {
        let (log, form) = (draft.log.name(), draft.program.name());
        let why = if logs { "hardware logs what such programs mark" } else { "such programs keep no log of their own" };
        let wanted = if logs { "program = \"hardware-logged\"" } else { "a hardware log" };
        let stated = if logs { format!("log = \"{log}\"") } else { format!("program = \"{form}\"") };
        return Some(format!("{stated} needs {wanted}, because {why}"));
    }
    if draft.log == LogMode::CounterMode && draft.log_write_path == WritePath::CoLocated {
        return Some(
            "log_write_path = \"co-located\" is not possible, because log lines have their counters in a region"
                .to_owned(),
        );
    }
    let (chains, feedback) = (draft.log_layout == LogLayout::Chains, draft.log == LogMode::CipherFeedback);
    (logs && chains != feedback).then(|| {
        format!(
            "log_layout = \"{}\" and log = \"{}\" contradict each other: chains are for cipher-feedback, records for \
             counter-mode",
            draft.log_layout.name(),
            draft.log.name()
        )
    })
}

fn cache_pads(draft: &Draft) -> Option<String> {
    let pads = draft.cache_pads;
    (pads != CachePads::None && draft.domain != DomainReach::Eadr).then(|| {
        format!(
            "cache_pads = \"{}\" needs domain = \"eadr\", because lines are stored encrypted in the caches so that they can \
             leave as they are when power fails",
            pads.name()
        )
    })
}

fn recovery(draft: &Draft) -> Option<String> {
    let eadr = draft.domain == DomainReach::Eadr;
    let shadow = draft.has_shadow();
    let encrypts = draft.encryption.has_counters();
    let computable = matches!(draft.tree_nodes(), Some(TreeNodes::Hashes | TreeNodes::Sums));
    let needs = [
        (StepName::ResumeReencryption, encrypts, "encryption = \"counter-mode\""),
        (StepName::UndoHardwareLog, draft.log != LogMode::None, "a hardware log"),
        (StepName::EncryptPlain, eadr && draft.drain == DrainPath::InTheClear, "drain = \"in-the-clear\""),
        (StepName::RestoreShadow, shadow, "a drain to a shadow cache"),
        (StepName::RecoverCounters, draft.integrity != IntegrityMode::None, "integrity = \"macs\" or a tree"),
        (
            StepName::RebuildTree,
            computable,
            "integrity = \"bonsai-tree\" or \"summing-tree\", whose nodes follow from the counters",
        ),
        (
            StepName::RestoreNodes,
            computable && draft.shadow_table != ShadowTable::None,
            "such a tree, and a shadow table that names blocks",
        ),
        (
            StepName::RestoreStale,
            draft.has_tree() && draft.shadow_table == ShadowTable::StaleBits,
            "shadow_table = \"stale-bits\"",
        ),
        (StepName::ApplyUpdates, draft.has_ring(), "partial_updates = \"dirty-blocks\" or \"dirty-parts\""),
        (
            StepName::RestoreContents,
            draft.has_tree() && draft.shadow_table.has_contents(),
            "shadow_table = \"contents\", \"kept-contents\", \"node-contents\" or \"kept-node-contents\"",
        ),
        (StepName::RenewCachePads, draft.cache_pads == CachePads::BootPads, "cache_pads = \"boot-pads\""),
    ];
    let without = needs.into_iter().find(|(step, has, _)| !has && draft.recovery.contains(step));
    if let Some((step, _, part)) = without {
        return Some(format!("recovery: \"{}\" needs {part}", step.name()));
    }
    if shadow && draft.place_of(StepName::RestoreShadow).is_none() {
        return Some(format!(
            "drain = \"{}\" needs \"restore-shadow\" in recovery, because nothing else reads the shadow cache",
            draft.drain.name()
        ));
    }
    stamps(draft).or_else(|| renewal(draft))
}

/// The counter of a slot's pad must match the boot counter at that step: before it is incremented, or after.
fn stamps(draft: &Draft) -> Option<String> {
    let restored = draft.place_of(StepName::RestoreShadow)?;
    let advanced = draft.place_of(StepName::AdvanceBootCounter).is_some_and(|advanced| advanced < restored);
    let stamp = draft.shadow_stamp;
    match stamp {
        StampSource::BootCounter if advanced => {
            Some("shadow_stamp = \"boot-counter\" needs \"restore-shadow\" before \"advance-boot-counter\" in recovery".to_owned())
        }
        StampSource::LowestBit if !advanced || draft.drain != DrainPath::ToShadow => Some(
            "shadow_stamp = \"lowest-bit\" needs drain = \"to-shadow\", and \"advance-boot-counter\" before \"restore-shadow\" in recovery"
                .to_owned(),
        ),
        _ => None,
    }
}

fn renewal(draft: &Draft) -> Option<String> {
    let renewed = draft.place_of(StepName::RenewCachePads)?;
    let restored = draft.place_of(StepName::RestoreShadow);
    let into_caches = draft.restore_into == RestoreInto::Caches;
    (!into_caches || restored.is_none_or(|restored| restored > renewed)).then(|| {
        "recovery: \"renew-cache-pads\" renews the pads of lines that \"restore-shadow\" put into the caches before, with \
         restore_into = \"caches\""
            .to_owned()
    })
}
