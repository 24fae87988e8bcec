//! Selects the counter scheme of a design on a machine, and lays out its counters, MACs and tree.

use super::global_counters::GlobalCounters;
use super::line_counters::LineCounters;
use super::page_modes::PagedCounters;
use super::split_counters::SplitCounters;
use super::wide_counters::WideCounters;
use crate::config::{CounterOrganisation, Counters, Geometry, Integrity, MacPlacement, Machine};
use crate::layout::{Coverage, MacLayout, MediaLayout, TreeShape};
use crate::message::LINES_PER_PAGE;
use crate::parts::{
    CounterBank, CounterKind, CounterPart, CounterScheme, CounterStore, Design, Encryption, PageModes, ReencryptedWords,
};

impl Encryption {
    /// The counter scheme on a machine with the settings `counters`.
    pub fn scheme(&self, counters: &Counters) -> Box<dyn CounterScheme> {
        let kind = match self.counters {
            CounterPart::Custom(made) => return made(counters),
            CounterPart::Kind(kind) => kind,
        };
        let split_on_machine = counters.organisation == CounterOrganisation::Split;
        match (kind, counters.organisation) {
            (CounterKind::Global, _) | (CounterKind::OfMachine, CounterOrganisation::Global) => {
                Box::new(if self.store == CounterStore::Region {
                    GlobalCounters::region()
                } else {
                    GlobalCounters::inline()
                })
            }
            (CounterKind::Wide, _) => Box::new(WideCounters),
            (CounterKind::Split, _) if self.pages != PageModes::Counters => {
                Box::new(PagedCounters(SplitCounters::of(counters)))
            }
            (CounterKind::Split, _) => Box::new(SplitCounters::of(counters).with_zeroing(self.zeroing)),
            (CounterKind::OfMachine | CounterKind::OwnOfMachine, _) if split_on_machine => {
                Box::new(SplitCounters::of(counters).with_zeroing(self.zeroing))
            }
            (CounterKind::PerLine | CounterKind::OfMachine | CounterKind::OwnOfMachine, _) => Box::new(LineCounters),
        }
    }
}

/// Where the MACs of data lines are on a machine with the settings `integrity`.
fn mac_layout(integrity: &Integrity) -> MacLayout {
    let Integrity { mac_bits: bits, mac_placement, .. } = *integrity;
    let coverage = match (mac_placement, bits) {
        (MacPlacement::Beside | MacPlacement::Ecc, _) => Coverage::LINE,
        (MacPlacement::Region, 128) => Coverage::FOUR_LINES,
        (MacPlacement::Region, _) => Coverage::EIGHT_LINES,
    };
    let beside_bytes = if mac_placement == MacPlacement::Beside { u64::from(bits).div_ceil(8) } else { 0 };
    MacLayout { coverage, beside_bytes, bits }
}

impl Design {
    /// How the design's counters, MACs and tree are stored on the media of `machine`.
    pub fn media_layout(&self, machine: &Machine) -> MediaLayout {
        let Some(encryption) = self.encryption else { return MediaLayout::PLAIN };
        let coverage = encryption.scheme(&machine.counters).coverage();
        MediaLayout {
            coverage,
            inline: encryption.store != CounterStore::Region,
            cross_bank: encryption.bank == CounterBank::CrossBank,
            macs: self.integrity.map(|_| mac_layout(&machine.integrity)),
            tree: self.integrity.and_then(|integrity| integrity.tree).map(|_| {
                let lines = Geometry::of(machine).data_pages * LINES_PER_PAGE;
                TreeShape::new((lines / coverage.lines() as u64).max(1), machine.integrity.tree_arity)
            }),
            modified_bytes: match encryption.words {
                ReencryptedWords::Modified => u64::from(64 / machine.counters.word_bytes).div_ceil(8),
                // They have no bits, or have them on the chip.
                _ => 0,
            },
        }
    }
}
