//! The order in which the states of a crash point are tried.
//!
//! First what finds most mistakes: one line lost while all others are kept, which shows a flush or a fence that is missing
//! before a later store; then one line kept while all others are lost. If all states are few, all of them follow.
//! Otherwise the other contents of single lines, those first that were stored to last, what memory held after each store,
//! and pairs of lines, until the budget is used up. What the program has declared not persistent comes after all of that.

use super::point::{Open, Point, Visit};
use std::ops::{ControlFlow, Range};

/// Most lines whose contents come before those of lines that were stored to earlier.
const NEWEST_MAX: usize = 4;

/// An enumeration.
pub(super) struct Trial<'p, 'v, 'f> {
    point: &'p Point,
    lines: &'p [Open],
    state: Vec<usize>,
    /// States that may still be tried.
    pub left: u64,
    visit: &'v mut Visit<'f>,
}

impl<'p, 'v, 'f> Trial<'p, 'v, 'f> {
    /// Of a point, of which so many states may still be tried.
    pub fn of(point: &'p Point, left: u64, visit: &'v mut Visit<'f>) -> Self {
        Self { point, lines: &point.lines, state: vec![0; point.lines.len()], left, visit }
    }
}

/// Whether a part of the enumeration was completed; breaks if the visitor breaks.
type Part = ControlFlow<(), bool>;

const DONE: Part = ControlFlow::Continue(true);

impl Trial<'_, '_, '_> {
    pub fn show(&mut self) -> ControlFlow<()> {
        if !self.point.is_legal(&self.state) {
            return ControlFlow::Continue(());
        }
        self.left = self.left.saturating_sub(1);
        (self.visit)(&self.state)
    }

    /// Each counter block in each way in which it may have reached the media: with the newest data that it goes with, as
    /// well as possible and as badly, while all other lines have arrived; and with the oldest while no other has.
    pub fn ways(&mut self) -> ControlFlow<()> {
        for (group, &ways) in self.point.together.groups.iter().enumerate() {
            for way in 0..ways {
                for (arrived, best) in [(true, true), (true, false), (false, false)] {
                    if arrived {
                        self.all_arrived()
                    } else {
                        self.none_arrived()
                    }
                    self.point.put_in_way(&mut self.state, group, way, arrived, best);
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
    pub fn singles(&mut self, of: Range<usize>, fresh: bool) -> Part {
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
    pub fn contents(&mut self, of: Range<usize>) -> Part {
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
    pub fn newest(&mut self, count: usize) -> Part {
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
    pub fn as_stored(&mut self) -> Part {
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
    pub fn as_stored_without_one(&mut self) -> Part {
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
    pub fn pairs(&mut self, count: usize) -> Part {
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

    /// Every way of the groups from this one on.
    pub fn product_of_ways(&mut self, group: usize) -> ControlFlow<()> {
        let Some(&ways) = self.point.together.groups.get(group) else { return self.show() };
        for way in 0..ways {
            self.point.put_in_way(&mut self.state, group, way, true, true);
            self.product_of_ways(group + 1)?;
        }
        ControlFlow::Continue(())
    }

    /// Every state of the first `count` lines, while all others have arrived.
    pub fn product(&mut self, count: usize) -> ControlFlow<()> {
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
