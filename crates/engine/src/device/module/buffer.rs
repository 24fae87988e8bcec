//! The buffer of a module: its media lines, and what of each was written.

use super::Media;
use crate::kernel::{Ps, Random};

const NO_LINE: u64 = u64::MAX;
/// No time is known.
const NEVER: Ps = Ps::MAX;

/// What the buffer has of a media line.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Sectors that were written and are not on their way to the media.
    written: u8,
    /// From when on the sectors in `written` are there.
    written_at: Ps,
    /// From when on all other sectors are there; [`NEVER`] if they were not read.
    read_at: Ps,
    /// When the media begin to write it; [`NEVER`] if it does not leave.
    leaves: Ps,
}

const EMPTY: Held = Held { written: 0, written_at: 0, read_at: NEVER, leaves: NEVER };

#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// The media line in each place.
    lines: Vec<u64>,
    held: Vec<Held>,
    /// All sectors of a media line.
    whole: u8,
    /// Places that have had a line; the others are behind them.
    used: usize,
    random: Random,
}

/// A media line begins to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    pub line: u64,
    /// When the media begin to write it, and when they have.
    pub from: Ps,
    pub until: Ps,
}

impl Buffer {
    /// An empty buffer of `places` media lines with `sectors` sectors.
    pub fn new(places: usize, sectors: u32) -> Self {
        let whole = u8::MAX >> (u8::BITS - sectors);
        Self {
            lines: vec![NO_LINE; places],
            held: vec![EMPTY; places],
            whole,
            used: 0,
            random: Random::stream(0, "places of a buffer"),
        }
    }

    /// The place of `line`, whose state is as of `at`.
    fn find(&mut self, at: Ps, line: u64) -> Option<usize> {
        let place = self.lines.iter().position(|&known| known == line)?;
        let held = &mut self.held[place];
        if held.leaves <= at {
            // The media have it: what is left is a copy.
            *held = Held { written: 0, read_at: held.written_at, leaves: NEVER, ..*held };
        }
        Some(place)
    }

    /// Reads a sector of `line` at `at`; returns when it is known. `leaves` is called with each media line that begins to be
    /// written because of this.
    pub fn read(&mut self, at: Ps, line: u64, sector: u32, media: &mut Media, leaves: &mut dyn FnMut(Leaving)) -> Ps {
        let (place, free) = match self.find(at, line) {
            Some(place) => (place, at),
            None => self.make_room(at, line, media, leaves),
        };
        let held = &mut self.held[place];
        if held.written >> sector & 1 == 1 {
            media.stats.buffer_hits += 1;
            return at.max(held.written_at);
        }
        if held.read_at == NEVER {
            held.read_at = media.read(at, line).max(free);
        } else {
            media.stats.buffer_hits += 1;
        }
        at.max(held.read_at)
    }

    /// Writes a sector of `line`, which arrives at `at`; returns when the buffer has it.
    pub fn write(&mut self, at: Ps, line: u64, sector: u32, media: &mut Media, leaves: &mut dyn FnMut(Leaving)) -> Ps {
        let (place, free) = match self.find(at, line) {
            Some(place) => (place, at),
            None => self.make_room(at, line, media, leaves),
        };
        let held = &mut self.held[place];
        media.stats.merged_writes += u64::from(held.written != 0);
        held.written |= 1 << sector;
        held.written_at = held.written_at.max(free);
        if held.written == self.whole && held.leaves == NEVER {
            held.leaves = media.write(held.written_at, line);
            leaves(Leaving::of(line, held.leaves, media));
        }
        held.written_at
    }

    /// A place for a line: an empty one, else any. If what is there is on its way to the media, it is the one that is free
    /// first.
    fn victim(&mut self, at: Ps) -> usize {
        if self.used < self.held.len() {
            self.used += 1;
            return self.used - 1;
        }
        let place = self.random.below(self.held.len() as u64) as usize;
        let leaving = |held: &Held| held.leaves > at && held.leaves != NEVER;
        if !leaving(&self.held[place]) {
            return place;
        }
        let first = (0..self.held.len())
            .filter(|&place| leaving(&self.held[place]))
            .min_by_key(|&place| self.held[place].leaves);
        first.unwrap_or(place)
    }

    /// Gives `line` a place; returns it, and when it is free.
    fn make_room(&mut self, at: Ps, line: u64, media: &mut Media, leaves: &mut dyn FnMut(Leaving)) -> (usize, Ps) {
        let place = self.victim(at);
        let (old, held) = (self.lines[place], self.held[place]);
        let free = if held.written == 0 || held.leaves <= at {
            at
        } else if held.leaves != NEVER {
            held.leaves
        } else {
            let known = if held.read_at == NEVER {
                media.stats.read_modify_writes += 1;
                media.read(at.max(held.written_at), old)
            } else {
                at.max(held.read_at).max(held.written_at)
            };
            let from = media.write(known, old);
            leaves(Leaving::of(old, from, media));
            from
        };
        self.lines[place] = line;
        // What was there before has left by then.
        self.held[place] = Held { written_at: free, ..EMPTY };
        (place, free.max(at))
    }
}

impl Leaving {
    fn of(line: u64, from: Ps, media: &Media) -> Self {
        Self { line, from, until: from + media.times.write_interval }
    }
}
