//! A crash point: what each line may hold there, and the order in which combinations of that are tried.
//!
//! First what finds most mistakes: one line lost while all others are kept, which shows a flush or a fence that is missing
//! before a later store; then one line kept while all others are lost. If all states are few, all of them follow.
//! Otherwise the other contents of single lines, those first that were stored to last, what memory held after each store,
//! and pairs of lines, until the budget is used up. What the program has declared not persistent comes after all of that.

use super::contents::Contents;
use super::counters::{self, Apartness, Counters, OfCounter, Together};
use super::memory::Memory;
use crate::kernel::keyed_digest;
use crate::message::{LINES_PER_PAGE, Line, LineBytes};
use std::ops::{ControlFlow, Range};
use std::rc::Rc;

/// Most lines of a crash point that may be lost or kept. All others have arrived. Of more, those stored to last are taken,
/// and the first ones that were stored to since the last point, because what is stored early is what may be overtaken.
const LINES_MAX: usize = 64;
const FIRST_MAX: usize = 16;
/// Most counter blocks of a crash point: each has a line at least.
const GROUPS_MAX: usize = counters::LINES_MAX + LINES_PER_PAGE as usize;
/// Most lines whose contents come before those of lines that were stored to earlier.
const NEWEST_MAX: usize = 4;
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
    /// Where counters and data can be apart.
    pub of_counter: Option<OfCounter>,
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
                lines.push(Open { number, line, fresh, scratch, contents, of_counter: None, digests });
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
        let open = |Apartness { line, contents, of_counter }| {
            let number = memory.number(line);
            let known = &memory.lines[number as usize];
            let digests = digests(line, known.digest, &contents);
            let (fresh, scratch, of_counter) = (memory.is_fresh(number), known.scratch, Some(of_counter));
            Open { number, line, fresh, scratch, contents, of_counter, digests }
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
            let ControlFlow::Continue(()) = point.trial(0, &mut count).product(point.lines.len()) else {
                unreachable!("it goes on")
            };
            point.exactly = Some(states);
        }
        point
    }

    /// Whether all open lines with all their contents are there.
    fn is_complete(&self) -> bool {
        self.considered && self.lines.iter().all(|line| line.contents.complete)
    }

    fn trial<'p, 'v, 'f>(&'p self, left: u64, visit: &'v mut Visit<'f>) -> Trial<'p, 'v, 'f> {
        Trial { point: self, lines: &self.lines, state: vec![0; self.lines.len()], left, visit }
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
            if let Some(of) = &line.of_counter {
                ways[of.group] &= of.modes[content];
                busy += u32::from(of.busy[content]);
            }
        }
        ways.iter().all(|&ways| ways != 0) && busy <= self.together.busy_max
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
        let mut trial = self.trial(budget, visit);
        let durable = 0..self.durable().len();
        trial.singles(durable.clone(), true)?;
        trial.ways()?;
        if extent == Extent::Single {
            return ControlFlow::Continue(Tried::Some);
        }
        if self.exactly.is_some_and(|states| states <= budget) {
            trial.product(self.lines.len())?;
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

/// An enumeration.
struct Trial<'p, 'v, 'f> {
    point: &'p Point,
    lines: &'p [Open],
    state: Vec<usize>,
    /// States that may still be tried.
    left: u64,
    visit: &'v mut Visit<'f>,
}

/// Whether a part of the enumeration was completed; breaks if the visitor breaks.
type Part = ControlFlow<(), bool>;

const DONE: Part = ControlFlow::Continue(true);

