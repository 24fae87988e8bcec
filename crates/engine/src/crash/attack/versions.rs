//! Every version of every unit that the attacker may have: those that have crossed the bus.

use crate::message::{LineBytes, MediaLine, MediaUnit};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Most versions of a unit that are kept: the first, and the newest.
const KEPT: usize = 16;

/// A version of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// The event in which it entered the persistence domain.
    pub event: u64,
    pub bytes: LineBytes,
    /// Its number among the versions of the unit, from 1.
    pub number: u32,
    /// Whether it has crossed the bus.
    seen: bool,
}

/// The versions of all units.
#[derive(Default)]
pub(super) struct Versions {
    of: FxHashMap<MediaLine, Vec<Version>>,
    /// The units of each kind, in the order in which they were first written.
    data: Vec<MediaLine>,
    counters: Vec<MediaLine>,
    macs: Vec<MediaLine>,
    nodes: Vec<MediaLine>,
    table: Vec<MediaLine>,
    modified: Vec<MediaLine>,
    count: u64,
    /// The blocks of data lines that have crossed the bus, each with its number in its line: the event of the version in which
    /// it first did.
    blocks: FxHashMap<(MediaLine, u8, [u8; 16]), u64>,
    repeated: Repeats,
}

/// Blocks that an attacker who only watches the bus sees again.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Repeats {
    /// Blocks of data lines that have crossed the bus.
    pub blocks: u64,
    /// Those whose bytes had crossed it before at the same address.
    pub repeated: u64,
    /// Whether the attacker sees what modules store, and not the bus.
    pub stored: bool,
    /// The first of them: its line, its number in the line, and the events of both versions.
    pub first: Option<(MediaLine, u8, [u64; 2])>,
}

impl Versions {
    pub fn persisted(&mut self, event: u64, media: MediaLine, bytes: &LineBytes) {
        let versions = self.of.entry(media).or_default();
        if versions.is_empty() {
            match media.unit() {
                MediaUnit::Data(_) => self.data.push(media),
                MediaUnit::Counter(_) => self.counters.push(media),
                MediaUnit::Mac(_) => self.macs.push(media),
                MediaUnit::Node(_) => self.nodes.push(media),
                MediaUnit::Table(_) => self.table.push(media),
                MediaUnit::Modified(_) => self.modified.push(media),
            }
        }
        if versions.len() == KEPT {
            versions.remove(1);
        }
        let number = versions.last().map_or(0, |last| last.number) + 1;
        versions.push(Version { event, bytes: *bytes, number, seen: false });
        self.count += 1;
    }

    /// `media` has crossed the bus with these bytes. `watched`: its plaintext is the program's.
    pub fn crossed(&mut self, media: MediaLine, bytes: &LineBytes, watched: bool) {
        let versions = self.of.get_mut(&media);
        if let Some(version) =
            versions.and_then(|versions| versions.iter_mut().find(|version| !version.seen && version.bytes == *bytes))
        {
            version.seen = true;
            let event = version.event;
            if watched {
                self.watch(media, bytes, event);
            }
        }
    }

    /// Notes the blocks of a data line that has crossed the bus, in the version of `event`.
    fn watch(&mut self, media: MediaLine, bytes: &LineBytes, event: u64) {
        for (number, block) in (0..).zip(bytes.as_chunks::<16>().0) {
            self.repeated.blocks += 1;
            match self.blocks.entry((media, number, *block)) {
                Entry::Vacant(new) => {
                    new.insert(event);
                }
                Entry::Occupied(before) => {
                    self.repeated.repeated += 1;
                    self.repeated.first.get_or_insert((media, number, [*before.get(), event]));
                }
            }
        }
    }

    /// The attacker sees what modules store, and not the bus.
    pub fn seen_in_modules(&mut self) {
        self.repeated.stored = true;
    }

    /// What a watcher of the bus has seen again.
    pub fn repeats(&self) -> Repeats {
        self.repeated
    }

    /// The units of this kind, in the order in which they were first written.
    pub fn units_of(&self, kind: Kind) -> &[MediaLine] {
        match kind {
            Kind::Data => &self.data,
            Kind::Counter => &self.counters,
            Kind::Mac => &self.macs,
            Kind::Node => &self.nodes,
            Kind::Table => &self.table,
            Kind::Shadow => &[],
        }
    }

    /// The versions of `media` that have crossed the bus, oldest first.
    pub fn seen(&self, media: MediaLine) -> impl DoubleEndedIterator<Item = &Version> {
        self.of.get(&media).into_iter().flatten().filter(|version| version.seen)
    }

    /// `media` as it was after `event`: `Some(None)` if it had never been written then, `None` if the attacker does not
    /// have what it was.
    pub fn at(&self, media: MediaLine, event: u64) -> Option<Option<LineBytes>> {
        let Some(versions) = self.of.get(&media) else { return Some(None) };
        match versions.iter().rev().find(|version| version.event <= event) {
            None => Some(None),
            Some(version) => version.seen.then_some(Some(version.bytes)),
        }
    }

    /// Number of versions of `media` so far.
    pub fn count_of(&self, media: MediaLine) -> u32 {
        self.of.get(&media).and_then(|versions| versions.last()).map_or(0, |last| last.number)
    }

    /// All units.
    pub fn all(&self) -> impl Iterator<Item = MediaLine> {
        [&self.data, &self.counters, &self.macs, &self.nodes, &self.table, &self.modified]
            .into_iter()
            .flatten()
            .copied()
    }

    /// Number of units.
    pub fn units(&self) -> u64 {
        self.of.len() as u64
    }

    /// Number of versions so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl Kind {
    /// The kind of a unit that is attacked by itself.
    pub fn of(media: MediaLine) -> Option<Self> {
        match media.unit() {
            MediaUnit::Data(_) => Some(Kind::Data),
            MediaUnit::Counter(_) => Some(Kind::Counter),
            MediaUnit::Mac(_) => Some(Kind::Mac),
            MediaUnit::Node(_) => Some(Kind::Node),
            MediaUnit::Table(_) => Some(Kind::Table),
            MediaUnit::Modified(_) => None,
        }
    }
}

/// A kind of unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Data,
    Counter,
    Mac,
    Node,
    Table,
    /// Lines of the shadow cache, which are written when power fails and not before.
    Shadow,
}
