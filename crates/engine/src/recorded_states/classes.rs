//! The states of a crash point in classes: those that agree on all that the command reads have one outcome.
//!
//! A part of the states is told by which contents each line may still have. One run of the command on a state of a part
//! decides all states of it that agree with this one on what the run has read. What is left of the part are, for each
//! word that was read, the states that agree on all words read before it, and not on this one (Jaaru's constraint
//! refinement). Lines that no run reads are never looked at, however many there are.

use super::point::{Open, Point, State};
use crate::message::{Line, LineBytes};
use crate::user_recovery::WordRead;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Some states of a point: for each line that may not have all of its contents, which it may have, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Part(BTreeMap<usize, Rc<[usize]>>);

impl Part {
    fn with(&self, line: usize, contents: Vec<usize>) -> Self {
        let mut lines = self.0.clone();
        lines.insert(line, contents.into());
        Self(lines)
    }

    fn contents(&self, at: usize, line: &Open) -> Vec<usize> {
        self.0.get(&at).map_or_else(|| (0..line.contents.list.len()).collect(), |contents| contents.to_vec())
    }
}

/// The classes of a point under construction.
pub(super) struct Classes<'p> {
    point: &'p Point,
    by_line: FxHashMap<Line, usize>,
    /// The lines of each group.
    groups: Vec<Vec<usize>>,
    waiting: VecDeque<Part>,
    /// Most parts that wait: with more the point would take too many runs in any case.
    parts_max: usize,
    /// Whether the parts that wait, and the classes that are decided, are all states.
    whole: bool,
}

impl<'p> Classes<'p> {
    /// Of a point with all its open lines, of which `classes` can be decided.
    pub fn of(point: &'p Point, classes: u64) -> Self {
        let mut groups = vec![Vec::new(); point.together.groups.len()];
        for (at, line) in point.lines.iter().enumerate() {
            if let Some(of) = &line.joint {
                groups[of.group].push(at);
            }
        }
        Self {
            by_line: point.lines.iter().enumerate().map(|(at, line)| (line.line, at)).collect(),
            point,
            groups,
            waiting: [Part::default()].into(),
            parts_max: usize::try_from(classes).unwrap_or(usize::MAX),
            // What is not listed of a line may be all that goes with contents of other lines of its group.
            whole: point.considered && point.lines.iter().all(|line| line.joint.is_none() || line.contents.complete),
        }
    }

    /// What a line holds in a state, if it is open.
    pub fn held(&self, state: &State, line: Line) -> Option<LineBytes> {
        let at = *self.by_line.get(&line)?;
        Some(self.point.lines[at].contents.list[state[at]].bytes)
    }

    /// The next part that has a legal state, with the state of it in which most has arrived; those with few constraints
    /// come first.
    pub fn next(&mut self) -> Option<(Part, Vec<usize>)> {
        loop {
            let part = self.waiting.pop_front()?;
            if let Some(state) = self.state_of(&part) {
                return Some((part, state));
            }
        }
    }

    /// Of `part`, the states are decided that agree with `state` on what a run on it has read. The others wait.
    pub fn decide(&mut self, mut part: Part, state: &State, reads: &[WordRead]) {
        for &read in reads {
            let Some(&at) = self.by_line.get(&read.line) else { continue };
            let open = &self.point.lines[at];
            self.whole &= open.contents.complete;
            let word_of = |content: usize| read.of(&open.contents.list[content].bytes);
            let mut alike: Vec<([u8; 8], Vec<usize>)> = vec![(word_of(state[at]), Vec::new())];
            for content in part.contents(at, open) {
                let found = word_of(content);
                match alike.iter_mut().find(|(bytes, _)| *bytes == found) {
                    Some((_, contents)) => contents.push(content),
                    None => alike.push((found, vec![content])),
                }
            }
            if alike.len() == 1 {
                continue;
            }
            let mut alike = alike.into_iter().map(|(_, contents)| contents);
            let own = alike.next().expect("that of the state");
            for other in alike {
                self.wait(part.with(at, other));
            }
            part = part.with(at, own);
        }
    }

    fn wait(&mut self, part: Part) {
        if self.waiting.len() < self.parts_max {
            self.waiting.push_back(part);
        } else {
            self.whole = false;
        }
    }

    /// A part is left undecided.
    pub fn leave(&mut self) {
        self.whole = false;
    }

    /// Whether every state is decided.
    pub fn every(&self) -> bool {
        self.whole && self.waiting.iter().all(|part| self.state_of(part).is_none())
    }

    /// A legal state of a part, if there is one.
    fn state_of(&self, part: &Part) -> Option<Vec<usize>> {
        let first = |at: usize| part.0.get(&at).map_or(0, |contents| contents[0]);
        let mut state: Vec<usize> = (0..self.point.lines.len()).map(first).collect();
        let mut busy = 0;
        for (group, &ways) in self.groups.iter().zip(&self.point.together.groups) {
            let chosen = (0..ways).filter_map(|way| self.in_way(part, group, way));
            let (busy_here, contents) =
                chosen.min_by_key(|(busy, contents)| (*busy, contents.iter().sum::<usize>()))?;
            busy += busy_here;
            for (&at, content) in group.iter().zip(contents) {
                state[at] = content;
            }
        }
        (busy <= self.point.together.busy_max).then_some(state)
    }

    /// Contents of the lines of a group that go together if it has reached the media in this way, with as few lines
    /// as possible that circuits work on, and the number of these.
    fn in_way(&self, part: &Part, group: &[usize], way: usize) -> Option<(u32, Vec<usize>)> {
        let mut busy = 0;
        let mut contents = Vec::with_capacity(group.len());
        for &at in group {
            let open = &self.point.lines[at];
            let of = open.joint.as_ref()?;
            let legal = part.contents(at, open).into_iter().filter(|&content| of.modes[content] >> way & 1 == 1);
            let content = legal.min_by_key(|&content| (of.busy[content], content))?;
            busy += u32::from(of.busy[content]);
            contents.push(content);
        }
        Some((busy, contents))
    }
}
