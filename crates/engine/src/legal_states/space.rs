//! All durable states that are legal at one point of the program, as factors: groups of lines that share a counter
//! block, the ways (modes) in which that block may have reached the media, and for each mode what every line may read
//! as, independently of the others.

use crate::message::{Line, LineBytes};
use rustc_hash::FxHashMap;

/// How a line decrypts at the next boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// As it was stored: data and counter belong together.
    Intact,
    /// The counter on the media is that of a later write, whose data is lost.
    CounterAhead,
    /// The counter on the media is that of an earlier write.
    CounterBehind,
    /// The counter on the media is from before the run.
    CounterFromBefore,
}

/// One possibility of what a line may read as.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// The version in the line's history.
    pub version: usize,
    pub reading: Reading,
    pub bytes: LineBytes,
    /// Whether it needs a circuit that works on the line.
    pub busy: bool,
}

/// What is open about one line.
pub(crate) struct OpenLine {
    pub line: Line,
    pub group: usize,
    /// The candidates for each mode of the line's group.
    pub candidates: Vec<Vec<Candidate>>,
}

/// Lines whose readings depend on the same counter block.
pub(crate) struct Group {
    /// The number of ways in which the block may have reached the media.
    pub modes: usize,
    /// The mode in which counters and data are nearest to each other.
    pub nearest: usize,
    /// The group's lines, as indices into the lines of the space.
    pub lines: Vec<usize>,
}

/// The legal states at one point of the program.
pub(crate) struct Space {
    pub lines: Vec<OpenLine>,
    pub groups: Vec<Group>,
    pub by_line: FxHashMap<Line, usize>,
    /// At most this many candidates may need a circuit.
    pub busy_max: u32,
}

impl Space {
    pub fn new(busy_max: u32) -> Self {
        Self { lines: Vec::new(), groups: Vec::new(), by_line: FxHashMap::default(), busy_max }
    }

    /// Adds a group: for each line, its candidates in each of `modes` modes; `nearest` is the mode in which counters
    /// and data are nearest to each other. Lines that are not open are left out.
    pub fn add(&mut self, modes: usize, nearest: usize, lines: Vec<(Line, Vec<Vec<Candidate>>)>) {
        let group = self.groups.len();
        let mut members = Vec::new();
        for (line, mut candidates) in lines {
            debug_assert_eq!(candidates.len(), modes);
            for of_mode in &mut candidates {
                drop_equal(of_mode);
            }
            let first = candidates[0].first().cloned();
            let only_intact = |of_mode: &Vec<Candidate>| {
                of_mode.len() == 1 && first.as_ref().is_some_and(|first| first.bytes == of_mode[0].bytes)
            };
            if candidates.iter().all(only_intact) && first.is_some_and(|first| first.version == 0) {
                continue;
            }
            members.push(self.lines.len());
            self.by_line.insert(line, self.lines.len());
            self.lines.push(OpenLine { line, group, candidates });
        }
        if !members.is_empty() {
            self.groups.push(Group { modes, nearest, lines: members });
        }
    }

    /// Approximate number of states: products and sums of what is open, including equal ones.
    pub fn size(&self) -> f64 {
        let of_mode = |group: &Group, mode: usize| -> f64 {
            group.lines.iter().map(|&line| self.lines[line].candidates[mode].len() as f64).product()
        };
        let of_group = |group: &Group| -> f64 { (0..group.modes).map(|mode| of_mode(group, mode)).sum() };
        self.groups.iter().map(of_group).product()
    }
}

/// Keeps the first of the candidates with equal bytes; one without a circuit is preferred, because it leaves more to
/// others.
fn drop_equal(candidates: &mut Vec<Candidate>) {
    let mut kept: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates.drain(..) {
        match kept.iter_mut().find(|known| known.bytes == candidate.bytes) {
            Some(known) if known.busy => *known = candidate,
            Some(_) => {}
            None => kept.push(candidate),
        }
    }
    *candidates = kept;
}
