//! One exploration of the legal states of a recorded program, from configuration to report.

use super::asked::RecordedLegal;
use super::counters::{Counters, Rules};
use super::explaining::explain;
use super::judging::{Extent, Judging};
use super::loss::{Before, Moment};
use super::memory::Memory;
use super::nested::{self, Asked, Seen, fail_again};
use super::point::Extent::Whole;
use super::point::{Point, Tried};
use super::report::{Explored, Outcome};
use super::tally::{PASSES, Pass, Points, Tally};
use super::watching::Watching;
use crate::crash::{CrashCase, CrashPlan, CrashReport, Exploration, Region};
use crate::kernel::{ConfigError, Failure, Stopwatch};
use crate::message::NO_SITE;
use crate::run::Source;
use crate::trace::{Done, StepsRead, Trace, TraceBase};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Default number of states that are tried at one crash point before the rest is left out.
pub(crate) const STATES_PER_POINT: u64 = 256;

/// What progress tells of in all: the bytes of the trace, once for each time that it is read.
///
/// # Errors
/// The file cannot be opened again.
pub(crate) fn amount(trace: &Trace, exploration: &Exploration, cancel: &Arc<AtomicBool>) -> Result<u64, ConfigError> {
    let again = if exploration.nested > 0 { nested::READINGS } else { 0 };
    Ok((passes(exploration.plan).len() as u64 + again) * trace.steps(cancel)?.bytes())
}

/// The readings of the trace, without those that find out why images fail.
fn passes(plan: CrashPlan) -> &'static [Pass] {
    if plan == CrashPlan::All { &PASSES } else { &PASSES[2..] }
}

/// Fails power at every fence and flush of the recorded program that makes something durable (where caches persist: at every
/// store, and every fence that makes something durable), and at its end, and lets its own recovery judge the states that are
/// legal there.
///
/// # Errors
/// What is asked has no meaning, the trace cannot be read, the command cannot be run, or the user has interrupted before
/// anything was judged.
pub fn explore_recorded(case: &CrashCase<'_>, asked: RecordedLegal<'_>) -> Result<CrashReport, Failure> {
    explored(case, asked, &mut Seen::default()).map(|explored| explored.report)
}

/// The same; `seen` has the recoveries in which power has failed again.
pub(super) fn explored(case: &CrashCase<'_>, asked: RecordedLegal<'_>, seen: &mut Seen) -> Result<Explored, Failure> {
    let RecordedLegal { exploration, states_per_point, sector, recovery, cancel } = asked;
    let (Source::Trace(trace, _), Some(recovery)) = (case.source, recovery) else {
        return Err(ConfigError(
            "explore legal: only the program's own recovery can judge the states of a recorded program: give its command \
             as 'recover'"
                .to_owned(),
        )
        .into());
    };
    if matches!(exploration.plan, CrashPlan::Sample(_) | CrashPlan::Between { .. }) {
        return Err(ConfigError("explore legal: every fence is a point: 'all' or one event".to_owned()).into());
    }
    let started = Stopwatch::start();
    let stop_after = exploration.stop_at.map(|_| 1).or(exploration.stop_after);
    let budget = states_per_point.unwrap_or(STATES_PER_POINT);
    let base = trace.base();
    let rules = Rules::of(&case.config.machine, case.config.seed, case.design, trace)?;
    let mut judging = Judging::new(recovery, stop_after, cancel);
    judging.survivors = (exploration.nested > 0).then(Vec::new);
    let mut watching = match judging.recovery().settings().watcher {
        Some(_) => Some(Watching::of(trace, case.config.allow_truncated, cancel)?),
        None => None,
    };
    let mut found = None;
    let (plan, region) = (exploration.plan, exploration.region);
    let (rules, pass) = (rules.as_ref(), PASSES[0]);
    let mut reading = Reading { case, trace, base: &base, rules, sector, plan, region, pass, budget, cancel };
    for &pass in passes(plan) {
        reading.pass = pass;
        found = Some(reading.read(&mut judging, watching.as_mut())?);
        explain(&reading, &mut judging)?;
        if judging.ended.is_some() || cancel.load(Ordering::Relaxed) {
            break;
        }
    }
    let Read { near, extent, read } = found.expect("there is a pass");
    let again = fail_again(&reading, &mut judging, Asked { exploration, states_per_point, sector, seen })?;
    let interrupted = cancel.load(Ordering::Relaxed);
    let (points, _) = judging.points();
    if interrupted && judging.recoveries.images == 0 {
        return Err(Failure::Cancelled);
    }
    let unjudged = (points == 0)
        .then(|| near.unjudged(exploration.plan, exploration.region, (case.design.stores_persist(), sector)));
    let seconds = started.seconds();
    let unlike = watching.as_ref().is_some_and(|watching| watching.unlike);
    let extent = if unlike { Extent { tally: extent.tally.without_reads(), ..extent } } else { extent };
    let unknown = watching.and_then(|watching| watching.unknown);
    let outcome = Outcome {
        trace,
        exploration,
        extent,
        budget,
        sector,
        read,
        unjudged,
        interrupted,
        seconds,
        stop_after,
        unknown,
        again,
    };
    Ok(outcome.report(case, judging))
}

