//! Runs a program's recovery on a space of states, once for every way in which what it reads can differ.
//!
//! A state is not chosen before recovery runs. When recovery reads bytes that are still open, it is run once for each
//! value that they may have, and from then on only candidates remain that agree with what was read (Jaaru's constraint
//! refinement, for encrypted lines). What recovery never reads stays open, and the verdict covers all of it.

use super::history::History;
use super::space::{Candidate, Reading, Space};
use crate::kernel::Random;
use crate::message::{ByteView, Line, LineBytes, RepeatedRecovery, pieces};
use rustc_hash::FxHashMap;

/// How choices are made where states differ.
pub(super) enum Guide {
    /// All choices, one after another.
    Every,
    /// Random choices, each with the same probability.
    Random(Random),
}

struct Choice {
    ways: u32,
    taken: u32,
}

/// Which candidates of a line agree with what was read.
#[derive(Default)]
struct Agreeing {
    run: u64,
    candidates: Vec<u16>,
}

/// What recovery wrote to a line.
pub(super) struct Written {
    pub line: Line,
    /// Bit `n`: whether byte `n` was written.
    mask: u64,
    bytes: LineBytes,
}

impl Written {
    /// What the line holds if it held `before`.
    pub fn over(&self, before: &LineBytes) -> LineBytes {
        std::array::from_fn(|n| if self.mask >> n & 1 == 1 { self.bytes[n] } else { before[n] })
    }
}

/// The search over one space.
pub(super) struct Search<'a> {
    pub space: &'a Space,
    pub history: &'a History,
    /// Lines that are open; `None` for all. The others are as `all_arrived` says.
    free: Option<Vec<bool>>,
    all_arrived: bool,
    guide: Guide,
    script: Vec<Choice>,
    at: usize,
    run: u64,
    modes: Vec<Option<usize>>,
    agreeing: Vec<Agreeing>,
    written: Vec<Written>,
    written_at: FxHashMap<Line, usize>,
}

impl<'a> Search<'a> {
    pub fn new(space: &'a Space, history: &'a History, guide: Guide) -> Self {
        let mut agreeing = Vec::new();
        agreeing.resize_with(space.lines.len(), Agreeing::default);
        Self {
            space,
            history,
            free: None,
            all_arrived: false,
            guide,
            script: Vec::new(),
            at: 0,
            run: 0,
            modes: vec![None; space.groups.len()],
            agreeing,
            written: Vec::new(),
            written_at: FxHashMap::default(),
        }
    }

    /// Leaves only these lines open; of the others, everything has arrived or nothing.
    pub fn only(mut self, free: Vec<bool>, all_arrived: bool) -> Self {
        self.free = Some(free);
        self.all_arrived = all_arrived;
        self
    }

    /// Runs recovery on the next class of states. `recovery` has run on this space only, if at all.
    pub fn recover(&mut self, recovery: &mut RepeatedRecovery) {
        self.run += 1;
        self.at = 0;
        self.modes.fill(None);
        self.written.clear();
        self.written_at.clear();
        self.space.lines.iter().for_each(|open| recovery.changed(open.line));
        recovery.recover(self);
    }

    /// Moves to the next class; returns false if there is none. Random classes never end.
    pub fn next(&mut self) -> bool {
        if let Guide::Random(_) = self.guide {
            self.script.clear();
            return true;
        }
        self.script.truncate(self.at);
        while let Some(last) = self.script.last_mut() {
            last.taken += 1;
            if last.taken < last.ways {
                return true;
            }
            self.script.pop();
        }
        false
    }

    /// What recovery wrote, by line.
    pub fn written(&self) -> &[Written] {
        &self.written
    }

    /// What recovery wrote to `line`.
    pub fn written_to(&self, line: Line) -> Option<&Written> {
        self.written_at.get(&line).map(|&at| &self.written[at])
    }

    /// The modes of a group that agree with what was read.
    pub fn modes_of(&self, group: usize) -> std::ops::Range<usize> {
        let of = &self.space.groups[group];
        let open = self.free.as_ref().is_none_or(|free| of.lines.iter().any(|&line| free[line]));
        match self.modes[group] {
            Some(mode) => mode..mode + 1,
            None if open => 0..of.modes,
            None => of.nearest..of.nearest + 1,
        }
    }

