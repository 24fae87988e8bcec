//! Finds transactions from the functions that libpmemobj marks: it marks the commit of a transaction and the functions
//! called in it, but not its begin.

use super::recording::Act;

/// The act that the mark of a function means, at its end or at its begin.
pub(super) fn act(name: &[u8], is_end: bool) -> Option<Act> {
    if name == b"pmemobj_tx_commit" && is_end {
        return Some(Act::Commit);
    }
    name.starts_with(b"pmemobj_tx_").then_some(Act::Transactional)
}

/// The act that the text of a mark means: `name.BEGIN` or `name.END`.
pub(super) fn act_of_text(text: &[u8]) -> Option<Act> {
    let text = without_bar(text);
    if let Some(name) = text.strip_suffix(b".END") {
        return act(name, true);
    }
    act(text.strip_suffix(b".BEGIN")?, false)
}

/// The text of a mark itself: pmemcheck and the tools that feed it put a bar before it.
pub(super) fn without_bar(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"|").unwrap_or(text)
}
