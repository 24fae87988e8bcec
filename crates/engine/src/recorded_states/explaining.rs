//! Finds out why images fail. The trace is read again, twice: at the crash points of the images, to restore what they lost
//! needlessly (`minimal`); then from moment to moment, to see where the program fails with nothing lost (`executed`), and
//! whether what was lost is made durable later.

use super::causes::{Failed, Failing, Unexplained, Why};
use super::executed::Retrace;
use super::explore::Reading;
use super::judging::Judging;
use super::loss::{Before, Loss, Moment};
use super::memory::Memory;
use super::minimal::Minimal;
use super::point::{Point, State};
use crate::crash::CauseKind;
use crate::kernel::Failure;
use crate::message::{Line, Site};
use crate::trace::{Done, Step};
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
    /// Whether a fence completes a flush of the first lost store later, and where the first such flush is.
    later: Later,
}

/// What comes after a failure of the power that has lost a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    /// Nothing.
    Pending { line: Option<Line>, step: u64, flushed: Option<Site> },
    /// It becomes durable, with a flush from there.
    Durable(Option<Site>),
}

impl Later {
    fn flushed(self) -> Option<Site> {
        match self {
            Later::Pending { .. } => None,
            Later::Durable(site) => site,
        }
    }
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
    let unfinished = first.waiting.into_iter().map(|of| Candidate::of(of.image.loss.clone(), of));
    let Second { candidates, retrace, never_durable, .. } = second;
    for candidate in candidates.into_iter().chain(unfinished) {
        add(judging, candidate, &retrace, &never_durable);
    }
    judging.causes.in_order();
    match outcome {
        // The user has interrupted: what was found fails in any case.
        Err(Failure::Cancelled) => Ok(()),
        outcome => outcome,
    }
}

impl Candidate {
    fn of(loss: Loss, Unexplained { count, how, lacks_nothing, .. }: Unexplained) -> Self {
        let later = Later::Pending { line: None, step: 0, flushed: None };
        let (moment, torn, scratch, stretch) = (None, false, false, None);
        Self { loss, count, how, lacks_nothing, moment, torn, scratch, stretch, later }
    }
}

/// The first reading.
struct First {
    waiting: VecDeque<Unexplained>,
    found: Vec<Candidate>,
}

