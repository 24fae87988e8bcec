//! The part of a recorded program between two of its marks, in which power fails.

use crate::kernel::Ps;
use crate::message::{CoreId, Observer};

/// A part of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// How many marks must have been passed.
    pub after: u64,
    /// The number of the mark (from 0) that must not have been passed; `None` for none.
    pub until: Option<u64>,
}

impl Region {
    /// The whole program.
    pub const WHOLE: Region = Region { after: 0, until: None };

    /// Whether the program is in it when it has passed so many marks.
    pub fn has(self, marks: u64) -> bool {
        marks >= self.after && !self.is_over(marks)
    }

    /// Whether the program has left it for good.
    pub fn is_over(self, marks: u64) -> bool {
        self.until.is_some_and(|until| marks > until)
    }
}

/// Counts the events of a run that lie in a region.
pub(super) struct RegionEvents {
    region: Region,
    marks: u64,
    events: u64,
    /// The first and the last of them.
    inside: Option<(u64, u64)>,
}

impl RegionEvents {
    pub fn new(region: Region) -> Self {
        Self { region, marks: 0, events: 0, inside: None }
    }

    /// How many events come before them, and how many they are.
    pub fn found(&self) -> (u64, u64) {
        self.inside.map_or((0, 0), |(first, last)| (first - 1, last + 1 - first))
    }
}

impl Observer for RegionEvents {
    fn marked(&mut self, _now: Ps, _core: CoreId, number: u64) {
        self.marks = number + 1;
    }
    fn event_over(&mut self, _now: Ps) {
        self.events += 1;
        if self.region.has(self.marks) {
            let first = self.inside.map_or(self.events, |(first, _)| first);
            self.inside = Some((first, self.events));
        }
    }
}
