//! What the attacker changes at a crash point: for each kind of attack, one change drawn at random from all that he can
//! make.

use super::tampered::Drained;
use super::versions::{Kind, Versions};
use super::{Attack, Changes, Target};
use crate::kernel::Random;
use crate::message::{Line, LineBytes, MacLayout, MediaLine, MediaUnit, TreePlace};
use crate::recovery::LineCodec;

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
struct Reach<'a> {
    versions: &'a Versions,
    drained: &'a Drained<'a>,
    codec: &'a dyn LineCodec,
    event: u64,
}

impl Choice {
    /// Every kind of attack, in the order in which reports show them.
    pub const ALL: [Choice; 22] = [
        choice(Attack::Spoof, Target::Data, Kind::Data),
        choice(Attack::Spoof, Target::Counter, Kind::Counter),
        choice(Attack::Spoof, Target::Mac, Kind::Mac),
        choice(Attack::Spoof, Target::Tree, Kind::Node),
        choice(Attack::Spoof, Target::Table, Kind::Table),
        choice(Attack::Splice, Target::Data, Kind::Data),
        choice(Attack::Splice, Target::Counter, Kind::Counter),
        choice(Attack::Splice, Target::Tree, Kind::Node),
        choice(Attack::Replay, Target::Data, Kind::Data),
        choice(Attack::Replay, Target::Counter, Kind::Counter),
        choice(Attack::Replay, Target::Mac, Kind::Mac),
        choice(Attack::Replay, Target::Tree, Kind::Node),
        choice(Attack::Replay, Target::Table, Kind::Table),
        choice(Attack::ReplayWithMac, Target::Several, Kind::Data),
        choice(Attack::ReplayWithCounter, Target::Several, Kind::Data),
        choice(Attack::ReplayPage, Target::Several, Kind::Data),
        choice(Attack::Rollback, Target::Several, Kind::Data),
        choice(Attack::Erase, Target::Data, Kind::Data),
        choice(Attack::Erase, Target::Counter, Kind::Counter),
        choice(Attack::Erase, Target::Mac, Kind::Mac),
        choice(Attack::Erase, Target::Tree, Kind::Node),
        choice(Attack::Erase, Target::Table, Kind::Table),
    ];

    /// A change of this kind that changes something, if one is found.
    pub fn changes(
        &self,
        versions: &Versions,
        drained: &Drained<'_>,
        codec: &dyn LineCodec,
        random: &mut Random,
        event: u64,
    ) -> Option<Changes> {
        let units = versions.units_like(self.kind);
        if units.is_empty() || self.attack == Attack::ReplayWithMac && codec.integrity().is_none() {
            return None;
        }
        let reach = Reach { versions, drained, codec, event };
        for _ in 0..DRAWS {
            let unit = units[random.below(units.len() as u64) as usize];
            let mut changes = match self.attack {
                Attack::Spoof => reach.spoof(unit, random),
                Attack::Splice => reach.splice(unit, units[random.below(units.len() as u64) as usize]),
                Attack::Replay => reach.replay(unit, random),
                Attack::ReplayWithMac | Attack::ReplayWithCounter | Attack::ReplayPage => {
                    reach.replay_line(unit, self.attack, random)
                }
                Attack::Rollback => reach.rollback(random),
                Attack::Erase => reach.erased(unit).map(|bytes| vec![(unit, bytes)]),
            }
            .unwrap_or_default();
            changes.retain(|(media, bytes)| drained.stored(*media) != *bytes);
            if !changes.is_empty() {
                return Some(changes);
            }
        }
        None
    }

    /// What the attacker does, as a clause after "the attacker".
    pub fn told(&self, changes: &Changes) -> String {
        let name = |media: MediaLine| match media.unit() {
            MediaUnit::Data(line) => format!("the line at {:#x}", line.address()),
            MediaUnit::Counter(block) => format!("counter block {:#x}", block.0),
            MediaUnit::Mac(block) => format!("line of MACs {:#x}", block.0),
            MediaUnit::Table(number) => format!("line {number} of the shadow table"),
            MediaUnit::Node(node) => format!("tree node {} of level {}", node.index, node.level),
        };
        let mut names: Vec<String> = changes.iter().take(2).map(|(media, _)| name(*media)).collect();
        if changes.len() > 2 {
            names.push(format!("{} other units", changes.len() - 2));
        }
        let names = names.join(" and ");
        match self.attack {
            Attack::Spoof => format!("changes a bit of {names}"),
            Attack::Splice => format!("exchanges {names}"),
            Attack::Replay => format!("puts back an older version of {names}"),
            Attack::ReplayWithMac => format!("puts back an older version of a line with its MAC ({names})"),
            Attack::ReplayWithCounter => {
                format!("puts back an older version of a line with its MAC and its counter block ({names})")
            }
            Attack::ReplayPage => {
                format!("puts back a page with its MACs, its counter block and the nodes above ({names})")
            }
            Attack::Rollback => format!("puts back everything as it once was ({names})"),
            Attack::Erase => format!("makes {names} look as if never written"),
        }
    }
}

