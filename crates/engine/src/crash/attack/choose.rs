//! What the attacker changes: for each kind of attack, one change drawn at random from all that are possible.

use super::shadow_cache::ShadowLines;
use super::tampered::stored;
use super::versions::{Kind, Version, Versions};
use super::{Attack, Changes, Target};
use crate::kernel::Random;
use crate::layout::{MacLayout, TreePlace};
use crate::message::{CounterBlock, Line, LineBytes, MediaLine, MediaUnit, TreeNode};
use crate::parts::Stored;
use crate::recovery::{LineCodec, Media};
use std::borrow::Cow;

/// How often a draw is repeated if it would change nothing.
const DRAWS: usize = 8;

/// A kind of attack on a kind of unit.
pub(super) struct Choice {
    pub attack: Attack,
    pub target: Target,
    kind: Kind,
}

const fn choice(attack: Attack, target: Target, kind: Kind) -> Choice {
    Choice { attack, target, kind }
}

/// What the attacker works with.
#[derive(Clone, Copy)]
pub(super) struct Reach<'a> {
    pub versions: &'a Versions,
    /// The media before the change.
    pub media: &'a dyn Media,
    pub codec: &'a dyn LineCodec,
    /// The last event.
    pub event: u64,
    /// The line that is about to be read or written, if the machine runs: the change has to do with it.
    pub near: Option<Line>,
    /// The shadow cache, if there is one and power is off.
    pub shadow: Option<&'a ShadowLines>,
    /// What a battery has left that was not written before, without the shadow cache.
    pub left: &'a [MediaLine],
}

/// A change of the media.
pub(super) struct Change {
    /// The unit that the attack is about, and what each changed unit becomes.
    unit: MediaLine,
    pub units: Changes,
    /// The event of which something is put back, and the number of that version of the unit.
    then: Option<(u64, Option<u32>)>,
}

impl Change {
    pub fn of(unit: MediaLine, units: Changes) -> Self {
        Self { unit, units, then: None }
    }

    /// Whether `bytes` are what `line` held at the time of which it is put back, with its counter.
    pub fn holds_then(&self, codec: &dyn LineCodec, line: Line, bytes: &LineBytes) -> bool {
        let becomes = |media| self.units.iter().find(|(other, _)| *other == media).and_then(|(_, bytes)| *bytes);
        let stored = becomes(MediaLine::data(line)).zip(becomes(MediaLine::counter(codec.coverage().block(line))));
        let modified = becomes(MediaLine::modified(line)).map_or(0, |block| Stored::modified_in(&block));
        let then = stored.map(|(bytes, block)| codec.decrypt(line, &Stored { bytes, modified }, &block, None));
        self.then.is_some() && then == Some(*bytes)
    }

    fn back_to(self, version: &Version) -> Self {
        Self { then: Some((version.event, Some(version.number))), ..self }
    }
}

impl Choice {
    /// Every kind of attack, in the order in which reports show them.
    pub const ALL: [Choice; 30] = [
        choice(Attack::Spoof, Target::Data, Kind::Data),
        choice(Attack::Spoof, Target::Counter, Kind::Counter),
        choice(Attack::Spoof, Target::Mac, Kind::Mac),
        choice(Attack::Spoof, Target::Tree, Kind::Node),
        choice(Attack::Spoof, Target::Table, Kind::Table),
        choice(Attack::Splice, Target::Data, Kind::Data),
        choice(Attack::Splice, Target::Counter, Kind::Counter),
        choice(Attack::Splice, Target::Mac, Kind::Mac),
        choice(Attack::Splice, Target::Tree, Kind::Node),
        choice(Attack::Splice, Target::Table, Kind::Table),
        choice(Attack::Replay, Target::Data, Kind::Data),
        choice(Attack::Replay, Target::Counter, Kind::Counter),
        choice(Attack::Replay, Target::Mac, Kind::Mac),
        choice(Attack::Replay, Target::Tree, Kind::Node),
        choice(Attack::Replay, Target::Table, Kind::Table),
        choice(Attack::ReplayWithMac, Target::Several, Kind::Data),
        choice(Attack::ReplayWithCounter, Target::Several, Kind::Data),
        choice(Attack::ReplayPage, Target::Several, Kind::Data),
        choice(Attack::ReplaySubtree, Target::Several, Kind::Counter),
        choice(Attack::Rollback, Target::Several, Kind::Data),
        choice(Attack::Erase, Target::Data, Kind::Data),
        choice(Attack::Erase, Target::Counter, Kind::Counter),
        choice(Attack::Erase, Target::Mac, Kind::Mac),
        choice(Attack::Erase, Target::Tree, Kind::Node),
        choice(Attack::Erase, Target::Table, Kind::Table),
        choice(Attack::Spoof, Target::Shadow, Kind::Shadow),
        choice(Attack::Splice, Target::Shadow, Kind::Shadow),
        choice(Attack::Replay, Target::Shadow, Kind::Shadow),
        choice(Attack::Rollback, Target::Shadow, Kind::Shadow),
        choice(Attack::Erase, Target::Shadow, Kind::Shadow),
    ];

