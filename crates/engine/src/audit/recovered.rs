//! The auditor's own way to the counters that a boot recovers, because they were only in the counter cache: by trial against
//! the MACs of lines, from the lowest bits beside those MACs, from a shadow table, or from a ring of partial updates.

use super::counter::AuditedCounter;
use super::facts::{CounterRecovery, LowBitsFacts};
use super::listing::Listing;
use super::mac::AuditedMacs;
use super::shadow_table::AuditedTable;
use super::updates::AuditedUpdates;
use crate::layout::MacLayout;
use crate::message::{CounterBlock, Line, LineBytes, MacBlock, MediaLine, MediaUnit};
use rustc_hash::FxHashMap;

enum Way {
    Trial(AuditedMacs),
    LowBits(LowBitsFacts),
    Table(AuditedTable),
    Ring { lines: u64, updates: AuditedUpdates },
}

/// How counters are recovered, and what has persisted that this needs.
pub(super) struct Recovered {
    way: Option<Way>,
    /// Which blocks a boot looks at; `None` if at all.
    listing: Option<Listing>,
    /// The lines of MACs that have persisted.
    mac_lines: FxHashMap<MacBlock, LineBytes>,
}

impl Recovered {
    pub fn new(recovery: &CounterRecovery) -> Self {
        let (way, listing) = match recovery {
            CounterRecovery::None => (None, None),
            CounterRecovery::Trial { facts, named } => {
                (Some(Way::Trial(AuditedMacs::new(facts))), named.map(Listing::of_names))
            }
            CounterRecovery::LowBits { facts, bits } => (Some(Way::LowBits(*facts)), Some(Listing::of_bits(*bits))),
            CounterRecovery::Table => (Some(Way::Table(AuditedTable::default())), None),
            CounterRecovery::Ring(facts) => {
                (Some(Way::Ring { lines: facts.lines, updates: AuditedUpdates::new(*facts) }), None)
            }
        };
        Self { way, listing, mac_lines: FxHashMap::default() }
    }

    /// Whether a boot recovers counters.
    pub fn any(&self) -> bool {
        self.way.is_some()
    }

    fn layout(&self) -> Option<MacLayout> {
        match &self.way {
            Some(Way::Trial(macs)) => Some(macs.layout),
            Some(Way::LowBits(facts)) => Some(facts.layout),
            Some(Way::Table(_) | Way::Ring { .. }) | None => None,
        }
    }

    /// `media` has persisted. Returns the lines that may have other counters from now on because of partial updates.
    pub fn updates_persisted(&mut self, media: MediaLine, bytes: &LineBytes) -> Vec<Line> {
        match (media.unit(), &mut self.way) {
            (MediaUnit::Table(number), Some(Way::Ring { lines, updates })) if number < *lines => {
                updates.write(number, bytes)
            }
            _ => Vec::new(),
        }
    }

    /// `media` has persisted. Returns the lines that may have other counters from now on because of their MACs.
    pub fn mac_persisted(&mut self, media: MediaLine, bytes: &LineBytes) -> impl Iterator<Item = Line> + use<> {
        let of = self.layout().and_then(|layout| match media.unit() {
            MediaUnit::Mac(block) => Some((layout, block)),
            _ => None,
        });
        if let Some((_, block)) = of {
            self.mac_lines.insert(block, *bytes);
        }
        of.into_iter().flat_map(|(layout, block)| layout.lines(block))
    }

    /// `media` has persisted. Returns the counter blocks that may have other counters from now on because of their entries.
    pub fn entry_persisted(&mut self, media: MediaLine, bytes: &LineBytes) -> Vec<CounterBlock> {
        let MediaUnit::Table(number) = media.unit() else { return Vec::new() };
        match (&mut self.way, &mut self.listing) {
            (Some(Way::Table(table)), _) => table.write(number, bytes),
            (_, Some(listing)) => listing.write(number, bytes),
            _ => Vec::new(),
        }
    }

    /// Whether lines of bits or of partial updates on the chip survive a loss of power.
    pub fn chip_lines_survive(&self) -> bool {
        if let Some(Way::Ring { updates, .. }) = &self.way {
            return updates.lines_survive();
        }
        self.listing.as_ref().is_some_and(Listing::lines_survive)
    }

    /// The counter at place `index` of `block` that a boot finds, if memory has `stored`.
    pub fn in_block(&self, block: CounterBlock, index: usize, stored: u64) -> u64 {
        match &self.way {
            Some(Way::Table(table)) => table.counter(block, index, stored),
            _ => stored,
        }
    }

    /// The counter that a boot finds for `line` of `block`, which is stored as `ciphertext`, by its MAC or in the ring, if the
    /// block says `first`; `None` if it does not look there, or finds nothing. `split`: counters have minors.
    pub fn of_line(
        &self,
        line: Line,
        block: CounterBlock,
        ciphertext: &LineBytes,
        (first, split): (AuditedCounter, bool),
    ) -> Option<AuditedCounter> {
        if self.listing.as_ref().is_some_and(|listing| !listing.has(block)) {
            return None;
        }
        if let Some(Way::Ring { updates, .. }) = &self.way {
            return updates.counter(line, first, split);
        }
        let layout = self.layout()?;
        let mac = layout.get(self.mac_lines.get(&layout.block(line))?, line);
        match self.way.as_ref()? {
            Way::LowBits(facts) => Some(AuditedCounter { major: facts.counter(first.major, mac), ..first }),
            Way::Trial(macs) => {
                let counters = (0..=macs.steps).map(|step| match split {
                    true => AuditedCounter { minor: first.minor.saturating_add(step as u16), ..first },
                    false => AuditedCounter { major: first.major + step, ..first },
                });
                let mut used = counters.filter(|counter| *counter != AuditedCounter::NEVER);
                used.find(|counter| macs.of(line, ciphertext, *counter) == mac)
            }
            Way::Table(_) | Way::Ring { .. } => None,
        }
    }
}
