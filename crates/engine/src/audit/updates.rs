//! The auditor's own reading of the ring of partial updates: an entry has 5 bytes with the number of a line and one, 3 bytes with
//! the lowest bits of its counter, and a MAC that the auditor does not look at. A boot finds in it the newest counter of a line.

use super::counter::AuditedCounter;
use super::facts::RingFacts;
use crate::message::{Line, LineBytes};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Counters modulo this are in the ring.
const RANGE: i64 = 1 << 24;

/// What the lines of the ring say, in memory or on the chip.
pub(super) struct AuditedUpdates {
    facts: RingFacts,
    /// For each line of the ring, what it speaks of.
    ring: BTreeMap<u64, Vec<(Line, i64)>>,
    /// For each line of memory, its counters by line of the ring.
    counters: FxHashMap<Line, BTreeMap<u64, Vec<i64>>>,
}

impl AuditedUpdates {
    pub fn new(facts: RingFacts) -> Self {
        Self { facts, ring: BTreeMap::new(), counters: FxHashMap::default() }
    }

    /// Whether lines on the chip survive a loss of power.
    pub fn lines_survive(&self) -> bool {
        self.facts.survive
    }

    /// Line `number` of the ring is now `bytes`. Returns the lines that this concerns.
    pub fn write(&mut self, number: u64, bytes: &LineBytes) -> Vec<Line> {
        let before = self.ring.remove(&number).unwrap_or_default();
        for (line, _) in &before {
            if let Some(counters) = self.counters.get_mut(line) {
                counters.remove(&number);
            }
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | i64::from(*byte));
        let said = bytes.chunks_exact(8 + self.facts.mac_bytes).map(|entry| (word(&entry[..5]), word(&entry[5..8])));
        let now: Vec<(Line, i64)> =
            said.filter(|(line, _)| *line > 0).map(|(line, counter)| (Line(line as u64 - 1), counter)).collect();
        for (line, counter) in &now {
            self.counters.entry(*line).or_default().entry(number).or_default().push(*counter);
        }
        let concerned = before.iter().chain(&now).map(|(line, _)| *line).collect();
        self.ring.insert(number, now);
        concerned
    }

    /// The counter that a boot finds for `line`, if its block in memory says `stored`: the newest that is newer than that.
    /// `split`: counters have minors, of 14 bits in the ring.
    pub fn counter(&self, line: Line, stored: AuditedCounter, split: bool) -> Option<AuditedCounter> {
        let number = if split { (stored.major << 14) + u64::from(stored.minor) } else { stored.major };
        let counters = self.counters.get(&line)?.values().flatten();
        let ahead =
            counters.map(|counter| (counter - number as i64).rem_euclid(RANGE)).filter(|ahead| *ahead < RANGE / 2);
        let found = number + ahead.max()? as u64;
        let found = match split {
            // A block has one major counter.
            true => AuditedCounter { minor: (found % (1 << 14)) as u16, ..stored },
            false => AuditedCounter { major: found, ..stored },
        };
        // That of a line that was never written.
        (found != AuditedCounter::NEVER).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::UpdateRing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn auditor_reads_what_the_mechanism_writes(
            lines in prop::collection::vec((0..6_u64, 1..1000_u64), 4), stored in 1..1000_u64, split: bool, mac: u64,
        ) {
            let ring = UpdateRing { lines: 4, on_chip: 1, mac_bytes: 8, split };
            let mut audited = AuditedUpdates::new(RingFacts { lines: 4, mac_bytes: 8, survive: true });
            let mut bytes = [0; 64];
            for (index, (line, counter)) in lines.iter().enumerate() {
                let number = if split { ring.number(3, *counter as u16) } else { *counter };
                ring.put(&mut bytes, index, &ring.update(Line(*line), number, u128::from(mac)));
            }
            let concerned = audited.write(2, &bytes);
            let at = |value: u64| match split {
                true => AuditedCounter { major: 3, minor: value as u16 },
                false => AuditedCounter { major: value, minor: 0 },
            };
            for line in 0..6 {
                let newest = lines.iter().filter(|(other, counter)| *other == line && *counter >= stored).map(|(_, counter)| *counter).max();
                prop_assert_eq!(audited.counter(Line(line), at(stored), split), newest.map(at));
                prop_assert_eq!(concerned.contains(&Line(line)), lines.iter().any(|(other, _)| *other == line));
            }
            audited.write(2, &[0; 64]);
            prop_assert!((0..6).all(|line| audited.counter(Line(line), at(stored), split).is_none()));
        }
    }
}
