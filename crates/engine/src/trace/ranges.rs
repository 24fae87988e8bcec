//! A set of addresses, as ranges that neither overlap nor touch.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub fn add(&mut self, range: Range<u64>) {
        let mut joined = range;
        if joined.is_empty() {
            return;
        }
        while let Some((&start, &end)) =
            self.0.range(..=joined.end).next_back().filter(|(_, end)| **end >= joined.start)
        {
            self.0.remove(&start);
            joined = joined.start.min(start)..joined.end.max(end);
        }
        self.0.insert(joined.start, joined.end);
    }

    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some((&start, &end)) = self.0.range(..range.end).next_back().filter(|(_, end)| **end > range.start) {
            self.0.remove(&start);
            if end > range.end {
                self.0.insert(range.end, end);
            }
            if start < range.start {
                self.0.insert(start, range.start);
            }
        }
    }

    /// Whether all of a range that is not empty is in the set.
    pub fn contain(&self, range: &Range<u64>) -> bool {
        self.0.range(..=range.start).next_back().is_some_and(|(_, end)| range.end <= *end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ranges::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn like_a_list_of_addresses(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..12), 0..30)) {
            let (mut ranges, mut naive) = (Ranges::default(), [false; 64]);
            for (adds, start, length) in steps {
                let range = start..start + length;
                naive[start as usize..(start + length) as usize].fill(adds);
                if adds { ranges.add(range) } else { ranges.remove(range) }
                for from in 0..52 {
                    for until in from + 1..53 {
                        let all = naive[from as usize..until as usize].iter().all(|there| *there);
                        prop_assert_eq!(ranges.contain(&(from..until)), all);
                    }
                }
            }
        }
    }
}
