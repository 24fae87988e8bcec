//! A crash point: what each line may hold there, and which combinations of that are legal.

use super::contents::Contents;
use super::counters::{self, Apartness, Counters, Provenance};
use super::memory::Memory;
use super::sectors::{OfSector, Sectors};
use super::together::{Joint, Together};
use super::trial::Trial;
use crate::kernel::keyed_digest;
use crate::message::{LINES_PER_PAGE, Line, LineBytes};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Most lines of a crash point that may be lost or kept. All others have arrived. Of more, those stored to last are taken,
/// and the first ones that were stored to since the last point, because what is stored early is what may be overtaken.
const LINES_MAX: usize = 64;
const FIRST_MAX: usize = 16;
/// Most counter blocks of a crash point: each has a line at least.
const GROUPS_MAX: usize = counters::LINES_MAX + LINES_PER_PAGE as usize;
/// Up to this logarithm of their number, states whose counters must go together are counted.
const COUNTED_BITS_MAX: f64 = 12.0;

/// A line that may hold more than one thing.
pub(super) struct Open {
    pub number: u32,
    pub line: Line,
    /// It was stored to since the last crash point.
    pub fresh: bool,
    /// The program has declared that what is open of it need not become durable.
    pub scratch: bool,
    pub contents: Rc<Contents>,
    /// Where its contents go with those of other lines.
    pub joint: Option<Joint>,
    /// Where counters and data can be apart, by content.
    pub provenance: Option<Vec<Provenance>>,
    /// For each content, the digest of the line less that of its newest content.
    digests: Vec<u128>,
}

/// A crash point.
pub(super) struct Point {
    /// In the order of their last stores; those that need not become durable come last.
    pub lines: Vec<Open>,
    /// Whether it has all open lines, however many.
    pub whole: bool,
    /// The digest of memory if everything has arrived.
    digest: u128,
    /// Number of legal states if it is known exactly, which it is if all of them can be tried.
    pub exactly: Option<u64>,
    /// The logarithm to base 2 of this number, or of an upper bound.
    pub bits: f64,
    /// Whether all open lines are there.
    pub considered: bool,
    pub together: Together,
}

/// Which states of a crash point are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// One line lost or kept.
    Single,
    /// All, or as many as a budget allows.
    Whole,
}

/// What was tried of a crash point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tried {
    /// Every legal state.
    Every,
    /// Every legal state of the memory that must become durable, and some of what need not.
    Durable,
    /// Every state in which a single line differs from all others, which have all arrived or all not.
    Singles,
    /// One state at least of all that agree on what the command reads, and so every legal state as far as it can tell.
    Classes,
    /// Some states.
    Some,
}

/// For each line of a point, the index of its content.
pub(super) type State = [usize];

/// Calls for each state; breaks off the enumeration.
pub(super) type Visit<'a> = dyn FnMut(&State) -> ControlFlow<()> + 'a;

impl Point {
    /// The point that memory is at, with so many lines that most of them can be lost or kept alone.
    pub fn of(memory: &mut Memory<'_>) -> Self {
        Self::with(memory, LINES_MAX)
    }

    /// The point that memory is at, with all its lines; where counters can be apart from their data, with those of
    /// [`Point::of`].
    pub fn whole(memory: &mut Memory<'_>) -> Self {
        Self::with(memory, usize::MAX)
    }

    fn with(memory: &mut Memory<'_>, most: usize) -> Self {
        memory.count();
        if let Some(mut counters) = memory.counters.take() {
            let point = Self::with_counters(memory, &mut counters);
            memory.counters = Some(counters);
            return point;
        }
        if let Some(sectors) = memory.sectors.take() {
            let point = Self::with_sectors(memory, &sectors, most);
            memory.sectors = Some(sectors);
            return point;
        }
        let chosen = chosen(memory, most);
        let mut lines = Vec::with_capacity(chosen.len());
        for number in chosen {
            let fresh = memory.is_fresh(number);
            let known = &mut memory.lines[number as usize];
            let contents = known.pending.contents();
            if contents.open() {
                let (line, digest) = (known.line, known.digest);
                let scratch = known.scratch;
                let digests = digests(line, digest, &contents);
                let (joint, provenance) = (None, None);
                lines.push(Open { number, line, fresh, scratch, contents, joint, provenance, digests });
            }
        }
        lines.sort_by_key(|open| open.scratch);
        let considered = lines.len() == memory.undecided;
        let together = Together::default();
        let (digest, bits, whole) = (memory.digest, memory.bits, most == usize::MAX);
        let mut point = Self { lines, whole, digest, exactly: None, bits, considered, together };
        point.exactly = point.count(&point.lines);
        point
    }