    /// The candidates of a line that agree with what was read, in an agreeing mode.
    pub fn agreeing(
        &self,
        line: usize,
        mode: usize,
    ) -> impl Iterator<Item = (usize, &'a Candidate)> + Clone + use<'a, '_> {
        let all = &self.space.lines[line].candidates[mode];
        let agreeing = &self.agreeing[line];
        let known = agreeing.run == self.run;
        let fixed = if known { None } else { self.fixed(line, mode) };
        let picked = if known { &agreeing.candidates[..] } else { &[] };
        let (from, to) = match fixed {
            _ if known => (0, 0),
            Some(at) => (at, at + 1),
            None => (0, all.len()),
        };
        picked.iter().map(|&at| usize::from(at)).chain(from..to).map(move |at| (at, &all[at]))
    }

    /// The candidate of a line that is not open.
    fn fixed(&self, line: usize, mode: usize) -> Option<usize> {
        let free = self.free.as_ref()?;
        if free[line] {
            return None;
        }
        let all = &self.space.lines[line].candidates[mode];
        let intact = |candidate: &Candidate| candidate.reading == Reading::Intact;
        let found = if self.all_arrived { all.iter().rposition(intact) } else { all.iter().position(intact) };
        Some(found.unwrap_or(0))
    }

    fn choose(&mut self, ways: usize) -> usize {
        if ways == 1 {
            return 0;
        }
        if self.at == self.script.len() {
            let taken = match &mut self.guide {
                Guide::Every => 0,
                Guide::Random(random) => random.below(ways as u64) as u32,
            };
            self.script.push(Choice { ways: ways as u32, taken });
        }
        let choice = &self.script[self.at];
        debug_assert_eq!(choice.ways as usize, ways, "recovery does the same over the same bytes");
        self.at += 1;
        choice.taken as usize
    }

    /// The bytes of a line of which recovery is about to read `range`: those of the first candidate that agrees.
    fn settle(&mut self, index: usize, range: std::ops::Range<usize>) -> &'a LineBytes {
        let space = self.space;
        let open = &space.lines[index];
        let modes = self.modes_of(open.group);
        let mode = modes.start + self.choose(modes.len());
        self.modes[open.group] = Some(mode);
        let all = &open.candidates[mode];
        if self.agreeing[index].run != self.run {
            let fixed = self.fixed(index, mode);
            let agreeing = &mut self.agreeing[index];
            agreeing.run = self.run;
            agreeing.candidates.clear();
            match fixed {
                Some(at) => agreeing.candidates.push(at as u16),
                None => agreeing.candidates.extend(0..all.len() as u16),
            }
        }
        let part = |at: u16| &all[usize::from(at)].bytes[range.clone()];
        let candidates = &self.agreeing[index].candidates;
        let first_with = |at: usize| candidates.iter().position(|&other| part(other) == part(candidates[at]));
        let ways = (0..candidates.len()).filter(|&at| first_with(at) == Some(at)).count();
        if ways > 1 {
            let way = self.choose(ways);
            let candidates = &self.agreeing[index].candidates;
            let first_with = |at: usize| candidates.iter().position(|&other| part(other) == part(candidates[at]));
            let chosen = (0..candidates.len()).filter(|&at| first_with(at) == Some(at)).nth(way);
            let chosen = candidates[chosen.expect("a way that was counted")];
            self.agreeing[index].candidates.retain(|&at| part(at) == part(chosen));
        }
        &all[usize::from(self.agreeing[index].candidates[0])].bytes
    }

    /// The bytes of `line` in `range`, without what recovery wrote.
    fn before(&mut self, line: Line, range: std::ops::Range<usize>) -> LineBytes {
        match self.space.by_line.get(&line) {
            Some(&index) => *self.settle(index, range),
            None => self.history.covered(line),
        }
    }
}

fn mask_of(range: &std::ops::Range<usize>) -> u64 {
    range.clone().fold(0, |mask, n| mask | 1 << n)
}

impl ByteView for Search<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        for (line, offset, into) in pieces(address, buffer.len()) {
            let range = offset..offset + into.len();
            let written = self.written_at.get(&line).copied();
            let mask = mask_of(&range);
            let all_written = written.is_some_and(|at| self.written[at].mask & mask == mask);
            let mut bytes = if all_written { [0; 64] } else { self.before(line, range.clone()) };
            if let Some(at) = written {
                bytes = self.written[at].over(&bytes);
            }
            buffer[into].copy_from_slice(&bytes[range]);
        }
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        for (line, offset, from) in pieces(address, data.len()) {
            let range = offset..offset + from.len();
            let at = *self.written_at.entry(line).or_insert_with(|| {
                self.written.push(Written { line, mask: 0, bytes: [0; 64] });
                self.written.len() - 1
            });
            let written = &mut self.written[at];
            written.mask |= mask_of(&range);
            written.bytes[range].copy_from_slice(&data[from]);
        }
    }
}