    /// A change of this kind that changes something, if one is found.
    pub fn change(&self, reach: &Reach<'_>, random: &mut Random) -> Option<Change> {
        let all = reach.units_of(self.kind);
        let near = reach.near.map(|line| reach.units_near(line, self.kind));
        let units = near.as_deref().unwrap_or(&all);
        let without_units = units.is_empty() && self.kind != Kind::Shadow;
        if without_units || self.attack == Attack::ReplayWithMac && reach.macs().is_none() {
            return None;
        }
        for _ in 0..DRAWS {
            let change = self.drawn(reach, units, &all, random);
            let Some(mut change) = change else { continue };
            change.units.retain(|(media, bytes)| stored(reach.media, *media) != *bytes);
            if !change.units.is_empty() {
                return Some(change);
            }
        }
        None
    }

    /// A change of this kind of one of `units`, drawn at random from `all` of the kind, if it can be made.
    fn drawn(&self, reach: &Reach<'_>, units: &[MediaLine], all: &[MediaLine], random: &mut Random) -> Option<Change> {
        if self.kind == Kind::Shadow {
            return reach.shadow?.change(self.attack, reach.media, random);
        }
        let unit = units[random.below(units.len() as u64) as usize];
        match self.attack {
            Attack::Spoof => reach.spoof(unit, random),
            Attack::Splice => {
                let other = all.get(random.below(all.len().max(1) as u64) as usize);
                other.and_then(|other| reach.splice(unit, *other))
            }
            Attack::Replay => reach.replay(unit, random),
            Attack::ReplayWithMac | Attack::ReplayWithCounter | Attack::ReplayPage => {
                reach.replay_line(unit, self.attack, random)
            }
            Attack::ReplaySubtree => reach.replay_subtree(unit, random),
            Attack::Rollback => reach.rollback(random),
            Attack::Erase => reach.erased(unit).map(|bytes| Change::of(unit, vec![(unit, bytes)])),
        }
    }

    /// What the attacker does, as a clause after "the attacker".
    pub fn describe(&self, change: &Change, versions: &Versions) -> String {
        let unit = match self.target {
            Target::Shadow => format!("{} in the shadow cache", name(change.unit)),
            _ => name(change.unit),
        };
        let others = change.units.iter().map(|(media, _)| *media).find(|media| *media != change.unit);
        let then = match change.then {
            Some((event, Some(number))) => {
                format!("as it was after event {event} (version {number} of {})", versions.count_of(change.unit))
            }
            Some((event, None)) => format!("as it was after event {event}"),
            None => String::new(),
        };
        match (self.attack, self.target) {
            (Attack::Spoof, _) => format!("changes a bit of {unit}"),
            (Attack::Splice, target) => {
                let with = if target == Target::Data { ", with their MACs if they have any" } else { "" };
                format!("exchanges {unit} and {}{with}", others.map_or_else(|| "another one".to_owned(), name))
            }
            (Attack::Replay, Target::Shadow) => format!("puts back {unit} as the power failure before left it"),
            (Attack::Rollback, Target::Shadow) => "puts back the shadow cache of the power failure before".to_owned(),
            (Attack::Replay, _) => format!("puts back {unit} {then}"),
            (Attack::ReplayWithMac, _) => format!("puts back {unit} with its MAC, {then}"),
            (Attack::ReplayWithCounter, _) => format!("puts back {unit} with its MAC and its counter block, {then}"),
            (Attack::ReplayPage, _) => {
                format!("puts back the page of {unit}, with MACs, counter block and the nodes above, {then}")
            }
            (Attack::ReplaySubtree, _) => {
                format!("puts back {unit} and everything below it, nodes, counters, MACs and lines, {then}")
            }
            (Attack::Rollback, _) => format!("puts back the whole memory {then}"),
            (Attack::Erase, _) => format!("makes {unit} look as if it had never been written"),
        }
    }
}

