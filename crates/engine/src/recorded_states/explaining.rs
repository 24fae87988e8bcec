//! Finds out why images fail. The trace is read again, twice: at the crash points of the images, to restore what they lost
//! needlessly (`minimal`); then from moment to moment, to see where the program fails with nothing lost (`executed`), and
//! whether what was lost is made durable later.

use super::causes::{Failed, Failing, Unexplained, Why};
use super::executed::Retrace;
use super::explore::Reading;
use super::judging::Judging;
use super::loss::{Loss, Moment};
use super::memory::Memory;
use super::minimal::Minimal;
use super::point::{Point, State};
use crate::attribution::{Place, place_of, shown, wrappers_and};
use crate::crash::CauseKind;
use crate::kernel::Failure;
use crate::message::{Line, Site};
use crate::trace::{Done, Sites, Step};
use crate::user_recovery::Occasion;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

/// Images that fail for one reason that is not known yet.
struct Candidate {
    loss: Loss,
    count: u64,
    how: Failed,
    lacks_nothing: bool,
    /// The program had executed so many steps when it had stored all that does not lack, and nothing that does: memory of
    /// which nothing is lost is judged there. `None` where counters can be apart from their data.
    moment: Option<u64>,
    torn: bool,
    scratch: bool,
    /// The stretch of the program in which that moment fails.
    stretch: Option<usize>,
    /// What comes later for the first lost store; `None` if nothing is lost, or nobody has looked.
    later: Option<Later>,
}

/// What comes after the power failure for a store that it has lost.
#[derive(Clone, Copy)]
struct Later {
    line: Line,
    step: u64,
    /// Where its line is flushed first.
    flushed: Option<Site>,
    durable: bool,
}

/// Explains the images that wait for it.
pub(super) fn explain(reading: &Reading<'_>, judging: &mut Judging<'_>) -> Result<(), Failure> {
    let waiting = judging.causes.take_unexplained();
    if waiting.is_empty() {
        return Ok(());
    }
    let mut first = First { waiting: waiting.into(), found: Vec::new() };
    let outcome = first.read(reading, judging);
    let mut second = Second::of(first.found);
    let outcome = outcome.and_then(|()| second.read(reading, judging));
    let unfinished = first.waiting.into_iter().map(Candidate::of);
    let Second { candidates, retrace, .. } = second;
    for candidate in candidates.into_iter().chain(unfinished) {
        add(judging, candidate, &retrace);
    }
    judging.causes.in_order();
    match outcome {
        // The user has interrupted: what was found fails in any case.
        Err(Failure::Cancelled) => Ok(()),
        outcome => outcome,
    }
}

impl Candidate {
    /// Images of which nothing more is known than what they lack.
    fn of(Unexplained { image, count, how, lacks_nothing }: Unexplained) -> Self {
        let (moment, torn, scratch, stretch, later) = (None, false, false, None, None);
        Self { loss: image.loss, count, how, lacks_nothing, moment, torn, scratch, stretch, later }
    }

    /// The place of the first store that it lacks.
    fn first_lost(&self) -> Option<Site> {
        self.loss.first_lost().map(|lost| lost.stored)
    }
}

/// The first reading.
struct First {
    waiting: VecDeque<Unexplained>,
    found: Vec<Candidate>,
}

