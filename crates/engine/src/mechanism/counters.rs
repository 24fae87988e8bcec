//! Selects the counter scheme of a design on a machine.

use super::global_counters::GlobalCounters;
use super::line_counters::LineCounters;
use super::split_counters::SplitCounters;
use crate::config::{CounterOrganisation, Counters};
use crate::message::MediaLayout;
use crate::parts::{CounterKind, CounterPart, CounterScheme, CounterStore, Design, Encryption};

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
            (CounterKind::Split, _) => Box::new(SplitCounters::of(counters)),
            (CounterKind::OfMachine | CounterKind::OwnOfMachine, _) if split_on_machine => {
                Box::new(SplitCounters::of(counters))
            }
            (CounterKind::PerLine | CounterKind::OfMachine | CounterKind::OwnOfMachine, _) => Box::new(LineCounters),
        }
    }
}

impl Design {
    /// How the design's counters are stored on the media of a machine with the settings `counters`.
    pub fn media_layout(&self, counters: &Counters) -> MediaLayout {
        self.encryption.map_or(MediaLayout::PLAIN, |encryption| MediaLayout {
            coverage: encryption.scheme(counters).coverage(),
            inline: encryption.store != CounterStore::Region,
        })
    }
}
