//! What some lines hold for the program after a boot, at each crash point.

use super::Explorer;
use crate::message::{Line, LineBytes};

/// What a boot shows of some lines after a power failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShownLines {
    /// The contents of each line, after the program's own recovery; `None`: nothing has happened to it since before the run.
    Contents(Vec<Option<LineBytes>>),
    /// The boot, or a read after it, refuses memory.
    Refused,
}

/// The different things that boots show of some lines.
pub(in crate::crash) struct Shown {
    lines: Vec<Line>,
    /// Each with the first event after which power fails.
    states: Vec<(u64, ShownLines)>,
}

impl Explorer<'_> {
    /// Keeps what boots show of `lines`.
    pub fn shows(mut self, lines: &[Line]) -> Self {
        self.shown = Some(Shown { lines: lines.to_vec(), states: Vec::new() });
        self
    }

    /// What boots have shown of the lines of [`Explorer::shows`], in the order in which it was first seen, each with the first
    /// event after which a power failure leaves it.
    pub fn take_shown(&mut self) -> Vec<(u64, ShownLines)> {
        self.shown.as_mut().map(|shown| std::mem::take(&mut shown.states)).unwrap_or_default()
    }

    /// Notes what a boot after the last event shows, if power fails there. The point must have been judged.
    pub fn note_shown(&mut self) {
        let Some(shown) = self.shown.as_mut().filter(|_| self.at_point) else { return };
        let known = self.known.durable.get(&self.auditor.state_hash());
        let now = if known.is_some_and(|known| known.refused) {
            ShownLines::Refused
        } else {
            ShownLines::Contents(shown.lines.iter().map(|line| self.auditor.recovered_line(*line)).collect())
        };
        if shown.states.iter().all(|(_, before)| *before != now) {
            shown.states.push((self.auditor.events(), now));
        }
    }
}