impl First {
    fn read(&mut self, reading: &Reading<'_>, judging: &mut Judging<'_>) -> Result<(), Failure> {
        let (mut memory, mut outcome) = (reading.memory(judging)?, Ok(()));
        reading.each_point(&mut memory, &|_| {}, &mut |memory, at, _| {
            outcome = self.at_point(judging, memory, at);
            match outcome.is_err() || self.waiting.is_empty() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        outcome
    }

    fn at_point(&mut self, judging: &mut Judging<'_>, memory: &mut Memory<'_>, at: Moment) -> Result<(), Failure> {
        while let Some(of) = self.waiting.front().filter(|of| of.image.loss.step == memory.step) {
            let minimal = match of.lacks_nothing {
                true => None,
                false => Some(Minimized::of(judging, memory, at, of)?),
            };
            let candidate = Candidate::of(self.waiting.pop_front().expect("it is there"));
            self.found.extend(match minimal {
                None => Some(Candidate { moment: Some(memory.step), ..candidate }),
                Some(Minimized { loss, .. })
                    if judging.causes.explained(&loss, candidate.how.timed_out, candidate.count) =>
                {
                    None
                }
                Some(Minimized { loss, moment, torn, scratch }) => {
                    let later = loss.first_lost().map(|lost| Later {
                        line: lost.line,
                        step: lost.step,
                        flushed: lost.flushed,
                        durable: false,
                    });
                    Some(Candidate { loss, moment, torn, scratch, later, ..candidate })
                }
            });
        }
        Ok(())
    }
}

/// What an image needs to lack.
struct Minimized {
    loss: Loss,
    /// See [`Candidate`].
    moment: Option<u64>,
    /// All of it is a part of a store.
    torn: bool,
    /// None of it need become durable.
    scratch: bool,
}

impl Minimized {
    fn of(judging: &mut Judging<'_>, memory: &mut Memory<'_>, at: Moment, of: &Unexplained) -> Result<Self, Failure> {
        let point = if of.image.of_whole_point { Point::whole(memory) } else { Point::of(memory) };
        let mut minimal = Minimal::new(judging, memory, &point, at);
        let state = minimal.of(&of.image.state)?;
        let moment = moment(minimal.memory, &point, &state);
        let overtaker = moment.map_or(Ok(None), |moment| minimal.overtaker(&state, moment + 1))?;
        let lost = || point.lines.iter().zip(&state).filter(|(_, content)| **content != 0);
        // A torn store that does no harm until a later one is durable lacks a fence before that.
        let torn = overtaker.is_none()
            && lost().count() == 1
            && lost().all(|(open, &content)| open.contents.list[content].torn.is_some());
        let scratch = lost().all(|(open, _)| open.scratch);
        let mut loss = Loss::of_minimal(memory, &point, &state, at);
        if let (Some(by), Some(lost)) = (overtaker, loss.lost.first_mut()) {
            lost.is_needed_before(by);
        }
        Ok(Self { loss, moment, torn, scratch })
    }
}

/// How many steps the program had executed before the first store that a state lacks.
fn moment(memory: &Memory<'_>, point: &Point, state: &State) -> Option<u64> {
    let lost = point.lines.iter().zip(state).filter(|(_, content)| **content != 0);
    let first = lost.map(|(open, &content)| {
        let stores = &memory.lines[open.number as usize].pending.stores;
        let content = &open.contents.list[content];
        let first = if content.torn.is_some() { content.torn } else { content.kept.map(|kept| kept + 1) };
        let first = stores.get(first.unwrap_or(0)).filter(|_| open.provenance.is_none());
        first.map(|stored| stored.step - 1)
    });
    first.min().flatten()
}

/// The second reading.
struct Second {
    candidates: Vec<Candidate>,
    /// Candidates by their moments.
    moments: BTreeMap<u64, Vec<usize>>,
    retrace: Retrace,
}

impl Second {
    fn of(candidates: Vec<Candidate>) -> Self {
        let mut moments: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, candidate) in candidates.iter().enumerate() {
            if let Some(moment) = candidate.moment {
                moments.entry(moment).or_default().push(number);
            }
        }
        Self { candidates, moments, retrace: Retrace::default() }
    }

    fn read(&mut self, reading: &Reading<'_>, judging: &mut Judging<'_>) -> Result<(), Failure> {
        if self.candidates.is_empty() {
            return Ok(());
        }
        let mut memory = reading.memory(judging)?;
        let mut outcome = Ok(());
        let steps = reading.trace.steps(reading.cancel)?;
        let read = steps.each(reading.case.config.allow_truncated, &|_| {}, &mut |step| {
            let is_point = memory.loses_states(&step);
            if let Err(why) = self.look(judging, &mut memory, step.record, is_point) {
                outcome = Err(why);
                return ControlFlow::Break(());
            }
            if is_point {
                memory.passed();
            }
            self.retrace.meets(&memory, &step);
            memory.take(&step);
            self.follow(&memory, &step);
            ControlFlow::Continue(())
        })?;
        outcome?;
        self.look(judging, &mut memory, read.records + 1, true)?;
        self.retrace.finish(&read.sites);
        self.durable_by_chance(reading, judging, &memory, &read.sites);
        Ok(())
    }

    /// What lacks a flush may become durable by chance, with a neighbour; but not always: the program has stored at the same
    /// place what is not surely durable at its end.
    fn durable_by_chance(&mut self, reading: &Reading<'_>, judging: &Judging<'_>, memory: &Memory<'_>, sites: &Sites) {
        let pending = || memory.lines.iter().flat_map(|known| &known.pending.stores).filter(|stored| !stored.covered);
        let mut durable: Vec<&mut Candidate> =
            self.candidates.iter_mut().filter(|of| of.later.is_some_and(|later| later.durable)).collect();
        if durable.is_empty() || pending().next().is_none() {
            return;
        }
        let places = &judging.shown.get_or_init(|| shown(sites, &wrappers_and(reading.case.wrappers))).places;
        let never: FxHashSet<&Place> = pending().map(|stored| place_of(places, stored.site)).collect();
        for candidate in &mut durable {
            let first = candidate.first_lost().is_some_and(|site| never.contains(place_of(places, site)));
            candidate.later = candidate.later.map(|later| Later { durable: !first, ..later });
        }
    }

    /// Judges memory of which nothing is lost, if that is asked for or known.
    fn look(
        &mut self,
        judging: &mut Judging<'_>,
        memory: &mut Memory<'_>,
        record: u64,
        is_point: bool,
    ) -> Result<(), Failure> {
        let asked = self.moments.remove(&memory.step);
        if asked.is_none() && !is_point {
            return Ok(());
        }
        let occasion = Occasion { marks: memory.marks, event: record };
        let known = judging.known(memory, occasion);
        let fails = match known {
            Some(fails) => fails,
            None if asked.is_some() || self.retrace.looks_for_an_end() => {
                judging.fails_on(memory, (memory.digest, &[]), occasion)?
            }
            None => return Ok(()),
        };
        let stretch = self.retrace.judged(judging, memory, occasion, (fails, asked.is_some()))?;
        for number in asked.into_iter().flatten() {
            self.candidates[number].stretch = stretch;
        }
        Ok(())
    }

    /// Follows what was lost: whether it is made durable later.
    fn follow(&mut self, memory: &Memory<'_>, step: &Step<'_>) {
        if !matches!(step.done, Done::Flush { .. } | Done::Fence { .. }) {
            return;
        }
        for candidate in self.candidates.iter_mut().filter(|of| of.loss.step < memory.step) {
            let Some(later) = candidate.later.as_mut().filter(|later| !later.durable) else { continue };
            if let Done::Flush { at, .. } = step.done
                && memory.place(at.line) == Some(later.line)
            {
                later.flushed.get_or_insert(step.site);
            }
            let stores = &memory.lines[memory.number(later.line) as usize].pending.stores;
            later.durable = !stores.iter().any(|stored| stored.step == later.step && !stored.covered);
        }
    }
}

/// Adds images to a cause.
fn add(judging: &mut Judging<'_>, candidate: Candidate, retrace: &Retrace) {
    let first = candidate.first_lost();
    let Candidate { mut loss, count, how, lacks_nothing, torn, scratch, stretch, later, .. } = candidate;
    let causes = &mut judging.causes;
    let durable = later.is_some_and(|later| later.durable);
    // A store whose flush is missing is lost in any case; but if it begins an update that is not atomic, that is the reason.
    let executed = match stretch.and_then(|number| retrace.update(number)) {
        Some(executed) if lacks_nothing || durable || loss.lost.is_empty() => Some(executed),
        _ => first.and_then(|first| retrace.update_begun_by(first)),
    };
    if let Some(executed) = executed {
        for known in causes.known.iter_mut().filter(|known| known.how.timed_out == how.timed_out) {
            match &mut known.why {
                Why::Executed(of) if of.is_of_update(executed) => {
                    of.continues(executed);
                    known.count += count;
                    return;
                }
                _ => {}
            }
        }
        causes.found(Failing { why: Why::Executed(executed.clone()), count, loss, how, scratch: false });
        return;
    }
    if lacks_nothing {
        // An interruption has left open where it begins.
        loss.lost.clear();
    } else if causes.explained(&loss, how.timed_out, count) {
        return;
    }
    if let Some(lost) = loss.lost.first_mut() {
        match lost.missing {
            _ if torn => lost.missing = CauseKind::TornStore,
            CauseKind::MissingFlush if durable && lost.needed_before.is_some() => {
                (lost.missing, lost.flushed) = (CauseKind::OrderBetweenLines, later.and_then(|later| later.flushed));
            }
            _ => {}
        }
    }
    let new = Failing { why: Why::Lacks(vec![loss.overtaken()]), count, loss, how, scratch };
    if let Some(new) = causes.same_mistake(new) {
        causes.found(new);
    }
}
