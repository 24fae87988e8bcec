//! The images of an exploration, each judged once by the user's own recovery.

use super::causes::{Causes, Failed, Image};
use super::loss::{Loss, Moment};
use super::memory::Memory;
use super::nested::Survivor;
use super::point::{Point, State};
use super::tally::{Pass, Tally};
use crate::attribution::Shown;
use crate::crash::Recoveries;
use crate::kernel::Failure;
use crate::message::{Line, LineBytes};
use crate::user_recovery::{Occasion, OwnRecovery, ToRecord, Watched};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// How far an exploration is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub pass: Pass,
    pub tally: Tally,
    /// Number of different crash points explored.
    pub points: usize,
    /// Number of images.
    pub images: u64,
}

/// An image whose verdict has not been taken.
struct Pending {
    digest: u128,
    image: Image,
    /// The digest of the image that lacks nothing, of the same point.
    complete: u128,
    /// Whether this exploration started the run of the command for it.
    begun: bool,
    /// How far the exploration was when the image was met, this one included.
    until: Extent,
    /// Points that have met it, by their records, each with the number of images then.
    met: Vec<(u64, u64)>,
}

/// The judgement.
pub(super) struct Judging<'a> {
    recovery: &'a mut OwnRecovery,
    cancel: &'a AtomicBool,
    /// Whether a judged image fails.
    judged: FxHashMap<u128, bool>,
    /// The same of images that were judged only to find out what others need.
    compared: FxHashMap<u128, bool>,
    pending: VecDeque<Pending>,
    /// The images that have been met, and the runs that this exploration started.
    pub recoveries: Recoveries,
    pub causes: Causes,
    /// What is shown of the places of operations, once somebody has asked.
    pub shown: OnceCell<Shown>,
    /// Explored points, by their records, in the order in which they were first explored.
    points: Vec<u64>,
    known_points: FxHashSet<u64>,
    /// Points with an image that fails, each with the number of images when that was met.
    failed_points: FxHashMap<u64, u64>,
    /// Images from which the command recovers, if power is to fail again then.
    pub survivors: Option<Vec<Survivor>>,
    /// The number of failing images after which the exploration ends.
    pub stop_after: Option<u64>,
    /// Where the exploration has ended, if not at its end.
    pub ended: Option<Extent>,
    /// The lines of the newest image that lack something.
    peculiar: Vec<Line>,
    lines: Vec<(Line, LineBytes)>,
}

impl<'a> Judging<'a> {
    pub fn new(recovery: &'a mut OwnRecovery, stop_after: Option<u64>, cancel: &'a AtomicBool) -> Self {
        Self {
            recoveries: Recoveries::none(recovery.settings()),
            recovery,
            cancel,
            judged: FxHashMap::default(),
            compared: FxHashMap::default(),
            pending: VecDeque::new(),
            causes: Causes::default(),
            shown: OnceCell::new(),
            points: Vec::new(),
            known_points: FxHashSet::default(),
            failed_points: FxHashMap::default(),
            survivors: None,
            stop_after,
            ended: None,
            peculiar: Vec::new(),
            lines: Vec::new(),
        }
    }

    pub fn recovery(&self) -> &OwnRecovery {
        self.recovery
    }

    /// Memory is again as before the run.
    pub fn rewind(&mut self) -> Result<(), Failure> {
        self.peculiar.clear();
        Ok(self.recovery.rewind()?)
    }

    /// A point is explored; returns how many different ones there are.
    pub fn explores(&mut self, record: u64) -> usize {
        if self.known_points.insert(record) {
            self.points.push(record);
        }
        self.points.len()
    }

    /// Number of points explored, and of those at which every image that was tried recovers.
    pub fn points(&self) -> (u64, u64) {
        let points = self.points.len();
        (points as u64, (points - self.failed_points.len()) as u64)
    }

