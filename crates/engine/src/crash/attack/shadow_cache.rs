//! Attacks on the shadow cache: on the lines that a power failure has left there, and on the metadata that say what they are.
//! What an earlier power failure had left there is the attacker's, too.

use super::Attack;
use super::choose::Change;
use super::tampered::stored;
use crate::kernel::Random;
use crate::layout::ShadowRegion;
use crate::message::{LineBytes, MediaLine};
use crate::power::Drained;
use crate::recovery::Media;
use rustc_hash::FxHashMap;

/// The shadow cache as the attacker finds it.
pub(super) struct ShadowLines {
    region: ShadowRegion,
    /// The lines that the last power failure wrote to it, in order.
    units: Vec<MediaLine>,
    /// What the power failure before that wrote to it.
    before: FxHashMap<MediaLine, LineBytes>,
}

impl ShadowLines {
    /// The shadow cache in `region` that `last` has left, and `before`, if power had failed before.
    pub fn new(region: ShadowRegion, last: &Drained, before: Option<&Drained>) -> Self {
        Self {
            region,
            units: written(region, last).map(|(media, _)| media).collect(),
            before: before.into_iter().flat_map(|drained| written(region, drained)).collect(),
        }
    }

    /// A change of this kind of what is on `media`, if there is one.
    pub fn change(&self, attack: Attack, media: &dyn Media, random: &mut Random) -> Option<Change> {
        let mut any = |of: &[MediaLine]| of.get(random.below(of.len().max(1) as u64) as usize).copied();
        let unit = any(&self.units)?;
        let changes = match attack {
            Attack::Spoof => {
                let mut bytes = stored(media, unit)?;
                let bit = random.below(512) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                vec![(unit, Some(bytes))]
            }
            Attack::Splice => {
                let alike: Vec<MediaLine> =
                    self.units.iter().copied().filter(|other| self.alike(unit, *other)).collect();
                let other = any(&alike)?;
                vec![(unit, stored(media, other)), (other, stored(media, unit))]
            }
            Attack::Replay => vec![(unit, Some(*self.before.get(&unit)?))],
            Attack::Rollback => {
                let mut all: Vec<(MediaLine, Option<LineBytes>)> =
                    self.before.iter().map(|(media, bytes)| (*media, Some(*bytes))).collect();
                all.sort_unstable_by_key(|(media, _)| *media);
                all
            }
            Attack::Erase => vec![(unit, None)],
            Attack::ReplayWithMac | Attack::ReplayWithCounter | Attack::ReplayPage | Attack::ReplaySubtree => {
                return None;
            }
        };
        Some(Change::of(unit, changes))
    }

    /// Whether both are lines of slots, or both are lines of metadata.
    fn alike(&self, a: MediaLine, b: MediaLine) -> bool {
        let [a, b] = [a, b].map(|media| media.as_line().is_some_and(|line| self.region.slot_of(line).is_some()));
        a == b
    }
}

fn written(region: ShadowRegion, drained: &Drained) -> impl Iterator<Item = (MediaLine, LineBytes)> {
    let inside = move |media: MediaLine| media.as_line().is_some_and(|line| region.contains(line));
    drained.left.iter().map(|write| (write.media, write.bytes)).filter(move |(media, _)| inside(*media))
}
