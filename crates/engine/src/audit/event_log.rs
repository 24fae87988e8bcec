//! The latest things that happened, so that the explanation of a violation can list them. A fixed ring: old notes are
//! dropped.

use crate::layout::Coverage;
use crate::message::{CoreId, CounterGroup, Line, MediaLine};
use std::collections::VecDeque;
use std::fmt::Write;

const NOTES: usize = 1024;
/// Most notes in one explanation.
const TOLD: usize = 8;

/// One thing that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note {
    Stored(CoreId, Line),
    Marked(CoreId, Line),
    Flushed(CoreId, Line),
    Fenced(CoreId),
    Logged(CoreId, Line),
    LogFreed(CoreId),
    Evicted(Line),
    Arrived(Line),
    Persisted(MediaLine),
    Coalesced(MediaLine),
    Buffered(MediaLine),
    Reencryption { group: CounterGroup, old_major: u64, done: u32, finished: bool },
}

/// The ring of notes.
pub(super) struct EventLog {
    notes: VecDeque<(u64, Note)>,
    coverage: Coverage,
}

impl EventLog {
    /// `coverage`: lines per counter block.
    pub fn new(coverage: Coverage) -> Self {
        Self { notes: VecDeque::with_capacity(NOTES), coverage }
    }

    /// Adds a note of `event`.
    pub fn push(&mut self, event: u64, note: Note) {
        if let (Note::Stored(..), Some(&(_, last))) = (note, self.notes.back()) {
            // A block copy is many stores to one line; one note covers them.
            if last == note {
                return;
            }
        }
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back((event, note));
    }

    /// The latest notes about `line`, its counter block and fences, as sentences.
    pub fn about(&self, line: Line) -> String {
        let mut told: Vec<&(u64, Note)> =
            self.notes.iter().rev().filter(|(_, note)| self.concerns(note, line)).take(TOLD).collect();
        told.reverse();
        // Fences at the start of the story order nothing in it.
        let lead = told.iter().take_while(|(_, note)| matches!(note, Note::Fenced(_) | Note::LogFreed(_))).count();
        let mut story = String::new();
        for (event, note) in &told[lead..] {
            let separator = if story.is_empty() { "" } else { "; " };
            // Writing to a string cannot fail.
            let _ = write!(story, "{separator}event {event}: {}", self.sentence(note));
        }
        if !story.is_empty() {
            story.push('.');
        }
        story
    }

    fn concerns(&self, note: &Note, line: Line) -> bool {
        match *note {
            Note::Stored(_, of)
            | Note::Marked(_, of)
            | Note::Flushed(_, of)
            | Note::Logged(_, of)
            | Note::Evicted(of)
            | Note::Arrived(of) => of == line,
            Note::Fenced(_) | Note::LogFreed(_) => true,
            Note::Persisted(media) | Note::Coalesced(media) | Note::Buffered(media) => {
                media == MediaLine::data(line) || media == MediaLine::counter(self.coverage.block(line))
            }
            Note::Reencryption { group, .. } => group.contains(line),
        }
    }

    fn sentence(&self, note: &Note) -> String {
        let unit = |media: MediaLine| match (media.is_counter(), self.coverage) {
            (false, _) => "the line's data",
            (true, Coverage::PAGE) => "the page's counter block",
            (true, Coverage::LINE) => "the line's counter",
            (true, _) => "the line's counter block",
        };
        match *note {
            Note::Stored(core, _) => format!("core {core} stored to the line"),
            Note::Marked(core, _) => format!("core {core} made the line counter-atomic"),
            Note::Flushed(core, _) => format!("core {core} flushed the line"),
            Note::Fenced(core) => format!("a fence of core {core} completed"),
            Note::Logged(core, _) => format!("the hardware's log of core {core} took the line's old bytes"),
            Note::LogFreed(core) => format!("the hardware's log of core {core} was freed"),
            Note::Evicted(_) => "the caches evicted the line".into(),
            Note::Arrived(_) => "the memory controller got the line to write".into(),
            Note::Persisted(media) => format!("{} entered the persistence domain", unit(media)),
            Note::Coalesced(media) => {
                format!("an older queued copy of {} was removed in favour of a newer one", unit(media))
            }
            Note::Buffered(media) => format!("a power failure left of {} what the media held", unit(media)),
            Note::Reencryption { group, finished: true, .. } => {
                format!("re-encryption of the {} finished", group.name())
            }
            Note::Reencryption { group, old_major, done, .. } => format!(
                "the {} was being re-encrypted (old major counter {old_major}, {done} of {} lines done)",
                group.name(),
                group.lines()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_of_a_line_leaves_out_other_lines_and_leading_fences() {
        let mut event_log = EventLog::new(Coverage::PAGE);
        event_log.push(1, Note::Fenced(0));
        event_log.push(2, Note::Stored(0, Line(3)));
        event_log.push(2, Note::Stored(0, Line(3)));
        event_log.push(3, Note::Stored(0, Line(4)));
        event_log.push(4, Note::Persisted(MediaLine::counter(crate::message::CounterBlock(0))));
        assert_eq!(
            event_log.about(Line(3)),
            "event 2: core 0 stored to the line; event 4: the page's counter block entered the persistence domain."
        );
        assert_eq!(event_log.about(Line(900)), "");
        // With eight lines per block, the line is also in block 0, and no page is mentioned.
        event_log.coverage = Coverage::EIGHT_LINES;
        assert!(
            event_log.about(Line(3)).ends_with("event 4: the line's counter block entered the persistence domain.")
        );
    }

    #[test]
    fn ring_stays_bounded() {
        let mut event_log = EventLog::new(Coverage::PAGE);
        for event in 0..3 * NOTES as u64 {
            event_log.push(event, Note::Evicted(Line(event)));
        }
        assert_eq!(event_log.notes.len(), NOTES);
    }
}
