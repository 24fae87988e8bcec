//! What a power failure takes from a buffer that is not in the persistence domain, or comes upon in one that is: every line that the buffer has accepted
//! and that no write of the media, begun since, has programmed. Until then the media hold what was there before.

use super::buffer::Leaving;
use crate::kernel::Ps;
use crate::message::{Content, LineBytes, MediaLine};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A media line: its module, and its number there.
type Place = (u16, u64);

/// When and where the buffer accepts a line.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    place: Place,
    at: Ps,
}

/// A change of a line.
#[derive(Clone, Debug)]
struct Change {
    accepted: Accepted,
    /// What was stored before; `None` if nothing was.
    before: Option<LineBytes>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Unprogrammed {
    /// By line, the writes that are not stored yet, oldest first.
    expected: FxHashMap<MediaLine, VecDeque<Accepted>>,
    /// What was stored last: what lies beside it follows.
    stored: Option<Accepted>,
    /// By line, the changes that are not programmed, oldest first; none is empty.
    lines: FxHashMap<MediaLine, Vec<Change>>,
    /// Writes of the media that are not over.
    writes: Vec<(u16, Leaving)>,
    /// When they are over, as far as nobody has asked.
    ends: Vec<Ps>,
}

impl Unprogrammed {
    /// The buffer will have accepted a write of `media` at `at`.
    pub fn accepted(&mut self, media: MediaLine, place: Place, at: Ps) {
        self.expected.entry(media).or_default().push_back(Accepted { place, at });
    }

    /// The write of `media` that was accepted first is about to be stored over `before`, or what lies beside the line that was
    /// stored last.
    pub fn stores(&mut self, media: MediaLine, before: Content<'_>) {
        let expected = self.expected.get_mut(&media).and_then(VecDeque::pop_front);
        let Some(accepted) = expected.or(self.stored) else { return };
        self.stored = Some(accepted);
        let before = if let Content::Stored(bytes) = before { Some(*bytes) } else { None };
        self.lines.entry(media).or_default().push(Change { accepted, before });
    }

    /// A media line of `module` begins to be written.
    pub fn leaves(&mut self, module: u16, leaving: Leaving) {
        self.writes.push((module, leaving));
        self.ends.push(leaving.until);
    }

    /// When a write of the media ends that nobody has asked for.
    pub fn next_end(&mut self) -> Option<Ps> {
        self.ends.pop()
    }

    /// What the media hold of `media`, if it is not what is stored.
    pub fn instead(&self, media: MediaLine) -> Option<Option<&LineBytes>> {
        self.lines.get(&media).map(|changes| changes[0].before.as_ref())
    }

    /// Ends the writes of the media that are over at `now`; returns each line of which they hold something else than before,
    /// with what that is, or `None` if it is what is stored.
    pub fn ended(&mut self, now: Ps) -> Vec<(MediaLine, Option<LineBytes>)> {
        let (over, left): (Vec<_>, Vec<_>) = self.writes.drain(..).partition(|(_, leaving)| leaving.until <= now);
        self.writes = left;
        let mut ended = Vec::new();
        self.lines.retain(|&media, changes| {
            let programmed = |change: &Change| {
                let Accepted { place, at } = change.accepted;
                over.iter().any(|&(module, leaving)| place == (module, leaving.line) && leaving.from >= at)
            };
            let Some(newest) = changes.iter().rposition(programmed) else { return true };
            changes.drain(..=newest);
            ended.push((media, changes.first().and_then(|change| change.before)));
            !changes.is_empty()
        });
        ended.sort_unstable_by_key(|(media, _)| *media);
        ended
    }

    /// [`Unprogrammed::ended`] for someone who does not want to know.
    pub fn forget_ended(&mut self, now: Ps) {
        self.ends.clear();
        self.ended(now);
    }

    /// Each line that a power failure takes back, with what is left of it.
    pub fn lost(&self) -> Vec<(MediaLine, Option<LineBytes>)> {
        let mut lost: Vec<_> = self.lines.iter().map(|(&media, changes)| (media, changes[0].before)).collect();
        lost.sort_unstable_by_key(|(media, _)| *media);
        lost
    }
}