impl Trial<'_, '_, '_> {
    fn show(&mut self) -> ControlFlow<()> {
        if !self.point.is_legal(&self.state) {
            return ControlFlow::Continue(());
        }
        self.left = self.left.saturating_sub(1);
        (self.visit)(&self.state)
    }

    /// Each counter block in each way in which it may have reached the media: with the newest data that it goes with, as
    /// well as possible and as badly, while all other lines have arrived; and with the oldest while no other has.
    fn ways(&mut self) -> ControlFlow<()> {
        for (group, &ways) in self.point.together.groups.iter().enumerate() {
            for way in 0..ways {
                for (arrived, best) in [(true, true), (true, false), (false, false)] {
                    if arrived {
                        self.all_arrived()
                    } else {
                        self.none_arrived()
                    }
                    for (content, line) in self.state.iter_mut().zip(self.lines) {
                        if let Some(of) = line.of_counter.as_ref().filter(|of| of.group == group) {
                            *content = of.in_way(way, arrived, best).unwrap_or(*content);
                        }
                    }
                    self.show()?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn all_arrived(&mut self) {
        self.state.fill(0);
    }

    fn none_arrived(&mut self) {
        for (content, line) in self.state.iter_mut().zip(self.lines) {
            *content = line.contents.base;
        }
    }

    /// All arrived, none arrived, and one line `of` these alone lost or alone kept: one of those that are `fresh`, or one of
    /// the others. What need not become durable, and what is not fresh, only as far as the budget allows.
    fn singles(&mut self, of: Range<usize>, fresh: bool) -> Part {
        let lines = self.lines;
        let bounded = !fresh || of.start > 0;
        let chosen = || of.clone().map(|at| (at, &lines[at])).filter(move |(_, line)| line.fresh == fresh);
        self.all_arrived();
        if !bounded {
            self.show()?;
        }
        for (at, line) in chosen() {
            if bounded && self.left == 0 {
                return ControlFlow::Continue(false);
            }
            let newest = std::mem::replace(&mut self.state[at], line.contents.base);
            self.show()?;
            self.state[at] = newest;
        }
        if !bounded {
            // What has been open for longer is lost, what is new is kept.
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.fresh) {
                self.state[at] = line.contents.base;
            }
            self.show()?;
            self.none_arrived();
            self.show()?;
        }
        self.none_arrived();
        for (at, _) in chosen() {
            if bounded && self.left == 0 {
                return ControlFlow::Continue(false);
            }
            let base = std::mem::replace(&mut self.state[at], 0);
            self.show()?;
            self.state[at] = base;
        }
        DONE
    }

    /// Every content of one line `of` these, while all others have arrived, or have not.
    fn contents(&mut self, of: Range<usize>) -> Part {
        for arrived in [true, false] {
            for at in of.clone() {
                if !self.contents_of(at, arrived)? {
                    return ControlFlow::Continue(false);
                }
            }
        }
        DONE
    }

    /// Every content of one line, while all others have arrived, or have not.
    fn contents_of(&mut self, at: usize, arrived: bool) -> Part {
        if arrived {
            self.all_arrived()
        } else {
            self.none_arrived()
        }
        let contents = &self.lines[at].contents;
        for content in (1..contents.list.len()).filter(|&content| content != contents.base) {
            if self.left == 0 {
                return ControlFlow::Continue(false);
            }
            self.state[at] = content;
            self.show()?;
        }
        DONE
    }

    /// The contents of the lines of the first `count` that were stored to last: most mistakes that one line shows are in the
    /// order of its newest stores.
    fn newest(&mut self, count: usize) -> Part {
        for at in (0..count).rev().filter(|&at| self.lines[at].fresh).take(NEWEST_MAX) {
            for arrived in [true, false] {
                if !self.contents_of(at, arrived)? {
                    return ControlFlow::Continue(false);
                }
            }
        }
        DONE
    }

    /// The steps of the stores that are open, in their order, with the line and its content from then on.
    fn arrivals(&self) -> Vec<(u64, usize, usize)> {
        let of = |(at, line): (usize, &Open)| {
            let arrivals = line.contents.arrivals.clone();
            arrivals.into_iter().map(move |(step, content)| (step, at, content))
        };
        let mut all: Vec<_> = self.lines.iter().enumerate().flat_map(of).collect();
        all.sort_unstable();
        all
    }

    /// What memory held after each store.
    fn as_stored(&mut self) -> Part {
        self.none_arrived();
        for (_, at, content) in self.arrivals() {
            if self.left == 0 {
                return ControlFlow::Continue(false);
            }
            self.state[at] = content;
            self.show()?;
        }
        DONE
    }

    /// What memory held after each store, without one line.
    fn as_stored_without_one(&mut self) -> Part {
        let arrivals = self.arrivals();
        for (without, line) in self.lines.iter().enumerate() {
            self.none_arrived();
            for &(_, at, content) in arrivals.iter().filter(|(_, at, _)| *at != without) {
                if self.left == 0 {
                    return ControlFlow::Continue(false);
                }
                self.state[at] = content;
                debug_assert_eq!(self.state[without], line.contents.base);
                self.show()?;
            }
        }
        DONE
    }

    /// Two of the first `count` lines lost, or two kept.
    fn pairs(&mut self, count: usize) -> Part {
        for one in 0..count {
            for other in 0..one {
                for lost in [true, false] {
                    if self.left == 0 {
                        return ControlFlow::Continue(false);
                    }
                    if lost {
                        self.all_arrived()
                    } else {
                        self.none_arrived()
                    }
                    for at in [one, other] {
                        self.state[at] = if lost { self.lines[at].contents.base } else { 0 };
                    }
                    self.show()?;
                }
            }
        }
        DONE
    }

    /// Every state of the first `count` lines, while all others have arrived.
    fn product(&mut self, count: usize) -> ControlFlow<()> {
        self.all_arrived();
        loop {
            self.show()?;
            let mut at = 0;
            loop {
                let Some(line) = self.lines[..count].get(at) else { return ControlFlow::Continue(()) };
                self.state[at] += 1;
                if self.state[at] < line.contents.list.len() {
                    break;
                }
                self.state[at] = 0;
                at += 1;
            }
        }
    }
}