    /// The point on a design whose counters can be apart from their data.
    fn with_counters(memory: &Memory<'_>, counters: &mut Counters<'_>) -> Self {
        let (found, together) = counters.lines();
        let open = |Apartness { line, contents, joint, provenance }| {
            let number = memory.number(line);
            let known = &memory.lines[number as usize];
            let digests = digests(line, known.digest, &contents);
            let (fresh, scratch) = (memory.is_fresh(number), known.scratch);
            let (joint, provenance) = (Some(joint), Some(provenance));
            Open { number, line, fresh, scratch, contents, joint, provenance, digests }
        };
        let mut lines: Vec<Open> = found.into_iter().map(open).collect();
        lines.sort_by_key(|open| open.scratch);
        let bits = lines.iter().map(|line| line.contents.bits).sum();
        let considered = together.complete;
        let mut point = Self { lines, whole: false, digest: memory.digest, exactly: None, bits, considered, together };
        if point.is_complete() && bits <= COUNTED_BITS_MAX {
            let mut states = 0;
            let mut count = |_: &State| {
                states += 1;
                ControlFlow::Continue(())
            };
            let ControlFlow::Continue(()) = Trial::of(&point, 0, &mut count).product(point.lines.len()) else {
                unreachable!("it goes on")
            };
            point.exactly = Some(states);
        }
        point
    }

    /// The point of files on a disk.
    fn with_sectors(memory: &mut Memory<'_>, sectors: &Sectors, most: usize) -> Self {
        let (found, together) = sectors.lines(memory, most);
        let open = |OfSector { number, contents, joint }| {
            let known = &memory.lines[number as usize];
            let (line, scratch, fresh) = (known.line, known.scratch, memory.is_fresh(number));
            let digests = digests(line, known.digest, &contents);
            Open { number, line, fresh, scratch, contents, joint: Some(joint), provenance: None, digests }
        };
        let mut lines: Vec<Open> = found.into_iter().map(open).collect();
        lines.sort_by_key(|open| open.scratch);
        let bits = together.groups.iter().map(|&ways| (ways as f64).log2()).sum();
        let states = together.groups.iter().try_fold(1u64, |product, &ways| product.checked_mul(ways as u64));
        let (digest, considered) = (memory.digest, together.complete);
        let exactly = states.filter(|_| considered);
        Self { lines, whole: most == usize::MAX, digest, exactly, bits, considered, together }
    }

    /// Whether all open lines with all their contents are there.
    fn is_complete(&self) -> bool {
        self.considered && self.lines.iter().all(|line| line.contents.complete)
    }

    /// The lines that must become durable, which come first.
    fn durable(&self) -> &[Open] {
        &self.lines[..self.lines.partition_point(|open| !open.scratch)]
    }

    /// Whether the contents of lines whose counters lie in one block go together.
    pub fn is_legal(&self, state: &State) -> bool {
        if self.together.groups.is_empty() {
            return true;
        }
        let (mut ways, mut busy) = ([u64::MAX; GROUPS_MAX], 0);
        for (line, &content) in self.lines.iter().zip(state) {
            if let Some(of) = &line.joint {
                ways[of.group] &= of.modes[content];
                busy += u32::from(of.busy[content]);
            }
        }
        ways.iter().all(|&ways| ways != 0) && busy <= self.together.busy_max
    }

    /// Changes a state to one in which a group has reached the media in this way; see [`Joint::in_way`].
    pub fn put_in_way(&self, state: &mut [usize], group: usize, way: usize, newest: bool, best: bool) {
        for (content, line) in state.iter_mut().zip(&self.lines) {
            if let Some(of) = line.joint.as_ref().filter(|of| of.group == group) {
                *content = of.in_way(way, newest, best).unwrap_or(*content);
            }
        }
    }

