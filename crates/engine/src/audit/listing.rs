//! The auditor's own reading of what memory says about the metadata caches: which counter blocks a boot looks at.

use super::facts::BitsFacts;
use crate::message::{CounterBlock, LineBytes, MediaLine, MediaUnit};
use std::collections::{BTreeMap, BTreeSet};

enum Kind {
    /// So many to a line, from its beginning.
    Names(usize),
    Bits(BitsFacts),
}

/// The lines of the shadow table, or of the bits, that have persisted.
pub(super) struct Listing {
    kind: Kind,
    lines: BTreeMap<u64, LineBytes>,
    /// How many entries name a block.
    named: BTreeMap<CounterBlock, u32>,
    /// The blocks whose own bit was ever set.
    seen: BTreeSet<u64>,
}

impl Listing {
    /// A table of names, `in_line` to a line.
    pub fn of_names(in_line: usize) -> Self {
        Self::of(Kind::Names(in_line))
    }

    /// Layers of bits.
    pub fn of_bits(facts: BitsFacts) -> Self {
        Self::of(Kind::Bits(facts))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, lines: BTreeMap::new(), named: BTreeMap::new(), seen: BTreeSet::new() }
    }

    /// Whether lines on the chip survive a loss of power.
    pub fn lines_survive(&self) -> bool {
        matches!(self.kind, Kind::Bits(BitsFacts { survive: true, .. }))
    }

    /// Line `number` is now `bytes`. Returns the blocks that this concerns.
    pub fn write(&mut self, number: u64, bytes: &LineBytes) -> Vec<CounterBlock> {
        let before = self.lines.insert(number, *bytes).unwrap_or([0; 64]);
        match self.kind {
            Kind::Names(in_line) => self.names_changed(in_line, &before, bytes),
            Kind::Bits(facts) => self.bits_changed(facts, number, &before, bytes),
        }
    }

    fn names_changed(&mut self, in_line: usize, before: &LineBytes, now: &LineBytes) -> Vec<CounterBlock> {
        let [before, now] = [before, now].map(|line| blocks_named(line, in_line));
        for block in before.clone() {
            *self.named.entry(block).or_default() -= 1;
        }
        for block in now.clone() {
            *self.named.entry(block).or_default() += 1;
        }
        before.chain(now).collect()
    }

    fn bits_changed(
        &mut self,
        facts: BitsFacts,
        number: u64,
        before: &LineBytes,
        now: &LineBytes,
    ) -> Vec<CounterBlock> {
        let Some(layer) = (0..layers(facts.units)).rev().find(|layer| first_line(facts.units, *layer) <= number) else {
            return Vec::new();
        };
        let first = (number - first_line(facts.units, layer)) * 512;
        let changed = (0..512).filter(|bit| bit_of(before, *bit) != bit_of(now, *bit)).map(|bit| first + bit as u64);
        let mut blocks = Vec::new();
        for unit in changed {
            if layer == 0 {
                self.seen.extend((unit < facts.blocks).then_some(unit));
            }
            let covered = 512_u64.pow(layer);
            blocks.extend(self.seen.range(unit * covered..(unit + 1) * covered).copied().map(CounterBlock));
        }
        blocks
    }

    /// Whether a boot looks at `block`.
    pub fn has(&self, block: CounterBlock) -> bool {
        let facts = match self.kind {
            Kind::Names(_) => return self.named.get(&block).is_some_and(|entries| *entries > 0),
            Kind::Bits(facts) => facts,
        };
        (0..layers(facts.units)).all(|layer| {
            let unit = block.0 / 512_u64.pow(layer);
            let line = self.lines.get(&(first_line(facts.units, layer) + unit / 512));
            line.is_some_and(|line| bit_of(line, (unit % 512) as usize))
        })
    }
}

/// The blocks that the first `in_line` entries of `line` name.
fn blocks_named(line: &LineBytes, in_line: usize) -> impl Iterator<Item = CounterBlock> + Clone {
    line.chunks_exact(8).take(in_line).filter_map(|entry| {
        let code = entry.iter().rev().fold(0, |code, byte| code << 8 | u64::from(*byte));
        match MediaLine::with_code(code).unit() {
            MediaUnit::Counter(block) => Some(block),
            _ => None,
        }
    })
}

fn bit_of(line: &LineBytes, bit: usize) -> bool {
    line[bit / 8] >> (bit % 8) & 1 == 1
}

/// Lines of `layer` over so many units.
fn lines_of(units: u64, layer: u32) -> u64 {
    (0..=layer).fold(units, |below, _| below.div_ceil(512)).max(1)
}

fn layers(units: u64) -> u32 {
    (0..).find(|layer| lines_of(units, *layer) == 1).map_or(1, |top| top + 1)
}

fn first_line(units: u64, layer: u32) -> u64 {
    (0..layer).map(|below| lines_of(units, below)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{StaleBits, TreePlace, TreeShape};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn auditor_finds_the_bits_where_the_mechanism_puts_them(leaves in 1..300_000u64, set in prop::collection::vec(any::<u64>(), 0..12)) {
            let shape = TreeShape::new(leaves, 8);
            let bits = StaleBits::new(shape);
            let facts = BitsFacts { blocks: leaves, units: leaves + shape.nodes_below_root(), survive: true };
            let mut listing = Listing::of_bits(facts);
            let mut lines: BTreeMap<u64, LineBytes> = BTreeMap::new();
            for block in &set {
                for (number, bit) in bits.path(TreePlace::leaf(CounterBlock(block % leaves))) {
                    lines.entry(number).or_insert([0; 64])[bit / 8] |= 1 << (bit % 8);
                }
            }
            for (number, line) in &lines {
                listing.write(*number, line);
            }
            for block in (0..leaves).take(2_000).chain(set.iter().map(|block| block % leaves)) {
                prop_assert_eq!(listing.has(CounterBlock(block)), set.iter().any(|other| other % leaves == block));
            }
            // Without the top line nothing is found.
            let concerned = listing.write(bits.top(), &[0; 64]);
            for block in set.iter().map(|block| CounterBlock(block % leaves)) {
                prop_assert!(concerned.contains(&block) && !listing.has(block));
            }
        }
    }

    #[test]
    fn names_are_counted() {
        let mut listing = Listing::of_names(8);
        let line = |block: u64| {
            let mut line = [0; 64];
            line[8..16].copy_from_slice(&MediaLine::counter(CounterBlock(block)).code().to_le_bytes());
            line
        };
        listing.write(0, &line(5));
        listing.write(1, &line(5));
        assert!(listing.has(CounterBlock(5)) && !listing.has(CounterBlock(6)));
        assert_eq!(listing.write(0, &line(6)), [CounterBlock(5), CounterBlock(6)]);
        assert!(listing.has(CounterBlock(5)) && listing.has(CounterBlock(6)));
        listing.write(1, &[0; 64]);
        assert!(!listing.has(CounterBlock(5)));
    }

    #[test]
    fn name_after_the_last_of_a_line_is_none() {
        let mut listing = Listing::of_names(1);
        let mut line = [0; 64];
        for (at, block) in [(0, 5_u64), (8, 6)] {
            line[at..at + 8].copy_from_slice(&MediaLine::counter(CounterBlock(block)).code().to_le_bytes());
        }
        assert_eq!(listing.write(0, &line), [CounterBlock(5)]);
        assert!(listing.has(CounterBlock(5)) && !listing.has(CounterBlock(6)));
    }
}