/// The crash points before and after the record that was asked for.
#[derive(Clone, Copy, Default)]
struct Near {
    before: Option<u64>,
    after: Option<u64>,
}

impl Near {
    fn meet(&mut self, record: u64, wanted: u64) {
        if record < wanted {
            self.before = Some(record);
        } else {
            self.after = self.after.or(Some(record));
        }
    }

    /// Why nothing was judged.
    fn unjudged(&self, plan: CrashPlan, region: Region, (caches_persist, sector): (bool, Option<u64>)) -> String {
        if region != Region::WHOLE {
            return "explore legal: between these marks, and before the later one, the program stores nothing"
                .to_owned();
        }
        let CrashPlan::At(at) = plan else {
            return "explore legal: the program stores nothing in its files, so a crash has nothing to lose and there is no \
                    verdict"
                .to_owned();
        };
        let near = match (self.before, self.after) {
            (Some(before), Some(after)) => format!("the nearest are the records {before} and {after}"),
            (Some(before), None) => format!("the last is record {before}"),
            (None, Some(after)) => format!("the first is record {after}"),
            (None, None) => "the trace has none".to_owned(),
        };
        format!(
            "explore legal: record {at} of the trace is no {}, with a store since the one before; {near}",
            Points { caches_persist, sector, marks: false }.what()
        )
    }
}

/// One reading of the trace.
pub(super) struct Reading<'a> {
    pub case: &'a CrashCase<'a>,
    pub trace: &'a Trace,
    base: &'a TraceBase,
    /// Those of the counters, on a design whose lines do not always decrypt.
    rules: Option<&'a Rules>,
    sector: Option<u64>,
    plan: CrashPlan,
    region: Region,
    pass: Pass,
    budget: u64,
    pub cancel: &'a Arc<AtomicBool>,
}

/// Called at a crash point; breaks off the reading. `ends`: the region or the trace ends there, with or without news.
pub(super) type AtPoint<'p> = dyn FnMut(&mut Memory<'_>, Moment, bool) -> ControlFlow<()> + 'p;

/// What a reading has found.
struct Read {
    near: Near,
    extent: Extent,
    read: StepsRead,
}

