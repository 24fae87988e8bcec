//! What a power failure takes from a buffer that is not in the persistence domain: every line that the buffer has accepted
//! and that no write of the media, begun since, has programmed. Until then the media hold what was there before.

use super::buffer::Leaving;
use crate::kernel::Ps;
use crate::message::{Content, LineBytes, MediaLine};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A media line: its module, and its number there.
type Place = (u16, u64);

/// A change of a line.
#[derive(Clone, Debug)]
struct Change {
    /// When the buffer accepted it.
    accepted: Ps,
    /// What was stored before; `None` if nothing was.
    before: Option<LineBytes>,
}

#[derive(Clone, Debug, Default)]
struct Changed {
    place: Place,
    /// When the buffer accepts writes that are not stored yet, oldest first.
    expected: VecDeque<Ps>,
    changes: Vec<Change>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Unprogrammed {
    lines: FxHashMap<MediaLine, Changed>,
    /// The writes of each media line, oldest first: when the media begin, and when they have done it.
    written: FxHashMap<Place, Vec<(Ps, Ps)>>,
}

impl Unprogrammed {
    /// The buffer will have accepted a write of `media` at `at`.
    pub fn accepted(&mut self, media: MediaLine, place: Place, at: Ps) {
        let line = self.lines.entry(media).or_default();
        line.place = place;
        line.expected.push_back(at);
    }

    /// The write that was accepted first is about to be stored over `before`. One that no buffer has accepted, as that of a
    /// boot, is on the media.
    pub fn stores(&mut self, media: MediaLine, before: Content<'_>) {
        let Some(line) = self.lines.get_mut(&media) else { return };
        let Some(accepted) = line.expected.pop_front() else {
            line.changes.clear();
            return;
        };
        if let Some(newest) =
            line.changes.iter().rposition(|change| programmed(&self.written, line.place, change.accepted, accepted))
        {
            line.changes.drain(..=newest);
        }
        let before = if let Content::Stored(bytes) = before { Some(*bytes) } else { None };
        line.changes.push(Change { accepted, before });
    }

    /// A media line of `module` begins to be written.
    pub fn leaves(&mut self, module: u16, leaving: Leaving) {
        self.written.entry((module, leaving.line)).or_default().push((leaving.from, leaving.until));
    }

    /// Each line that a power failure at `now` takes back, with what is left of it.
    pub fn lost(&self, now: Ps) -> Vec<(MediaLine, Option<LineBytes>)> {
        let mut lost: Vec<_> = self
            .lines
            .iter()
            .filter_map(|(&media, line)| {
                let kept = |change: &Change| programmed(&self.written, line.place, change.accepted, now);
                let first = line.changes.iter().rposition(kept).map_or(0, |newest| newest + 1);
                Some((media, line.changes.get(first)?.before))
            })
            .collect();
        lost.sort_unstable_by_key(|(media, _)| *media);
        lost
    }
}

/// Whether the media have programmed by `now` what the buffer accepted at `accepted`.
fn programmed(written: &FxHashMap<Place, Vec<(Ps, Ps)>>, place: Place, accepted: Ps, now: Ps) -> bool {
    let writes = written.get(&place).map_or(&[][..], Vec::as_slice);
    writes.iter().any(|&(from, until)| from >= accepted && until <= now)
}