    /// The digest of memory in a state.
    pub fn digest(&self, state: &State) -> u128 {
        let lines = self.lines.iter().zip(state);
        lines.fold(self.digest, |sum, (line, &content)| sum.wrapping_add(line.digests[content]))
    }

    /// The lines in which memory differs in a state from what the program has stored, with what they hold.
    pub fn peculiar<'p>(&'p self, state: &'p State) -> impl Iterator<Item = (Line, LineBytes)> + 'p {
        let lines = self.lines.iter().zip(state).filter(|(_, content)| **content != 0);
        lines.map(|(open, &content)| (open.line, open.contents.list[content].bytes))
    }

    /// Calls `visit` with states, at most about `budget` of them; with every state whose only peculiarity is one line that
    /// was stored to since the last point, whatever the budget is. What must become durable comes first: what the program
    /// has declared otherwise gets what is left of the budget.
    pub fn each(&self, extent: Extent, budget: u64, visit: &mut Visit<'_>) -> ControlFlow<(), Tried> {
        let mut trial = Trial::of(self, budget, visit);
        let durable = 0..self.durable().len();
        trial.singles(durable.clone(), true)?;
        trial.ways()?;
        if extent == Extent::Single {
            return ControlFlow::Continue(Tried::Some);
        }
        if self.exactly.is_some_and(|states| states <= budget) {
            if self.together.atomic {
                trial.product_of_ways(0)?;
            } else {
                trial.product(self.lines.len())?;
            }
            return ControlFlow::Continue(Tried::Every);
        }
        let scratch = durable.end..self.lines.len();
        let (tried, whole);
        if !scratch.is_empty() && self.count(self.durable()).is_some_and(|states| states <= trial.left) {
            trial.product(durable.end)?;
            (tried, whole) = (Tried::Durable, true);
        } else {
            let newest = trial.newest(durable.end)?;
            let singles = newest && trial.singles(durable.clone(), false)? && trial.contents(durable.clone())?;
            whole = singles && trial.as_stored()? && trial.pairs(durable.end)? && trial.as_stored_without_one()?;
            tried = if singles && self.is_complete() { Tried::Singles } else { Tried::Some };
        }
        if whole && trial.singles(scratch.clone(), true)? && trial.singles(scratch.clone(), false)? {
            let _ = trial.contents(scratch)?;
        }
        ControlFlow::Continue(tried)
    }

    /// Number of combinations of the contents of lines, where it is known.
    fn count(&self, lines: &[Open]) -> Option<u64> {
        if self.together.atomic {
            return None;
        }
        let count = lines.iter().try_fold(1u64, |product, line| product.checked_mul(line.contents.list.len() as u64));
        count.filter(|_| self.is_complete())
    }
}

/// The lines that are considered, in the order of their last stores: all of them, if they are at most `most`. What need not
/// become durable takes no place of what must.
fn chosen(memory: &Memory<'_>, most: usize) -> Vec<u32> {
    if memory.pending.len() <= most {
        return memory.pending.values().copied().collect();
    }
    let last = |number: u32| memory.lines[number as usize].pending.stores.last().map(|stored| stored.step);
    let scratch = |number: &u32| memory.lines[*number as usize].scratch;
    let newest = || memory.pending.values().rev().copied();
    let mut chosen: Vec<u32> = newest().filter(|number| !scratch(number)).take(LINES_MAX - FIRST_MAX).collect();
    let fresh = memory.fresh.iter().copied().filter(|&number| last(number).is_some());
    chosen.extend(fresh.filter(|number| !scratch(number)).take(FIRST_MAX));
    let room = LINES_MAX.saturating_sub(chosen.len());
    chosen.extend(newest().filter(scratch).take(room));
    chosen.sort_unstable_by_key(|&number| last(number));
    chosen.dedup();
    chosen
}

/// For each content, the digest of the line less `newest`, that of its newest content.
fn digests(line: Line, newest: u128, contents: &Contents) -> Vec<u128> {
    let of = |bytes| keyed_digest(line.0, bytes).wrapping_sub(newest);
    contents.list.iter().map(|content| of(&content.bytes)).collect()
}
