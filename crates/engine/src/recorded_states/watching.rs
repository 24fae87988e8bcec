//! Crash points with more legal states than can be tried: what the command reads says which states need no run of their
//! own.

use super::classes::{Classes, Part};
use super::decided::{Decided, Run};
use super::judging::{Extent, Judging};
use super::loss::Moment;
use super::memory::Memory;
use super::point::{Point, State};
use crate::kernel::Failure;
use crate::message::{LINE_BYTES, Line, LineBytes};
use crate::trace::{Done, Trace};
use crate::user_recovery::{Occasion, Watched};
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Parts of a point that are taken at a time. Which of them need a run does not depend on how many commands run at a time.
const AT_A_TIME: u64 = 8;

/// Why reads decide nothing of a command that does not depend on its files alone.
const UNLIKE: &str = "it does not always do the same on the same memory";

/// What was found out about a point.
pub(super) struct Found {
    /// Classes of states that were decided.
    pub classes: u64,
    /// Whether they are all legal states; not if the exploration has ended.
    pub every: bool,
}

/// What is known from what the command has read so far.
pub(super) struct Watching {
    /// The lines that the program stores to: no other line makes a difference.
    stored: FxHashSet<Line>,
    decided: Decided,
    /// Why a point was left undecided first.
    pub unknown: Option<String>,
    /// Whether the command does not depend on its files alone, so that what it reads decides nothing anywhere.
    pub unlike: bool,
}

impl Watching {
    /// Of a trace, of which nothing is known.
    pub fn of(trace: &Trace, allow_truncated: bool, cancel: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let mut stored = FxHashSet::default();
        trace.steps(cancel)?.each(allow_truncated, &|_| {}, &mut |step| {
            if let Done::Store { at, .. } = step.done {
                let base = trace.files()[at.line.file as usize].base;
                stored.insert(Line(base / LINE_BYTES + at.line.line));
            }
            ControlFlow::Continue(())
        })?;
        Ok(Self { stored, decided: Decided::default(), unknown: None, unlike: false })
    }

    /// Decides the states of a point, which has all its open lines, by at most `budget` classes of them.
    pub fn explore(
        &mut self,
        memory: &mut Memory<'_>,
        point: &Point,
        judging: &mut Judging<'_>,
        (at, extent, budget): (Moment, Extent, u64),
    ) -> Result<Found, Failure> {
        if self.unlike {
            return Ok(Found { classes: 0, every: false });
        }
        let occasion = Occasion { marks: memory.marks, event: at.record };
        let told = judging.recovery().named().digest(0, occasion);
        let mut classes = Classes::of(point, budget);
        let (mut left, mut number) = (budget, 0);
        while left > 0 && judging.ended.is_none() {
            let taken: Vec<(Part, Vec<usize>)> = (0..left.min(AT_A_TIME)).map_while(|_| classes.next()).collect();
            if taken.is_empty() {
                break;
            }
            left -= taken.len() as u64;
            for (_, state) in &taken {
                judging.meet(memory, point, state, at, extent)?;
                if judging.ended.is_some() {
                    break;
                }
            }
            judging.take(0)?;
            if judging.ended.is_some() {
                break;
            }
            let known = |state: &State| match judging.recovers(point, state, occasion) {
                Ok(_) => self.decided.run(told, |line| held(memory, &classes, state, line)).map(Ok),
                Err(why) => Some(Err(why)),
            };
            let runs: Vec<Option<Result<Run, String>>> = taken.iter().map(|(_, state)| known(state)).collect();
            let without = taken.iter().zip(&runs).filter(|(_, run)| run.is_none()).map(|((_, state), _)| &state[..]);
            let without: Vec<&State> = without.collect();
            let mut watched = judging.watch(memory, point, &without, (occasion, extent), &self.stored)?.into_iter();
            for ((part, state), run) in taken.into_iter().zip(runs) {
                let run = run.unwrap_or_else(|| {
                    let watched = watched.next().expect("one for each");
                    self.take(watched, told, |line| held(memory, &classes, &state, line))
                });
                let recovers = judging.recovers(point, &state, occasion);
                match run.and_then(|run| (Ok(run.recovers) == recovers).then_some(run).ok_or(UNLIKE.to_owned())) {
                    Ok(run) => {
                        number += 1;
                        classes.decide(part, &state, &run.reads);
                    }
                    Err(why) => {
                        classes.leave();
                        self.unlike |= why == UNLIKE;
                        self.unknown.get_or_insert(why);
                        left = 0;
                    }
                }
            }
        }
        Ok(Found { classes: number, every: judging.ended.is_none() && classes.every() })
    }

    /// Takes what came of a watched run on the memory that holds this.
    fn take(&mut self, watched: Watched, told: u128, holds: impl Fn(Line) -> LineBytes) -> Result<Run, String> {
        let run = match watched {
            Watched::Read { recovers, reads } => Run { reads, recovers },
            Watched::Unknown(why) => return Err(why),
        };
        match self.decided.add(told, &run, holds) {
            true => Ok(run),
            false => Err(UNLIKE.to_owned()),
        }
    }
}

/// What a line holds in a state of a point.
fn held(memory: &Memory<'_>, classes: &Classes<'_>, state: &State, line: Line) -> LineBytes {
    classes.held(state, line).unwrap_or_else(|| memory.newest(line))
}
