//! What a power failure after each event of the window would leave and what happens then, recorded when it changes.
//! Nothing is judged here: the verdicts come from the auditors and from real boots.

use super::boots::{Step, describe_boot, registers};
use super::picture::{
    AS_STORED, CoreChange, LineChange, Picture, Point, STATES, Seen, State, Table, ToldLine, Verdict, hex,
};
use super::recorder::Recorder;
use crate::assembly::System;
use crate::audit::{Auditor, CounterLayout, LineView, Rule, Violation, most_telling_first};
use crate::crash::{Explorer, Judgement};
use crate::kernel::Failure;
use crate::message::{CoreId, Line, LineBytes};
use crate::power::{Losses, PowerLoss, Survivors};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Most violations of one rule that are listed for one event.
const TOLD_PER_RULE: usize = 4;
/// Most violations that are listed for a window.
const TOLD_MAX: usize = 1_000;

/// What a real boot from a durable state found, and what it does.
#[derive(Clone)]
struct Booted {
    told: usize,
    violations: Vec<usize>,
    /// Whether it broke no rule.
    kept: bool,
}

/// What is listed for a crash point, as positions in the tables.
#[derive(Clone, Copy)]
struct Standing {
    registers: usize,
    boot: usize,
    verdict: usize,
}

/// Asks the auditors after each event.
pub struct Judge<'a> {
    losses: Losses<'a>,
    cores: CoreId,
    /// Whether there is a global counter.
    global: Option<bool>,
    seen: Vec<(Seen, LineBytes)>,
    in_flight: Vec<(Option<u64>, Option<&'static str>)>,
    registers: Table<Vec<(&'static str, String)>>,
    boots: Table<Vec<Step>>,
    verdicts: Table<Verdict>,
    contents: Table<LineBytes>,
    violations: Vec<Violation>,
    /// Violations that hold as long as the auditors say so, and violations of the run itself, which hold forever.
    standing: Vec<usize>,
    leaked: BTreeSet<usize>,
    booted: FxHashMap<u64, Booted>,
    /// What was listed for the previous point.
    before: Option<Standing>,
    points: Vec<Point>,
    last: u64,
}

impl<'a> Judge<'a> {
    /// A judge of a run on `cores` cores, which loses power as `loss` says.
    pub fn new(loss: PowerLoss<'a>, cores: CoreId) -> Self {
        Self {
            losses: Losses::new(loss),
            cores,
            global: None,
            seen: Vec::new(),
            in_flight: vec![(None, None); usize::from(cores)],
            registers: Table::new(),
            boots: Table::new(),
            verdicts: Table::new(),
            contents: Table::new(),
            violations: Vec::new(),
            standing: Vec::new(),
            leaked: BTreeSet::new(),
            booted: FxHashMap::default(),
            before: None,
            points: Vec::new(),
            last: 0,
        }
    }

    /// Records the crash point after the last event.
    pub fn point(&mut self, system: &mut System<(Explorer<'_>, Recorder)>) -> Result<(), Failure> {
        let n = system.observer.1.event();
        let global = *self.global.get_or_insert_with(|| system.controller.snapshot().global_counter.is_some());
        let drained = self.losses.strike(system);
        let System { observer: (explorer, recorder), device, .. } = system;
        let left = device.survives();
        let survivors = Survivors { drained, media: &*left, loss: self.losses.loss };
        let Judgement { by_run, by_loss, by_boot, .. } = explorer.judge(&survivors)?;
        let is_leak =
            |violation: &Violation| matches!(violation.rule, Rule::Plaintext | Rule::PadReuse | Rule::TweakReuse);
        let (leaks, judged): (Vec<_>, Vec<_>) = by_run.into_iter().partition(is_leak);
        let leaked = self.tell(leaks);
        self.leaked.extend(leaked);
        let judged = judged.into_iter().chain(by_loss);
        let (at_once, lasting): (Vec<_>, Vec<_>) = judged.partition(|violation| violation.rule == Rule::Battery);
        let battery = self.tell(at_once);
        self.renew(explorer.auditor(), lasting);
        let booted = self.booted(explorer.auditor(), &survivors, by_boot);

        let violations: BTreeSet<usize> =
            [&self.standing, &battery, &booted.violations].into_iter().flatten().chain(&self.leaked).copied().collect();
        let mut violations: Vec<usize> = violations.into_iter().collect();
        most_telling_first(&mut violations, |place| self.violations[*place].subject());
        let recovers = explorer.recovers() && booted.kept;
        let verdict = Verdict { recovers, violations };
        let layout = explorer.auditor().counter_layout();
        let now = Standing {
            registers: self.registers.place(registers(&survivors, layout, global)),
            boot: booted.told,
            verdict: self.verdicts.place(verdict),
        };
        let before = self.before.replace(now);
        let news = |of: fn(&Standing) -> usize| Some(of(&now)).filter(|now| before.as_ref().map(of) != Some(*now));
        let point = Point {
            n,
            lines: self.lines(explorer.auditor(), recorder),
            cores: self.stages(explorer.auditor()),
            registers: news(|standing| standing.registers),
            boot: news(|standing| standing.boot),
            verdict: news(|standing| standing.verdict),
        };
        self.last = n;
        if !point.says_nothing() {
            self.points.push(point);
        }
        recorder.judged();
        Ok(())
    }

    /// Takes violations over, as many as there is room for; returns their positions.
    fn tell(&mut self, told: Vec<Violation>) -> Vec<usize> {
        let mut of_rule: FxHashMap<Rule, usize> = FxHashMap::default();
        let mut places = Vec::new();
        for violation in told {
            let many = of_rule.entry(violation.rule).or_default();
            *many += 1;
            if *many <= TOLD_PER_RULE && self.violations.len() < TOLD_MAX {
                places.push(self.violations.len());
                self.violations.push(violation);
            }
        }
        places
    }

    /// Drops the violations that no longer hold, and takes over `news`. A core's heap that is wrong in a new way is
    /// listed again.
    fn renew(&mut self, auditor: &Auditor, news: Vec<Violation>) {
        let of_heap = |violation: &Violation| matches!(violation.rule, Rule::Atomicity | Rule::Durability);
        let Self { standing, violations, .. } = self;
        standing.retain(|&place| {
            let old = &violations[place];
            let replaced = of_heap(old) && news.iter().any(|new| of_heap(new) && new.core == old.core);
            auditor.stands(old) && !replaced
        });
        let places = self.tell(news);
        self.standing.extend(places);
    }

    /// What real boots from this durable state have shown; the latest boot has found `news`.
    fn booted(&mut self, auditor: &Auditor, survivors: &Survivors<'_>, news: Vec<Violation>) -> Booted {
        let kept = news.is_empty();
        // What an earlier boot found need not be listed again.
        let same = |old: &Violation, new: &Violation| (old.rule, old.line, old.core) == (new.rule, new.line, new.core);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for violation in news {
            match self.violations.iter().rposition(|known| same(known, &violation)) {
                Some(place) => old.push(place),
                None => new.push(violation),
            }
        }
        old.truncate(TOLD_PER_RULE);
        let mut violations = self.tell(new);
        violations.extend(old);
        let boots = &mut self.boots;
        let booted = self.booted.entry(auditor.state_hash()).or_insert_with(|| {
            let told = boots.place(describe_boot(survivors, auditor.program().as_deref()));
            Booted { told, violations: Vec::new(), kept }
        });
        violations.retain(|place| !booted.violations.contains(place));
        booted.violations.extend(violations);
        booted.kept &= kept;
        booted.clone()
    }

    /// The lines whose result has changed.
    fn lines(&mut self, auditor: &Auditor, recorder: &Recorder) -> Vec<LineChange> {
        let mut changes = Vec::new();
        for (index, view) in auditor.line_views().enumerate() {
            let state = match auditor.is_hardware_log(view.line) {
                true => log_state(&view, recorder, &self.losses.loss),
                false => state_of(&view, auditor, recorder),
            };
            let seen = Seen {
                state,
                counter: view.counter,
                data_counter: self.seen.get(index).and_then(|(seen, _)| seen.data_counter),
                in_flight: !view.later.is_empty(),
                wrong: view.wrong,
                restored: view.restored,
                found: self.seen.get(index).map_or(0, |(seen, _)| seen.found),
            };
            let known = self.seen.get(index);
            if known.is_some_and(|(old, found)| *old == seen && found == view.found)
                && !recorder.just_persisted(view.line)
            {
                continue;
            }
            let found = self.contents.place(*view.found);
            let seen = Seen { data_counter: auditor.counter_used(view.line), found, ..seen };
            let is_news = known.is_none_or(|(old, _)| *old != seen);
            match self.seen.get_mut(index) {
                Some(place) => *place = (seen, *view.found),
                None => self.seen.push((seen, *view.found)),
            }
            if is_news {
                changes.push(LineChange { line: index, now: seen });
            }
        }
        changes
    }

    /// The cores whose transaction or stage has changed.
    fn stages(&mut self, auditor: &Auditor) -> Vec<CoreChange> {
        let mut changes = Vec::new();
        for core in 0..self.cores {
            let now = auditor.transaction_of(core);
            let before = &mut self.in_flight[usize::from(core)];
            if *before != now {
                *before = now;
                let (transaction, stage) = now;
                changes.push(CoreChange { core, transaction, stage });
            }
        }
        changes
    }

    /// The result. It has only the lines that something happened to in the window.
    pub fn picture(mut self, auditor: &Auditor, recorder: &Recorder, errors: &[String]) -> Picture {
        let lines: Vec<Line> = auditor.line_views().map(|view| view.line).collect();
        let changed = self.points.iter().skip(1).flat_map(|point| &point.lines).map(|change| change.line);
        let changed: FxHashSet<usize> = changed.collect();
        let mut shown: Vec<usize> =
            (0..lines.len()).filter(|index| changed.contains(index) || recorder.touched(lines[*index])).collect();
        shown.sort_by_key(|&index| lines[index]);
        let place: FxHashMap<usize, usize> = shown.iter().enumerate().map(|(place, &index)| (index, place)).collect();
        for point in &mut self.points {
            point.lines.retain_mut(|change| match place.get(&change.line) {
                Some(&place) => {
                    change.line = place;
                    true
                }
                None => false,
            });
            point.lines.sort_by_key(|change| change.line);
        }
        let mut states = STATES;
        if self.losses.loss.drain.is_some() {
            states[State::AsFlushed as usize] = AS_STORED;
        }
        let told = |line: Line| ToldLine { address: line.address(), role: auditor.role(line) };
        Picture {
            last: self.last,
            counters: auditor.counter_layout().map(|layout| match layout {
                CounterLayout::Split { .. } => "split",
                CounterLayout::Words { .. } => "word",
            }),
            states,
            contents: self.contents.values.iter().map(hex).collect(),
            lines: shown.iter().map(|&index| told(lines[index])).collect(),
            registers: self.registers.values,
            boots: self.boots.values,
            verdicts: self.verdicts.values,
            violations: self.violations,
            points: self.points,
            internal_errors: errors.to_vec(),
        }
    }
}

/// What a boot finds in the line, in one word.
fn state_of(view: &LineView<'_>, auditor: &Auditor, recorder: &Recorder) -> State {
    if view.in_the_clear {
        State::InTheClear
    } else if view.found == view.covered {
        if view.covered_is_base { State::BeforeTheRun } else { State::AsFlushed }
    } else if view.later.contains(view.found) {
        State::Newer
    } else if view.counter == Some((0, 0)) {
        State::Zero
    } else if auditor.counter_layout().is_none() || recorder.has_held(view.line, view.found) {
        State::Older
    } else {
        State::Garbage
    }
}

/// What a boot finds in a line of the hardware's log, to which no program stores: compared with the controller's last
/// write.
fn log_state(view: &LineView<'_>, recorder: &Recorder, loss: &PowerLoss<'_>) -> State {
    let log = loss.codec.and_then(|codec| codec.log());
    let untouched = *view.found == [0; 64];
    if log.is_some_and(|log| log.lacks_counter(view.line)) {
        return if untouched { State::BeforeTheRun } else { State::Chained };
    }
    let latest = recorder.latest(view.line);
    if latest.map_or(untouched, |latest| latest == view.found) {
        if latest.is_none() { State::BeforeTheRun } else { State::AsFlushed }
    } else if view.counter == Some((0, 0)) {
        State::Zero
    } else if recorder.has_held(view.line, view.found) {
        State::Older
    } else {
        State::Garbage
    }
}