impl First {
    fn read(&mut self, reading: &Reading<'_>, judging: &mut Judging<'_>) -> Result<(), Failure> {
        walk(reading, judging, &mut |judging, memory, at| {
            while self.waiting.front().is_some_and(|of| of.image.loss.step == memory.step) {
                let of = self.waiting.front().expect("it is there");
                let candidate = Self::minimal(judging, memory, at, of)?;
                let of = self.waiting.pop_front().expect("it is there");
                let explained = !of.lacks_nothing && judging.causes.explained(&candidate.0, of.how.timed_out, of.count);
                if !explained {
                    let (loss, moment, torn, scratch) = candidate;
                    let lost = loss.lost.iter().min_by_key(|lost| lost.step);
                    let later = Later::Pending {
                        line: lost.map(|lost| lost.line),
                        step: lost.map_or(0, |lost| lost.step),
                        flushed: lost.and_then(|lost| lost.flushed),
                    };
                    self.found.push(Candidate { moment, torn, scratch, later, ..Candidate::of(loss, of) });
                }
            }
            Ok(if self.waiting.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    }

    /// What an image needs to lack, the moment that shows whether it need lack anything, whether a store is torn, and whether
    /// all of this need not become durable.
    fn minimal(
        judging: &mut Judging<'_>,
        memory: &mut Memory<'_>,
        at: Moment,
        of: &Unexplained,
    ) -> Result<(Loss, Option<u64>, bool, bool), Failure> {
        if of.lacks_nothing {
            return Ok((of.image.loss.clone(), Some(memory.step), false, false));
        }
        let point = if of.image.of_whole_point { Point::whole(memory) } else { Point::of(memory) };
        let at = Moment { before: of.image.loss.before, ..at };
        let mut minimal = Minimal::new(judging, memory, &point, at);
        let state = minimal.of(&of.image.state)?;
        let first = moment(minimal.memory, &point, &state);
        let overtaker = first.map_or(Ok(None), |moment| minimal.overtaker(&state, moment + 1))?;
        let lost = || point.lines.iter().zip(&state).filter(|(_, content)| **content != 0);
        let torn = lost().count() == 1 && lost().all(|(open, &content)| open.contents.list[content].torn.is_some());
        let scratch = lost().all(|(open, _)| open.scratch);
        let mut loss = Loss::of_minimal(memory, &point, &state, at);
        if let (Some(by), Some(lost)) = (overtaker, loss.lost.first_mut()) {
            lost.is_needed_before(by);
        }
        Ok((loss, first, torn, scratch))
    }
}

/// How many steps the program had executed before the first store that a state lacks.
fn moment(memory: &Memory<'_>, point: &Point, state: &State) -> Option<u64> {
    let lost = point.lines.iter().zip(state).filter(|(_, content)| **content != 0);
    let first = lost.map(|(open, &content)| {
        let stores = &memory.lines[open.number as usize].pending.stores;
        let content = &open.contents.list[content];
        let first = if content.torn.is_some() { content.torn } else { content.kept.map(|kept| kept + 1) };
        let first = stores.get(first.unwrap_or(0)).filter(|_| open.of_counter.is_none());
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
    /// Where the program has stored what is not surely durable at its end.
    never_durable: FxHashSet<Site>,
}

impl Second {
    fn of(candidates: Vec<Candidate>) -> Self {
        let mut moments: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, candidate) in candidates.iter().enumerate() {
            if let Some(moment) = candidate.moment {
                moments.entry(moment).or_default().push(number);
            }
        }
        Self { candidates, moments, retrace: Retrace::default(), never_durable: FxHashSet::default() }
    }

    fn read(&mut self, reading: &Reading<'_>, judging: &mut Judging<'_>) -> Result<(), Failure> {
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
        self.retrace.finish();
        let pending = memory.lines.iter().flat_map(|known| &known.pending.stores);
        self.never_durable = pending.filter(|stored| !stored.covered).map(|stored| stored.site).collect();
        Ok(())
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
            let Later::Pending { line: Some(line), step: lost, flushed } = candidate.later else { continue };
            let site = match step.done {
                Done::Flush { at, .. } if memory.place(at.line) == Some(line) => Some(step.site),
                _ => None,
            };
            let flushed = flushed.or(site);
            let stores = &memory.lines[memory.number(line) as usize].pending.stores;
            let pending = stores.iter().any(|stored| stored.step == lost && !stored.covered);
            candidate.later = match pending {
                true => Later::Pending { line: Some(line), step: lost, flushed },
                false => Later::Durable(flushed),
            };
        }
    }
}

/// Adds images to a cause.
fn add(judging: &mut Judging<'_>, candidate: Candidate, retrace: &Retrace, never_durable: &FxHashSet<Site>) {
    let Candidate { mut loss, count, how, lacks_nothing, torn, scratch, stretch, later, .. } = candidate;
    let causes = &mut judging.causes;
    let first = loss.lost.iter().min_by_key(|lost| lost.step).map(|lost| lost.stored);
    // What lacks a flush may become durable by chance, with a neighbour; but not always.
    let durable = matches!(later, Later::Durable(_)) && first.is_none_or(|site| !never_durable.contains(&site));
    let begins = |of: &super::executed::Executed| first.is_some() && of.from.map(|by| by.site) == first;
    // A store whose flush is missing is lost in any case; but if it begins an update that is not atomic, that is the reason.
    let executed = match stretch.and_then(|number| retrace.stretches.get(number)) {
        Some(executed) if lacks_nothing || durable || loss.lost.is_empty() => Some(executed),
        _ => retrace.stretches.iter().find(|of| begins(of)),
    };
    if let Some(executed) = executed {
        let site = executed.from.map(|by| by.site);
        let same = |known: &&mut Failing| {
            known.how.timed_out == how.timed_out
                && matches!(&known.why, Why::Executed(of) if of.from.map(|by| by.site) == site)
        };
        match causes.known.iter_mut().find(same) {
            Some(known) => known.count += count,
            None => {
                let (why, kind) = (Why::Executed(executed.clone()), executed.kind);
                causes.found(Failing { why, kind, count, loss, how, scratch: false });
            }
        }
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
                (lost.missing, lost.flushed) = (CauseKind::OrderBetweenLines, later.flushed());
            }
            _ => {}
        }
    }
    let kind = loss.lost.first().map_or(CauseKind::WrongRecovery, |lost| lost.missing);
    let keys = vec![loss.overtaken()];
    let new = Failing { why: Why::Lacks(keys), kind, count, loss, how, scratch };
    if let Some(new) = causes.same_mistake(new) {
        causes.found(new);
    }
}

/// What is done at a crash point; breaks if nothing is left to do.
type AtPoint<'p> = dyn FnMut(&mut Judging<'_>, &mut Memory<'_>, Moment) -> Result<ControlFlow<()>, Failure> + 'p;

/// Reads the trace from crash point to crash point, as an exploration does.
fn walk(reading: &Reading<'_>, judging: &mut Judging<'_>, each: &mut AtPoint<'_>) -> Result<(), Failure> {
    let mut memory = reading.memory(judging)?;
    let mut outcome = Ok(());
    let mut at_point = |judging: &mut Judging<'_>, memory: &mut Memory<'_>, record| {
        let flow = each(judging, memory, Moment { record, before: Before::End });
        memory.passed();
        match flow {
            Ok(flow) => flow,
            Err(why) => {
                outcome = Err(why);
                ControlFlow::Break(())
            }
        }
    };
    let mut over = false;
    let read =
        reading.trace.steps(reading.cancel)?.each(reading.case.config.allow_truncated, &|_| {}, &mut |step| {
            let ends = matches!(step.done, Done::Mark(_)) && reading.region.until == Some(memory.marks);
            if ends || memory.loses_states(&step) {
                let flow = at_point(judging, &mut memory, step.record);
                over |= ends || flow.is_break();
                if over {
                    return ControlFlow::Break(());
                }
            }
            memory.take(&step);
            ControlFlow::Continue(())
        })?;
    if !over {
        let _ = at_point(judging, &mut memory, read.records + 1);
    }
    outcome
}