    /// Meets a state of a point: judges its image unless that has been done, and takes the verdicts that are there.
    pub fn meet(
        &mut self,
        memory: &mut Memory<'_>,
        point: &Point,
        state: &State,
        at: Moment,
        until: Extent,
    ) -> Result<(), Failure> {
        let occasion = Occasion { marks: memory.marks, event: at.record };
        let digest = self.recovery.named().digest(point.digest(state), occasion);
        match self.judged.get(&digest) {
            Some(true) => {
                self.failed_points.entry(at.record).or_insert(self.recoveries.images);
            }
            Some(false) => {}
            None => match self.pending.iter_mut().find(|pending| pending.digest == digest) {
                Some(pending) if pending.met.last().is_some_and(|(record, _)| *record == at.record) => {}
                Some(pending) => pending.met.push((at.record, self.recoveries.images)),
                None => {
                    let loss = Loss::of(memory, point, state, at);
                    let image = Image { loss, state: state.into(), of_whole_point: point.whole };
                    let complete = self.recovery.named().digest(memory.digest, occasion);
                    let begun = !self.recovery.knows(digest);
                    if begun {
                        self.collect(memory, point, state);
                        self.recovery.begin(digest, occasion, self.lines.drain(..))?;
                        self.recoveries.runs += 1;
                    }
                    self.recoveries.images += 1;
                    let until = Extent { images: self.recoveries.images, ..until };
                    self.pending.push_back(Pending {
                        digest,
                        image,
                        complete,
                        begun,
                        until,
                        met: vec![(at.record, self.recoveries.images)],
                    });
                }
            },
        }
        let ahead = self.recovery.ahead();
        self.take(ahead)
    }

    /// Whether the command recovers on the memory of a state that has been met and whose verdict has been taken; why what
    /// it reads there cannot decide other states, if it has not ended by itself.
    pub fn recovers(&self, point: &Point, state: &State, occasion: Occasion) -> Result<bool, String> {
        let digest = self.recovery.named().digest(point.digest(state), occasion);
        match self.recovery.judged(digest) {
            Some(verdict) if !verdict.timed_out() => Ok(verdict.recovers()),
            _ => Err("a run had not ended in time".to_owned()),
        }
    }

    /// Runs the command under the watcher on states of a point; what it reads of lines `of` counts.
    pub fn watch(
        &mut self,
        memory: &mut Memory<'_>,
        point: &Point,
        states: &[&State],
        (occasion, until): (Occasion, Extent),
        of: &FxHashSet<Line>,
    ) -> Result<Vec<Watched>, Failure> {
        let mut runs = Vec::with_capacity(states.len());
        for state in states {
            self.collect(memory, point, state);
            runs.push(self.recovery.prepare_watched(occasion, self.lines.drain(..))?);
        }
        let watched = self.recovery.watch(&runs, of, self.cancel);
        match &watched {
            Ok(watched) => self.recoveries.watched(watched.len() as u64),
            // All verdicts have been taken.
            Err(_) => self.end_at(Extent { images: self.recoveries.images, ..until }),
        }
        watched
    }

    /// Prepares a run of the command on a state of a point that is to be recorded.
    pub fn prepare_recorded(
        &mut self,
        memory: &mut Memory<'_>,
        point: &Point,
        state: &State,
        occasion: Occasion,
    ) -> Result<ToRecord, Failure> {
        self.collect(memory, point, state);
        Ok(self.recovery.prepare_recorded(occasion, self.lines.drain(..))?)
    }

    /// See [`OwnRecovery::takes_kept_of`].
    pub fn takes_kept_of(&mut self, of: &OwnRecovery) -> Vec<PathBuf> {
        self.recovery.takes_kept_of(of)
    }

    /// See [`OwnRecovery::keeps_once`].
    pub fn keeps_once(&mut self) {
        self.recovery.keeps_once();
    }

    /// Whether the command fails on a memory that need not be one of those that are tried: `digest`, and the lines in which
    /// it differs from what the program has stored so far. No other verdict may be outstanding.
    pub fn fails_on(
        &mut self,
        memory: &mut Memory<'_>,
        (digest, lines): (u128, &[(Line, LineBytes)]),
        occasion: Occasion,
    ) -> Result<bool, Failure> {
        let digest = self.recovery.named().digest(digest, occasion);
        if let Some(&fails) = self.judged.get(&digest).or_else(|| self.compared.get(&digest)) {
            return Ok(fails);
        }
        if !self.recovery.knows(digest) {
            self.collect_lines(memory, lines.iter().copied());
            self.recovery.begin(digest, occasion, self.lines.drain(..))?;
        }
        let verdict = self.recovery.verdict(digest, true, self.cancel)?;
        let verdict = verdict.expect("it was waited for");
        self.recovery.settled(digest, false, occasion)?;
        self.compared.insert(digest, !verdict.recovers());
        Ok(!verdict.recovers())
    }

