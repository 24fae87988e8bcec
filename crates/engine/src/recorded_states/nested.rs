//! Power that fails again while the program recovers: on each image from which the command recovers, it runs once under the
//! recorder, and the recording is explored as that of the program is, judged by the same command.

use super::asked::RecordedLegal;
use super::explore::{Reading, explored};
use super::judging::Judging;
use super::loss::Moment;
use super::memory::Memory;
use super::point::Point;
use super::report::{Explored, Told};
use crate::attribution::Place;
use crate::config::RunConfig;
use crate::crash::{Cause, CrashCase, CrashPlan, Exploration, NestedRecoveries, Region};
use crate::kernel::Failure;
use crate::run::Source;
use crate::user_recovery::{Occasion, Recorded, RecordedProgram, ToRecord};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

/// Runs that are recorded at a time. What is explored does not depend on how many commands run at a time.
const AT_A_TIME: usize = 8;
/// What it counts for in the progress: so many readings of the program's own trace.
pub(super) const READINGS: u64 = 3;

/// An image from which the command recovers, as far as it has to be found again.
pub(super) struct Survivor {
    pub at: Moment,
    pub state: Box<[usize]>,
    pub of_whole_point: bool,
}

/// The recordings that have been explored, each with how many times in a row power was to fail again then.
pub(super) type Seen = FxHashMap<(u64, u64), u32>;

/// What is asked.
pub(super) struct Asked<'a> {
    pub exploration: &'a Exploration,
    pub states_per_point: Option<u64>,
    pub sector: Option<u64>,
    pub seen: &'a mut Seen,
}