impl Reach<'_> {
    fn spoof(&self, unit: MediaLine, random: &mut Random) -> Option<Changes> {
        let mut bytes = self.drained.stored(unit)?;
        let bits = match (unit.unit(), self.macs()) {
            // Of a MAC beside its line, only its own bits exist.
            (MediaUnit::Mac(_), Some(macs)) => u64::from(macs.bits) * macs.coverage.lines() as u64,
            _ => 512,
        };
        let bit = random.below(bits) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        Some(vec![(unit, Some(bytes))])
    }

    fn splice(&self, a: MediaLine, b: MediaLine) -> Option<Changes> {
        let (of_a, of_b) = (self.drained.stored(a)?, self.drained.stored(b)?);
        let mut changes = vec![(a, Some(of_b)), (b, Some(of_a))];
        match (a.unit(), b.unit()) {
            (MediaUnit::Node(a), MediaUnit::Node(b)) if a.level != b.level => return None,
            (MediaUnit::Data(a), MediaUnit::Data(b)) => {
                if let Some(layout) = self.macs() {
                    let [mac_a, mac_b] = [a, b].map(|line| layout.get(&self.mac_line(layout, line), line));
                    changes.extend(self.with_macs(layout, &[(a, mac_b), (b, mac_a)]));
                }
            }
            _ => {}
        }
        Some(changes)
    }

    fn replay(&self, unit: MediaLine, random: &mut Random) -> Option<Changes> {
        let now = self.drained.stored(unit);
        let older: Vec<LineBytes> =
            self.versions.seen(unit).map(|version| version.bytes).filter(|bytes| Some(*bytes) != now).collect();
        let chosen = *older.get(random.below(older.len().max(1) as u64) as usize)?;
        Some(vec![(unit, Some(chosen))])
    }

    /// Puts back `unit`, a data line, as it was after an event in which it was written, with what else was then.
    fn replay_line(&self, unit: MediaLine, attack: Attack, random: &mut Random) -> Option<Changes> {
        let line = unit.as_line()?;
        let now = self.drained.stored(unit);
        let older: Vec<u64> = self
            .versions
            .seen(unit)
            .filter(|version| Some(version.bytes) != now)
            .map(|version| version.event)
            .collect();
        let then = *older.get(random.below(older.len().max(1) as u64) as usize)?;
        let coverage = self.codec.coverage();
        let block = coverage.block(line);
        let lines: Vec<Line> = match attack {
            Attack::ReplayPage => (0..coverage.lines()).map(|index| coverage.line(block, index)).collect(),
            _ => vec![line],
        };
        let mut changes: Changes = Vec::new();
        for line in &lines {
            changes.push((MediaLine::data(*line), self.line_at(*line, then)?));
        }
        if let Some(layout) = self.macs() {
            let macs = lines.iter().map(|line| Some((*line, self.mac_at(layout, *line, then)?)));
            changes.extend(self.with_macs(layout, &macs.collect::<Option<Vec<_>>>()?));
        }
        if attack != Attack::ReplayWithMac {
            changes.push((MediaLine::counter(block), self.versions.at(MediaLine::counter(block), then)?));
        }
        if let (Attack::ReplayPage, Some(tree)) = (attack, self.codec.integrity().and_then(|codec| codec.tree.as_ref()))
        {
            let below_root = tree.shape.path(TreePlace::leaf(block)).map(|(node, _)| node);
            for node in below_root.filter(|node| *node != tree.shape.root()) {
                let media = MediaLine::node(node);
                changes.push((media, self.versions.at(media, then)?));
            }
        }
        Some(changes)
    }

    /// Everything as it was after an earlier event, as far as the attacker has it.
    fn rollback(&self, random: &mut Random) -> Option<Changes> {
        let then = random.below(self.event.max(1));
        let changes = self.versions.all().filter_map(|media| {
            let bytes = match media.as_line() {
                Some(line) => self.line_at(line, then)?,
                None => self.versions.at(media, then)?,
            };
            Some((media, bytes))
        });
        Some(changes.collect())
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

    /// The line of MACs of `line`, as it is stored.
    fn mac_line(&self, layout: MacLayout, line: Line) -> LineBytes {
        self.drained.stored(MediaLine::mac(layout.block(line))).unwrap_or_else(|| {
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