fn name(media: MediaLine) -> String {
    match media.unit() {
        MediaUnit::Data(line) => format!("the line at {:#x}", line.address()),
        MediaUnit::Counter(block) => format!("counter block {:#x}", block.0),
        MediaUnit::Mac(block) => format!("line of MACs {:#x}", block.0),
        MediaUnit::Modified(line) => format!("the modified bits of the line at {:#x}", line.address()),
        MediaUnit::Table(number) => format!("line {number} of the shadow table"),
        MediaUnit::Node(node) => format!("tree node {} of level {}", node.index, node.level),
    }
}

impl Reach<'_> {
    /// The units of `kind` that have been written: while the machine ran in their order, then on battery.
    fn units_of(&self, kind: Kind) -> Cow<'_, [MediaLine]> {
        let (written, left) = (self.versions.units_of(kind), self.left.iter().copied());
        let mut left = left.filter(|unit| Kind::of(*unit) == Some(kind)).peekable();
        if left.peek().is_none() { Cow::from(written) } else { written.iter().copied().chain(left).collect() }
    }

    /// All units that have been written.
    fn all(&self) -> impl Iterator<Item = MediaLine> {
        self.versions.all().chain(self.left.iter().copied())
    }

    /// The units of `kind` that the controller may fetch for an access to `line`, as far as there are versions of them.
    fn units_near(&self, line: Line, kind: Kind) -> Vec<MediaLine> {
        let coverage = self.codec.coverage();
        let block = coverage.block(line);
        let units: Vec<MediaLine> = match kind {
            // Its page, because all of it is read if a counter overflows; the line itself half of the time.
            Kind::Data => {
                let itself = std::iter::repeat_n(line, coverage.lines());
                coverage.lines_of(block).chain(itself).map(MediaLine::data).collect()
            }
            Kind::Counter => vec![MediaLine::counter(block)],
            Kind::Mac => self.macs().map(|layout| MediaLine::mac(layout.block(line))).into_iter().collect(),
            Kind::Node => self.nodes_above(TreePlace::leaf(block)).map(MediaLine::node).collect(),
            // A machine that runs does not read it.
            Kind::Table | Kind::Shadow => Vec::new(),
        };
        let populated = |unit: &MediaLine| *unit == MediaLine::data(line) && self.now(*unit).is_some();
        units.into_iter().filter(|unit| self.versions.count_of(*unit) > 0 || populated(unit)).collect()
    }

    /// What is stored for `unit`; for a populated line that nobody has written, its first ciphertext.
    fn now(&self, unit: MediaLine) -> Option<LineBytes> {
        let first = || unit.as_line().and_then(|line| self.codec.first_ciphertext(line));
        stored(self.media, unit).or_else(first)
    }

    fn spoof(&self, unit: MediaLine, random: &mut Random) -> Option<Change> {
        let mut bytes = self.now(unit)?;
        let bits = match (unit.unit(), self.macs()) {
            // Of a MAC beside its line, only its own bits exist.
            (MediaUnit::Mac(_), Some(macs)) => u64::from(macs.bits) * macs.coverage.lines() as u64,
            _ => 512,
        };
        let bit = random.below(bits) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        Some(Change::of(unit, vec![(unit, Some(bytes))]))
    }

    fn splice(&self, a: MediaLine, b: MediaLine) -> Option<Change> {
        let (of_a, of_b) = (self.now(a)?, self.now(b)?);
        let mut units = vec![(a, Some(of_b)), (b, Some(of_a))];
        match (a.unit(), b.unit()) {
            (MediaUnit::Node(a), MediaUnit::Node(b)) if a.level != b.level => return None,
            (MediaUnit::Data(a), MediaUnit::Data(b)) => {
                if self.codec.keeps_modified() {
                    let [of_a, of_b] = [a, b].map(MediaLine::modified);
                    units.extend([(of_a, stored(self.media, of_b)), (of_b, stored(self.media, of_a))]);
                }
                if let Some(layout) = self.macs() {
                    let [mac_a, mac_b] = [a, b].map(|line| layout.get(&self.mac_line(layout, line), line));
                    units.extend(self.with_macs(layout, &[(a, mac_b), (b, mac_a)]));
                }
            }
            _ => {}
        }
        Some(Change::of(a, units))
    }

    /// A version of `unit` that the attacker has and that is not what is stored now.
    fn older(&self, unit: MediaLine, random: &mut Random) -> Option<Version> {
        let now = stored(self.media, unit);
        let older: Vec<&Version> = self.versions.seen(unit).filter(|version| Some(version.bytes) != now).collect();
        older.get(random.below(older.len().max(1) as u64) as usize).map(|version| **version)
    }

    fn replay(&self, unit: MediaLine, random: &mut Random) -> Option<Change> {
        let version = self.older(unit, random)?;
        let mut units = vec![(unit, Some(version.bytes))];
        units.extend(unit.as_line().and_then(|line| self.modified_at(line, version.event)));
        Some(Change::of(unit, units).back_to(&version))
    }

    /// The bits of words beside `line` as they were after event `then`, if lines have any and the attacker has them.
    fn modified_at(&self, line: Line, then: u64) -> Option<(MediaLine, Option<LineBytes>)> {
        let media = MediaLine::modified(line);
        self.codec.keeps_modified().then(|| self.versions.at(media, then).map(|bits| (media, bits))).flatten()
    }

    /// Puts back `unit`, a data line, as it was after an event in which it was written, with what else was then.
    fn replay_line(&self, unit: MediaLine, attack: Attack, random: &mut Random) -> Option<Change> {
        let line = unit.as_line()?;
        let version = self.older(unit, random)?;
        let then = version.event;
        let coverage = self.codec.coverage();
        let block = coverage.block(line);
        let lines: Vec<Line> = match attack {
            Attack::ReplayPage => coverage.lines_of(block).collect(),
            _ => vec![line],
        };
        let mut units: Changes = Vec::new();
        for line in &lines {
            units.push((MediaLine::data(*line), self.line_at(*line, then)?));
            units.extend(self.modified_at(*line, then));
        }
        if let Some(layout) = self.macs() {
            let macs = lines.iter().map(|line| Some((*line, self.mac_at(layout, *line, then)?)));
            units.extend(self.with_macs(layout, &macs.collect::<Option<Vec<_>>>()?));
        }
        if attack != Attack::ReplayWithMac {
            units.push((MediaLine::counter(block), self.versions.at(MediaLine::counter(block), then)?));
        }
        if attack == Attack::ReplayPage {
            for media in self.nodes_above(TreePlace::leaf(block)).map(MediaLine::node) {
                units.push((media, self.versions.at(media, then)?));
            }
        }
        Some(Change::of(unit, units).back_to(&version))
    }

    /// Puts back a node above `unit`, a counter block, with everything below it, as it was after an event in which the
    /// block was written.
    fn replay_subtree(&self, unit: MediaLine, random: &mut Random) -> Option<Change> {
        let MediaUnit::Counter(block) = unit.unit() else { return None };
        let shape = self.codec.integrity()?.tree.as_ref()?.shape;
        let above: Vec<TreeNode> = self.nodes_above(TreePlace::leaf(block)).collect();
        let node = *above.get(random.below(above.len().max(1) as u64) as usize)?;
        let then = self.older(unit, random)?.event;
        let leaves = shape.leaves_below(node.into());
        let coverage = self.codec.coverage();
        let below = |media: &MediaLine| {
            let of_line = |line: Line| leaves.contains(&coverage.block(line).0);
            match media.unit() {
                MediaUnit::Data(line) | MediaUnit::Modified(line) => of_line(line),
                MediaUnit::Counter(CounterBlock(index)) => leaves.contains(&index),
                MediaUnit::Mac(block) => self.macs().is_some_and(|layout| layout.lines(block).all(of_line)),
                MediaUnit::Node(other) => {
                    let [own, all] = [other, node].map(|node| shape.leaves_below(node.into()));
                    other.level <= node.level && all.contains(&own.start)
                }
                MediaUnit::Table(_) => false,
            }
        };
        let units = self.as_at(self.all().filter(below), then);
        Some(Change { unit: MediaLine::node(node), units, then: Some((then, None)) })
    }

    /// Everything as it was after an earlier event, as far as the attacker has it.
    fn rollback(&self, random: &mut Random) -> Option<Change> {
        let then = random.below(self.event.max(1));
        let units = self.as_at(self.all(), then);
        let unit = units.first()?.0;
        Some(Change { unit, units, then: Some((then, None)) })
    }

    /// These units as they were after event `then`, as far as the attacker has them.
    fn as_at(&self, units: impl Iterator<Item = MediaLine>, then: u64) -> Changes {
        let units = units.filter_map(|media| {
            let bytes = match media.as_line() {
                Some(line) => self.line_at(line, then)?,
                None => self.versions.at(media, then)?,
            };
            Some((media, bytes))
        });
        units.collect()
    }

    fn erased(&self, unit: MediaLine) -> Option<Option<LineBytes>> {
        Some(unit.as_line().and_then(|line| self.codec.first_ciphertext(line)))
    }

    /// `line` as it was stored after `event`: a populated line that was not written yet is stored with its first counter.
    fn line_at(&self, line: Line, event: u64) -> Option<Option<LineBytes>> {
        let at = self.versions.at(MediaLine::data(line), event)?;
        Some(at.or_else(|| self.codec.first_ciphertext(line)))
    }

    fn mac_at(&self, layout: MacLayout, line: Line, event: u64) -> Option<u128> {
        let block = self.versions.at(MediaLine::mac(layout.block(line)), event)?;
        Some(block.map_or_else(|| self.codec.first_mac(line).unwrap_or(0), |block| layout.get(&block, line)))
    }

    fn macs(&self) -> Option<MacLayout> {
        self.codec.integrity().map(|integrity| integrity.mac_layout)
    }

    /// The nodes on the media that `place` is below.
    fn nodes_above(&self, place: TreePlace) -> impl Iterator<Item = TreeNode> {
        let shape = self.codec.integrity().and_then(|codec| codec.tree.as_ref()).map(|tree| tree.shape);
        let below_root = move |node: &TreeNode| shape.is_some_and(|shape| *node != shape.root());
        shape.into_iter().flat_map(move |shape| shape.path(place)).map(|(node, _)| node).filter(below_root)
    }

    /// The line of MACs of `line`, as it is stored.
    fn mac_line(&self, layout: MacLayout, line: Line) -> LineBytes {
        stored(self.media, MediaLine::mac(layout.block(line))).unwrap_or_else(|| {
            let mut macs = [0; 64];
            for other in layout.lines(layout.block(line)) {
                self.codec.first_mac(other).into_iter().for_each(|mac| layout.set(&mut macs, other, mac));
            }
            macs
        })
    }

    /// The lines of MACs in which these lines have these MACs.
    fn with_macs(&self, layout: MacLayout, macs: &[(Line, u128)]) -> Changes {
        let mut changes: Vec<(MediaLine, LineBytes)> = Vec::new();
        for (line, mac) in macs {
            let media = MediaLine::mac(layout.block(*line));
            let at = changes.iter().position(|(other, _)| *other == media).unwrap_or_else(|| {
                changes.push((media, self.mac_line(layout, *line)));
                changes.len() - 1
            });
            layout.set(&mut changes[at].1, *line, *mac);
        }
        changes.into_iter().map(|(media, bytes)| (media, Some(bytes))).collect()
    }
}