/// Causes of failures in recoveries, each with when power failed before that, and how far the program had come then.
pub(super) struct Found {
    pub at: Moment,
    pub marks: Option<String>,
    pub told: Told,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Again {
    pub counts: NestedRecoveries,
    pub points: u64,
    pub found: Vec<Found>,
    /// Images from which the command recovers and on which it was not recorded.
    left: u64,
    /// Recordings that were not explored.
    waiting: u64,
    /// Recordings of which all legal states were tried.
    exhaustive: u64,
    /// Recordings that do the same as an earlier one.
    alike: u64,
    /// Why a run could not be explored first.
    unknown: Option<String>,
    /// Whether it ended with the failing image asked for, and whether all had ended before.
    ended: bool,
    over: bool,
}

/// Lets power fail again in the recoveries from the images that were judged.
pub(super) fn fail_again(reading: &Reading<'_>, judging: &mut Judging<'_>, asked: Asked<'_>) -> Result<Again, Failure> {
    let Some(mut waiting) = judging.survivors.take() else { return Ok(Again::default()) };
    let survivors = waiting.len() as u64;
    let over = judging.ended.is_some() || reading.cancel.load(Ordering::Relaxed);
    let again = Again { left: survivors, over, ..Again::default() };
    if over || waiting.is_empty() {
        return Ok(again);
    }
    waiting.sort_by_key(|survivor| survivor.at.record);
    let total = reading.trace.steps(reading.cancel)?.bytes() * READINGS;
    let progress = (survivors, total, 0);
    judging.keeps_once();
    let mut memory = reading.memory(judging)?;
    let mut walk = Walk { reading, judging, asked, waiting: waiting.into(), batch: Vec::new(), again, progress };
    let mut outcome = Ok(());
    reading.each_point(&mut memory, &|_| {}, &mut |memory, at, _| {
        outcome = walk.at_point(memory, at);
        match outcome.is_err() || walk.again.ended || walk.waiting.is_empty() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    let outcome = outcome.and_then(|()| walk.record());
    match outcome {
        // The user has interrupted: what was found fails in any case.
        Err(Failure::Cancelled) => Ok(walk.again),
        outcome => outcome.map(|()| walk.again),
    }
}

/// The walk over the images.
struct Walk<'r, 'j, 'a> {
    reading: &'r Reading<'r>,
    judging: &'r mut Judging<'j>,
    asked: Asked<'a>,
    waiting: VecDeque<Survivor>,
    batch: Vec<(Moment, Occasion, ToRecord)>,
    again: Again,
    /// Number of images, bytes that they count for in the progress, and those of them that were told.
    progress: (u64, u64, u64),
}

impl Walk<'_, '_, '_> {
    fn at_point(&mut self, memory: &mut Memory<'_>, at: Moment) -> Result<(), Failure> {
        let mut points = [None, None];
        while self.waiting.front().is_some_and(|survivor| survivor.at.record == at.record) && !self.again.ended {
            let Survivor { state, of_whole_point: whole, .. } = self.waiting.pop_front().expect("it is there");
            let point = points[usize::from(whole)]
                .get_or_insert_with(|| if whole { Point::whole(memory) } else { Point::of(memory) });
            let occasion = Occasion { marks: memory.marks, event: at.record };
            let run = self.judging.prepare_recorded(memory, point, &state, occasion)?;
            self.batch.push((at, occasion, run));
            if self.batch.len() == AT_A_TIME {
                self.record()?;
            }
        }
        Ok(())
    }

    /// Records the runs that are prepared, and explores what they have stored.
    fn record(&mut self) -> Result<(), Failure> {
        let (of, runs): (Vec<_>, Vec<_>) =
            self.batch.drain(..).map(|(at, occasion, run)| ((at, occasion), run)).unzip();
        if runs.is_empty() {
            return Ok(());
        }
        let recorded = self.judging.recovery().record(runs, self.reading.cancel)?;
        self.again.counts.recorded += recorded.len() as u64;
        self.again.left -= recorded.len() as u64;
        self.tell();
        let mut stored = Vec::new();
        for (of, recorded) in of.into_iter().zip(recorded) {
            match recorded {
                Recorded::Unknown(why) => {
                    self.again.counts.unknown += 1;
                    self.again.unknown.get_or_insert(why);
                }
                Recorded::Stored(programs) => {
                    self.again.counts.stored += u64::from(!programs.is_empty());
                    stored.extend(programs.into_iter().map(|program| (program, of)));
                }
            }
        }
        self.again.waiting += stored.len() as u64;
        for (program, (at, occasion)) in stored {
            if !self.again.ended {
                self.explore(program, at, occasion)?;
            }
        }
        Ok(())
    }

    fn explore(&mut self, program: RecordedProgram, at: Moment, occasion: Occasion) -> Result<(), Failure> {
        let left = self.asked.exploration.nested - 1;
        let marks = if self.judging.recovery().named().marks { occasion.marks } else { 0 };
        match self.asked.seen.entry((program.digest, marks)) {
            Entry::Occupied(seen) if *seen.get() >= left => {
                self.again.alike += 1;
                self.again.waiting -= 1;
                return Ok(());
            }
            seen => *seen.or_default() = left,
        }
        let mut inner = self.judging.recovery().again(&program, occasion)?;
        let (lost, marks) = (self.lost(), self.judging.recovery().describe(occasion));
        let CrashCase { config, source, .. } = self.reading.case;
        let Source::Trace(_, form) = source else { unreachable!("the program was recorded") };
        let RecordedProgram { trace, .. } = program;
        let source = Source::Trace(Box::new(trace), *form);
        let config = RunConfig { allow_truncated: true, ..(*config).clone() };
        let case = CrashCase { config: &config, source: &source, progress: &|_| {}, ..*self.reading.case };
        let stop_after = self.judging.stop_after.map(|most| most - lost);
        let plan = CrashPlan::All;
        let (region, stop_at) = (Region::WHOLE, None);
        let exploration = Exploration { plan, region, nested: left, stop_at, stop_after, ..*self.asked.exploration };
        let legal = RecordedLegal {
            exploration: &exploration,
            states_per_point: self.asked.states_per_point,
            sector: self.asked.sector,
            recovery: Some(&mut inner),
            cancel: self.reading.cancel,
        };
        let found = explored(&case, legal, self.asked.seen)?;
        let kept = self.judging.takes_kept_of(&inner);
        self.again.explored(&found);
        for mut told in found.told {
            if let Some((first, more)) = kept.split_first().filter(|_| told.is_kept) {
                told.violation.explanation += &format!(" The recovery started from {}", first.display());
                told.violation.explanation.extend(more.iter().map(|path| format!(", {}", path.display())));
                told.violation.explanation.push('.');
            }
            self.again.take(Found { at, marks: marks.clone(), told });
        }
        self.again.ended = self.judging.stop_after.is_some_and(|most| self.lost() >= most);
        if self.reading.cancel.load(Ordering::Relaxed) { Err(Failure::Cancelled) } else { Ok(()) }
    }

    /// Number of failing images, the program's own among them.
    fn lost(&self) -> u64 {
        self.judging.recoveries.lost() + self.again.counts.lost()
    }

    fn tell(&mut self) {
        let (survivors, total, told) = &mut self.progress;
        let done = (u128::from(*total) * u128::from(*survivors - self.again.left) / u128::from(*survivors)) as u64;
        (self.reading.case.progress)(done - *told);
        *told = done;
    }
}

impl Again {
    /// A recording has been explored.
    fn explored(&mut self, of: &Explored) {
        let (Explored { report, again, exhaustive, .. }, counts) = (of, &mut self.counts);
        let of = report.recoveries.as_ref().expect("a command has judged");
        counts.recorded += again.counts.recorded;
        counts.stored += again.counts.stored;
        counts.explored += 1 + again.counts.explored;
        counts.unknown += again.counts.unknown;
        counts.images += of.images + again.counts.images;
        counts.failed += of.failed + again.counts.failed;
        counts.timed_out += of.timed_out + again.counts.timed_out;
        self.points += report.crash_points + again.points;
        self.waiting = self.waiting + again.waiting - 1;
        self.left += again.left;
        self.exhaustive += u64::from(*exhaustive) + again.exhaustive;
        self.alike += again.alike;
        self.unknown = self.unknown.take().or_else(|| again.unknown.clone());
    }

