//! What a persistence domain that reaches further than the write pending queue, and not to the caches, needs of the other parts.

use super::draft::Draft;
use crate::parts::{
    Admit, CachePads, Choice, DomainReach, DrainPath, EncryptionMode, GroupCommit, IntegrityMode, LogMode, ProgramForm,
    RestoreInto, ShadowTable, TreeLeaves, TreeNodes, TreeUpdate, Zeroing,
};

/// Writes that are accepted before they are encrypted: how each takes over its entry, and what is restored after a boot.
pub(super) fn accepted_writes(draft: &Draft) -> Option<String> {
    if draft.domain != DomainReach::AcceptedWrites {
        return None;
    }
    let unready = |atomic| matches!(draft.write_path.at_encrypted(atomic), Admit::Unready | Admit::DataThenCounter);
    let needs = [
        (
            draft.encryption.has_counters(),
            "encryption = \"counter-mode\", because plain lines need no second write path",
        ),
        (
            draft.program == ProgramForm::Plain && draft.log == LogMode::None,
            "program = \"plain\" and log = \"none\", because whole lines are accepted, one by one",
        ),
        (
            !unready(true) && !unready(false),
            "a write_path without ready bits, because a write takes over its entry when its counter is durable, too",
        ),
        (
            draft.has_shadow(),
            "drain = \"to-shadow\" or \"encrypt-to-shadow\", because accepted writes are restored at the boot",
        ),
        (draft.restore_into == RestoreInto::Memory, "restore_into = \"memory\", because the caches do not persist"),
        (
            draft.integrity == IntegrityMode::None || draft.protects_shadow(),
            "shadow_integrity = \"tree\" with MACs, because accepted writes have no other",
        ),
        (
            draft.integrity == IntegrityMode::None || draft.group_commit == GroupCommit::Registers,
            "group_commit = \"registers\" with MACs, because the queue is full of accepted writes",
        ),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("domain = \"accepted-writes\" needs {needed}"))
}

/// Persist buffers: what a battery does with their lines, and what it must find on the chip.
pub(super) fn persist_buffers(draft: &Draft) -> Option<String> {
    if draft.domain != DomainReach::PersistBuffers {
        return None;
    }
    let path = if draft.encryption == EncryptionMode::None { DrainPath::InPlace } else { DrainPath::ThroughWritePath };
    let needs = [
        (
            draft.program == ProgramForm::FlushFree && draft.log == LogMode::None,
            "program = \"flush-free\" and log = \"none\", because a store is durable once it is visible".to_owned(),
        ),
        (
            draft.drain == path,
            format!(
                "drain = \"{}\" with encryption = \"{}\", because lines leave for their own addresses",
                path.name(),
                draft.encryption.name()
            ),
        ),
        (
            draft.cache_pads == CachePads::None,
            "cache_pads = \"none\", because the caches are lost with power".to_owned(),
        ),
        (
            draft.zeroing == Zeroing::Stores,
            "zeroing = \"stores\", because a command does not take its lines out of the buffers".to_owned(),
        ),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("domain = \"persist-buffers\" needs {needed}"))
}

/// MACs and a tree that the battery changes with each line of a persist buffer, from nodes that no power failure saves.
pub(super) fn buffered_tree(draft: &Draft) -> Option<String> {
    let needs = [
        (
            draft.tree_nodes().is_none_or(|nodes| nodes == TreeNodes::Hashes),
            "integrity = \"macs\" or \"bonsai-tree\", because a boot computes the nodes that are lost",
        ),
        (
            !draft.has_tree() || draft.tree_update == TreeUpdate::Eager && draft.tree_leaves == TreeLeaves::Persisted,
            "tree_update = \"eager\" and tree_leaves = \"persisted\", because the battery goes on from the counters that are durable",
        ),
        (draft.shadow_table == ShadowTable::None, "shadow_table = \"none\", because the battery keeps none"),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("integrity = \"{}\" with domain = \"persist-buffers\" needs {needed}", draft.integrity.name()))
}
