//! What of a failing image alone makes the command fail: lost lines are restored, as many as possible (delta debugging),
//! then of each lost line the newest stores.

use super::judging::Judging;
use super::loss::Moment;
use super::memory::Memory;
use super::point::{Point, State};
use crate::kernel::Failure;
use crate::message::Site;
use crate::user_recovery::Occasion;
use std::cmp::Reverse;

/// Most images that are judged for one failing image.
const RUNS_MAX: u32 = 256;
/// Most contents of a line that are tried, the newest first.
const CONTENTS_MAX: usize = 16;
/// Most kept stores that are left out, each alone.
const OVERTAKERS_MAX: usize = 16;

/// The search at one crash point.
pub(super) struct Minimal<'s, 'j, 'm> {
    pub judging: &'s mut Judging<'j>,
    pub memory: &'s mut Memory<'m>,
    pub point: &'s Point,
    pub at: Moment,
    left: u32,
}

impl<'s, 'j, 'm> Minimal<'s, 'j, 'm> {
    pub fn new(judging: &'s mut Judging<'j>, memory: &'s mut Memory<'m>, point: &'s Point, at: Moment) -> Self {
        Self { judging, memory, point, at, left: RUNS_MAX }
    }

    /// The state that fails and from which nothing more can be restored, from one that fails.
    pub fn of(&mut self, state: &State) -> Result<Vec<usize>, Failure> {
        let lost: Vec<usize> = (0..state.len()).filter(|&at| state[at] != 0).collect();
        let lost = self.needed(state, lost)?;
        let mut found = with(state, &lost);
        for &at in &lost {
            self.restore_stores(&mut found, at)?;
        }
        Ok(found)
    }

    /// Of what a failing state has beyond what must be durable, the newest store after step `lost` without which it does not
    /// fail: what must not become durable before what is lost.
    pub fn overtaker(&mut self, state: &State, lost: u64) -> Result<Option<Site>, Failure> {
        let stores = |at: usize| &self.memory.lines[self.point.lines[at].number as usize].pending.stores;
        let newest = |at: usize| {
            let (open, content) = (&self.point.lines[at], state[at]);
            let kept = open.contents.list[content].kept.filter(|_| open.of_counter.is_none())?;
            let by = &stores(at)[kept];
            (by.step > lost).then_some((by.step, at, by.site))
        };
        let mut kept: Vec<(u64, usize, Site)> = (0..state.len()).filter_map(newest).collect();
        kept.sort_unstable_by_key(|&(step, ..)| Reverse(step));
        for (_, at, site) in kept.into_iter().take(OVERTAKERS_MAX) {
            let mut without = state.to_vec();
            without[at] = self.point.lines[at].contents.base;
            if self.point.is_legal(&without) && !self.fails(&without)? {
                return Ok(Some(site));
            }
        }
        Ok(None)
    }

    /// Whether the command fails on a legal state.
    fn fails(&mut self, state: &State) -> Result<bool, Failure> {
        if self.left == 0 || !self.point.is_legal(state) {
            return Ok(false);
        }
        self.left -= 1;
        let lines: Vec<_> = self.point.peculiar(state).collect();
        let occasion = Occasion { marks: self.memory.marks, event: self.at.record };
        self.judging.fails_on(self.memory, (self.point.digest(state), &lines), occasion)
    }

    /// Of the lines that `state` has `lost`, fewest that must be lost for it to fail: none of them can be restored alone.
    fn needed(&mut self, state: &State, mut lost: Vec<usize>) -> Result<Vec<usize>, Failure> {
        let mut parts = 2;
        while lost.len() > 1 {
            let size = lost.len().div_ceil(parts);
            let (mut alone, mut without) = (None, None);
            for part in lost.chunks(size) {
                if self.fails(&with(state, part))? {
                    alone = Some(part.to_vec());
                    break;
                }
            }
            if alone.is_none() && parts > 2 {
                for part in lost.chunks(size) {
                    let others: Vec<usize> = lost.iter().copied().filter(|at| !part.contains(at)).collect();
                    if self.fails(&with(state, &others))? {
                        without = Some(others);
                        break;
                    }
                }
            }
            match (alone, without) {
                (Some(fewer), _) => (lost, parts) = (fewer, 2),
                (None, Some(fewer)) => (lost, parts) = (fewer, (parts - 1).max(2)),
                (None, None) if parts < lost.len() => parts = (2 * parts).min(lost.len()),
                (None, None) => break,
            }
        }
        Ok(lost)
    }

    /// Restores of a lost line all stores but those that are needed: it gets the newest content with which the state fails.
    fn restore_stores(&mut self, state: &mut [usize], at: usize) -> Result<(), Failure> {
        let contents = &self.point.lines[at].contents;
        let mut newest: Vec<usize> = contents.arrivals.iter().rev().map(|&(_, content)| content).collect();
        newest.push(contents.base);
        newest.retain(|&content| content != 0);
        newest.dedup();
        let before = state[at];
        for content in newest.into_iter().take_while(|&content| content != before).take(CONTENTS_MAX) {
            state[at] = content;
            if self.fails(state)? {
                return Ok(());
            }
        }
        state[at] = before;
        Ok(())
    }
}

/// The state in which only these lines are lost.
fn with(state: &State, lost: &[usize]) -> Vec<usize> {
    let mut some = vec![0; state.len()];
    lost.iter().for_each(|&at| some[at] = state[at]);
    some
}