    /// Takes a cause, which may be known from another recording.
    fn take(&mut self, new: Found) {
        let of = |found: &Found| found.told.after.len();
        let same = |known: &&mut Found| of(known) == of(&new) && are_alike(&known.told.cause, &new.told.cause);
        match self.found.iter_mut().find(same) {
            Some(known) => known.told.cause.count += new.told.cause.count,
            None => self.found.push(new),
        }
    }

    /// What was explored, and what was not, in sentences; `asked`: whether power was to fail again.
    pub fn coverage(&self, asked: bool, states: u64) -> String {
        if !asked {
            return String::new();
        }
        if self.over {
            return " Power did not fail again in the command itself: the exploration had ended before.".to_owned();
        }
        let Self { left, waiting, exhaustive, alike, points, .. } = self;
        let NestedRecoveries { recorded, stored, explored, unknown, images, failed, timed_out } = self.counts;
        let mut told = format!(
            " Power failed again in the command itself: on {recorded} images from which it recovers, its run was recorded. \
             {stored} of these runs stored something, and {explored} recordings were explored: power failed at {points} points \
             of them, which left {images} different images; on {failed} of these the command failed"
        );
        if timed_out > 0 {
            told += &format!(", on {timed_out} it timed out");
        }
        told += &match explored {
            0 => ".".to_owned(),
            _ if *exhaustive == explored => ". No legal state of them is left out.".to_owned(),
            _ => format!(
                ". No legal state is left out of {exhaustive}; of the others up to {states} at a point were tried."
            ),
        };
        if *alike > 0 {
            told += &format!(
                " {alike} recordings store, flush and fence the same at the same places as an earlier one, on memory that \
                 differs elsewhere, and were not explored again."
            );
        }
        if let Some(why) = &self.unknown {
            told += &format!(" {unknown} runs could not be explored: {why}.");
        }
        if left + waiting > 0 {
            told += &format!(
                " It ended before the recoveries from {left} other images were recorded, and {waiting} recordings explored."
            );
        }
        told
    }
}

/// Whether causes of two recordings are one.
fn are_alike(one: &Cause, other: &Cause) -> bool {
    let place = |place: Option<&Place>| place.map(|place| place.text.clone());
    let of = |cause: &Cause| {
        let lost = cause.lost.first();
        let (stored, kept) = (lost.map(|lost| &lost.stored), lost.and_then(|lost| lost.needed_before.as_ref()));
        // Of what fails with nothing lost, it matters only where that begins.
        let kind = cause.begins_at.is_none().then_some(cause.kind);
        (cause.outcome, kind, place(stored), place(kept), place(cause.begins_at.as_ref()))
    };
    of(one) == of(other)
}
