//! What of a failing image alone makes the command fail: lost lines are restored, as many as possible (delta debugging),
//! then of each lost line the newest stores.

use super::judging::Judging;
use super::line::By;
use super::loss::Moment;
use super::memory::Memory;
use super::point::{Point, State};
use crate::kernel::Failure;
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
        if self.point.together.atomic {
            return self.of_groups(state, &lost);
        }
        let lost = needed(lost, &mut |some| self.fails(&with(state, some)))?;
        let mut found = with(state, &lost);
        for &at in &lost {
            self.restore_stores(&mut found, at)?;
        }
        Ok(found)
    }

    /// The same where the lines of a group are lost and restored together.
    fn of_groups(&mut self, state: &State, lost: &[usize]) -> Result<Vec<usize>, Failure> {
        let point = self.point;
        let group = |at: usize| point.lines[at].joint.as_ref().map(|of| of.group);
        let of = |groups: &[usize]| -> Vec<usize> {
            lost.iter().copied().filter(|&at| group(at).is_some_and(|of| groups.contains(&of))).collect()
        };
        let mut groups: Vec<usize> = lost.iter().filter_map(|&at| group(at)).collect();
        groups.sort_unstable();
        groups.dedup();
        let groups = needed(groups, &mut |some| self.fails(&with(state, &of(some))))?;
        let mut found = with(state, &of(&groups));
        for &restored in &groups {
            let before = found.clone();
            for way in 1..point.together.groups[restored].min(CONTENTS_MAX) {
                point.put_in_way(&mut found, restored, way, true, true);
                if found == before || self.fails(&found)? {
                    break;
                }
                found.clone_from(&before);
            }
        }
        Ok(found)
    }

    /// Of what a failing state has beyond what must be durable, the newest store after step `lost` without which it does not
    /// fail: what must not become durable before what is lost.
    pub fn overtaker(&mut self, state: &State, lost: u64) -> Result<Option<By>, Failure> {
        let stores = |at: usize| &self.memory.lines[self.point.lines[at].number as usize].pending.stores;
        let newest = |at: usize| {
            let (open, content) = (&self.point.lines[at], state[at]);
            let kept = open.contents.list[content].kept.filter(|_| open.provenance.is_none())?;
            let by = &stores(at)[kept];
            (by.step > lost).then_some((By::of(by), at))
        };
        let mut kept: Vec<(By, usize)> = (0..state.len()).filter_map(newest).collect();
        kept.sort_unstable_by_key(|(by, _)| Reverse(by.step));
        for (by, at) in kept.into_iter().take(OVERTAKERS_MAX) {
            let mut without = state.to_vec();
            without[at] = self.point.lines[at].contents.base;
            if self.point.is_legal(&without) && !self.fails(&without)? {
                return Ok(Some(by));
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

/// Of what is `lost`, as little as makes `fails` true, which it is for all of it: nothing of that can be left out alone. It
/// is not asked for none of it.
fn needed<E>(mut lost: Vec<usize>, fails: &mut dyn FnMut(&[usize]) -> Result<bool, E>) -> Result<Vec<usize>, E> {
    let mut parts = 2;
    while lost.len() > 1 {
        let size = lost.len().div_ceil(parts);
        let fewer = match first_failing(lost.chunks(size).map(<[usize]>::to_vec), fails)? {
            Some(part) => Some((part, 2)),
            None => {
                let without =
                    |part: &[usize]| lost.iter().copied().filter(|at| !part.contains(at)).collect::<Vec<usize>>();
                let others = lost.chunks(size).map(without).filter(|others| !others.is_empty());
                first_failing(others, fails)?.map(|others| (others, (parts - 1).max(2)))
            }
        };
        match fewer {
            Some(fewer) => (lost, parts) = fewer,
            None if size > 1 => parts = (2 * parts).min(lost.len()),
            None => break,
        }
    }
    Ok(lost)
}

/// The first of these that fails.
fn first_failing<E>(
    some: impl Iterator<Item = Vec<usize>>,
    fails: &mut dyn FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    for one in some {
        if fails(&one)? {
            return Ok(Some(one));
        }
    }
    Ok(None)
}

/// The state in which only these lines are lost.
fn with(state: &State, lost: &[usize]) -> Vec<usize> {
    let mut some = vec![0; state.len()];
    lost.iter().for_each(|&at| some[at] = state[at]);
    some
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    proptest! {
        /// What is found fails, and without any one of it it does not, whatever fails: here all that has one of these sets.
        #[test]
        fn nothing_that_is_found_can_be_left_out(
            count in 1usize..40,
            causes in prop::collection::vec(prop::collection::btree_set(0usize..40, 1..4), 1..4),
        ) {
            let lost: Vec<usize> = (0..count).collect();
            let fails = |some: &[usize]| causes.iter().any(|cause| cause.iter().all(|at| some.contains(at)));
            prop_assume!(fails(&lost));
            let mut runs = 0;
            let found = needed(lost, &mut |some| {
                runs += 1;
                Ok::<bool, Infallible>(fails(some))
            });
            let Ok(found) = found;
            prop_assert!(fails(&found));
            for left_out in &found {
                let others: Vec<usize> = found.iter().copied().filter(|at| at != left_out).collect();
                prop_assert!(!fails(&others), "{:?} without {} fails", found, left_out);
            }
            prop_assert!(runs <= 400);
        }
    }

    #[test]
    fn one_line_among_many_is_found_in_a_few_runs() {
        let mut runs = 0;
        let found = needed((0..64).collect(), &mut |some| {
            runs += 1;
            Ok::<bool, Infallible>(some.contains(&41))
        });
        assert_eq!((found, runs <= 16), (Ok(vec![41]), true), "{runs}");
    }
}
