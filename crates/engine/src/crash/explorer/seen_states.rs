//! States that an earlier power failure during recovery has left. Two equal states have the same futures, and the
//! auditors report the same for them. A state consists of what memory holds in addition to the run, what is drained to
//! it, the registers that survive, and every pad used so far with its bytes.

use crate::kernel::keyed_digest;
use crate::message::{LineBytes, MediaLine};
use crate::power::Drained;
use crate::recovery::Media;
use rustc_hash::FxHashMap;

/// Known states, each with the number of further power failures that were explored from it.
#[derive(Default)]
pub(super) struct SeenStates {
    states: FxHashMap<(u128, u128), Vec<(Drained, u32)>>,
}

impl SeenStates {
    /// Whether the state in which `drained` is left over a memory of this digest, with these used pads, is known with
    /// at least `left` further power failures. If not, it becomes known.
    pub fn before(&mut self, memory: u128, pads: u128, drained: &Drained, left: u32) -> bool {
        let alike = self.states.entry((memory, pads)).or_default();
        match alike.iter_mut().find(|(known, _)| known == drained) {
            Some((_, known)) if *known >= left => true,
            Some((_, known)) => {
                *known = left;
                false
            }
            None => {
                alike.push((drained.clone(), left));
                false
            }
        }
    }
}

/// A digest of what boots have stored on the media. `below`, whose digest is `known`, is the memory under the last of
/// them.
pub(super) fn digest(memory: &dyn Media, below: &dyn Media, known: u128) -> u128 {
    let mut digest = known;
    memory.last_changes(&mut |media, bytes| {
        digest ^= of_line(media, bytes);
        if let Some(old) = below.changed(media) {
            digest ^= of_line(media, old);
        }
    });
    digest
}

fn of_line(media: MediaLine, bytes: &LineBytes) -> u128 {
    keyed_digest(media.code(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ShadowRegisters;
    use crate::message::{Content, Line};
    use crate::recovery::AdrSnapshot;
    use std::collections::BTreeMap;

    struct Layer<'a> {
        below: Option<&'a Layer<'a>>,
        own: BTreeMap<MediaLine, LineBytes>,
    }

    impl Media for Layer<'_> {
        fn content(&self, _media: MediaLine) -> Content<'_> {
            Content::Never
        }
        fn stored(&self, _show: &mut dyn FnMut(MediaLine, &LineBytes)) {}
        fn changed(&self, media: MediaLine) -> Option<&LineBytes> {
            self.own.get(&media).or_else(|| self.below.and_then(|below| below.changed(media)))
        }
        fn last_changes(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
            self.own.iter().for_each(|(media, bytes)| show(*media, bytes));
        }
    }

    fn layer<'a>(below: Option<&'a Layer<'a>>, lines: &[(u64, u8)]) -> Layer<'a> {
        let own = lines.iter().map(|(line, byte)| (MediaLine::data(Line(*line)), [*byte; 64])).collect();
        Layer { below, own }
    }

    #[test]
    fn what_lies_in_memory_counts_and_not_which_boot_stored_it() {
        let device = layer(None, &[]);
        let at_once = digest(&layer(Some(&device), &[(1, 7), (2, 8)]), &device, 0);
        let first = layer(Some(&device), &[(1, 5), (2, 8)]);
        let known = digest(&first, &device, 0);
        assert_ne!(known, at_once);
        assert_eq!(digest(&layer(Some(&first), &[(1, 7)]), &first, known), at_once);
        assert_eq!(digest(&layer(Some(&first), &[]), &first, known), known);
        let swapped = digest(&layer(Some(&device), &[(1, 8), (2, 7)]), &device, 0);
        assert_ne!(swapped, at_once);
    }

    #[test]
    fn state_is_known_only_if_as_many_failures_followed_it_and_all_of_it_is_equal() {
        let drained = |consumed| {
            let registers = ShadowRegisters { consumed, ..ShadowRegisters::default() };
            Drained { snapshot: AdrSnapshot { registers, ..AdrSnapshot::default() }, ..Drained::default() }
        };
        let mut seen = SeenStates::default();
        assert!(!seen.before(1, 2, &drained(0), 2));
        assert!(seen.before(1, 2, &drained(0), 1) && seen.before(1, 2, &drained(0), 2));
        assert!(!seen.before(1, 2, &drained(0), 3) && seen.before(1, 2, &drained(0), 3));
        for (memory, pads, consumed) in [(2, 2, 0), (1, 1, 0), (1, 2, 1)] {
            assert!(!seen.before(memory, pads, &drained(consumed), 1), "{memory} {pads} {consumed}");
        }
    }
}
