//! Parts that say of single lines or pages how they are encrypted, and what contradicts them.

use super::draft::Draft;
use crate::parts::{
    Admit, CachePads, Choice, CounterKind, CounterStore, DomainReach, EncryptionMode, IntegrityMode, LogMode,
    PageModes, PartialUpdates, ReencryptedWords,
};

/// Words with counters of two times: what has no room for their bits, or no line to compare with.
pub(super) fn words(draft: &Draft) -> Option<String> {
    if draft.reencrypted_words == ReencryptedWords::All || !draft.encryption.has_counters() {
        return None;
    }
    let needs = [
        (
            draft.encryption == EncryptionMode::CounterMode,
            "encryption = \"counter-mode\", because words are encrypted with pads",
        ),
        (
            draft.counters != CounterKind::Global,
            "counters of the line's own, because an epoch counts the writes of a line",
        ),
        (
            draft.counter_store == CounterStore::Region,
            "counter_store = \"region\", because the bits of words lie beside the line",
        ),
        (draft.log == LogMode::None, "log = \"none\", because lines of a hardware log are written whole"),
        (
            draft.domain == DomainReach::Adr,
            "domain = \"adr\", because a battery does not read the lines that words are compared with",
        ),
        (
            draft.integrity == IntegrityMode::None,
            "integrity = \"none\", because a MAC does not cover the bits of words",
        ),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("reencrypted_words = \"{}\" needs {needed}", draft.reencrypted_words.name()))
}

/// Pages that the controller shreds: what the counters must be, and what else would have to know of it.
pub(super) fn zeroing(draft: &Draft) -> Option<String> {
    if !draft.encryption.has_counters() || !draft.zeroing.shreds() {
        return None;
    }
    let needs = [
        (
            draft.encryption == EncryptionMode::CounterMode,
            "encryption = \"counter-mode\", because other lines are not zeros by their counters",
        ),
        (draft.counters == CounterKind::Split, "counters = \"split\", whose minor counters are zero together"),
        (
            !draft.write_path.stops_loss(),
            "a write_path without stop-loss, because a boot does not try whether a line is zeros",
        ),
        (
            draft.reencrypted_words == ReencryptedWords::All,
            "reencrypted_words = \"all\", because words that were not written are not zeros",
        ),
        (
            draft.page_modes == PageModes::Counters,
            "page_modes = \"counters\", because a page without counters has none that is zero",
        ),
        (draft.log == LogMode::None, "log = \"none\", because hardware logs stores, not pages"),
        (
            draft.partial_updates == PartialUpdates::None,
            "partial_updates = \"none\", because an update has the counter of one line",
        ),
        (
            draft.domain == DomainReach::Adr && draft.cache_pads == CachePads::None,
            "domain = \"adr\" and cache_pads = \"none\", because the command drops lines from the caches",
        ),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("zeroing = \"{}\" needs {needed}", draft.zeroing.name()))
}

/// Pages with and without counters: what knows only lines with counters.
pub(super) fn pages(draft: &Draft) -> Option<String> {
    let overflows = matches!(draft.counters, CounterKind::Split | CounterKind::OfMachine | CounterKind::OwnOfMachine);
    if draft.page_modes == PageModes::Counters || !draft.encryption.has_counters() || !overflows {
        return None;
    }
    let pairs = |atomic| matches!(draft.write_path.at_encrypted(atomic), Admit::Pair | Admit::Data);
    let needs = [
        (
            draft.encryption == EncryptionMode::CounterMode,
            "encryption = \"counter-mode\", because pages begin with counters",
        ),
        (
            draft.counters == CounterKind::Split,
            "counters = \"split\", because a page changes when a minor counter overflows",
        ),
        (
            draft.counter_store == CounterStore::Region,
            "counter_store = \"region\", because blocks say which pages have counters",
        ),
        (pairs(true) && pairs(false), "a write_path without ready bits, because a line without a counter is no pair"),
        (draft.log == LogMode::None, "log = \"none\", because log lines have counters"),
        (draft.domain == DomainReach::Adr, "domain = \"adr\", because a battery knows only lines with counters"),
        (draft.integrity == IntegrityMode::None, "integrity = \"none\", because MACs need the counters of all lines"),
        (draft.reencrypted_words == ReencryptedWords::All, "reencrypted_words = \"all\", because words have counters"),
    ];
    let (_, needed) = needs.into_iter().find(|(met, _)| !met)?;
    Some(format!("page_modes = \"{}\" needs {needed}", draft.page_modes.name()))
}