    /// What is known of the image that has all that the program has stored so far: whether it fails.
    pub fn known(&self, memory: &Memory<'_>, occasion: Occasion) -> Option<bool> {
        let digest = self.recovery.named().digest(memory.digest, occasion);
        self.judged.get(&digest).or_else(|| self.compared.get(&digest)).copied()
    }

    /// Number of images that were judged only to find out what others need.
    pub fn compared(&self) -> usize {
        self.compared.len()
    }

    /// Collects the lines in which the image differs from the last one.
    fn collect(&mut self, memory: &mut Memory<'_>, point: &Point, state: &State) {
        self.collect_lines(memory, point.peculiar(state));
    }

    fn collect_lines(&mut self, memory: &mut Memory<'_>, peculiar: impl Iterator<Item = (Line, LineBytes)>) {
        let lines = &mut self.lines;
        memory.take_touched(|known| lines.push((known.line, known.pending.newest)));
        lines.extend(self.peculiar.drain(..).map(|line| (line, memory.newest(line))));
        for (line, bytes) in peculiar {
            lines.push((line, bytes));
            self.peculiar.push(line);
        }
    }

    /// Takes verdicts in the order in which the images were met. Waits for them while more than `ahead` are outstanding.
    pub fn take(&mut self, ahead: usize) -> Result<(), Failure> {
        while let Some(first) = self.pending.front()
            && self.ended.is_none()
        {
            let wait = self.pending.len() > ahead;
            let Some(verdict) = self.recovery.verdict(first.digest, wait, self.cancel)? else { return Ok(()) };
            let fails = !verdict.recovers();
            let occasion = first.image.loss.occasion();
            let kept = self.recovery.settled(first.digest, fails, occasion)?;
            let pending = self.pending.pop_front().expect("it was there");
            self.judged.insert(pending.digest, fails);
            self.recoveries.count(&verdict);
            if let Some(survivors) = self.survivors.as_mut().filter(|_| !fails) {
                let Image { loss, state, of_whole_point } = pending.image;
                let at = Moment { record: loss.record, before: loss.before };
                survivors.push(Survivor { at, state, of_whole_point });
            } else if fails {
                let told = self.recovery.describe(occasion);
                let did = verdict.describe(self.recovery.settings().timeout_seconds);
                self.fails(pending, Failed { timed_out: verdict.timed_out(), told, did, kept });
            }
        }
        Ok(())
    }

    fn fails(&mut self, pending: Pending, how: Failed) {
        for (record, images) in pending.met {
            self.failed_points.entry(record).or_insert(images);
        }
        let lacks_nothing = self.judged.get(&pending.complete) == Some(&true);
        self.causes.fails(pending.image, lacks_nothing, how);
        if self.stop_after.is_some_and(|most| self.recoveries.lost() >= most) {
            self.end_at(pending.until);
        }
    }

    /// Drops the images whose verdicts are outstanding: the user has interrupted.
    pub fn abandon(&mut self) {
        if let Some(first) = self.pending.front() {
            let until = first.until;
            self.end_at(Extent { images: until.images - 1, ..until });
        }
    }

    /// The exploration ends there. What it has done since does not count, because that depends on how many commands run at
    /// a time.
    fn end_at(&mut self, until: Extent) {
        self.recoveries.runs -= self.pending.drain(..).filter(|pending| pending.begun).count() as u64;
        self.recoveries.images = until.images;
        self.points.truncate(until.points);
        self.known_points = self.points.iter().copied().collect();
        let points = &self.known_points;
        self.failed_points.retain(|record, images| *images <= until.images && points.contains(record));
        self.ended = Some(until);
    }
}
