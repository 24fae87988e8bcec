//! The pads that were used, and what for.

use crate::message::Line;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Below this number of pads, searching them is as fast as asking a filter.
const UNFILTERED_MAX: usize = 1 << 12;

/// Bits of the filter for each pad, at least: one in eight searches for an unused pad passes it.
const BITS_PER_PAD: usize = 8;

/// How bytes leave the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// While the machine runs.
    Run,
    /// On battery, when power is lost.
    Battery,
    /// Written by a boot.
    Boot,
    /// On battery, when power is lost again.
    BatteryAgain,
}

/// Where and when a pad was used before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Earlier {
    pub line: Line,
    pub event: u64,
    pub way: Way,
}

#[derive(Clone, Copy)]
pub(super) struct Use {
    pub plaintext: u128,
    pub at: Earlier,
}

/// The first use of every pad. Nearly every search is for a pad that was never used, and the pads of a long run do not
/// fit the host's caches: a filter, which does, answers most of these searches.
#[derive(Clone, Default)]
pub(super) struct Pads {
    uses: FxHashMap<u128, Use>,
    /// Bits, of which every used pad has set one. Empty if there are few pads; otherwise a power of two.
    filter: Vec<u64>,
}

impl Pads {
    /// Forgets every use.
    pub fn clear(&mut self) {
        self.uses.clear();
        self.filter.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = (u128, Use)> {
        self.uses.iter().map(|(pad, user)| (*pad, *user))
    }

    /// The first use of `pad`.
    pub fn get(&self, pad: u128) -> Option<&Use> {
        if !self.filter.is_empty() {
            let (word, bit) = place(pad, self.filter.len());
            if self.filter[word] & bit == 0 {
                return None;
            }
        }
        self.uses.get(&pad)
    }

    /// Notes a use of `pad`; returns the first use if it was for another plaintext.
    pub fn meet(&mut self, pad: u128, user: Use) -> Option<Use> {
        match self.uses.entry(pad) {
            Entry::Occupied(entry) => {
                let first = *entry.get();
                (first.plaintext != user.plaintext).then_some(first)
            }
            Entry::Vacant(entry) => {
                entry.insert(user);
                self.note(pad);
                None
            }
        }
    }

    /// Sets the bit of `pad`, which is new, in a filter that is large enough.
    fn note(&mut self, pad: u128) {
        let least = self.uses.len() * BITS_PER_PAD / 64;
        if self.uses.len() <= UNFILTERED_MAX {
            return;
        }
        if self.filter.len() >= least {
            let (word, bit) = place(pad, self.filter.len());
            self.filter[word] |= bit;
            return;
        }
        let words = 2 * least.next_power_of_two();
        self.filter.clear();
        self.filter.resize(words, 0);
        for &used in self.uses.keys() {
            let (word, bit) = place(used, words);
            self.filter[word] |= bit;
        }
    }
}

/// The word and the bit of `pad` in a filter of `words` words, a power of two. Broken designs have pads that are not
/// random, so both halves are mixed.
fn place(pad: u128, words: usize) -> (usize, u64) {
    let mixed = (pad as u64 ^ (pad >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as usize & (words - 1), 1 << (mixed >> 26 & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn used(plaintext: u128, event: u64) -> Use {
        Use { plaintext, at: Earlier { line: Line(event), event, way: Way::Run } }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Compared with a plain map, with as many pads as pass several sizes of the filter, dense and sparse.
        #[test]
        fn every_use_is_found_and_no_other(
            uses in prop::collection::vec((0..200_000_u128, 0..3_u128), 0..40_000),
            step in prop::sample::select(vec![1_u128, 1 << 58, 1 << 64, 1 << 100, 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835]),
            cleared in prop::option::of(0..40_000_usize),
        ) {
            let mut pads = Pads::default();
            let mut reference = BTreeMap::new();
            for (event, (number, plaintext)) in uses.into_iter().enumerate() {
                if cleared == Some(event) {
                    pads.clear();
                    reference.clear();
                }
                let pad = number.wrapping_mul(step);
                let first = *reference.entry(pad).or_insert((plaintext, event as u64));
                let met = pads.meet(pad, used(plaintext, event as u64)).map(|user| (user.plaintext, user.at.event));
                prop_assert_eq!(met, (first.0 != plaintext).then_some(first));
            }
            for number in 0..200_000_u128 {
                let pad = number.wrapping_mul(step);
                let found = pads.get(pad).map(|user| (user.plaintext, user.at.event));
                prop_assert_eq!(found, reference.get(&pad).copied());
            }
            prop_assert_eq!(pads.iter().count(), reference.len());
        }
    }

    /// The filter is for unused pads: it must let few of them pass, at any size.
    #[test]
    fn few_unused_pads_pass_the_filter() {
        let mut pads = Pads::default();
        let pad = |number: u128| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        for number in 0..100_000 {
            pads.meet(pad(number), used(0, 0));
            if number > 10_000 && number % 5_000 == 0 {
                let passing = (1 << 40..(1 << 40) + 10_000).filter(|&unused| {
                    let (word, bit) = place(pad(unused), pads.filter.len());
                    pads.filter[word] & bit != 0
                });
                assert!(passing.count() < 1_500, "{number} pads");
            }
        }
    }
}