impl<'a> Reading<'a> {
    /// Memory before the run.
    pub fn memory(&self, judging: &mut Judging<'_>) -> Result<Memory<'a>, Failure> {
        judging.rewind()?;
        let counters = self.rules.map(|rules| Counters::new(rules, self.case.source.annotated()));
        Ok(Memory::new(self.trace.files(), self.base, |line| judging.recovery().shows(line))
            .with_caches_that_persist(self.case.design.stores_persist())
            .telling_marks(judging.recovery().named().marks)
            .with_counters(counters)
            .with_sectors(self.sector))
    }

    /// Reads the trace from crash point to crash point, until its region ends.
    pub fn each_point(
        &self,
        memory: &mut Memory<'_>,
        progress: &dyn Fn(u64),
        each: &mut AtPoint<'_>,
    ) -> Result<StepsRead, Failure> {
        let mut over = false;
        let steps = self.trace.steps(self.cancel)?;
        let read = steps.each(self.case.config.allow_truncated, progress, &mut |step| {
            let at_mark = matches!(step.done, Done::Mark(_));
            let ends = at_mark && self.region.until == Some(memory.marks);
            if ends || memory.loses_states(&step) {
                let before = if at_mark { Before::Mark } else { Before::Operation(step.site) };
                over = each(memory, Moment { record: step.record, before }, ends).is_break() || ends;
                memory.passed();
            }
            if !over {
                memory.take(&step);
                over = self.cancel.load(Ordering::Relaxed);
            }
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !over && !self.cancel.load(Ordering::Relaxed) {
            let _ = each(memory, Moment { record: read.records + 1, before: Before::End }, true);
        }
        Ok(read)
    }

    fn read(&self, judging: &mut Judging<'_>, watching: Option<&mut Watching>) -> Result<Read, Failure> {
        let mut memory = self.memory(judging)?;
        let mut walk = Walk {
            of: self,
            judging,
            watching,
            kinds: FxHashSet::default(),
            last_point: 0,
            any: false,
            tally: Tally::default(),
            near: Near::default(),
            outcome: Ok(()),
        };
        let read = self.each_point(&mut memory, self.case.progress, &mut |memory, at, ends| {
            if ends && !walk.ends_with_point(memory) {
                return ControlFlow::Continue(());
            }
            walk.explore(memory, at)
        })?;
        if walk.outcome.is_ok() && !walk.is_over() {
            walk.outcome = walk.judging.take(0);
        }
        match std::mem::replace(&mut walk.outcome, Ok(())) {
            Err(Failure::Cancelled) => walk.judging.abandon(),
            outcome => outcome?,
        }
        if self.cancel.load(Ordering::Relaxed) {
            walk.judging.abandon();
        }
        let (tally, near) = (walk.tally, walk.near);
        let points = judging.points().0 as usize;
        let extent =
            judging.ended.unwrap_or(Extent { pass: self.pass, tally, points, images: judging.recoveries.images });
        Ok(Read { near, extent, read })
    }
}

/// A reading under way.
struct Walk<'r, 'j> {
    of: &'r Reading<'r>,
    judging: &'r mut Judging<'j>,
    /// If what the command reads is to decide what cannot be tried.
    watching: Option<&'r mut Watching>,
    /// The kinds of crash points that have been met.
    kinds: FxHashSet<u64>,
    /// The step before which the last crash point was.
    last_point: u64,
    /// Whether a crash point has been explored in the region.
    any: bool,
    tally: Tally,
    near: Near,
    outcome: Result<(), Failure>,
}

impl Walk<'_, '_> {
    /// Whether the exploration has ended, or the user has interrupted.
    fn is_over(&self) -> bool {
        self.judging.ended.is_some() || self.of.cancel.load(Ordering::Relaxed)
    }

    /// Whether the end of the region is a crash point.
    fn ends_with_point(&self, memory: &Memory<'_>) -> bool {
        // What an earlier point leaves open may be lost at a later one.
        memory.has_news() || (!self.any && self.of.region != Region::WHOLE && !memory.lines.is_empty())
    }

    /// Explores a crash point, if it is one of those that are asked for.
    fn explore(&mut self, memory: &mut Memory<'_>, at: Moment) -> ControlFlow<()> {
        let wanted = match self.of.plan {
            CrashPlan::At(wanted) if at.record != wanted => {
                self.near.meet(at.record, wanted);
                false
            }
            _ => self.of.region.has(memory.marks) && (!self.of.pass.new_kinds || self.is_new(memory, at)),
        };
        self.any |= wanted;
        self.tally.passed += 1;
        let flow = if wanted { self.explore_all(memory, at) } else { ControlFlow::Continue(()) };
        self.last_point = memory.step;
        flow
    }

    fn explore_all(&mut self, memory: &mut Memory<'_>, at: Moment) -> ControlFlow<()> {
        let point = Point::of(memory);
        let points = self.judging.explores(at.record);
        let Self { of, judging, watching, outcome, .. } = self;
        let pass = of.pass;
        let mut tally = self.tally;
        // As long as the point is being explored, it counts as explored in part.
        tally.add(&point, Tried::Some);
        let extent = Extent { pass, tally, points, images: 0 };
        let tried = point.each(pass.extent, of.budget, &mut |state| {
            *outcome = judging.meet(memory, &point, state, at, extent);
            if outcome.is_err() || judging.ended.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let tried = match watching {
            Some(watching) if pass.extent == Whole && tried != Tried::Every => {
                let whole = Point::whole(memory);
                match watching.explore(memory, &whole, judging, (at, extent, of.budget)) {
                    Ok(found) => {
                        self.tally.classes += found.classes;
                        if found.every { Tried::Classes } else { tried }
                    }
                    Err(why) => {
                        *outcome = Err(why);
                        return ControlFlow::Break(());
                    }
                }
            }
            _ => tried,
        };
        self.tally.add(&point, tried);
        if self.judging.ended.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether no point of the same kind has been met: with the same stores since the last one, flushed or not, at the same
    /// fence.
    fn is_new(&mut self, memory: &Memory<'_>, at: Moment) -> bool {
        let mut stores = Vec::new();
        for &number in &memory.fresh {
            let pending = &memory.lines[number as usize].pending;
            for stored in pending.stores.iter().filter(|stored| stored.step > self.last_point) {
                let flushed = pending.flushes.covering(stored).is_some();
                let place = if stored.site == NO_SITE { stored.mask } else { u64::from(stored.site) };
                stores.push((place, stored.past_caches, flushed));
            }
        }
        stores.sort_unstable();
        stores.dedup();
        let mut hasher = FxHasher::default();
        (stores, at.before).hash(&mut hasher);
        self.kinds.insert(hasher.finish())
    }
}
